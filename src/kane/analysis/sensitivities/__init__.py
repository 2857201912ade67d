"""Derivatives of a run: of its steps, and of what happens between its modes."""
