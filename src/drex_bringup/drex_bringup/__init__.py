"""Bring-up, coordination and the drex command."""
