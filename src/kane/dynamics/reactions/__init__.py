"""Reactions, and what acts on bodies, in numbers."""
