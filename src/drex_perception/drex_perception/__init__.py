"""Object tracking."""
