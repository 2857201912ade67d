"""Searches for good generalized speeds: fewest operations, or a diagonal mass matrix."""
