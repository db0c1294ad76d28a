"""Running the main job from a terminal."""
