"""Shooting nodes of a measured motion with contacts: rows that show which contacts are closed; guessed speeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.deferred import NamedTuple
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, list_names
from kane.expression.node import Expr
from kane.expression.traverse import leaves
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.constraints.rows import Equation

# A gap is open, or its rate is nonzero, beyond this multiple of the noise, which one of two million rows exceeds.
CLEAR = 5.0
# Tolerance for data without noise: the error of a closed gap, and of its rate, in a run [m, m/s, rad or rad/s].
CLOSED_GAP_ERROR = 1e-6
# Number of rows on either side that must show the same status.
STATUS_ROWS_BESIDE = 2
# Median magnitude of second differences of normal noise, over its standard deviation.
MEDIAN = 0.6745 * np.sqrt(6.0)


class ShootingNodes(NamedTuple):
    """Shooting nodes.

    Attributes:
        rows: row indices, the first row included.
        closed: at each node, the normal rows of closed contacts and stops, and the rows that stick.
    """

    rows: list[int]
    closed: list[tuple[Equation, ...]]

    def require_known(self, dyn: Dynamics, names: Sequence[str]) -> None:
        """Raise if a sought parameter occurs in a constraint that is closed at a node.

        Raises:
            ModelError: the message names the parameter and the constraint.
        """
        closed = {row.name for own in self.closed for row in own}
        for c in dyn.equations.intermittents:
            rows = [row for row in c.rows if row.name in closed]
            there = {leaf.name for leaf in leaves([c.numbers.gap, *_motions(rows)])} if rows else set()
            for name in sorted(there & set(names)):
                raise ModelError(
                    f"{name!r} occurs in {c.name!r}, which is closed at a shooting node of this motion; closed "
                    "constraints must be known. Measure the parameter, and leave it out of the names"
                )


class _Sighted(NamedTuple):
    """Status of a gap or a slip in the data.

    Attributes:
        c: the constraint.
        rows: constraint rows that are active if the gap is closed, or if the contact sticks.
        closed: whether the gap is closed, or the contact sticks, at each row of the data.
        clear: whether the data show this clearly.
    """

    c: IntermittentEquations
    rows: tuple[Equation, ...]
    closed: NDArray[np.bool_]
    clear: NDArray[np.bool_]

    @property
    def sure(self) -> NDArray[np.bool_]:
        """Mask of the data rows at which the status is clear and the neighbouring rows agree."""
        found = self.clear.copy()
        for k in range(1, STATUS_ROWS_BESIDE + 1):
            same = (self.closed[k:] == self.closed[:-k]) & self.clear[k:] & self.clear[:-k]
            found[k:] &= same
            found[:-k] &= same
        return found


def shooting_nodes(dyn: Dynamics, parameters: Array, time: Array, x: Array, stretch: int) -> ShootingNodes:
    """Return the shooting nodes, at least ``stretch`` rows apart.

    A gap is open if it clearly exceeds its noise; it is closed if neither the gap nor its rate exceeds its noise.
    Neighbouring rows must agree; otherwise the contact may open or close between them. Friction sticks if no slip
    exceeds its noise in these rows; if this is uncertain in the first row, friction is free to slip there.

    Args:
        dyn: compiled equations.
        parameters: values of all parameters.
        time: times of the rows [s].
        x: measured states [q, u], (rows, nq + n).
        stretch: least number of rows in an interval.

    Raises:
        ModelError: the model has latches or switches, or the first row does not show which gaps are closed.
    """
    _require_known(dyn)
    looked = list(_looks(dyn, parameters, time, x))
    unsure = [look.c.name for look in looked if look.c.normal in look.rows and not look.sure[0]]
    if unsure:
        raise ModelError(
            f"the first row does not show whether {list_names(unsure, 3)} is closed: within the noise it may close or "
            "open. Begin with a row at which gaps are clearly open, or closed and at rest"
        )
    last, rows = len(x) - 1, [0]
    sure = np.logical_and.reduce([np.ones(len(x), bool), *(look.sure for look in looked)])
    for k in range(stretch, max(last - stretch // 2, 1)):
        if sure[k] and k >= rows[-1] + stretch:
            rows.append(k)
    closed = [[look for look in looked if look.closed[k] and look.sure[k]] for k in rows]
    return ShootingNodes(rows, [tuple(row for look in own for row in look.rows) for own in closed])


def _require_known(dyn: Dynamics) -> None:
    """Raise if the model has constraints whose status the states do not show."""
    for c in dyn.equations.intermittents:
        if c.constraint.bilateral or (c.normal is None and c.constraint.friction is None):
            raise ModelError(
                f"{c.name!r} is a latch or a switch, and measured states do not show whether it is active; "
                "give udot, and leave out the rows in which it is active"
            )


def _motions(rows: Sequence[Equation]) -> list[Expr]:
    return [row.motion for row in rows]


def _looks(dyn: Dynamics, parameters: Array, time: Array, x: Array) -> Iterator[_Sighted]:
    """Yield the status of each gap, and of each slip with friction."""
    for c in dyn.equations.intermittents:
        normal = () if c.normal is None else (c.normal,)
        closed: NDArray[np.bool_] = np.ones(len(x), bool)
        if normal:
            small, large = _sizes(dyn, [c.numbers.gap, *_motions(normal)], parameters, time, x)
            closed = small[:, 0] & small[:, 1]
            yield _Sighted(c, normal, closed, closed | large[:, 0])
        if c.tangents and c.constraint.friction is not None:
            small, _ = _sizes(dyn, _motions(c.tangents), parameters, time, x)
            yield _Sighted(c, c.tangents, closed & small.all(axis=1), np.ones(len(x), bool))


def _sizes(
    dyn: Dynamics, of: list[Expr], parameters: Array, time: Array, x: Array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks, (rows, expressions): expressions that are within their noise, and that are clearly positive."""
    e, nq = dyn.equations, len(dyn.equations.q)
    values = {leaf.name: float(v) for leaf, v in zip(e.parameters, parameters, strict=True)}
    found = dyn.derivatives(list(e.unconstrained.baked_in(of)), wrt=("coordinates", "u"))(
        x[:, :nq], x[:, nq:], np.zeros((len(x), len(e.inputs))), time, parameters=values
    )
    by = np.concatenate([found["coordinates"], found["u"]], axis=2)
    rough = np.median(np.abs(np.diff(x, 2, axis=0)), axis=0) / MEDIAN if len(x) > 2 else np.zeros(x.shape[1])
    allowed = CLEAR * np.sqrt((by**2) @ rough**2) + CLOSED_GAP_ERROR
    return np.abs(found.value) <= allowed, found.value > allowed


def guessed_speeds(dyn: Dynamics, time: Array, q: Array, values: Array) -> Array:
    """Append speeds to measured coordinates: qdot by differences, and u by least squares of qdot(q, u, t).

    Args:
        dyn: compiled equations.
        time: times of the rows, (k,) [s].
        q: coordinates (k, nq), with continuous signs of quaternions.
        values: values of all parameters.

    Returns:
        [q, u], (k, nq + n). The search replaces these speeds by simulated ones.
    """
    e = dyn.equations
    n = len(e.u)
    named = dict(zip((leaf.name for leaf in e.parameters), values.tolist(), strict=True))
    qdot = np.gradient(q, time, axis=0)
    still, *columns = (dyn.kinematics(q, u, time, parameters=named) for u in (np.zeros(n), *np.eye(n)))
    Y = np.stack(columns, axis=-1) - still[..., None]
    return np.hstack([q, (np.linalg.pinv(Y) @ (qdot - still)[..., None])[..., 0]])
