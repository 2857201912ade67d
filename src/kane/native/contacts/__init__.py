"""Constraints that come and go, found in numbers: which are in force, what they transmit, impacts, changes of mode."""
