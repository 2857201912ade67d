"""Orientations, velocities, joint partials and remainder accelerations along the paths of a tree, as matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.tree.body_tree import BodyTree
from kane.formulation.tree.speeds import Speeds
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import is_zero

ExpressionArray = np.ndarray


def matrix(R: Rotation) -> ExpressionArray:
    """Return the entries as a 3 x 3 matrix."""
    return np.array(R.entries, dtype=object)


def columns_of(vectors: Sequence[Sequence[Any]]) -> ExpressionArray:
    """Return a matrix with three rows, whose columns are the vectors."""
    return np.array([list(v) for v in vectors], dtype=object).reshape(-1, 3).T


def _vector(v: Sequence[Any]) -> ExpressionArray:
    return np.array(list(v), dtype=object)


@dataclass
class PathKinematics:
    """Kinematics by member of the tree, of which the path matrices consist; the first entry is the fixed ground.

    Attributes:
        papers: whether the columns are the speeds of Stoneking's paper instead of the model's speeds.
        R: ^NC^B, orientation in N.
        p: position of the mass centre, along N.
        joint_points: position of the joint point Mo, along N.
        w, alpha_r: angular velocity and remainder angular acceleration, along the body's axes.
        v, a_r: velocity and remainder acceleration of the mass centre, along N.
        Gamma: joint partials of rotation, along the outer body's axes, one column per natural speed.
        Delta: joint partials of sliding, along N.
        C: natural speeds of the joints by the columns of the equations, (natural, Nu).
        first: index of the first body in the tables: the root with the paper's columns, else 1.
        names, values: names and values of the columns.
    """

    tree: BodyTree
    speeds: Speeds
    papers: bool = False
    R: list[ExpressionArray] = field(default_factory=list)
    p: list[ExpressionArray] = field(default_factory=list)
    joint_points: list[ExpressionArray] = field(default_factory=list)
    w: list[ExpressionArray] = field(default_factory=list)
    v: list[ExpressionArray] = field(default_factory=list)
    alpha_r: list[ExpressionArray] = field(default_factory=list)
    a_r: list[ExpressionArray] = field(default_factory=list)
    Gamma: list[ExpressionArray] = field(default_factory=list)
    Delta: list[ExpressionArray] = field(default_factory=list)
    C: ExpressionArray = field(init=False)
    first: int = field(init=False)
    names: tuple[str, ...] = field(init=False)
    values: tuple[Expr, ...] = field(init=False)

    def __post_init__(self) -> None:
        speeds, zero = self.speeds, _vector((0.0,) * 3)
        self.C = np.full((len(speeds.C), len(speeds.u)), 0.0, dtype=object)
        for k, row in enumerate(speeds.C):
            for r, c in row.items():
                self.C[k, r] = c
        self.names, self.values = tuple(u.name for u in speeds.u), speeds.u
        self.R.append(np.eye(3).astype(object))
        for series in (self.p, self.joint_points, self.w, self.v, self.alpha_r, self.a_r):
            series.append(zero)
        self.Gamma.append(columns_of([]))
        self.Delta.append(columns_of([]))
        self.first = self._root() if self.papers else 1
        for k in range(1, len(self.tree.members)):
            self._place(k)
            self._move(k)
            if self.papers and k == self.first:
                self._use_papers_root(k)

    def _root(self) -> int:
        """Return the body with six degrees of freedom from the ground, by one joint or through massless bodies.

        Raises:
            ModelError: there is no such body, or a body on the way to it has several children.
        """
        members, freedoms = self.tree.members, 0
        for k, member in enumerate(members[1:], start=1):
            hanging = sum(m.parent == k - 1 for m in members[1:])
            weighs = [members[k - 1].body.mass, *(x for row in members[k - 1].body.inertia for x in row)]
            if hanging != 1 or not all(map(is_zero, weighs)) or member.connection is None:
                break
            freedoms += len(member.connection.speed_names)
            if freedoms == 6:
                return k
        raise ModelError(
            "the speeds of the paper need one root body that moves freely from the ground, such as on a kane.Free "
            'joint; use speeds="model"'
        )

    def _use_papers_root(self, k: int) -> None:
        """Use the paper's columns: first the root's angular velocity in its axes, last its centre's velocity in N.

        Raises:
            ModelError: another joint depends on the root's coordinates, or a load acts along its joints.
        """
        carried = [m.connection for m in self.tree.members[1 : k + 1] if m.connection is not None]
        names = {name for c in carried for name in c.speed_names}
        root = [r for r, u in enumerate(self.speeds.u) if u.name in names]
        others = [r for r in range(len(self.speeds.u)) if r not in root]
        rows = [n for n in range(len(self.C)) if not self._first(1) <= n < self._first(1) + 6]
        if any(not is_zero(self.C[n, r]) for n in rows for r in root):
            raise ModelError('a joint follows the coordinates of the root body; use speeds="model"')
        if any(along.connection in carried for _, effect in self.tree.loads for along, _ in effect.efforts):
            raise ModelError('a load acts along a coordinate of the root body; use speeds="model"')
        C = np.full_like(self.C, 0.0)
        C[rows, 3:-3] = self.C[np.ix_(rows, others)]
        for i, column in enumerate((0, 1, 2, -3, -2, -1)):
            C[self._first(1) + i, column] = 1.0
        self.C = C
        for j in range(1, k):
            self.Gamma[j] = self.Delta[j] = columns_of([])
        self.joint_points[k] = self.p[k]
        self.Gamma[k] = np.eye(3, 6).astype(object)
        self.Delta[k] = np.eye(3, 6, k=3).astype(object)
        self.alpha_r[k] = self.a_r[k] = _vector((0.0,) * 3)
        body = self.tree.members[k].body.name
        turning, sliding = ([f"{x}_{axis}" for axis in "xyz"] for x in (f"w_N{body}", f"v_N{body}cm"))
        self.names = (*turning, *(self.names[r] for r in others), *sliding)
        self.values = (*self.w[k], *(self.values[r] for r in others), *self.v[k])

    def _first(self, k: int) -> int:
        """Return the first natural speed of a member's joint, or of the joints of the paper's root."""
        return self.tree.members[1 if self.papers and k <= self.first else k].first

    def natural(self, k: int) -> slice:
        """Return the positions of a member's joint among all natural speeds."""
        first = self.tree.members[k].first
        return slice(first, first + self.Gamma[k].shape[1])

    def columns(self, k: int) -> slice:
        """Return the columns, before multiplication by C, of a member's joint."""
        first = self._first(k)
        return slice(first, first + self.Gamma[k].shape[1])

    def _place(self, k: int) -> None:
        """Append the orientation, joint point, mass centre and joint partials of a member."""
        member, joint = self.tree.members[k], self.tree.joined(k)
        c, motion, inner = joint.connection, joint.motion, self.R[member.parent]
        R_NM = inner @ matrix(c.R_PF) @ matrix(motion.R_FM)
        R_CM = matrix(c.R_CM)
        self.R.append(R_NM @ R_CM.T)
        above = self.tree.members[member.parent].body
        foot = self.p[member.parent] + inner @ (_vector(c.p_PF) - _vector(above.com))
        self.joint_points.append(foot + inner @ matrix(c.R_PF) @ _vector(motion.p_FM))
        self.p.append(self.joint_points[k] + self.R[k] @ (_vector(member.body.com) - _vector(c.p_CM)))
        self.Gamma.append(R_CM @ columns_of(motion.w_FM_u))
        self.Delta.append(R_NM @ columns_of(motion.v_FM_u))

    def _move(self, k: int) -> None:
        """Append velocities and remainder accelerations across the joint, by the paper's rules with sliding added."""
        joint, i = self.tree.joined(k), self.tree.members[k].parent
        R_CM, own = matrix(joint.connection.R_CM), self.natural(k)
        sigma, rest = _vector(self.speeds.natural[own]), _vector(self.speeds.a_t[own])
        turning = self.Gamma[k] @ sigma if len(sigma) else _vector((0.0,) * 3)
        sliding = self.Delta[k] @ sigma if len(sigma) else _vector((0.0,) * 3)
        inwards = self.R[k].T @ self.R[i]
        self.w.append(inwards @ self.w[i] + turning)
        alpha = inwards @ self.alpha_r[i] + R_CM @ _vector(joint.motion.alpha_t) + np.cross(self.w[k], turning)
        self.alpha_r.append(alpha + self.Gamma[k] @ rest if len(rest) else alpha)
        w_i, w_o = self.R[i] @ self.w[i], self.R[k] @ self.w[k]
        r_i, r_o = self.joint_points[k] - self.p[i], self.p[k] - self.joint_points[k]
        self.v.append(self.v[i] + np.cross(w_i, r_i) + sliding + np.cross(w_o, r_o))
        a = self.a_r[i] + np.cross(self.R[i] @ self.alpha_r[i], r_i) + np.cross(w_i, np.cross(w_i, r_i))
        a = a + np.cross(w_i, sliding) + np.cross(w_i, sliding) + self.R[k] @ R_CM @ _vector(joint.motion.a_t)
        a = a + self.Delta[k] @ rest if len(rest) else a
        self.a_r.append(a + np.cross(self.R[k] @ self.alpha_r[k], r_o) + np.cross(w_o, np.cross(w_o, r_o)))

    def partials(self, joint_path: ExpressionArray, outer: Sequence[int]) -> tuple[ExpressionArray, ExpressionArray]:
        """Return Omega and V by inspection of the joint path table; its column j is the joint that moves outer[j]."""
        bodies, total = len(self.tree.members) - self.first, self.C.shape[0]
        Omega = np.full((3 * bodies, total), 0.0, dtype=object)
        V = Omega.copy()
        for b, j in np.argwhere(joint_path):
            body, joint = int(b) + self.first, outer[j]
            rows, columns = slice(3 * b, 3 * b + 3), self.columns(joint)
            if self.Gamma[joint].shape[1]:
                turning = self.R[joint] @ self.Gamma[joint]
                Omega[rows, columns] = self.Gamma[joint] if body == joint else self.R[body].T @ turning
                arm = self.p[body] - self.joint_points[joint]
                V[rows, columns] = np.cross(turning.T, arm).T + self.Delta[joint]
        return Omega @ self.C, V @ self.C
