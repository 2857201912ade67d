"""Differences of two models, equations, modes or saved files."""
