"""Modes of a run: the active equations of each mode, and the transitions between modes."""
