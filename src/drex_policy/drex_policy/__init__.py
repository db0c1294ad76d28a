"""Force-aware grasping."""
