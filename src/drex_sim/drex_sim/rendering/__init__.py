"""RGB-D pictures of the rig and the imperfections of a depth camera."""
