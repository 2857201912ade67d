"""Implicit Runge-Kutta methods of fixed steps: a table of coefficients each, one native loop for all."""

from __future__ import annotations

from abc import abstractmethod

from kane.native.implicit import march_implicit
from kane.simulation.integrators.explicit import Tableau, scheme
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.march import March, Status


class Implicit(Integrator):
    """A symmetric method whose stages depend on one another: Gauss's, for long runs without losses.

    Symmetric: a step of -h undoes a step of h, so that the energy of a reversible mechanism swings and does not drift;
    symplectic as well where the speeds are the rates and the mass matrix is constant. Quadratic invariants are kept to
    rounding, the length of quaternions among them. The stages are iterated until only rounding moves them, which
    converges while the step is shorter than about 1 over the largest rate of the motion.
    """

    fixed = True

    @property
    @abstractmethod
    def tableau(self) -> Tableau:
        """Its coefficients; row 0 is the slope at the start, which serves the interpolant alone."""

    def advance(self, march: March, steps: int) -> Status:
        arrays = scheme(self)
        march.make_room(steps, len(arrays.nodes))
        return Status(march_implicit(march.system, march.tables, march.course, march.watch, march.store, arrays, steps))
