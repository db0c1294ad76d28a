"""Recorded pushes."""
