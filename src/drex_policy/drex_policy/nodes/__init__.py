"""ROS nodes of drex_policy."""
