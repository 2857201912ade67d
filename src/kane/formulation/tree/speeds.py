"""Generalized speeds u, and the natural speeds of the joints, which are linear in u."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kane.deferred import dataclass
from kane.expression.derivative import linear_coefficients, total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import ACCELERATION, COORDINATE, INPUT, PARAMETER, RATE, SPEED, TIME
from kane.expression.traverse import substitute_nodes
from kane.geometry.scalars import dot
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
        first: index of a connection's first natural speed among all.
        natural: w, in q, u and t.
        C: rows of C, sparse: {column of u: coefficient}.
        a_t: accelerations free of udot.
        rates: value of every rate leaf, in q, u and t.
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

    def natural_accelerations(self, udot: Sequence[Any]) -> list[Any]:
        """Return wdot = C udot + a_t."""
        rows = zip(self.C, self.a_t, strict=True)
        return [dot(tuple(row.values()), [udot[j] for j in row]) + a for row, a in rows]

    @property
    def are_natural(self) -> bool:
        """Return whether each natural speed is one generalized speed."""
        units = all(len(row) == 1 and all(x is x.arena.one for x in row.values()) for row in self.C)
        return units and len(self.C) == len(self.u) and all(a is a.arena.zero for a in self.a_t)


def natural_speeds(model: Model, connections: Sequence[Connection]) -> Speeds:
    """Return speeds with the joints' own speeds as generalized speeds; connections are in tree order."""
    arena = model.arena
    names = [n for c in _moving(model) for n in c.speed_names]
    # If the model declares other speeds, the joints' own speeds are rate leaves, which the definitions contain.
    kind = RATE if model.speed_choice.definitions else SPEED
    leaves = {n: arena.leaf(kind, n) for n in names}
    return speeds_of(model, connections, leaves, tuple(leaves.values()), names)


def speeds_of(
    model: Model, connections: Sequence[Connection], own: Mapping[str, Expr], u: tuple[Expr, ...], names: Sequence[str]
) -> Speeds:
    """Return speeds from expressions for the joints' own speeds.

    Args:
        connections: the connections that move links, in tree order.
        own: the joints' own speeds by name, linear in u.
        u, names: leaves and names of the generalized speeds.
    """
    arena, ordered = model.arena, _moving(model)
    q = tuple(arena.leaf(COORDINATE, n) for c in ordered for n in c.coordinate_names)
    rates: dict[Expr, Expr] = {arena.leaf(RATE, n): x for n, x in own.items()}
    motion: dict[Connection, JointMotion] = {}
    for c in ordered:
        motion[c] = c.joint.motion(c.coordinates, tuple(own[n] for n in c.speed_names))
        for name, rate in zip(c.coordinate_names, motion[c].kinematics, strict=True):
            rates[arena.leaf(RATE, name)] = arena.lift(rate)
    kinematics = tuple(rates[arena.leaf(RATE, leaf.data)] for leaf in q)
    natural: list[Expr] = []
    first: dict[Connection, int] = {}
    for c in connections:
        first[c] = len(natural)
        if not c.joint.nu:
            motion[c] = c.joint.motion((), ())
        elif c.coordinate_names:
            natural.extend(own[n] for n in c.speed_names)
        else:
            natural.extend(substitute_nodes([c.qdot], rates))  # type: ignore[list-item]
            motion[c] = c.joint.motion(c.coordinates, natural[-1:])
    changes = dict(zip(q, kinematics, strict=True)) | {model.time: arena.one}
    rows = linear_coefficients(natural, u)[0] if natural else []
    C = [{j: x for j, x in enumerate(row) if x is not arena.zero} for row in rows]
    a_t = total_time_derivative(natural, changes)
    udot = tuple(arena.leaf(ACCELERATION, n) for n in names)
    return Speeds(q, u, udot, kinematics, motion, first, natural, C, a_t, rates)


def _moving(model: Model) -> list[Connection]:
    return [c for c in model.ordered_connections if c.coordinate_names]


def leaves_of(model: Model) -> tuple[tuple[Expr, ...], tuple[Expr, ...], Expr]:
    """Return the parameter leaves, the input leaves and the leaf of time."""
    arena = model.arena
    parameters = tuple(arena.leaf(PARAMETER, n) for n in model.parameters)
    inputs = tuple(arena.leaf(INPUT, n) for n in model.inputs)
    return parameters, inputs, arena.leaf(TIME, "t")
