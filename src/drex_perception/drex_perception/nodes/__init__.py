"""ROS nodes of drex_perception."""
