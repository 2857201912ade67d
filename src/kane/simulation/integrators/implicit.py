"""Implicit Runge-Kutta methods with fixed steps: one table of coefficients per method, and one native loop for all."""

from __future__ import annotations

from abc import abstractmethod

from kane.engine.step.implicit import integrate_implicit
from kane.simulation.integrator_state import IntegratorState, Status
from kane.simulation.integrators.explicit import Tableau, scheme
from kane.simulation.integrators.integrator import Integrator


class Implicit(Integrator):
    """Symmetric implicit method (Gauss), for long runs without numerical dissipation.

    A step of -h undoes a step of h, so that the energy of a reversible mechanism oscillates and does not drift. If the
    speeds are the rates and the mass matrix is constant, the method is also symplectic. Quadratic invariants, such as
    the length of quaternions, are conserved to rounding. Stages are iterated until they change only by rounding. The
    iteration converges if the step is shorter than about 1 over the largest rate of the motion.
    """

    fixed = True

    @property
    @abstractmethod
    def tableau(self) -> Tableau:
        """Coefficients of the method; row 0 is the slope at the start, which only the interpolant uses."""

    def advance(self, integration: IntegratorState, steps: int) -> Status:
        arrays = scheme(self)
        integration.make_room(steps, len(arrays.nodes))
        return Status(integrate_implicit(*integration.step_arguments, arrays, steps))
