"""ROS nodes of drex_sim."""
