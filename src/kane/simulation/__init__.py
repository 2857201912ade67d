"""Motions from equations: simulate, integrators, trajectories."""
