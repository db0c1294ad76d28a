"""Mass identification by pushing."""
