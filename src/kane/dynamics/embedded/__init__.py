"""Constraints embedded in numbers at each state, and choices of dependent speeds with programs of their own."""
