"""The bodies as the user gave them, each on its joint, and the loads: the explicit route and the witnesses start here.

Nothing is lumped and no frame is replaced: welded bodies are bodies of their own, with their own mass centres.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

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
    """A body B and the joint by which it hangs on its parent P.

    Attributes:
        parent: place of P among the members.
        connection, motion: the joint; None for the ground.
        first: place of the joint's first natural speed among all.
        path: places of the bodies from the ground to B, both included.
    """

    body: Body
    parent: int
    connection: Connection | None
    motion: JointMotion | None
    first: int
    path: tuple[int, ...]


@dataclass(frozen=True)
class Joined:
    """What is known of a member that is not the ground.

    Attributes:
        R_PF, R_CM: orientations of F in P and of M in B.
        motion: of M in F.
    """

    connection: Connection
    motion: JointMotion

    @property
    def R_PM(self) -> Rotation:
        """Orientation of M in the parent."""
        return self.connection.R_PF @ self.motion.R_FM

    @property
    def R_PB(self) -> Rotation:
        """Orientation of the body in its parent."""
        return self.R_PM @ self.connection.R_CM.inverse()


@dataclass(frozen=True)
class BodyTree:
    """Bodies, parents first, 0 the ground; and the effect of every load but gravity under a title of its own."""

    members: tuple[Member, ...]
    loads: TitledLoads

    @property
    def effects(self) -> list[Effect]:
        """What the loads do."""
        return [effect for _, effect in self.loads]

    def joined(self, k: int) -> Joined:
        """The joint of member k > 0."""
        member = self.members[k]
        assert member.connection is not None
        assert member.motion is not None
        return Joined(member.connection, member.motion)

    def place(self, body: Body) -> int:
        """Place of a body among the members."""
        return next(k for k, m in enumerate(self.members) if m.body is body)

    def replaced(self, values: Mapping[Expr, Expr]) -> BodyTree:
        """The same tree with leaves replaced in its loads."""
        return replace(self, loads=replaced(self.loads, values)) if values else self


def body_tree(model: Model, speeds: Speeds) -> BodyTree:
    """Read a model whose joints are known to form a tree."""
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
