"""Modes of a run: which equations are in force, and what leads from one mode to the next."""
