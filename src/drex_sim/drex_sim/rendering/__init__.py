"""RGB-D pictures of the simulated rig."""
