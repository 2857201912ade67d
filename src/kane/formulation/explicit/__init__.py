"""The explicit route: Kane's equations from partial velocities, written out as tables."""
