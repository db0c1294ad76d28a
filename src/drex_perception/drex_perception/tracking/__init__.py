"""Model-based 6-DoF tracking."""
