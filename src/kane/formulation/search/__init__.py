"""Searches for good generalized speeds: the fewest operations, a diagonal mass matrix."""
