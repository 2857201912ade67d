"""Loads of a tree, stacked by body: forces along N and torques along body axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.operations import INPUT, MEASURE, OPERATIONS, PARAMETER, TIME
from kane.expression.traverse import leaves
from kane.formulation.tree.body_tree import BodyTree
from kane.formulation.tree.loads import forces_in
from kane.formulation.witnesses.path_kinematics import PathKinematics
from kane.model.body import ANGULAR_VELOCITY, POSITION, Measure


def with_values(tree: BodyTree, found: PathKinematics) -> BodyTree:
    """Return the tree with rates and measures in its loads replaced by their values.

    Raises:
        ModelError: a load depends on a quantity that has no value in these equations.
    """
    speeds, values = found.speeds, dict[Expr, Expr]()
    known = {*speeds.q, *speeds.u}
    for leaf in leaves(forces_in(tree.loads)):
        if leaf in speeds.rates:
            values[leaf] = speeds.rates[leaf]
        elif leaf.op == MEASURE:
            values[leaf] = leaf.arena.lift(_measured(found, leaf.data))
        elif leaf not in known and leaf.op not in (PARAMETER, INPUT, TIME):
            kind = OPERATIONS[leaf.op].name
            raise ModelError(
                f"a load depends on the {kind} {leaf.name!r}, which has no value in this model's equations"
            )
    return tree.replaced(values)


def _measured(found: PathKinematics, measure: Measure) -> Any:
    places = {m.body.index: k for k, m in enumerate(found.tree.members)}
    k = places[measure.body]
    direction = found.R[places[measure.direction_body]] @ np.array(measure.direction, dtype=object)
    arm = _arm(found, k, measure.point)
    if measure.kind == POSITION:
        return (found.p[k] + arm) @ direction
    w = found.R[k] @ found.w[k]
    return w @ direction if measure.kind == ANGULAR_VELOCITY else (found.v[k] + np.cross(w, arm)) @ direction


def _arm(found: PathKinematics, k: int, point: Sequence[Any]) -> np.ndarray:
    """Return the position along N of a point of a member, given in its frame, from its mass centre."""
    com = found.tree.members[k].body.com
    return found.R[k] @ (np.array(point, dtype=object) - np.array(com, dtype=object))


def forces_and_torques(tree: BodyTree, found: PathKinematics, gravity: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return forces F along N and torques T about mass centres along body axes, 3 per body of the tables.

    Raises:
        ModelError: a load acts on a body that the tables leave out.
    """
    members = tree.members
    F = [np.array([m.body.mass * g for g in gravity], dtype=object) for m in members]
    T = [np.full(3, 0.0, dtype=object) for _ in members]
    for _, effect in tree.loads:
        for wrench in effect.wrenches:
            k, frame = tree.place(wrench.point.body), found.R[tree.place(wrench.expressed_in)]
            force, torque = (frame @ np.array(x, dtype=object) for x in (wrench.force, wrench.torque))
            F[k] = F[k] + force
            moment = torque + np.cross(_arm(found, k, wrench.point.position_in_body), force)
            T[k] = T[k] + found.R[k].T @ moment
            if 0 < k < found.first:
                raise ModelError(
                    f'a load acts on {members[k].body.name!r}, which only carries the root; use speeds="model"'
                )
    return np.concatenate(F[found.first :]), np.concatenate(T[found.first :])


def generalized_efforts(tree: BodyTree, found: PathKinematics) -> np.ndarray:
    """Return efforts along joint coordinates as generalized forces, one per column."""
    total = np.full(found.C.shape[1], 0.0, dtype=object)
    for _, effect in tree.loads:
        for along, effort in effect.efforts:
            row = found.C[found.speeds.first[along.connection] + along.place]
            total = total + np.array([c * effort for c in row], dtype=object)
    return total
