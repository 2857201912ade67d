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

from kane.analysis.sensitivities.changed_charts import ChartedLeg
from kane.analysis.sensitivities.retrace import Retraced, retraced
from kane.analysis.sensitivities.variations import (
    Affine,
    ModeSlopes,
    Passed,
    Weights,
    backward,
    direct_columns,
    forward,
)
from kane.array_types import Array
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import require, words
from kane.model.checks import require_known
from kane.model.named_vector import index_of_name
from kane.simulation.events.event import Event
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.results.trajectory import Trajectory

# So near the last time, as a share of it, has an event to be at which the run ended.
NEAR_EVENT = 1e-6
# A displacement along the constraints changes a coordinate that it should by 1 but for this; else it cannot.
IMMOVABLE = 1e-8


class Profile(NamedTuple):
    """Derivatives by inputs over time: at times in steps of known middles, (stages,) each, by (stages, inputs)."""

    times: Array
    middles: Array
    by: Array


class _Slopes(NamedTuple):
    """An expression at the last state, by the state and by what is varied directly, and its rate in the motion."""

    value: float
    by_x: Array
    by_p: Array
    rate: float


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
        column = index_of_name(name, plan.names, "input")
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

    def __repr__(self) -> str:
        values = ", ".join(f"{name}: {value:.6g}" for name, value in self._values.items())
        return f"<Adjoint of {self._retraced.problem.layout.model!r}, {values}>"


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
    _ends: Event | None = None

    def __getitem__(self, name: str) -> Array:
        return self._forward[1][:, :, index_of_name(name, self.names, "derivative by")]

    @property
    def run(self) -> Array:
        """The motion itself at these times, (times, nq + n), as its steps are taken again."""
        return self._forward[0]

    @cached_property
    def final(self) -> Mapping[str, Array]:
        """The derivatives of the last state, (nq + n,) by name."""
        if self._ends is None:
            return {name: self[name][-1] for name in self.names}
        rates = self._last[0]
        return {name: self[name][-1] + rates * self.end[name] for name in self.names}

    @cached_property
    def end(self) -> Mapping[str, float]:
        """The derivatives of the last time by name: that of the event in ``ends``, zero where it is held."""
        if self._ends is None:
            return dict.fromkeys(self.names, 0.0)
        at = self._event
        moved = -(at.by_x @ self._forward[1][-1] + at.by_p @ self._forward[2]) / at.rate
        return dict(zip(self.names, moved.tolist(), strict=True))

    def gradient(self, cost: Expr) -> dict[str, float]:
        """The derivatives of an expression at the last state, by name of what is varied: forwards.

        Raises:
            ModelError: as of ``Dynamics.derivatives``.
        """
        by_x, by_p = self._cost(cost)
        found = by_x @ self._forward[1][-1] + by_p @ self._forward[2]
        return dict(zip(self.names, found.tolist(), strict=True))

    def adjoint(self, cost: Expr) -> Adjoint:
        """The same derivatives backwards, at the price of one run whatever the number of names.

        They are those of ``gradient`` to rounding, and those by inputs over time besides.

        Raises:
            ModelError: as of ``Dynamics.derivatives``.
        """
        weight, direct = self._cost(cost)
        found = self._retraced
        out = Weights(np.zeros_like(direct), [], [], [], found.answers.anew())
        last = found.pieces[-1].t[-1:]
        out.add(last, np.nextafter(last[0], -np.inf), direct[None, :])
        for piece, along in zip(reversed(found.pieces), (*reversed(self._jumps), None), strict=True):
            weight = backward(piece, found.method, weight, out)
            if along is not None:
                share = along.by_p.T @ weight
                out.add(piece.t[:1], np.nextafter(piece.t[0], -np.inf), share[None, :])
                weight = along.by_x.T @ weight
        total = self._start.by_x.T @ weight + self._chosen.T @ (out.direct + self._start.by_p.T @ weight)
        values = dict(zip(self.names, total.tolist(), strict=True))
        return Adjoint(_profile(out, len(found.problem.plan.names)), values, found)

    @cached_property
    def _jumps(self) -> list[Affine]:
        """What each change of the mode or of charts makes of S."""
        return [jump.derived() for jump in self._retraced.jumps]

    @cached_property
    def _chosen(self) -> Array:
        return direct_columns(self._retraced.pieces[0].motion, self.names)

    @cached_property
    def _forward(self) -> tuple[Array, Array, Array]:
        """States and S, (times, nx, ...), and the derivatives of what is varied directly at the last time."""
        found, chosen = self._retraced, self._chosen.copy()
        S = self._start.by_x + self._start.by_p @ chosen
        out = Passed(found.times[1:], [found.pieces[0].x[0]], [S], found.answers.anew())
        for piece, along in zip(found.pieces, (*self._jumps, None), strict=True):
            first = len(out.x)
            S = forward(piece, found.method, S, chosen, out)
            if isinstance(piece, ChartedLeg) and len(out.x) > first:
                own = np.array(out.x[first:]), np.array(out.S[first:])
                times = found.times[first : len(out.x)]
                out.x[first:], out.S[first:] = map(list, piece.declared(times, *own, out.x[first - 1]))
            if along is not None:
                S = along.by_x @ S + along.by_p @ chosen
        return np.array(out.x), np.array(out.S), chosen

    def _cost(self, cost: Expr) -> tuple[Array, Array]:
        """Of an expression at the last time, which may move, by the state there and by what is varied directly."""
        require(cost, Expr, "a cost is one expression of the model")
        found = self._slopes(cost)
        if self._ends is None:
            return found.by_x, found.by_p
        share = found.rate / self._event.rate
        return found.by_x - share * self._event.by_x, found.by_p - share * self._event.by_p

    def _slopes(self, value: Expr) -> _Slopes:
        """Of an expression at the last state."""
        rates, input_rates = self._last
        piece = self._retraced.pieces[-1]
        motion, (nq, _, _) = piece.motion, piece.motion.widths
        t, x = piece.t[-1:], piece.x[-1:]
        d = motion.dyn.derivatives(value, wrt=("coordinates", "u", "inputs", "t", *motion.direct))
        found = d(x[:, :nq], x[:, nq:], motion.inputs(t, t), t, parameters=motion.values)
        direct = [float(found[name][0]) for name in motion.direct]
        by_x = np.concatenate([found["coordinates"][0], found["u"][0]])
        rate = float(by_x @ rates + found["t"][0] + found["inputs"][0] @ input_rates)
        return _Slopes(float(found.value[0]), by_x, np.concatenate([found["inputs"][0], direct]), rate)

    @cached_property
    def _last(self) -> tuple[Array, Array]:
        """Rates of the state and of the inputs at the last time."""
        piece = self._retraced.pieces[-1]
        t, motion = piece.t[-1:], piece.motion
        before = motion.inputs(t, np.nextafter(t, -np.inf))
        return motion.rates(t, piece.x[-1:], before)[0], motion.plan.slopes(float(t[0]))

    @cached_property
    def _event(self) -> _Slopes:
        """Of the expression of the event.

        Raises:
            ModelError: it does not vanish at the last time.
        """
        assert self._ends is not None
        value, t = self._ends.expression, float(self._retraced.pieces[-1].t[-1])
        found = self._slopes(value)
        if not abs(found.value) <= NEAR_EVENT * max(1.0, abs(t)) * abs(found.rate):
            raise ModelError(
                f"the run did not end at this event: at its last time, {t:.9g} s, {value!r} is {found.value:.3g}; "
                "simulate with events=[kane.Event(..., terminal=True)] and give that event"
            )
        return found

    def require_derived(self) -> None:
        """Refuse a run with changes that have no derivative, or that did not end at the event in ``ends``."""
        _ = self._jumps
        if self._ends is not None:
            _ = self._event

    def __repr__(self) -> str:
        return f"<Sensitivities of {self._retraced.problem.layout.model!r} by {', '.join(self.names)}>"


def _profile(out: Weights, inputs: int) -> Profile:
    """Weights of inputs, in the order of time."""
    shares = np.concatenate([np.zeros((0, out.direct.size)), *out.inputs[::-1]])
    times, middles = (np.concatenate([np.zeros(0), *rows[::-1]]) for rows in (out.times, out.middles))
    return Profile(times, middles, shares[:, :inputs])


def sensitivities(
    run: Trajectory,
    *,
    wrt: Sequence[str],
    inputs: Any = None,
    integrator: Integrator | None = None,
    ends: Event | None = None,
) -> Sensitivities:
    """The derivatives of a motion at its recorded times by parameters, initial values and constant inputs.

    The run is taken again with its own steps, of which these are the exact derivatives. Under constraints a coordinate
    that is varied takes along what it must, by the least displacements of the joints; dependent speeds follow. Where
    constraints come and go, changes of the mode are passed by saltation matrices, their order as it is in the run:
    impacts of one contact or of several independent ones, contacts and stops that stay closed, slip, switches. The
    derived equations have to take the steps of the run to where they ended.

    Args:
        run: what ``kane.simulate`` returned.
        wrt: names of parameters, of coordinates and speeds (their initial values), of inputs that are constant.
        inputs: as they were given to ``simulate``, where they were not constant: expressions, ``kane.Interpolated`` or
            ``kane.Held``.
        integrator: an explicit one that chooses its steps; that of the run unless given, RK8() where that is implicit.
        ends: the event at which the run ended, if the last time is to be that of the event and moves with it:
            ``s.final``, ``s.gradient`` and ``s.adjoint`` are then of what is found at the event, ``s.end`` of its time.
            The last time is held unless given, and recorded times always are.

    Raises:
        ModelError: unknown names; inputs that are functions of Python, sampled ones without derivative=; inputs that
            vary and are not given; impacts that meet and act on each other, or in which a slip begins or ends; friction
            in space that begins to slip with no acceleration; sampled laws in a run that changed charts; equations that
            do not take the steps of the run; a run that did not end at the event.
        SimulationError: as of ``simulate``.
    """
    if not isinstance(run, Trajectory):
        raise ModelError(f"sensitivities are those of a trajectory, from kane.simulate, not of {shown(run)}")
    if ends is not None:
        require(ends, Event, "ends= is the kane.Event at which the run ended")
    e, names = run.dynamics().equations, words(wrt, "wrt", "names")
    leaves = {leaf.name: leaf for leaf in (*e.inputs, *e.u, *e.q, *e.parameters)}
    if len(set(names)) < len(names):
        raise ModelError(f"wrt={shown(list(names))} names something twice; name it once")
    parts = {e.q[start + k] for start in e.quaternions for k in range(4)}
    for name in names:
        require_known(name, leaves, "parameter, coordinate, speed or input")
        if leaves[name] in parts:
            raise ModelError(
                f"{name!r} is a part of a quaternion and cannot be varied by itself; vary an angle of a "
                "kane.Gimbal in its place"
            )
    parameters = [p.name for p in e.parameters]
    found = retraced(run, inputs, integrator, [name for name in names if name in parameters])
    layout = found.problem.layout
    start = _started(found.pieces[0].motion, found.pieces[0].t[:1], found.pieces[0].x[:1], names)
    made = Sensitivities(found.times, tuple(names), (*layout.coordinates, *layout.speeds), found, start, ends)
    made.require_derived()
    return made


def _started(motion: ModeSlopes, t: Array, x: Array, names: Sequence[str]) -> Affine:
    """The initial state by the names, and by what is varied directly: what must follow follows."""
    e, (nq, nx, width) = motion.dyn.equations, motion.widths
    states = [leaf.name for leaf in (*e.q, *e.u)]
    moved = np.array([[float(name == state) for name in names] for state in states]).reshape(nx, len(names))
    after = motion.projected(t, x) if e.constraints or e.closing else None
    if after is None:
        return Affine(moved, np.zeros((nx, width)))
    state = x[:, :nq], x[:, nq:], motion.inputs(t, t), t
    for k, name in enumerate(names):
        place = states.index(name) if name in states else nx
        if place < nq and e.closing:
            moved[:nq, k] = _carried(motion, state, place, name)
        elif nq <= place < nx and not np.isclose(after.by_x[0, place, place], 1.0, rtol=0.0, atol=IMMOVABLE):
            free = np.isclose(np.diagonal(after.by_x[0])[nq:], 1.0, rtol=0.0, atol=IMMOVABLE)
            others = ", ".join(speed for speed, own in zip(states[nq:], free, strict=True) if own)
            raise ModelError(
                f"{name!r} is a dependent speed where this run begins, which follows from {others}; vary one of these"
            )
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
        raise ModelError(
            f"the constraints hold {name!r}, so that it cannot be varied by itself; vary a coordinate that they "
            "leave free"
        )
    return np.asarray(Y @ s)
