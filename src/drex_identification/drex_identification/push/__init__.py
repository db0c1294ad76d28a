"""Push planning and execution."""
