"""Derivatives of a run, step by step: those of the explicit Runge-Kutta steps that made it, forwards and backwards.

With the slopes K_i at the stages X_i = x + h sum_j a_ij K_j of a step, all that is linear in a small change S of x is

    dK_i = f_x (S + h sum_j a_ij dK_j) + f_p,   S+ = S + h sum_i b_i dK_i,

f_x and f_p taken at the stages; backwards a change of the step's end weighs l+ and one of its beginning

    l = l+ + sum_i n_i,   n_i = f_x^T m_i,   m_i = h b_i l+ + h sum_j a_ji n_j.

Source: Hager 2000; Sanz-Serna 2016, Sec. 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.dynamics.dynamics import Dynamics
from kane.expression.node import Expr
from kane.formulation.derivatives.variables import displacements
from kane.native.arrays import Scheme
from kane.simulation.asked.inputs import InputPlan
from kane.simulation.integrators.explicit import Explicit, dense_weights, scheme

Array = NDArray[np.float64]
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
        nq, nx, width = self.widths
        if d.function is None:  # the quaternions of stages are not of unit length, which numbers at states ask for
            x = self._unit(x)
        J = d(x[:, :nq], x[:, nq:], inputs, t, parameters=self.values)
        by_p = np.empty((len(t), nx, width))
        by_p[..., : inputs.shape[1]] = J["inputs"]
        for k, name in enumerate(self.direct):
            by_p[..., inputs.shape[1] + k] = J[name]
        return np.concatenate([J["coordinates"], J["u"]], axis=-1), by_p

    def settled(self, t: Array, x: Array) -> Affine | None:
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
        for start in self.dyn.equations.quaternions:
            x[:, start : start + 4] /= np.linalg.norm(x[:, start : start + 4], axis=1, keepdims=True)
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

    def slopes(self, table: Scheme) -> Slopes:
        """At all stages, those of the interpolant too."""
        t, h = self.t[:-1], np.diff(self.t)
        value = np.zeros((len(h), len(table.nodes), self.x.shape[1]))
        times = t[:, None] + np.array(table.nodes) * h[:, None]
        stages = np.empty_like(value)
        for i in range(len(table.nodes)):
            stages[:, i] = self.x[:-1] + h[:, None] * np.einsum("j,kjx->kx", table.coefficients[i], value)
            inputs = self.motion.inputs(times[:, i], t + h / 2)
            value[:, i] = self.motion.rates(times[:, i], stages[:, i], inputs)
        flat = times.reshape(-1), stages.reshape(-1, stages.shape[2])
        inputs = self.motion.inputs(flat[0], np.repeat(t + h / 2, len(table.nodes)))
        by_x, by_p = self.motion.derivatives(*flat, inputs)
        shape = value.shape[:2]
        return Slopes(times, value, by_x.reshape(*shape, *by_x.shape[1:]), by_p.reshape(*shape, *by_p.shape[1:]))

    def settled(self) -> Affine | None:
        """Of each step's end."""
        return self.motion.settled(self.t[1:], self.x[1:])


class Passed(NamedTuple):
    """What forward derivatives leave at the times that are wanted: states (nx,) and S (nx, columns)."""

    wanted: Array
    x: list[Array]
    S: list[Array]


def forward(piece: Leg, method: Explicit, S: Array, chosen: Array, out: Passed) -> Array:
    """S at the end of a piece; ``out`` gets what is wanted within it.

    Args:
        piece: steps.
        method: that took them.
        S: at their beginning, (nx, columns).
        chosen: which of what is varied directly each column varies, (direct, columns).
        out: what is added to.
    """
    table, dense, wanted = scheme(method), dense_weights(method.tableau), out.wanted
    for part in piece.chunks():
        found, after = part.slopes(table), part.settled()
        by_p = found.by_p @ chosen
        for k, h in enumerate(np.diff(part.t)):
            dK = np.zeros((len(table.nodes), *S.shape))
            for i, row in enumerate(table.coefficients):
                dK[i] = found.by_x[k, i] @ (S + h * np.tensordot(row[:i], dK[:i], 1)) + by_p[k, i]
            begin, end = sorted(part.t[k : k + 2])
            for t in wanted[(wanted > begin) & (wanted < end)]:
                weights = h * (dense @ ((t - part.t[k]) / h) ** np.arange(1, dense.shape[1] + 1))
                out.x.append(part.x[k] + weights @ found.value[k])
                out.S.append(S + np.tensordot(weights, dK, 1))
            S = S + h * np.tensordot(table.coefficients[table.last], dK, 1)
            if after is not None:
                S = after.by_x[k] @ S + after.by_p[k] @ chosen
            if part.t[k + 1] in wanted:
                out.x.append(part.x[k + 1])
                out.S.append(S)
    return S


class Weights(NamedTuple):
    """What backward derivatives collect: of what is varied directly, and of inputs at the stages of steps."""

    direct: Array
    times: list[Array]
    middles: list[Array]
    inputs: list[Array]


def backward(piece: Leg, method: Explicit, weight: Array, out: Weights) -> Array:
    """The weight of the state at the beginning of a piece, from that at its end; ``out`` is added to."""
    table = scheme(method)
    b, last, m = table.coefficients[table.last], table.last, len(piece.motion.dyn.equations.inputs)
    for part in reversed(list(piece.chunks())):
        found, after = part.slopes(table), part.settled()
        for k in range(len(part.t) - 2, -1, -1):
            h = part.t[k + 1] - part.t[k]
            if after is not None:
                out.direct[:] += after.by_p[k].T @ weight
                weight = after.by_x[k].T @ weight
            n, stages = np.zeros((last, len(weight))), np.zeros((last, out.direct.size))
            for i in range(last - 1, -1, -1):
                mu = h * (b[i] * weight + table.coefficients[i + 1 : last, i] @ n[i + 1 :])
                n[i] = found.by_x[k, i].T @ mu
                stages[i] = found.by_p[k, i].T @ mu
            out.direct[:] += stages.sum(axis=0)
            out.times.append(found.times[k, :last])
            out.middles.append(np.full(last, part.t[k] + h / 2))
            out.inputs.append(stages[:, :m])
            weight = weight + n.sum(axis=0)
    return weight


def direct_columns(motion: ModeSlopes, names: Sequence[str]) -> Array:
    """Which of what is varied directly the names vary, (direct, names)."""
    known = [*(leaf.name for leaf in motion.dyn.equations.inputs), *motion.direct]
    return np.array([[float(name == column) for name in names] for column in known]).reshape(len(known), len(names))
