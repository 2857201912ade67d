"""sensitivities: how a motion changes with parameters, initial values and inputs.

Derivatives are those of the steps that made the run, forwards (S = dx/dp, one column for each name) or backwards (one
weight for each state, whatever the number of names), through changes of the mode by saltation matrices.

Source: Griewank & Walther 2008, Chap. 3 and 4, for both directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.analysis.retrace import Retraced, retraced
from kane.analysis.variations import Affine, ModeSlopes, Passed, Weights, backward, direct_columns, forward
from kane.errors import ModelError, shown
from kane.expression.arguments import require, words
from kane.expression.node import Expr
from kane.model.checks import near
from kane.model.named_vector import position
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.recorded.trajectory import Trajectory

Array = NDArray[np.float64]
# A displacement along the constraints changes a coordinate that it should by 1 but for this; else it cannot.
IMMOVABLE = 1e-8


class Profile(NamedTuple):
    """Derivatives by inputs over time: at times in steps of known middles, (stages,) each, by (stages, inputs)."""

    times: Array
    middles: Array
    by: Array


@dataclass(frozen=True, eq=False)
class Adjoint(Mapping[str, float]):
    """The derivatives of a cost at the last state, ``a["L1"]`` by the name of what was varied.

    Attributes:
        inputs: those by the inputs over time: where stages of steps lie, (stages,) [s], and of the cost by each input
            there, (stages, inputs): a change du(t) of the inputs changes the cost by sum_k by[k] . du(times[k]).
    """

    inputs: Profile
    _values: Mapping[str, float]
    _retraced: Retraced

    def samples(self, name: str) -> Array:
        """The derivatives by the samples of an input that was ``kane.Held`` or ``kane.Interpolated``, (samples,).

        Raises:
            ModelError: no such input, or it has no samples.
        """
        plan = self._retraced.problem.plan
        column = position(name, plan.names, "input")
        if column not in plan.samples:
            raise ModelError(f"the input {name!r} has no samples; a constant one is a name in wrt")
        given = plan.samples[column]
        each = type(given)(given.times, np.eye(len(given.times)))
        return np.asarray(self.inputs.by[:, column] @ each.at(self.inputs.times, self.inputs.middles))

    def __getitem__(self, name: str) -> float:
        if name not in self._values:
            raise KeyError(f"there is no derivative by {name!r}; there are {', '.join(self._values)}")
        return self._values[name]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives of a motion, ``s["L1"]`` by the name of what is varied: of q, then u, (times, nq + n).

    Attributes:
        time: (times,) [s].
        names: of what is varied.
        states: of q and u.
    """

    time: Array
    names: tuple[str, ...]
    states: tuple[str, ...]
    _retraced: Retraced
    _start: Affine

    def __getitem__(self, name: str) -> Array:
        return self._forward[1][:, :, position(name, self.names, "derivative by")]

    @property
    def run(self) -> Array:
        """The motion itself at these times, (times, nq + n), as its steps are taken again."""
        return self._forward[0]

    @cached_property
    def final(self) -> Mapping[str, Array]:
        """The derivatives of the last state, (nq + n,) by name."""
        return {name: self[name][-1] for name in self.names}

    def gradient(self, cost: Expr) -> dict[str, float]:
        """The derivatives of an expression at the last state, by name of what is varied: forwards.

        Raises:
            ModelError: as of ``Dynamics.derivatives``.
        """
        by_x, by_p = self._cost(cost)
        chosen = self._chosen
        return {name: float(by_x @ S + by_p @ chosen[:, k]) for k, (name, S) in enumerate(self.final.items())}

    def adjoint(self, cost: Expr) -> Adjoint:
        """The same derivatives backwards, at the price of one run whatever the number of names.

        They are those of ``gradient`` to rounding, and those by inputs over time besides.

        Raises:
            ModelError: as of ``Dynamics.derivatives``.
        """
        weight, direct = self._cost(cost)
        found, out = self._retraced, Weights(direct.copy(), [], [], [])
        for piece, jump in zip(reversed(found.pieces), (*reversed(found.jumps), None), strict=True):
            weight = backward(piece, found.method, weight, out)
            if jump is not None:
                along = jump.derived()
                out.direct[:] += along.by_p.T @ weight
                weight = along.by_x.T @ weight
        total = self._start.by_x.T @ weight + self._chosen.T @ (out.direct + self._start.by_p.T @ weight)
        m = len(found.problem.plan.names)
        by = [np.concatenate(rows) if rows else np.zeros((0, *tail)) for rows, tail in self._stages(out, m)]
        return Adjoint(Profile(*by), dict(zip(self.names, total.tolist(), strict=True)), found)

    @staticmethod
    def _stages(out: Weights, m: int) -> list[tuple[list[Array], tuple[int, ...]]]:
        return [(out.times[::-1], ()), (out.middles[::-1], ()), (out.inputs[::-1], (m,))]

    @cached_property
    def _chosen(self) -> Array:
        return direct_columns(self._retraced.pieces[0].motion, self.names)

    @cached_property
    def _forward(self) -> tuple[Array, Array]:
        """States and S, (times, nx, ...)."""
        found, chosen = self._retraced, self._chosen
        S = self._start.by_x + self._start.by_p @ chosen
        out = Passed(found.times[1:], [found.pieces[0].x[0]], [S])
        for piece, jump in zip(found.pieces, (*found.jumps, None), strict=True):
            S = forward(piece, found.method, S, chosen, out)
            if jump is not None:
                along = jump.derived()
                S = along.by_x @ S + along.by_p @ chosen
        return np.array(out.x), np.array(out.S)

    def _cost(self, cost: Expr) -> tuple[Array, Array]:
        """Of an expression at the last state by the state and by what is varied directly."""
        require(cost, Expr, "a cost is one expression of the model")
        piece = self._retraced.pieces[-1]
        motion, (nq, _, _) = piece.motion, piece.motion.widths
        t, x = piece.t[-1:], piece.x[-1:]
        found = motion.dyn.derivatives(cost, wrt=("coordinates", "u", "inputs", *motion.direct))
        slopes = found(x[:, :nq], x[:, nq:], motion.inputs(t, t), t, parameters=motion.values)
        direct = [float(slopes[name][0]) for name in motion.direct]
        by_x = np.concatenate([slopes["coordinates"][0], slopes["u"][0]])
        return by_x, np.concatenate([slopes["inputs"][0], direct])

    def __repr__(self) -> str:
        return f"<Sensitivities of {self._retraced.problem.layout.model!r} by {', '.join(self.names)}>"


def sensitivities(
    run: Trajectory, *, wrt: Sequence[str], inputs: Any = None, integrator: Integrator | None = None
) -> Sensitivities:
    """The derivatives of a motion at its recorded times by parameters, initial values and constant inputs.

    The run is taken again with its own steps, of which these are the exact derivatives. Under constraints a coordinate
    that is varied takes along what it must, by the least displacements of the joints; dependent speeds follow. Where
    constraints come and go, changes of the mode are passed by saltation matrices, their order as it is in the run:
    impacts of one contact that sticks or has no friction, contacts and stops that stay closed, switches.

    Args:
        run: what ``kane.simulate`` returned.
        wrt: names of parameters, of coordinates and speeds (their initial values), of inputs that are constant.
        inputs: as they were given to ``simulate``, where they were not constant: expressions, ``kane.Interpolated`` or
            ``kane.Held``.
        integrator: an explicit one that chooses its steps; that of the run unless given, RK8() where that is implicit.

    Raises:
        ModelError: unknown names; inputs that are functions of Python, which have no derivatives; inputs that vary and
            are not given; friction that slips; charts.
        SimulationError: as of ``simulate``.
    """
    if not isinstance(run, Trajectory):
        raise ModelError(f"sensitivities are those of a trajectory, from kane.simulate, not of {shown(run)}")
    e, names = run.dynamics().equations, words(wrt, "wrt", "names")
    leaves = {leaf.name: leaf for leaf in (*e.inputs, *e.u, *e.q, *e.parameters)}
    parts = {e.q[start + k] for start in e.quaternions for k in range(4)}
    for name in names:
        if name not in leaves:
            raise ModelError(f"there is no parameter, coordinate, speed or input {name!r}; {near(name, list(leaves))}")
        if leaves[name] in parts:
            raise ModelError(f"{name!r} is a part of a quaternion and cannot be varied by itself")
    parameters = [p.name for p in e.parameters]
    found = retraced(run, inputs, integrator, [name for name in names if name in parameters])
    layout = found.problem.layout
    start = _started(found.pieces[0].motion, found.pieces[0].t[:1], found.pieces[0].x[:1], names)
    return Sensitivities(found.times, tuple(names), (*layout.coordinates, *layout.speeds), found, start)


def _started(motion: ModeSlopes, t: Array, x: Array, names: Sequence[str]) -> Affine:
    """The initial state by the names, and by what is varied directly: what must follow follows."""
    e, (nq, nx, width) = motion.dyn.equations, motion.widths
    states = [leaf.name for leaf in (*e.q, *e.u)]
    moved = np.array([[float(name == state) for name in names] for state in states]).reshape(nx, len(names))
    after = motion.settled(t, x) if e.constraints or e.closing else None
    if after is None:
        return Affine(moved, np.zeros((nx, width)))
    state = x[:, :nq], x[:, nq:], motion.inputs(t, t), t
    for k, name in enumerate(names):
        place = states.index(name) if name in states else nx
        if place < nq and e.closing:
            moved[:nq, k] = _carried(motion, state, place, name)
        elif nq <= place < nx and not np.isclose(after.by_x[0, place, place], 1.0, rtol=0.0, atol=IMMOVABLE):
            raise ModelError(f"{name!r} is a dependent speed here, which follows from the others; vary one of these")
    moved[nq:] = (after.by_x[0] @ moved)[nq:]
    return Affine(moved, after.by_p[0])


def _carried(motion: ModeSlopes, state: tuple[Array, ...], place: int, name: str) -> Array:
    """What a unit change of a coordinate changes of all, by the least displacements that keep the constraints."""
    Y, J = motion.tangents(*state)[0], motion.closing(*state)["q"][0]
    rows = np.vstack([J, Y[place]])
    wanted = np.zeros(len(rows))
    wanted[-1] = 1.0
    s = np.linalg.pinv(rows) @ wanted
    if np.abs(rows @ s - wanted).max() > IMMOVABLE:
        raise ModelError(f"the constraints hold {name!r}: it cannot be varied by itself")
    return np.asarray(Y @ s)
