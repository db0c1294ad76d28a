"""ROS nodes of drex_bringup."""
