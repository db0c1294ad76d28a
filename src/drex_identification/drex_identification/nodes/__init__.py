"""ROS nodes of drex_identification."""
