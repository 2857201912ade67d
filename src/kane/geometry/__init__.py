"""Frames, vectors, rotations and inertia; every component is a number or an expression."""
