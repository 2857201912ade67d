"""Derivatives of a run, step by step, through the explicit Runge-Kutta steps that made it, forwards and backwards.

This module differentiates the slopes at all stages; ``engine.step.variations`` propagates them from step to step.
Direct variables are the inputs and parameters that enter the slopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from kane.array_types import Array
from kane.deferred import NamedTuple, dataclass
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Scheme
from kane.engine.step.variations import SpannedColumns, StepOutputs, StepSlopes, vary_backwards, vary_forwards
from kane.expression.node import Expr
from kane.formulation.derivatives.variables import displacements
from kane.geometry.quaternion import normalise_quaternions
from kane.simulation.inputs.input_plan import InputPlan
from kane.simulation.integrators.explicit import Explicit, dense_weights, scheme

# Number of steps whose stages are differentiated at once; they need some megabytes.
CHUNK = 256


class Affine(NamedTuple):
    """S+ = by_x S + by_p: propagation of small changes of the state and of the direct variables."""

    by_x: Array
    by_p: Array


class Slopes(NamedTuple):
    """Slopes at the stages of steps, (steps, stages, ...), and their derivatives."""

    times: Array
    value: Array
    by_x: Array
    by_p: Array


@dataclass(frozen=True, eq=False)
class ModeSlopes:
    """x' = f(t, x, inputs, parameters) in one mode, and the projection of states onto its constraints.

    Attributes:
        dyn: dynamics of the mode, with feedback laws substituted for inputs.
        plan: schedule of the inputs.
        parameters: values of all parameters.
        direct: names of the parameters among the direct variables.
    """

    dyn: Dynamics
    plan: InputPlan
    parameters: Array
    direct: tuple[str, ...]

    @property
    def widths(self) -> tuple[int, int, int]:
        """Numbers of coordinates, states and direct variables."""
        e = self.dyn.equations
        return len(e.q), len(e.q) + len(e.u), len(e.inputs) + len(self.direct)

    @cached_property
    def values(self) -> dict[str, float]:
        """The parameters by name."""
        names = (p.name for p in self.dyn.equations.parameters)
        return dict(zip(names, self.parameters.tolist(), strict=True))

    def inputs(self, t: Array, middle: Array) -> Array:
        """Return the inputs at times, (times, inputs); each time is in a step whose middle is given."""
        return self.plan.sampled(t, middle)

    def rates(self, t: Array, x: Array, inputs: Array) -> Array:
        """f at states."""
        rhs = self.dyn.function("rhs")
        return rhs(np.concatenate([t[:, None], x], axis=1), inputs, rhs.stage(self.parameters))

    def derivatives(self, t: Array, x: Array, inputs: Array) -> tuple[Array, Array]:
        """f_x (times, nx, nx) and f_p (times, nx, direct) at states."""
        d = self.dyn.derivatives("rhs", wrt=("coordinates", "u", "inputs", *self.direct))
        nq, nx, _ = self.widths
        if d.function is None:  # stages have quaternions of other than unit length, which functions of states reject
            x = self._unit(x)
        whole = d(x[:, :nq], x[:, nq:], inputs, t, parameters=self.values).whole
        return whole[..., :nx], whole[..., nx:]

    def projected(self, t: Array, x: Array) -> Affine | None:
        """Return the derivatives of the projection of states at the ends of steps; None without projection."""
        e, (_, nx, width) = self.dyn.equations, self.widths
        if not (e.constraints or e.closing or e.quaternions):
            return None
        by_x, by_p = np.tile(np.eye(nx), (len(t), 1, 1)), np.zeros((len(t), nx, width))
        for start in e.quaternions:
            part = slice(start, start + 4)
            by_x[:, part, part] -= x[:, part, None] * x[:, None, part]
        if e.constraints or e.closing:
            along = self._onto_constraints(t, x)
            return Affine(along.by_x @ by_x, along.by_p)
        return Affine(by_x, by_p)

    def _unit(self, x: Array) -> Array:
        x = x.copy()
        normalise_quaternions(x, self.dyn.equations.quaternions)
        return x

    def _onto_constraints(self, t: Array, x: Array) -> Affine:
        """Return the derivatives of the projection: smallest displacements of q, then dependent speeds."""
        e, (nq, nx, width) = self.dyn.equations, self.widths
        m, direct = len(e.inputs), self.direct
        state = (x[:, :nq], x[:, nq:], self.inputs(t, t), t)
        by_x, by_p = np.tile(np.eye(nx), (len(t), 1, 1)), np.zeros((len(t), nx, width))
        if e.closing:
            Y, gap = self.tangents(*state), self.closing(*state)
            back = Y @ np.linalg.pinv(gap["q"])
            by_x[:, :nq, :nq] -= back @ gap["coordinates"]
            for k, name in enumerate(direct):
                by_p[:, :nq, m + k] -= np.einsum("...ij,...j->...i", back, gap[name])
        if e.constraints:
            d = self.dyn.derivatives(list(e.u), wrt=("coordinates", "u", *direct))
            V = d(*state, parameters=self.values)
            by_x[:, nq:, :nq] = V["coordinates"] @ by_x[:, :nq, :nq]
            by_x[:, nq:, nq:] = V["u"]
            for k, name in enumerate(direct):
                own = np.einsum("...ij,...j->...i", V["coordinates"], by_p[:, :nq, m + k])
                by_p[:, nq:, m + k] = V[name] + own
        return Affine(by_x, by_p)

    def closing(self, q: Array, u: Array, inputs: Array, t: Any) -> Any:
        """Return the configuration residuals with derivatives by "q", "coordinates" and the direct variables."""
        rows = [row.configuration for row in self.dyn.equations.closing if row.configuration is not None]
        d = self.dyn.derivatives(rows, wrt=("q", "coordinates", *self.direct))
        return d(q, u, inputs, t, parameters=self.values)

    def tangents(self, q: Array, u: Array, inputs: Array, t: Any) -> Array:
        """Return dq along each of the joints' own speeds, (..., nq, own)."""
        e = self.dyn.equations
        along: list[Expr] = []
        for leaf in e.q:
            along += [d.get(leaf, leaf.arena.zero) for d in displacements(e).directions]
        found = self.dyn.derivatives(along, wrt=("q",))(q, u, inputs, t, parameters=self.values).value
        return found.reshape(*found.shape[:-1], len(e.q), -1)


@dataclass(frozen=True, eq=False)
class Leg:
    """Steps in one mode: their ends t, (steps + 1), and projected states x, (steps + 1, nx)."""

    motion: ModeSlopes
    t: Array
    x: Array

    def chunks(self) -> Iterator[Leg]:
        """Yield up to CHUNK steps at a time, in order."""
        for start in range(0, len(self.t) - 1, CHUNK):
            yield Leg(self.motion, self.t[start : start + CHUNK + 1], self.x[start : start + CHUNK + 1])

    def values(self, table: Scheme) -> tuple[Array, Array, Array]:
        """Return times, slopes and states of all stages, including those of the interpolant.

        Their shapes are (steps, stages), (steps, stages, nx) and (steps, stages, nx).
        """
        t, h = self.t[:-1], np.diff(self.t)
        value = np.zeros((len(h), len(table.nodes), self.x.shape[1]))
        times = t[:, None] + np.array(table.nodes) * h[:, None]
        stages = np.empty_like(value)
        for i in range(len(table.nodes)):
            stages[:, i] = self.x[:-1] + h[:, None] * np.einsum("j,kjx->kx", table.coefficients[i], value)
            inputs = self.motion.inputs(times[:, i], t + h / 2)
            value[:, i] = self.motion.rates(times[:, i], stages[:, i], inputs)
        return times, value, stages

    def ends(self, table: Scheme, slopes: Array) -> Array:
        """Return the states at the ends of the steps before projection, (steps, nx), from the slopes of all stages."""
        weights = table.coefficients[table.last][: table.last]
        return self.x[:-1] + np.diff(self.t)[:, None] * np.einsum("j,kjx->kx", weights, slopes[:, : table.last])

    def slopes(self, table: Scheme) -> Slopes:
        """Return the slopes of all stages with their derivatives."""
        t, h = self.t[:-1], np.diff(self.t)
        times, value, stages = self.values(table)
        flat = times.reshape(-1), stages.reshape(-1, stages.shape[2])
        inputs = self.motion.inputs(flat[0], np.repeat(t + h / 2, len(table.nodes)))
        by_x, by_p = self.motion.derivatives(*flat, inputs)
        shape = value.shape[:2]
        return Slopes(times, value, by_x.reshape(*shape, *by_x.shape[1:]), by_p.reshape(*shape, *by_p.shape[1:]))

    def steps(self, found: Slopes, table: Scheme) -> StepSlopes:
        """As native loops take them."""
        count = found.times.size
        by_x, by_p = (np.ascontiguousarray(a.reshape(count, *a.shape[2:])) for a in (found.by_x, found.by_p))
        after = self.motion.projected(self.t[1:], self.x[1:])
        nothing = Affine(np.zeros((0, *by_x.shape[1:])), np.zeros((0, *by_p.shape[1:])))
        projected = [np.ascontiguousarray(a) for a in after or nothing]
        return StepSlopes(np.diff(self.t), table.coefficients, table.last, by_x, by_p, *projected)

    def stretches(self, answers: AnswerPasses) -> list[tuple[int, int]]:
        """Return ranges of steps between the times at which answers change, as pairs of first and end."""
        cuts = [k for k in range(1, len(self.t) - 1) if self.t[k] in answers.times]
        return list(pairwise([0, *cuts, len(self.t) - 1])) if len(self.t) > 1 else []

    def looks(self, found: Slopes, method: Explicit, out: ForwardResults, columns: int) -> StepOutputs:
        """Return the weights of recorded times inside these steps; append the states there to ``out``."""
        dense = dense_weights(method.tableau)
        powers = np.arange(1, dense.shape[1] + 1)
        weights, count = [np.zeros((0, len(dense)))], 0
        first, end, places = [0], list[int](), list[int]()
        for k, h in enumerate(np.diff(self.t)):
            low, high = sorted(self.t[k : k + 2])
            within = out.wanted[(out.wanted > low) & (out.wanted < high)]
            rows = h * (dense @ ((within - self.t[k]) / h)[None, :] ** powers[:, None]).T
            weights.append(rows)
            out.x.extend(self.x[k] + rows @ found.value[k])
            places += range(count, count + len(within))
            first.append(len(places))
            count += len(within)
            at_end = self.t[k + 1] in out.wanted
            end.append(count if at_end else -1)
            if at_end:
                out.x.append(self.x[k + 1])
                count += 1
        starts, ends, at = (np.array(numbers, np.int64) for numbers in (first, end, places))
        return StepOutputs(starts, np.concatenate(weights), ends, at, np.empty((count, self.x.shape[1], columns)))


def steps_between(states: Array, begin: Array, end: Array) -> Array:
    """Return the states [t, x] of a run from one state to another, (times, 1 + nx), both included."""
    inside = states[(states[:, 0] - begin[0]) * (end[0] - states[:, 0]) > 0.0]
    return np.concatenate([begin[None], inside, end[None]])


def integrated(motion: ModeSlopes, times: Array, x: Array, table: Scheme, known: Mapping[float, Array]) -> Leg:
    """Return the motion of a mode from the state x, one step from each time to the next, without guards.

    Known states at some of the times are kept.
    """
    states = [x]
    for t, end in pairwise(times.tolist()):
        step = Leg(motion, np.array([t, end]), np.array([states[-1]] * 2))
        states.append(known[end] if end in known else step.ends(table, step.values(table)[1])[0])
    return Leg(motion, times, np.array(states))


class AnswerPasses(Protocol):
    """Changes of the input derivatives at times of states; see ``HeldAnswers``."""

    @property
    def times(self) -> Set[float]: ...
    def pass_forwards(self, t: float, S: Array, chosen: Array) -> None: ...
    def pass_backwards(self, t: float, weight: Array, direct: Array) -> Array: ...


class ForwardResults(NamedTuple):
    """Results of the forward mode at recorded times: states (nx,) and S (nx, columns)."""

    wanted: Array
    x: list[Array]
    S: list[Array]
    answers: AnswerPasses


def through_pieces(
    pieces: Iterable[tuple[Leg, Affine | None]], method: Explicit, S: Array, chosen: Array, out: ForwardResults
) -> Iterator[tuple[Leg, Array, Array]]:
    """Yield each piece with S at its start and at its end, when the results of the piece are in ``out``.

    Args:
        pieces: steps of one mode, and the transition after them; None after the last piece.
        method, S, chosen, out: as in ``through_piece``.
    """
    for piece, jump in pieces:
        begin, S = S, through_piece(piece, method, S, chosen, out)
        yield piece, begin, S
        if jump is not None:
            S = jump.by_x @ S + jump.by_p @ chosen


def through_piece(piece: Leg, method: Explicit, S: Array, chosen: Array, out: ForwardResults) -> Array:
    """Return S at the end of a piece; ``out`` receives the results at recorded times.

    Args:
        piece: steps of one mode.
        method: integrator of the steps.
        S: derivatives at the start of the piece, (nx, columns).
        chosen: derivatives of the direct variables, (direct, columns); answers of sampled laws change them.
        out: collects the results.
    """
    table, S = scheme(method), np.array(S)
    dK = np.zeros((len(table.nodes), *S.shape))
    for part in piece.chunks():
        found = part.slopes(table)
        looks = part.looks(found, method, out, S.shape[1])
        given = part.steps(found, table)
        for begin, end in part.stretches(out.answers):
            out.answers.pass_forwards(part.t[begin], S, chosen)
            vary_forwards(given, begin, end, spanned(chosen), S, looks, dK, np.empty_like(S))
        out.S.extend(looks.found)
    return S


def spanned(chosen: Array) -> SpannedColumns:
    """Return the derivatives of the direct variables, (direct, columns), as native loops need them."""
    there, columns = chosen != 0.0, chosen.shape[1]
    first = np.where(there.any(axis=1), there.argmax(axis=1), columns) if columns else np.zeros(len(chosen), int)
    behind = columns - there[:, ::-1].argmax(axis=1) if columns else first
    return SpannedColumns(chosen, np.stack([first, behind], axis=1).astype(np.int64))


class ReverseResults(NamedTuple):
    """Results of the reverse mode: weights of the direct variables, and of inputs at the stages of steps."""

    direct: Array
    times: list[Array]
    middles: list[Array]
    inputs: list[Array]
    answers: AnswerPasses

    def add(self, times: Array, middle: float, weights: Array) -> None:
        """Add weights of the direct variables at some times of one step, (times, direct), and record them."""
        self.direct[:] += weights.sum(axis=0)
        self.record(times, middle, weights)

    def record(self, times: Array, middle: float, weights: Array) -> None:
        """Record weights that ``direct`` contains already; the inputs come first among the direct variables."""
        self.times.append(times)
        self.middles.append(np.full(len(times), middle))
        self.inputs.append(weights)


def back_through_piece(piece: Leg, method: Explicit, weight: Array, out: ReverseResults) -> Array:
    """Return the weight of the state at the start of a piece from the weight at its end; ``out`` collects the rest."""
    table, weight = scheme(method), np.array(weight)
    n, m = np.empty((table.last, len(weight))), np.empty((1, len(weight)))
    for part in reversed(list(piece.chunks())):
        found = part.slopes(table)
        given, weights = part.steps(found, table), np.empty((len(part.t) - 1, table.last, out.direct.size))
        for begin, end in reversed(part.stretches(out.answers)):
            vary_backwards(given, begin, end, weight, out.direct, weights, n, m)
            weight = out.answers.pass_backwards(part.t[begin], weight, out.direct)
        for k in range(len(weights) - 1, -1, -1):
            out.record(found.times[k, : table.last], 0.5 * (part.t[k] + part.t[k + 1]), weights[k])
    return weight


def direct_columns(motion: ModeSlopes, names: Sequence[str]) -> Array:
    """Return the derivatives of the direct variables by the names, (direct, names): entries are 0 or 1."""
    known = [*(leaf.name for leaf in motion.dyn.equations.inputs), *motion.direct]
    return np.array([[float(name == column) for name in names] for column in known]).reshape(len(known), len(names))
