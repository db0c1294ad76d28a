"""Grasp planning from the twin's geometry."""
