"""Small motions about a state, numerically: displacements s along the joints' own speeds, and their rates.

Along a motion q0(t) a displaced configuration is q = q0 + Y(q0) s. With dq/dt = k(q, u, t) it follows that

    Y ds/dt = dk - dY/dt s.

For a ball joint this is the rule d theta/dt = d omega - omega x theta of the rotation group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.dynamics.dynamics import Dynamics
from kane.files.scipy import load_scipy
from kane.formulation.derivatives.variables import displacements


@dataclass(frozen=True, eq=False)
class SmallMotions:
    """Small motions about the motion through a state (q, u, inputs, t).

    Attributes:
        dyn: compiled equations.
        q, u, inputs: the state; u satisfies the constraints.
        t: time [s].
        parameters: values by name; None for the defaults.
    """

    dyn: Dynamics
    q: Array
    u: Array
    inputs: Array
    t: float = 0.0
    parameters: Any = None

    @cached_property
    def terms(self) -> ConstraintTerms:
        """Constraint terms at this state."""
        values = self.dyn.parameter_values(self.parameters)
        return ConstraintTerms.of(self.dyn, self.q, self.u, inputs=self.inputs, t=self.t, parameters=values)

    @cached_property
    def accelerations(self) -> Any:
        """udot with its derivatives by "q", "u" and "inputs"."""
        return self._derivatives("forward")(self.q, self.u, self.inputs, self.t, parameters=self.parameters)

    @cached_property
    def rates(self) -> Any:
        """dq/dt with its derivatives by "q" and "u"."""
        found = self.dyn.derivatives("kinematics", wrt=("q", "u"))
        return found(self.q, self.u, (), self.t, parameters=self.parameters)

    @cached_property
    def Y(self) -> Array:
        """Matrix of dq = Y s: the change of q along each of the joints' own speeds, (nq, own)."""
        return self._displacement.value.reshape(len(self.q), -1)

    @cached_property
    def own_speeds(self) -> Array:
        """The joints' own speeds of the motion through this state, (own,), without motions prescribed in time."""
        still = self.dyn.kinematics(self.q, 0.0 * self.u, self.t, parameters=self.parameters) if self._drifts else 0.0
        return np.asarray(self._inverse @ (self.rates.value - still))

    @cached_property
    def drift(self) -> tuple[Array, Array]:
        """Matrices of ds/dt = first s + second du, (own, own) and (own, n)."""
        moved = self._displacement["q"] @ self.own_speeds
        Y_dot = moved.reshape(self.Y.shape)
        return self._inverse @ (self.rates["q"] - Y_dot), self._inverse @ self.rates["u"]

    @cached_property
    def jerk(self) -> Array:
        """d udot/dt along the motion with udot = 0, (n,); zero for a steady motion, infinite if speeds overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.accelerations["q"] @ self.own_speeds)

    @cached_property
    def allowed(self) -> Array:
        """Basis of the displacements that the configuration constraints allow, (own, freedoms).

        Its rows at the free displacements form a unit matrix.
        """
        J, n = self.terms.own.J, self.Y.shape[1]
        if not len(J):
            return np.eye(n)
        R, order = load_scipy("linalg").qr(J, mode="r", pivoting=True)
        size = np.abs(np.diag(R))
        rank = int((size > 1e-10 * max(float(size.max(initial=0.0)), 1e-300)).sum())
        dependent, free = order[:rank], np.sort(order[rank:])
        basis = np.zeros((n, len(free)))
        basis[free, range(len(free))] = 1.0
        basis[dependent] = -np.linalg.lstsq(J[:, dependent], J[:, free], rcond=None)[0]
        return basis

    @cached_property
    def free_displacements(self) -> list[int]:
        """Indices of the free displacements: the rows of ``allowed`` that are unit rows."""
        rows = self.allowed
        return [int(np.flatnonzero((rows == e).all(axis=1))[0]) for e in np.eye(rows.shape[1])]

    @cached_property
    def free_speeds(self) -> list[int]:
        """Indices of the independent speeds."""
        e = self.dyn.equations
        names = [leaf.name for leaf in e.u]
        chosen = self.dyn.independent(self.q, self.t) if e.constraints else names
        return [names.index(name) for name in chosen]

    @property
    def _drifts(self) -> bool:
        return self.dyn.equations.t in self.dyn.function("kinematics").reads

    @cached_property
    def _displacement(self) -> Any:
        directions = displacements(self.dyn.equations)
        zero = self.dyn.equations.t.arena.zero
        entries = [d.get(leaf, zero) for leaf in self.dyn.equations.q for d in directions.directions]
        found = self.dyn.derivatives(entries, wrt=("q",))
        return found(self.q, self.u, self.inputs, self.t, parameters=self.parameters)

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.pinv(self.Y))

    def _derivatives(self, name: str) -> Any:
        return self.dyn.derivatives(name, wrt=("q", "u", "inputs"))


def displacement_names(dyn: Dynamics) -> tuple[str, ...]:
    """Return the names of the displacements: the coordinate whose rate is the speed, otherwise "SPEED dt"."""
    e, one = dyn.equations, dyn.equations.t.arena.one
    found = displacements(e)
    names = []
    for label, direction in zip(found.labels, found.directions, strict=True):
        moved = list(direction.items())
        plain = len(moved) == 1 and moved[0][1] is one
        names.append(moved[0][0].name if plain else f"{label} dt")
    return tuple(names)
