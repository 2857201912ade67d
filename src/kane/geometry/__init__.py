"""Frames, vectors, rotations and inertia; every component a number or an expression."""
