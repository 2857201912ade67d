"""Proved bounds of computed numbers, and of outputs over boxes of states, by ball arithmetic."""
