"""Robot protocols, names, kinematics and limits."""
