"""Twins, the simulated rig and what every D-REX package shares."""
