"""Force law and grasp execution."""
