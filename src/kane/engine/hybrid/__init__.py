"""Transitions between contact modes."""
