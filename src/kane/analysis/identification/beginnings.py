"""Where stretches of a measured motion with contacts may begin: at rows that say by themselves what is closed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, listed
from kane.expression.node import Expr
from kane.expression.traverse import leaves
from kane.formulation.constraints.candidates import CandidateEquations
from kane.formulation.constraints.rows import Equation
from kane.native.contacts.header import GAP

Array = NDArray[np.float64]
# A gap is open, or its rate is not zero, where it is more than so many times the noise: one row in two million is not.
CLEAR = 5.0
# Where there is no noise: what a run leaves of a gap that is closed, and of its rate [m, m/s, rad or rad/s].
ROUNDING = 1e-6
# Rows on either side that have to say the same.
BESIDE = 2
# The median size of normal numbers over their standard deviation; second differences have sqrt(6) times theirs.
MEDIAN = 0.6745 * np.sqrt(6.0)


class Beginnings(NamedTuple):
    """Rows at which stretches begin.

    Attributes:
        rows: their numbers, the first row among them.
        closed: at each the rows of contacts and stops along gaps that are closed, and of what sticks.
    """

    rows: list[int]
    closed: list[tuple[Equation, ...]]

    def require_known(self, dyn: Dynamics, names: Sequence[str]) -> None:
        """Refuse parameters that stand in what is closed at these rows.

        Raises:
            ModelError: which, and where.
        """
        closed = {row.name for own in self.closed for row in own}
        for c in dyn.equations.candidates:
            rows = [row for row in c.rows if row.name in closed]
            there = {leaf.name for leaf in leaves([c.numbers[GAP], *_motions(rows)])} if rows else set()
            for name in sorted(there & set(names)):
                raise ModelError(
                    f"{name!r} stands in {c.name!r}, which is closed where stretches of this motion begin, and what "
                    "is closed is taken as known; measure the parameter, and leave it out of the names"
                )


class _Sighted(NamedTuple):
    """A gap or a slip in the data.

    Attributes:
        c: whose.
        rows: that are in force where the gap is closed, or nothing slips.
        closed: whether it is so, at each row of the data.
        clear: whether it says so.
    """

    c: CandidateEquations
    rows: tuple[Equation, ...]
    closed: NDArray[np.bool_]
    clear: NDArray[np.bool_]

    @property
    def sure(self) -> NDArray[np.bool_]:
        """At which rows it says so, and the rows beside it say the same."""
        found = self.clear.copy()
        for k in range(1, BESIDE + 1):
            same = (self.closed[k:] == self.closed[:-k]) & self.clear[k:] & self.clear[:-k]
            found[k:] &= same
            found[:-k] &= same
        return found


def beginnings(dyn: Dynamics, parameters: Array, time: Array, x: Array, stretch: int) -> Beginnings:
    """Where stretches begin, each at least so many rows behind the one before.

    A gap is open where it is clearly more than its noise, and closed where it and its rate are no more than theirs, and
    so at the rows beside it: between, a contact strikes or lets go, and a row does not say on which side it is.
    Friction sticks where nothing slips by more than its noise at these rows; if the first row is not sure, it may slip.

    Args:
        dyn: native code of the equations.
        parameters: values of all.
        time: of the rows [s].
        x: measured states [q, u], (rows, nq + n).
        stretch: rows in a stretch.

    Raises:
        ModelError: latches or switches; the first row does not say what is closed.
    """
    _require_known(dyn)
    looked = list(_looks(dyn, parameters, time, x))
    unsure = [look.c.name for look in looked if look.c.normal in look.rows and not look.sure[0]]
    if unsure:
        raise ModelError(
            f"the first row does not say whether {listed(unsure, 3)} is closed: within its noise it may be, or may "
            "strike or let go; begin with a row at which gaps are clearly open, or closed and at rest"
        )
    last, rows = len(x) - 1, [0]
    sure = np.logical_and.reduce([np.ones(len(x), bool), *(look.sure for look in looked)])
    for k in range(stretch, max(last - stretch // 2, 1)):
        if sure[k] and k >= rows[-1] + stretch:
            rows.append(k)
    closed = [[look for look in looked if look.closed[k] and look.sure[k]] for k in rows]
    return Beginnings(rows, [tuple(row for look in own for row in look.rows) for own in closed])


def _require_known(dyn: Dynamics) -> None:
    """Refuse what a state does not tell whether it is in force."""
    for c in dyn.equations.candidates:
        if c.candidate.bilateral or (c.normal is None and c.candidate.friction is None):
            raise ModelError(
                f"{c.name!r} is a latch or a switch, and states that were measured do not say whether it is in force: "
                "give udot, and leave out the rows in which it is"
            )


def _motions(rows: Sequence[Equation]) -> list[Expr]:
    return [row.motion for row in rows]


def _looks(dyn: Dynamics, parameters: Array, time: Array, x: Array) -> Iterator[_Sighted]:
    """The gap of each candidate that has one, and its slip where it has friction."""
    for c in dyn.equations.candidates:
        normal = () if c.normal is None else (c.normal,)
        closed: NDArray[np.bool_] = np.ones(len(x), bool)
        if normal:
            small, large = _sizes(dyn, [c.numbers[GAP], *_motions(normal)], parameters, time, x)
            closed = small[:, 0] & small[:, 1]
            yield _Sighted(c, normal, closed, closed | large[:, 0])
        if c.tangents and c.candidate.friction is not None:
            small, _ = _sizes(dyn, _motions(c.tangents), parameters, time, x)
            yield _Sighted(c, c.tangents, closed & small.all(axis=1), np.ones(len(x), bool))


def _sizes(
    dyn: Dynamics, of: list[Expr], parameters: Array, time: Array, x: Array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of some expressions are no more than their noise, and which are clearly positive, (rows, expressions)."""
    e, nq = dyn.equations, len(dyn.equations.q)
    values = {leaf.name: float(v) for leaf, v in zip(e.parameters, parameters, strict=True)}
    found = dyn.derivatives(list(e.unconstrained.baked_in(of)), wrt=("coordinates", "u"))(
        x[:, :nq], x[:, nq:], np.zeros((len(x), len(e.inputs))), time, parameters=values
    )
    by = np.concatenate([found["coordinates"], found["u"]], axis=2)
    rough = np.median(np.abs(np.diff(x, 2, axis=0)), axis=0) / MEDIAN if len(x) > 2 else np.zeros(x.shape[1])
    allowed = CLEAR * np.sqrt((by**2) @ rough**2) + ROUNDING
    return np.abs(found.value) <= allowed, found.value > allowed
