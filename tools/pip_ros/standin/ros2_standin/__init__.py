"""The part of the `ros2` command that D-REX's documentation uses, for machines without the genuine one."""
