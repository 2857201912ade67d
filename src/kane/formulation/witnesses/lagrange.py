"""Lagrange's equations by differentiation of energies: a witness independent of velocity maps and remainders.

Each joint contributes only R_FM(q), p_FM(q), and dq/dt = kinematics(q, u, t), which defines the speeds. Velocities of
mass centres are time derivatives of positions, and angular velocities follow from R^T dR/dt. With L = T - V in q and
dq/dt,

    N^T (d/dt dL/d(dq/dt) - dL/dq - Q) = 0,  dq/dt = N(q, t) u + n(q, t),

where Q dq is the work of the loads. The projection by N also covers quaternions: the columns of N are tangent to their
unit sphere. Values of T and V off the sphere therefore have no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.derivative import forward, gradient, linear_coefficients, total_time_derivative
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import (
    ACCELERATION,
    COORDINATE,
    INPUT,
    MEASURE,
    OPERATIONS,
    PARAMETER,
    RATE,
    SPEED,
    TIME,
)
from kane.expression.traverse import leaves, substitute_nodes
from kane.geometry.rotation import Rotation
from kane.model.body import ANGULAR_VELOCITY, POSITION, Body, Measure
from kane.model.connection import Connection
from kane.model.model import Model

PoseArrays = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class LagrangeEquations:
    """Lagrange's equations of a model, projected onto the speeds: M udot + bias = input forces.

    Attributes:
        t, q, u, udot: leaves, as in the Equations of the model.
        kinematics: dq/dt, nq expressions of q, u and t.
        energy: kinetic energy in q, u and t, and potential energy of gravity [J].
        inverse: M udot + bias, n expressions.
        input_forces: generalized forces due to the inputs, n expressions; B inputs if they are linear.
    """

    t: Expr
    q: tuple[Expr, ...]
    u: tuple[Expr, ...]
    udot: tuple[Expr, ...]
    kinematics: tuple[Expr, ...]
    energy: tuple[Expr, Expr]
    inverse: tuple[Expr, ...]
    input_forces: tuple[Expr, ...]

    def __repr__(self) -> str:
        return f"<LagrangeEquations in {', '.join(map(repr, (*self.q, *self.u)))}>"

    @cached_property
    def bias(self) -> tuple[Expr, ...]:
        """The terms without udot."""
        return tuple(substitute_nodes(self.inverse, {x: x.arena.zero for x in self.udot}))

    @cached_property
    def mass_matrix(self) -> tuple[tuple[Expr, ...], ...]:
        """M, n x n: the coefficients of udot."""
        rows, _ = linear_coefficients(self.inverse, self.udot)
        return tuple(map(tuple, rows))


def lagrange(model: Model) -> LagrangeEquations:
    """Derive Lagrange's equations of a model, including prescribed, mimic and quaternion joints and all loads.

    Raises:
        ModelError: a load depends on a quantity that has no value in these equations, or a body is not connected.
    """
    require(model, Model, "lagrange takes a kane.Model")
    with collector_paused():
        return _Lagrangian(model).equations()


class _Lagrangian:
    """T, V and the work of the loads, in coordinates and their rates."""

    def __init__(self, model: Model) -> None:
        self.model, leaf = model, model.arena.leaf
        joints = [c for c in model.ordered_connections if c.coordinate_names]
        names = [n for c in joints for n in c.coordinate_names]
        self.q = tuple(leaf(COORDINATE, n) for n in names)
        self.u = tuple(leaf(SPEED, n) for c in joints for n in c.speed_names)
        self.udot = tuple(leaf(ACCELERATION, x.data) for x in self.u)
        self.rates = {q: leaf(RATE, q.data) for q in self.q}
        self.second = {r: leaf(INPUT, f"second derivative of {r.data}") for r in self.rates.values()}
        self.virtual = {q: leaf(INPUT, f"variation of {q.data}") for q in self.q}
        self.kinematics = tuple(x for c in joints for x in self._joint(c).kinematics)
        self.poses = self._poses()

    def _joint(self, c: Connection) -> Any:
        u = tuple(self.model.arena.leaf(SPEED, n) for n in c.speed_names)
        return c.joint.motion(c.coordinates, u or (self.model.arena.zero,) * c.joint.nu)

    def _poses(self) -> dict[Body, PoseArrays]:
        """Return R_NB and p_NoBo of every body."""
        found: dict[Body, PoseArrays] = {self.model.ground: (np.eye(3).astype(object), _array((0.0,) * 3))}
        waiting = list(self.model.connections)
        while waiting:
            ready = [c for c in waiting if c.parent in found]
            if not ready:
                raise ModelError(
                    f"body {waiting[0].parent.name!r} hangs on nothing; connect it to a parent or the ground"
                )
            for c in ready:
                R_NP, p = found[c.parent]
                motion = self._joint(c)
                R_NF = R_NP @ _matrix(c.R_PF)
                R_NC = R_NF @ _matrix(motion.R_FM) @ _matrix(c.R_CM).T
                found[c.child] = R_NC, p + R_NP @ _array(c.p_PF) + R_NF @ _array(motion.p_FM) - R_NC @ _array(c.p_CM)
            waiting = [c for c in waiting if c not in ready]
        return found

    def _point(self, body: Body, point: Sequence[Any]) -> np.ndarray:
        R, p = self.poses[body]
        return np.asarray(p + R @ _array(point))

    def _changed(self, entries: np.ndarray, rates: dict[Expr, Expr], *, virtual: bool = False) -> np.ndarray:
        """Return derivatives along a motion, or along a virtual displacement, at fixed time."""
        roots = [self.model.arena.lift(x) for x in entries.ravel()]
        along = forward(roots, rates) if virtual else total_time_derivative(roots, rates)
        return np.array(along, dtype=object).reshape(entries.shape)

    def _turning(self, body: Body, rates: dict[Expr, Expr], *, virtual: bool = False) -> np.ndarray:
        """Return w_NB along the body's axes, from R^T dR/dt."""
        R = self.poses[body][0]
        W = R.T @ self._changed(R, rates, virtual=virtual)
        return _array((W[2, 1], W[0, 2], W[1, 0]))

    def energies(self) -> tuple[Expr, Expr]:
        """Return T, and V of gravity, in q, dq/dt and t."""
        kinetic = potential = self.model.arena.zero
        for body in self.model.bodies[1:]:
            com = self._point(body, body.com)
            v, w = self._changed(com, self.rates), self._turning(body, self.rates)
            kinetic = kinetic + 0.5 * (body.mass * (v @ v) + w @ _array(body.inertia) @ w)
            potential = potential - body.mass * (_array(self.model.gravity) @ com)
        return kinetic, potential

    def work(self) -> list[Expr]:
        """Return Q, the work of the loads per unit variation of each q, in q, dq/dt, t and inputs."""
        total = self.model.arena.zero
        for load in self.model.loads:
            effect = load.effect()
            for along, effort in effect.efforts:
                total = total + effort * forward([along.q], self.virtual)[0]
            for w in effect.wrenches:
                frame, body = self.poses[w.expressed_in][0], w.point.body
                moved = self._changed(self._point(body, w.point.position_in_body), self.virtual, virtual=True)
                turned = self.poses[body][0] @ self._turning(body, self.virtual, virtual=True)
                total = total + (frame @ _array(w.force)) @ moved + (frame @ _array(w.torque)) @ turned
        Q = gradient(total, list(self.virtual.values()))
        return substitute_nodes(Q, {x: x.arena.lift(self._measured(x.data)) for x in self._measures(Q)})

    def _measures(self, expressions: Sequence[Expr]) -> list[Expr]:
        known = {*self.q, *self.rates.values()}
        found = []
        for leaf in leaves(expressions):
            if leaf.op == MEASURE:
                found.append(leaf)
            elif leaf not in known and leaf.op not in (PARAMETER, INPUT, TIME):
                kind = OPERATIONS[leaf.op].name
                raise ModelError(
                    f"a load depends on the {kind} {leaf.name!r}, which has no value in this model's equations"
                )
        return found

    def _measured(self, measure: Measure) -> Any:
        bodies = self.model.bodies
        body = bodies[measure.body]
        direction = self.poses[bodies[measure.direction_body]][0] @ _array(measure.direction)
        if measure.kind == ANGULAR_VELOCITY:
            return (self.poses[body][0] @ self._turning(body, self.rates)) @ direction
        p = self._point(body, measure.point)
        return (p if measure.kind == POSITION else self._changed(p, self.rates)) @ direction

    def equations(self) -> LagrangeEquations:
        kinetic, potential = self.energies()
        rates, zero = list(self.rates.values()), self.model.arena.zero
        momenta = total_time_derivative(gradient(kinetic, rates), self.rates | self.second)
        slopes = gradient(kinetic - potential, self.q)
        work = self.work()
        inputs = {self.model.arena.leaf(INPUT, n): zero for n in self.model.inputs}
        passive = substitute_nodes(work, inputs)
        left = [a - b - c for a, b, c in zip(momenta, slopes, passive, strict=True)]
        driven = [a - b for a, b in zip(work, passive, strict=True)]
        *values, T = self._in_speeds([*left, *driven, kinetic])
        n = len(self.q)
        projected = (self._projected(values[:n]), self._projected(values[n:]))
        t = self.model.time
        return LagrangeEquations(t, self.q, self.u, self.udot, self.kinematics, (T, potential), *projected)

    def _in_speeds(self, expressions: list[Expr]) -> list[Expr]:
        """Replace rates and second derivatives of q by their values for given u and udot."""
        along = dict(zip(self.q, self.kinematics, strict=True)) | dict(zip(self.u, self.udot, strict=True))
        second = total_time_derivative(self.kinematics, along)
        values = dict(zip(self.rates.values(), self.kinematics, strict=True))
        return substitute_nodes(expressions, values | dict(zip(self.second.values(), second, strict=True)))

    def _projected(self, forces: Sequence[Expr]) -> tuple[Expr, ...]:
        N, _ = linear_coefficients(self.kinematics, self.u)
        totals = [self.model.arena.zero] * len(self.u)
        for row, force in zip(N, forces, strict=True):
            totals = [total + c * force for total, c in zip(totals, row, strict=True)]
        return tuple(totals)


def _array(v: Sequence[Any]) -> np.ndarray:
    return np.array(v, dtype=object)


def _matrix(R: Rotation) -> np.ndarray:
    return np.array(R.entries, dtype=object)
