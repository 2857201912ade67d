"""Bodies as declared, each on its joint, and the loads, for the explicit route and the witnesses.

Bodies are not lumped, and their frames are not replaced: welded bodies remain separate, with their own mass centres.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.formulation.tree.loads import TitledLoads, replaced, titled
from kane.formulation.tree.speeds import Speeds
from kane.geometry.rotation import Rotation
from kane.model.body import Body
from kane.model.connection import Connection
from kane.model.joints.joint import JointMotion
from kane.model.loads.load import Effect
from kane.model.model import Model


@dataclass(frozen=True)
class Member:
    """Body B and the joint that connects it to its parent P.

    Attributes:
        parent: index of P among the members.
        connection, motion: the joint; None for the ground.
        first: index of the joint's first natural speed among all.
        path: indices of the bodies from the ground to B, both included.
    """

    body: Body
    parent: int
    connection: Connection | None
    motion: JointMotion | None
    first: int
    path: tuple[int, ...]


@dataclass(frozen=True)
class Joined:
    """Joint of a member that is not the ground.

    Attributes:
        connection: has R_PF and R_CM, the orientations of F in P and of M in B.
        motion: motion of M in F.
    """

    connection: Connection
    motion: JointMotion

    @property
    def R_PM(self) -> Rotation:
        """Return the orientation of M in the parent."""
        return self.connection.R_PF @ self.motion.R_FM

    @property
    def R_PB(self) -> Rotation:
        """Return the orientation of the body in its parent."""
        return self.R_PM @ self.connection.R_CM.inverse()


@dataclass(frozen=True)
class BodyTree:
    """Bodies, parents first and the ground at index 0, and the titled effect of every load except gravity."""

    members: tuple[Member, ...]
    loads: TitledLoads

    @property
    def effects(self) -> list[Effect]:
        """Return the effects of the loads."""
        return [effect for _, effect in self.loads]

    def joined(self, k: int) -> Joined:
        """Return the joint of member k > 0."""
        member = self.members[k]
        assert member.connection is not None
        assert member.motion is not None
        return Joined(member.connection, member.motion)

    def place(self, body: Body) -> int:
        """Return the index of a body among the members."""
        return next(k for k, m in enumerate(self.members) if m.body is body)

    def replaced(self, values: Mapping[Expr, Expr]) -> BodyTree:
        """Return the same tree with leaves replaced in its loads."""
        return replace(self, loads=replaced(self.loads, values)) if values else self


def body_tree(model: Model, speeds: Speeds) -> BodyTree:
    """Read the bodies and loads of a model whose joints form a tree."""
    below: dict[Body, list[Connection]] = {}
    for connection in model.connections:
        below.setdefault(connection.parent, []).append(connection)
    members = [Member(model.ground, 0, None, None, 0, (0,))]
    stack = [(0, c) for c in reversed(below.get(model.ground, []))]
    while stack:
        parent, c = stack.pop()
        motion = speeds.motion.get(c) or c.joint.motion((), ())
        place = len(members)
        path = (*members[parent].path, place)
        members.append(Member(c.child, parent, c, motion, speeds.first.get(c, 0), path))
        stack.extend((place, child) for child in reversed(below.get(c.child, [])))
    return BodyTree(tuple(members), tuple(titled(model.loads)))
