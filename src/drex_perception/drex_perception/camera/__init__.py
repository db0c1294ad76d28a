"""Camera model and depth pictures."""
