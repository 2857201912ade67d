"""Explicit route to the equations of motion: partial velocities, written out as tables."""
