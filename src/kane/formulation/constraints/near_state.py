"""Numerical selection of dependent speeds near a state, and of the constraint rows that determine them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.deferred import NamedTuple, dataclass
from kane.engine.linear.factorizations import factor
from kane.engine.memory.constraint_codes import UNCHOSEN
from kane.engine.memory.views import FactorScratch
from kane.errors import ModelError
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.formulation.constraints.rows import Equation
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.speeds import Speeds
from kane.model.model import Model
from kane.model.named_vector import named_vector
from kane.model.speed_choice import Near, SpeedChoice

# Residual [m or rad] below which a state satisfies the constraints. At this residual, pivots of redundant rows are far
# smaller than pivots of independent rows.
CONSTRAINED_STATE_TOLERANCE = 1e-9
# Distance of neighbouring states from the state [m or rad], largest residual with which they satisfy the constraints,
# and relative singular value below which rows count as redundant. Before projection, the residual of a neighbouring
# state is about its distance squared.
NEIGHBOUR_DISTANCE, NEIGHBOUR_RESIDUAL, NEIGHBOUR_RANK_TOLERANCE = 1e-3, 1e-12, 1e-4
NEIGHBOURS, MAX_NEIGHBOUR_ITERATIONS = 3, 20


class Pivots(NamedTuple):
    """Columns of the dependent speeds, and as many rows that determine them; the other rows are redundant."""

    columns: list[int]
    rows: list[int]


def read_near(model: Model, state: Any) -> Near:
    """Read a state given by a user: the result of ``assemble``, all of q, or some coordinates by name.

    Raises:
        ModelError: unknown names, a wrong shape, or something that is not a finite number.
    """
    joints = [c for c in model.ordered_connections if c.coordinate_names]
    names = [name for c in joints for name in c.coordinate_names]
    neutral = [x for c in joints for x in c.joint.neutral]
    q = named_vector(getattr(state, "q", state), names, neutral, "coordinate")
    return Near(dict(zip(names, q.tolist(), strict=True)), tuple(getattr(state, "free", ())))


@dataclass(frozen=True)
class NearState:
    """Constraints at a state and at neighbouring states, for t = 0 and default parameters.

    Attributes:
        constraints: all rows, linear in u.
        speeds: q, u and dq/dt.
        choice: the state, and the dependent speeds that the user named, if any.
        probe: probe of the model.
        t: leaf of time.
    """

    constraints: Sequence[Equation]
    speeds: Speeds
    choice: SpeedChoice
    probe: Probe
    t: Expr

    @property
    def state(self) -> Near:
        """The state near which the selection is made."""
        assert self.choice.near is not None
        return self.choice.near

    @cached_property
    def q(self) -> Array:
        """The coordinates of the state, (nq,)."""
        return np.array([self.state.q[leaf.name] for leaf in self.speeds.q])

    def at(self, q: Array) -> Probe:
        """Return a probe at coordinates q and u = 0."""
        values = dict(zip(self.speeds.q, q.tolist(), strict=True)) | {self.t: 0.0}
        return self.probe.at(values | dict.fromkeys(self.speeds.u, 0.0))

    def rows(self, q: Array) -> Array:
        """Return A, (rows, n)."""
        A = np.zeros((len(self.constraints), len(self.speeds.u)))
        places = [(i, j) for i, row in enumerate(self.constraints) for j in row.coefficients]
        values = self.at(q)([c for row in self.constraints for c in row.coefficients.values()])
        for place, value in zip(places, values, strict=True):
            A[place] = value
        return A

    def choose(self) -> Pivots:
        """Select dependent speeds and rows.

        Columns are selected by the rule of the numerical embedding: among the dependent speeds that the model names,
        or else among the speeds that need not stay independent. If these are too few, all speeds take part.

        Raises:
            ModelError: the constraints do not hold at the state, fewer rows are independent there than around it, or
                the named dependent speeds cannot be dependent there.
        """
        self._require_closed()
        A = self.rows(self.q)
        rank = len(pivot_columns(A))
        if rank < len(A):
            self._require_regular(A, rank)
        names, dependent = [leaf.name for leaf in self.speeds.u], self.choice.dependent
        intermittents = [j for j, name in enumerate(names) if name not in self.state.independent]
        if dependent:
            intermittents = [names.index(name) for name in dependent]
        columns = [intermittents[k] for k in pivot_columns(A[:, intermittents])]
        if len(columns) < rank and not dependent:
            columns = pivot_columns(A)
        if len(columns) < max(rank, len(dependent)):
            raise ModelError(
                f"{rank} constraint equations are independent at the given state, but {len(columns)} of the speeds "
                f"{', '.join(dependent)} can be dependent there; name other speeds, or leave the choice to kane"
            )
        return Pivots(columns, sorted(pivot_columns(A[:, columns].T)))

    def _require_closed(self) -> None:
        closing, phi = self._residuals(self.q)
        if np.abs(phi).max(initial=0.0) > CONSTRAINED_STATE_TOLERANCE:
            worst = int(np.argmax(np.abs(phi)))
            name = self.constraints[closing[worst]].name
            raise ModelError(
                f"the state given by near= does not satisfy the constraint {name!r} at t = 0 with default parameters: "
                f"its residual is {phi[worst]:.3g}; kane.assemble(equations, q=..., fixed=[...]) finds a state "
                "that does"
            )

    def _residuals(self, q: Array) -> tuple[list[int], Array]:
        closing = [i for i, row in enumerate(self.constraints) if row.configuration is not None]
        return closing, self.at(q)([self.constraints[i].configuration for i in closing])

    def _require_regular(self, A: Array, rank: int) -> None:
        """Raise ModelError unless the rank of A is the same at neighbouring states, so that rows may be left out."""
        random = np.random.default_rng(0)
        motions = np.linalg.svd(A)[2][rank:]
        for _ in range(NEIGHBOURS if len(motions) else 0):
            q = self._neighbour(NEIGHBOUR_DISTANCE * (random.normal(size=len(motions)) @ motions))
            there = rank if q is None else len(pivot_columns(self.rows(q)))
            if there != rank:
                raise ModelError(
                    f"{rank} of {len(A)} constraint equations are independent at the given state, {there} around it: "
                    "the mechanism is singular there; formulate near another state of the motion"
                )

    def _neighbour(self, s: Array) -> Array | None:
        """Return the state moved by s and projected by minimum-norm steps; None if these do not converge."""
        q = self._moved(self.q, s)
        for _ in range(MAX_NEIGHBOUR_ITERATIONS):
            closing, phi = self._residuals(q)
            if np.abs(phi).max(initial=0.0) <= NEIGHBOUR_RESIDUAL:
                return q
            q = self._moved(q, -np.linalg.pinv(self.rows(q)[closing], rcond=NEIGHBOUR_RANK_TOLERANCE) @ phi)
        return None

    def _moved(self, q: Array, s: Array) -> Array:
        moved = q + self.at(q)([x for row in self._rates for x in row]).reshape(len(q), -1) @ s
        names = [leaf.name for leaf in self.speeds.q]
        for quaternion in self.probe.quaternions:
            places = [names.index(name) for name in quaternion]
            moved[places] /= np.linalg.norm(moved[places])
        return moved

    @cached_property
    def _rates(self) -> list[list[Expr]]:
        """Coefficients of u in dq/dt, (nq, n)."""
        return linear_coefficients(self.speeds.kinematics, self.speeds.u)[0]


def pivot_columns(A: Array) -> list[int]:
    """Return the columns that the numerical embedding selects, as many as the rank of A, the largest pivot first."""
    n = A.shape[1]
    order = np.arange(n)
    scratch = FactorScratch(A.copy(), order, np.zeros(n), np.zeros(n), np.zeros((2, n)), np.zeros(n), 0)
    rank = factor(scratch, UNCHOSEN)
    return [int(j) for j in order[:rank]]
