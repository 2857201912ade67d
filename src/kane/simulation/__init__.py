"""Simulation of motions: ``simulate``, integrators and trajectories."""
