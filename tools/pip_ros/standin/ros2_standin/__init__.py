"""Stand-in for the part of the `ros2` command that D-REX uses (docs/setup.md)."""
