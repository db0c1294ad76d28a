"""The simulated rig: MuJoCo model, imperfections, stepping."""
