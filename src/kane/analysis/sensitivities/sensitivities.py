"""sensitivities: derivatives of a motion by parameters, initial values and inputs.

The steps of the run are differentiated forwards (S = dx/dp, one column per name) or backwards (one weight per state,
for any number of names). Saltation matrices carry the derivatives through transitions between modes.

Source: Griewank & Walther 2008, Chap. 3 and 4, for both directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kane.analysis.sensitivities.chart_changes import ChartedLeg
from kane.analysis.sensitivities.run_replay import Replay, replayed
from kane.analysis.sensitivities.variations import (
    Affine,
    ForwardResults,
    ModeSlopes,
    ReverseResults,
    back_through_piece,
    direct_columns,
    through_pieces,
)
from kane.array_types import Array
from kane.deferred import NamedTuple, dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import require, words
from kane.model.checks import require_known
from kane.model.named_vector import index_of_name
from kane.simulation.events.event import Event
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.results.trajectory import Trajectory

# Largest distance between the last time and the event at which the run ended, relative to the last time.
NEAR_EVENT = 1e-6
# Tolerance for the unit change of a coordinate along the constraints; a coordinate beyond it cannot change.
IMMOVABLE = 1e-8


class Profile(NamedTuple):
    """Derivatives by the inputs over time, (stages, inputs).

    The times of the stages and the middles of their steps are (stages,) each.
    """

    times: Array
    middles: Array
    by: Array


class _Slopes(NamedTuple):
    """Value of an expression at the last state, derivatives by state and direct variables, and time derivative."""

    value: float
    by_x: Array
    by_p: Array
    rate: float


@dataclass(frozen=True, eq=False)
class Adjoint(Mapping[str, float]):
    """Derivatives of a cost at the last state, ``a["L1"]`` by name.

    Attributes:
        inputs: derivatives by the inputs over time: times of the stages, (stages,) [s], and derivatives ``by`` of the
            cost, (stages, inputs). A change du(t) of the inputs changes the cost by sum_k by[k] . du(times[k]).
    """

    inputs: Profile
    _values: Mapping[str, float]
    _replay: Replay

    def samples(self, name: str) -> Array:
        """Return the derivatives by the samples of a ``kane.Held`` or ``kane.Interpolated`` input, (samples,).

        Raises:
            ModelError: there is no such input, or it has no samples.
        """
        plan = self._replay.problem.plan
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
        return f"<Adjoint of {self._replay.problem.layout.model!r}, {values}>"


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives of a motion, ``s["L1"]`` by name: of q, then of u, (times, nq + n).

    Attributes:
        time: (times,) [s].
        names: names of the parameters, initial values and inputs.
        states: names of q and u.
    """

    time: Array
    names: tuple[str, ...]
    states: tuple[str, ...]
    _replay: Replay
    _start: Affine
    _ends: Event | None = None

    def __getitem__(self, name: str) -> Array:
        return self._forward[1][:, :, index_of_name(name, self.names, "derivative by")]

    @property
    def run(self) -> Array:
        """Motion at these times from repeated steps, (times, nq + n)."""
        return self._forward[0]

    @cached_property
    def final(self) -> Mapping[str, Array]:
        """Derivatives of the last state, (nq + n,) by name."""
        if self._ends is None:
            return {name: self[name][-1] for name in self.names}
        rates = self._last[0]
        return {name: self[name][-1] + rates * self.end[name] for name in self.names}

    @cached_property
    def end(self) -> Mapping[str, float]:
        """Derivatives of the last time by name: of the event in ``ends``, zero without it."""
        if self._ends is None:
            return dict.fromkeys(self.names, 0.0)
        at = self._event
        moved = -(at.by_x @ self._forward[1][-1] + at.by_p @ self._forward[2]) / at.rate
        return dict(zip(self.names, moved.tolist(), strict=True))

    def gradient(self, cost: Expr) -> dict[str, float]:
        """Return the derivatives of an expression at the last state by name, in forward mode.

        Raises:
            ModelError: as ``Dynamics.derivatives``.
        """
        by_x, by_p = self._cost(cost)
        found = by_x @ self._forward[1][-1] + by_p @ self._forward[2]
        return dict(zip(self.names, found.tolist(), strict=True))

    def adjoint(self, cost: Expr) -> Adjoint:
        """Return the derivatives of ``gradient`` in reverse mode, at the cost of one run for any number of names.

        They equal ``gradient`` up to rounding, and include the derivatives by inputs over time.

        Raises:
            ModelError: as ``Dynamics.derivatives``.
        """
        weight, direct = self._cost(cost)
        found = self._replay
        out = ReverseResults(np.zeros_like(direct), [], [], [], found.answers.anew())
        last = found.pieces[-1].t[-1:]
        out.add(last, np.nextafter(last[0], -np.inf), direct[None, :])
        for piece, along in zip(reversed(found.pieces), (*reversed(self._jumps), None), strict=True):
            weight = back_through_piece(piece, found.method, weight, out)
            if along is not None:
                share = along.by_p.T @ weight
                out.add(piece.t[:1], np.nextafter(piece.t[0], -np.inf), share[None, :])
                weight = along.by_x.T @ weight
        total = self._start.by_x.T @ weight + self._chosen.T @ (out.direct + self._start.by_p.T @ weight)
        values = dict(zip(self.names, total.tolist(), strict=True))
        return Adjoint(_profile(out, len(found.problem.plan.names)), values, found)

    @cached_property
    def _jumps(self) -> list[Affine]:
        """Saltation matrix of each transition between modes or charts."""
        return [jump.derived() for jump in self._replay.jumps]

    @cached_property
    def _chosen(self) -> Array:
        return direct_columns(self._replay.pieces[0].motion, self.names)

    @cached_property
    def _forward(self) -> tuple[Array, Array, Array]:
        """States and S, (times, nx, ...), and the derivatives of the direct variables at the last time."""
        found, chosen = self._replay, self._chosen.copy()
        S = self._start.by_x + self._start.by_p @ chosen
        out = ForwardResults(found.times[1:], [found.pieces[0].x[0]], [S], found.answers.anew())
        first = 1
        pieces = zip(found.pieces, (*self._jumps, None), strict=True)
        for piece, _, _ in through_pieces(pieces, found.method, S, chosen, out):
            if isinstance(piece, ChartedLeg) and len(out.x) > first:
                own = np.array(out.x[first:]), np.array(out.S[first:])
                times = found.times[first : len(out.x)]
                out.x[first:], out.S[first:] = map(list, piece.declared(times, *own, out.x[first - 1]))
            first = len(out.x)
        return np.array(out.x), np.array(out.S), chosen

    def _cost(self, cost: Expr) -> tuple[Array, Array]:
        """Return the derivatives of an expression by state and direct variables at the last time, which may move."""
        require(cost, Expr, "a cost is one expression of the model")
        found = self._slopes(cost)
        if self._ends is None:
            return found.by_x, found.by_p
        share = found.rate / self._event.rate
        return found.by_x - share * self._event.by_x, found.by_p - share * self._event.by_p

    def _slopes(self, value: Expr) -> _Slopes:
        """Return the derivatives of an expression at the last state."""
        rates, input_rates = self._last
        piece = self._replay.pieces[-1]
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
        piece = self._replay.pieces[-1]
        t, motion = piece.t[-1:], piece.motion
        before = motion.inputs(t, np.nextafter(t, -np.inf))
        return motion.rates(t, piece.x[-1:], before)[0], motion.plan.slopes(float(t[0]))

    @cached_property
    def _event(self) -> _Slopes:
        """Derivatives of the expression of the event.

        Raises:
            ModelError: the expression does not vanish at the last time.
        """
        assert self._ends is not None
        value, t = self._ends.expression, float(self._replay.pieces[-1].t[-1])
        found = self._slopes(value)
        if not abs(found.value) <= NEAR_EVENT * max(1.0, abs(t)) * abs(found.rate):
            raise ModelError(
                f"the run did not end at this event: at its last time, {t:.9g} s, {value!r} is {found.value:.3g}; "
                "simulate with events=[kane.Event(..., terminal=True)] and give that event"
            )
        return found

    def require_derived(self) -> None:
        """Raise if a transition has no derivative, or if the run did not end at the event in ``ends``."""
        _ = self._jumps
        if self._ends is not None:
            _ = self._event

    def __repr__(self) -> str:
        return f"<Sensitivities of {self._replay.problem.layout.model!r} by {', '.join(self.names)}>"


def _profile(out: ReverseResults, inputs: int) -> Profile:
    """Return the derivatives by inputs, in the order of time."""
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
    """Differentiate a motion at its recorded times by parameters, initial values and constant inputs.

    The steps of the run are repeated, and the result is their exact derivative. Under constraints, the change of a
    coordinate is completed by the smallest displacements of the joints; dependent speeds follow. With intermittent
    constraints, saltation matrices carry derivatives through transitions, whose order does not change. They cover
    impacts of one contact or of several independent ones, contacts and stops that stay closed, slip, and switches. The
    derived equations must reproduce the steps of the run.

    Args:
        run: result of ``kane.simulate``.
        wrt: names of parameters, of coordinates and speeds (their initial values), and of constant inputs.
        inputs: inputs that were not constant, as given to ``simulate``: expressions, ``kane.Interpolated`` or
            ``kane.Held``.
        integrator: explicit method with step-size control; by default the method of the run, or RK8() if that is
            implicit.
        ends: event at which the run ended, if the last time moves with the event. ``s.final``, ``s.gradient`` and
            ``s.adjoint`` then apply at the event, and ``s.end`` to its time. By default the last time is fixed.
            Recorded times are always fixed.

    Raises:
        ModelError: names are unknown; inputs are Python functions; sampled laws have no derivative=; inputs that vary
            are missing; impacts act on each other, or a slip begins or ends in them; friction in space begins to slip
            with no acceleration; a run with sampled laws changed charts; ``on=`` or ``off=`` depends on an input; the
            equations do not reproduce the steps of the run; the run did not end at the event.
        SimulationError: as ``simulate``.
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
    found = replayed(run, inputs, integrator, [name for name in names if name in parameters])
    layout = found.problem.layout
    start = _started(found.pieces[0].motion, found.pieces[0].t[:1], found.pieces[0].x[:1], names)
    made = Sensitivities(found.times, tuple(names), (*layout.coordinates, *layout.speeds), found, start, ends)
    made.require_derived()
    return made


def _started(motion: ModeSlopes, t: Array, x: Array, names: Sequence[str]) -> Affine:
    """Return the derivatives of the initial state by the names and by the direct variables, under constraints."""
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
    """Return the smallest change of all coordinates on the constraints for a unit change of one coordinate."""
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
