"""Integrators: one contract (``integrator.Integrator``), one file per method."""

from kane.simulation.integrators.rk4 import RK4 as RK4
