"""Numerical embedding of constraints at each state, and compiled programs for single speed selections."""
