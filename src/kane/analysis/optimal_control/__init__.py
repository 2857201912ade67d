"""Optimal control by direct collocation, and estimates by the same way."""
