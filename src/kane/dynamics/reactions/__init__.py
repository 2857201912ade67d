"""Numerical values of reactions, and of forces on bodies."""
