"""Derivatives of a run, through its steps and through the transitions between its modes."""
