"""Path tables of a tree, and Kane's equation assembled from them: COEF udot = RHS.

COEF = Omega^T I Omega + V^T m V and RHS = Omega^T (T - I alpha_r - w x H) + V^T (F - m a_r). Angular quantities of a
body are along its own axes, linear quantities along the axes of N. Omega and V follow from the joint path table: if
joint k is in the path of body b, their entries are ^bC^o Gamma_k and ^NC^o (Gamma_k x r + Delta_k). Here o is the outer
body of the joint, and r the vector from the joint's point to the mass centre of b. Gamma_k is the matrix of joint
partials, and Delta_k the same for sliding, which the paper's joints do not have. The code uses plain 3 x 3 matrices of
the joints' own motion, and shares nothing with the other routes.

Source: Stoneking 2008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.collector import collector_paused
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.number_arguments import number, numbers, require
from kane.expression.operations import INPUT, MEASURE, OPERATIONS, PARAMETER, TIME
from kane.expression.traverse import leaves
from kane.formulation.read_model import system_of
from kane.formulation.tree.body_tree import BodyTree, body_tree
from kane.formulation.tree.loads import forces_in
from kane.formulation.tree.speeds import Speeds, leaves_of
from kane.formulation.witnesses.path_kinematics import PathKinematics
from kane.model.body import ANGULAR_VELOCITY, POSITION, Measure
from kane.model.checks import require_known
from kane.model.model import Model

SPEEDS = ("model", "paper")


@dataclass(frozen=True)
class PathMatrices:
    """Matrices of the paper, as arrays of expressions or of numbers.

    Attributes:
        Omega: (3 Nb, Nu), body axes; w = Omega u + w_t.
        V: (3 Nb, Nu), N axes; v = V u + v_t, of mass centres.
        I: (3 Nb, 3 Nb), central inertias along body axes [kg m^2].
        m: (3 Nb, 3 Nb), masses [kg].
        w: (3 Nb), angular velocities, body axes [rad/s].
        alpha_r: (3 Nb), remainder angular accelerations, body axes [rad/s^2].
        a_r: (3 Nb), remainder accelerations of mass centres, N axes [m/s^2].
        T: (3 Nb), torques about mass centres, body axes [N m].
        F: (3 Nb), forces, N axes [N].
        efforts: (Nu), generalized forces of motors, springs and dampers.
        COEF: (Nu, Nu).
        RHS: (Nu), with ``efforts``.
    """

    Omega: np.ndarray
    V: np.ndarray
    I: np.ndarray
    m: np.ndarray
    w: np.ndarray
    alpha_r: np.ndarray
    a_r: np.ndarray
    T: np.ndarray
    F: np.ndarray
    efforts: np.ndarray
    COEF: np.ndarray
    RHS: np.ndarray


@dataclass(frozen=True)
class PathTables:
    """Path tables and matrices of a tree, from ``path_tables``; prints as the two tables.

    Attributes:
        bodies: names, parents first, without the ground.
        joints: names, in the order of declaration.
        body_path, joint_path: (Nb, Nb) booleans: is this body, or joint, in the path of that body?
        speed_names: names of the columns.
        speeds: their values, as expressions of the model's q, u and t.
        matrices: matrices of expressions.
        state, inputs, parameters: leaves: (t, q, u), inputs, parameters.
        defaults: default values of the parameters, by name.
    """

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    body_path: np.ndarray
    joint_path: np.ndarray
    speed_names: tuple[str, ...]
    speeds: tuple[Expr, ...]
    matrices: PathMatrices
    state: tuple[Expr, tuple[Expr, ...], tuple[Expr, ...]]
    inputs: tuple[Expr, ...]
    parameters: tuple[Expr, ...]
    defaults: Mapping[str, float]

    def evaluate(
        self,
        q: Sequence[float],
        u: Sequence[float],
        *,
        t: float | None = None,
        values: Mapping[str, float] | None = None,
    ) -> PathMatrices:
        """Return the matrices as numbers.

        Args:
            q, u: state of the model, also with the paper's speeds as columns.
            t: time [s], needed if the matrices depend on it.
            values: values by name: all inputs on which the matrices depend, and parameters that differ from their
                defaults.

        Raises:
            ModelError: lengths do not match, a name is neither an input nor a parameter, or the time or an input is
                missing.
        """
        known = {leaf: self.defaults[leaf.name] for leaf in self.parameters}
        named = {leaf.name: leaf for leaf in (*self.inputs, *self.parameters)}
        require(values, Mapping | None, "values are a dict by the names of inputs and parameters")
        for name, value in (values or {}).items():
            require_known(name, named, "input or parameter")
            known[named[name]] = number(value, f"the value of {name!r}")
        time, q_leaves, u_leaves = self.state
        at, moving = numbers(q, "q must be numbers"), numbers(u, "u must be numbers")
        if (at.shape, moving.shape) != ((len(q_leaves),), (len(u_leaves),)):
            raise ModelError(
                f"the model has {len(q_leaves)} q and {len(u_leaves)} u, not {at.shape} and {moving.shape}"
            )
        known |= {} if t is None else {time: number(t, "t", "seconds")}
        known |= {**dict(zip(q_leaves, q, strict=True)), **dict(zip(u_leaves, u, strict=True))}
        return self._numbers(known)

    def _numbers(self, known: dict[Expr, float]) -> PathMatrices:
        arrays = {f.name: getattr(self.matrices, f.name) for f in fields(PathMatrices)}
        lift = self.state[0].arena.lift
        roots = [lift(x) for a in arrays.values() for x in a.ravel()]
        missing = [leaf.name for leaf in leaves(roots) if leaf not in known]
        if missing:
            raise ModelError(f"the matrices depend on {', '.join(missing)}; give t, and inputs in values")
        flat = np.array([float(x) for x in interpret(roots, known)])
        ends = np.cumsum([a.size for a in arrays.values()])
        parts = np.split(flat, ends[:-1])
        return PathMatrices(**{n: p.reshape(a.shape) for (n, a), p in zip(arrays.items(), parts, strict=True)})

    def __repr__(self) -> str:
        body = _crosses("Is this body in the path of that body?", self.bodies, self.bodies, self.body_path)
        joint = _crosses("Is this joint in the path of that body?", self.joints, self.bodies, self.joint_path)
        return f"{body}\n\n{joint}"


def _crosses(title: str, heads: Sequence[str], rows: Sequence[str], table: np.ndarray) -> str:
    left = max(map(len, rows))
    lines = [title, " " * left + "".join(f"  {h}" for h in heads)]
    for name, marks in zip(rows, table, strict=True):
        cells = "".join("  " + ("x" if mark else " ").center(len(h)) for h, mark in zip(heads, marks, strict=True))
        lines.append((name.ljust(left) + cells).rstrip())
    return "\n".join(lines)


def path_tables(model: Model, *, speeds: str = "model") -> PathTables:
    """Derive Stoneking's path tables and matrices of any tree.

    Args:
        model: a tree of bodies.
        speeds: "model" for the model's own u, in its order; "paper" for the paper's speeds and order, if one root body
            moves freely from the ground. These are the angular velocity of the root body along its axes, the speeds of
            the joints, and the velocity of the root's mass centre along the axes of N. The root moves by a kane.Free
            joint, or through massless bodies, which the tables then leave out.

    Raises:
        ModelError: ``speeds`` is not "model" or "paper". Or it is "paper", and the tree has no free root, or loads act
            on bodies that carry the root.

    Source: Stoneking 2008.
    """
    if not isinstance(speeds, str) or speeds not in SPEEDS:
        raise ModelError(f"speeds={shown(speeds)} is not one of {', '.join(SPEEDS)}")
    require(model, Model, "path_tables takes a kane.Model")
    with collector_paused():
        found = system_of(model).speeds
        tree = body_tree(model, found)
        return _PathAssembly(model, tree, found, papers=speeds == "paper").tables()


class _PathAssembly:
    def __init__(self, model: Model, tree: BodyTree, speeds: Speeds, *, papers: bool) -> None:
        self.model, self.tree, self.speeds = model, tree, speeds
        self.kinematics = PathKinematics(tree, speeds, papers)
        self.lift = np.vectorize(model.arena.lift, otypes=[object])

    @cached_property
    def outer(self) -> list[int]:
        """The member that each joint moves, in the order of declaration, the paper's root first."""
        places = [self.tree.place(c.child) for c in self.model.connections]
        first = self.kinematics.first
        return places if first == 1 else [first, *(k for k in places if k > first)]

    def paths(self, columns: Sequence[int]) -> np.ndarray:
        """Return whether each member in ``columns`` is on the path from the ground to each body (rows)."""
        return np.array(
            [[k in m.path for k in columns] for m in self.tree.members[self.kinematics.first :]], dtype=bool
        )

    def matrices(self) -> PathMatrices:
        k, first = self.kinematics, self.kinematics.first
        bodies = [m.body for m in self.tree.members[first:]]
        Omega, V = k.partials(self.paths(self.outer), self.outer)
        I, m = (_block_diagonal(x) for x in ([b.inertia for b in bodies], [np.diag([b.mass] * 3) for b in bodies]))
        w, alpha_r, a_r = (np.concatenate(x[first:]) for x in (k.w, k.alpha_r, k.a_r))
        H = I @ w
        gyric = np.concatenate([np.cross(w[i : i + 3], H[i : i + 3]) for i in range(0, len(w), 3)])
        loaded = with_values(self.tree, k)
        F, T = forces_and_torques(loaded, k, self.model.gravity)
        efforts = generalized_efforts(loaded, k)
        COEF = Omega.T @ I @ Omega + V.T @ m @ V
        RHS = Omega.T @ (T - I @ alpha_r - gyric) + V.T @ (F - m @ a_r) + efforts
        arrays = (Omega, V, I, m, w, alpha_r, a_r, T, F, efforts, COEF, RHS)
        return PathMatrices(*(self.lift(x) for x in arrays))

    def tables(self) -> PathTables:
        first, members = self.kinematics.first, self.tree.members
        parameters, inputs, t = leaves_of(self.model)
        return PathTables(
            bodies=tuple(m.body.name for m in members[first:]),
            joints=tuple(self.tree.joined(k).connection.name for k in self.outer),
            body_path=self.paths(range(first, len(members))),
            joint_path=self.paths(self.outer),
            speed_names=self.kinematics.names,
            speeds=tuple(self.lift(self.kinematics.values)),
            matrices=self.matrices(),
            state=(t, self.speeds.q, self.speeds.u),
            inputs=inputs,
            parameters=parameters,
            defaults=dict(self.model.parameters),
        )


def _block_diagonal(blocks: Sequence[Any]) -> np.ndarray:
    out = np.full((3 * len(blocks), 3 * len(blocks)), 0.0, dtype=object)
    for i, block in enumerate(blocks):
        out[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = np.array(block, dtype=object)
    return out


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
