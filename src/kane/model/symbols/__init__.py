"""Symbols of SymPy as leaves of a model, by name."""
