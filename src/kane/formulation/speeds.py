"""Generalized speeds and the natural speeds of the joints, which are linear in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane.expression.derivative import linear_coefficients, total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import ACCELERATION, COORDINATE, INPUT, PARAMETER, RATE, SPEED, TIME
from kane.expression.traverse import substitute
from kane.model.connection import Connection
from kane.model.joints.joint import JointMotion
from kane.model.model import Model


@dataclass(frozen=True)
class Speeds:
    """Leaves of the motion, and the natural speeds w of all joints as w = C u + w_t, wdot = C udot + a_t.

    Attributes:
        q, u, udot: leaves, in the order of the state.
        kinematics: dq/dt in q, u and t.
        motion: the motion of each joint, by connection.
        first: position of a connection's natural speeds among all.
        natural: w, in q, u and t.
        C: rows of C, sparse: {column of u: coefficient}.
        a_t: accelerations free of udot.
        rates: image of every rate leaf.
    """

    q: tuple[Expr, ...]
    u: tuple[Expr, ...]
    udot: tuple[Expr, ...]
    kinematics: tuple[Expr, ...]
    motion: dict[Connection, JointMotion]
    first: dict[Connection, int]
    natural: list[Expr]
    C: list[dict[int, Expr]]
    a_t: list[Expr]
    rates: dict[Expr, Expr]

    @property
    def plain(self) -> bool:
        """Whether each natural speed is one generalized speed."""
        return len(self.C) == len(self.u) and all(len(row) == 1 for row in self.C)


def speeds_of(model: Model, connections: Sequence[Connection]) -> Speeds:
    """The speeds of a model whose moving connections are given in tree order."""
    arena = model.arena
    ordered = [c for c in model.ordered_connections if c.coordinate_names]
    q = tuple(arena.leaf(COORDINATE, n) for c in ordered for n in c.coordinate_names)
    names = [n for c in ordered for n in c.speed_names]
    u = tuple(arena.leaf(SPEED, n) for n in names)
    column = {n: j for j, n in enumerate(names)}
    motion: dict[Connection, JointMotion] = {}
    rates: dict[Expr, Expr] = {}
    for c in ordered:
        motion[c] = c.joint.motion(c.coordinates, tuple(u[column[n]] for n in c.speed_names))
        for name, rate in zip(c.coordinate_names, motion[c].kinematics, strict=True):
            rates[arena.leaf(RATE, name)] = arena.lift(rate)
    kinematics = tuple(rates[arena.leaf(RATE, leaf.data)] for leaf in q)
    natural: list[Expr] = []
    C: list[dict[int, Expr]] = []
    a_t: list[Expr] = []
    first: dict[Connection, int] = {}
    changes = dict(zip(q, kinematics, strict=True)) | {model.time: arena.one}
    for c in connections:
        first[c] = len(C)
        if c.coordinate_names:
            natural.extend(u[column[n]] for n in c.speed_names)
            C.extend({column[n]: arena.one} for n in c.speed_names)
            a_t.extend(arena.zero for _ in c.speed_names)
            continue
        rate = substitute([c.qdot], rates)[0]  # type: ignore[list-item]
        motion[c] = c.joint.motion(c.coordinates, (rate,))
        natural.append(rate)
        row = linear_coefficients([rate], u)[0][0]
        C.append({j: x for j, x in enumerate(row) if x is not arena.zero})
        a_t.append(total_time_derivative([rate], changes)[0])
    udot = tuple(arena.leaf(ACCELERATION, n) for n in names)
    return Speeds(q, u, udot, kinematics, motion, first, natural, C, a_t, rates)


def leaves_of(model: Model) -> tuple[tuple[Expr, ...], tuple[Expr, ...], Expr]:
    """Parameter leaves, input leaves and the leaf of time."""
    arena = model.arena
    parameters = tuple(arena.leaf(PARAMETER, n) for n in model.parameters)
    inputs = tuple(arena.leaf(INPUT, n) for n in model.inputs)
    return parameters, inputs, arena.leaf(TIME, "t")
