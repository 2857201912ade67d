"""Derivatives of a run, step by step: those of the explicit Runge-Kutta steps that made it, forwards and backwards.

Here are the derivatives of slopes at all stages; ``native.variations`` passes them on from step to step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.expression.node import Expr
from kane.formulation.derivatives.variables import displacements
from kane.geometry.quaternion import normalise_quaternions
from kane.native.arrays import Scheme
from kane.native.variations import Looks, SpannedColumns, StepSlopes, vary_backwards, vary_forwards
from kane.simulation.inputs.input_plan import InputPlan
from kane.simulation.integrators.explicit import Explicit, dense_weights, scheme

# Steps whose stages are derived at once: some megabytes.
CHUNK = 256


class Affine(NamedTuple):
    """S+ = by_x S + by_p: how small changes go on, of the state and of what is varied directly (inputs, parameters)."""

    by_x: Array
    by_p: Array


class Slopes(NamedTuple):
    """What belongs to the stages of steps, (steps, stages, ...): slopes, and their derivatives."""

    times: Array
    value: Array
    by_x: Array
    by_p: Array


@dataclass(frozen=True, eq=False)
class ModeSlopes:
    """x' = f(t, x, inputs, parameters) in one mode, and how states are settled on its constraints.

    Attributes:
        dyn: of the mode, laws of feedback in place of inputs.
        plan: what drives the inputs.
        parameters: values of all.
        direct: names of the parameters that are varied.
    """

    dyn: Dynamics
    plan: InputPlan
    parameters: Array
    direct: tuple[str, ...]

    @property
    def widths(self) -> tuple[int, int, int]:
        """How many coordinates, states, and columns of what is varied directly there are."""
        e = self.dyn.equations
        return len(e.q), len(e.q) + len(e.u), len(e.inputs) + len(self.direct)

    @cached_property
    def values(self) -> dict[str, float]:
        """The parameters by name."""
        names = (p.name for p in self.dyn.equations.parameters)
        return dict(zip(names, self.parameters.tolist(), strict=True))

    def inputs(self, t: Array, middle: Array) -> Array:
        """Inputs at times, each in a step whose middle is given, (times, inputs)."""
        return self.plan.sampled(t, middle)

    def rates(self, t: Array, x: Array, inputs: Array) -> Array:
        """f at states."""
        rhs = self.dyn.function("rhs")
        return rhs(np.concatenate([t[:, None], x], axis=1), inputs, rhs.stage(self.parameters))

    def derivatives(self, t: Array, x: Array, inputs: Array) -> tuple[Array, Array]:
        """f_x (times, nx, nx) and f_p (times, nx, direct) at states."""
        d = self.dyn.derivatives("rhs", wrt=("coordinates", "u", "inputs", *self.direct))
        nq, nx, _ = self.widths
        if d.function is None:  # the quaternions of stages are not of unit length, which numbers at states ask for
            x = self._unit(x)
        whole = d(x[:, :nq], x[:, nq:], inputs, t, parameters=self.values).whole
        return whole[..., :nx], whole[..., nx:]

    def projected(self, t: Array, x: Array) -> Affine | None:
        """How a state that a step has reached follows as it is settled; None where nothing is."""
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
        """Coordinates move by the least displacements onto the constraints, dependent speeds follow."""
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
        """The residuals of the configuration, derived by "q", "coordinates" and what is varied directly."""
        rows = [row.configuration for row in self.dyn.equations.closing if row.configuration is not None]
        d = self.dyn.derivatives(rows, wrt=("q", "coordinates", *self.direct))
        return d(q, u, inputs, t, parameters=self.values)

    def tangents(self, q: Array, u: Array, inputs: Array, t: Any) -> Array:
        """dq along each of the joints' own speeds, (..., nq, own)."""
        e = self.dyn.equations
        along: list[Expr] = []
        for leaf in e.q:
            along += [d.get(leaf, leaf.arena.zero) for d in displacements(e).directions]
        found = self.dyn.derivatives(along, wrt=("q",))(q, u, inputs, t, parameters=self.values).value
        return found.reshape(*found.shape[:-1], len(e.q), -1)


@dataclass(frozen=True, eq=False)
class Leg:
    """Steps in one mode: their ends t (steps + 1) and x (steps + 1, nx), settled."""

    motion: ModeSlopes
    t: Array
    x: Array

    def chunks(self) -> Iterator[Leg]:
        """So many steps at a time, in their order."""
        for start in range(0, len(self.t) - 1, CHUNK):
            yield Leg(self.motion, self.t[start : start + CHUNK + 1], self.x[start : start + CHUNK + 1])

    def values(self, table: Scheme) -> tuple[Array, Array, Array]:
        """Times (steps, stages), slopes and states (steps, stages, nx) of all stages, those of the interpolant too."""
        t, h = self.t[:-1], np.diff(self.t)
        value = np.zeros((len(h), len(table.nodes), self.x.shape[1]))
        times = t[:, None] + np.array(table.nodes) * h[:, None]
        stages = np.empty_like(value)
        for i in range(len(table.nodes)):
            stages[:, i] = self.x[:-1] + h[:, None] * np.einsum("j,kjx->kx", table.coefficients[i], value)
            inputs = self.motion.inputs(times[:, i], t + h / 2)
            value[:, i] = self.motion.rates(times[:, i], stages[:, i], inputs)
        return times, value, stages

    def slopes(self, table: Scheme) -> Slopes:
        """Slopes of all stages with their derivatives."""
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

    def stretches(self, answers: Passing) -> list[tuple[int, int]]:
        """Steps between which answers change something: the first, and behind the last."""
        cuts = [k for k in range(1, len(self.t) - 1) if self.t[k] in answers.times]
        return list(pairwise([0, *cuts, len(self.t) - 1])) if len(self.t) > 1 else []

    def looks(self, found: Slopes, method: Explicit, out: Passed, columns: int) -> Looks:
        """What is wanted of these steps; the states there are put out."""
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
        return Looks(starts, np.concatenate(weights), ends, at, np.empty((count, self.x.shape[1], columns)))


class Passing(Protocol):
    """What changes the derivatives of inputs at times of states; see ``HeldAnswers``."""

    @property
    def times(self) -> Set[float]: ...
    def pass_forwards(self, t: float, S: Array, chosen: Array) -> None: ...
    def pass_backwards(self, t: float, weight: Array, direct: Array) -> Array: ...


class Passed(NamedTuple):
    """What forward derivatives leave at the times that are wanted: states (nx,) and S (nx, columns)."""

    wanted: Array
    x: list[Array]
    S: list[Array]
    answers: Passing


def forward(piece: Leg, method: Explicit, S: Array, chosen: Array, out: Passed) -> Array:
    """S at the end of a piece; ``out`` gets what is wanted within it.

    Args:
        piece: steps.
        method: that took them.
        S: at their beginning, (nx, columns).
        chosen: the derivatives of what is varied directly, (direct, columns), which answers change.
        out: what is added to.
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
    """The derivatives of what is varied directly, (direct, columns), as native loops take them."""
    there, columns = chosen != 0.0, chosen.shape[1]
    first = np.where(there.any(axis=1), there.argmax(axis=1), columns) if columns else np.zeros(len(chosen), int)
    behind = columns - there[:, ::-1].argmax(axis=1) if columns else first
    return SpannedColumns(chosen, np.stack([first, behind], axis=1).astype(np.int64))


class Weights(NamedTuple):
    """What backward derivatives collect: of what is varied directly, and of inputs at the stages of steps."""

    direct: Array
    times: list[Array]
    middles: list[Array]
    inputs: list[Array]
    answers: Passing

    def add(self, times: Array, middle: float, shares: Array) -> None:
        """Take shares into account and note them."""
        self.direct[:] += shares.sum(axis=0)
        self.note(times, middle, shares)

    def note(self, times: Array, middle: float, shares: Array) -> None:
        """Shares of what is varied directly at some times of one step, (times, direct); inputs come first in it."""
        self.times.append(times)
        self.middles.append(np.full(len(times), middle))
        self.inputs.append(shares)


def backward(piece: Leg, method: Explicit, weight: Array, out: Weights) -> Array:
    """The weight of the state at the beginning of a piece, from that at its end; ``out`` is added to."""
    table, weight = scheme(method), np.array(weight)
    n, m = np.empty((table.last, len(weight))), np.empty((1, len(weight)))
    for part in reversed(list(piece.chunks())):
        found = part.slopes(table)
        given, shares = part.steps(found, table), np.empty((len(part.t) - 1, table.last, out.direct.size))
        for begin, end in reversed(part.stretches(out.answers)):
            vary_backwards(given, begin, end, weight, out.direct, shares, n, m)
            weight = out.answers.pass_backwards(part.t[begin], weight, out.direct)
        for k in range(len(shares) - 1, -1, -1):
            out.note(found.times[k, : table.last], 0.5 * (part.t[k] + part.t[k + 1]), shares[k])
    return weight


def direct_columns(motion: ModeSlopes, names: Sequence[str]) -> Array:
    """Which of what is varied directly the names vary, (direct, names)."""
    known = [*(leaf.name for leaf in motion.dyn.equations.inputs), *motion.direct]
    return np.array([[float(name == column) for name in names] for column in known]).reshape(len(known), len(names))
