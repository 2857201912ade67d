"""The bodies as the user gave them, each on its joint, and the loads: what the explicit routes start from.

Nothing is lumped and no frame is replaced: welded bodies are bodies of their own, with their own mass centres.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kane.expression.node import Expr
from kane.expression.traverse import substitute
from kane.formulation.tree.speeds import Speeds
from kane.geometry.rotation import Rotation
from kane.model.body import Body
from kane.model.connection import Connection
from kane.model.joints.joint import JointMotion
from kane.model.loads.load import Effect, Load
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
    """Bodies, parents first, 0 the ground; and the effect of every load under a title of its own."""

    members: tuple[Member, ...]
    loads: tuple[tuple[str, Effect], ...]

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
        return replace(self, loads=tuple((title, _replaced(e, values)) for title, e in self.loads)) if values else self


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
    return BodyTree(tuple(members), tuple(_titled(model.loads)))


def _titled(loads: list[Load]) -> Iterator[tuple[str, Effect]]:
    """Kind and place of every load: "Motor on q1", "Force on B"; numbered where there are several."""
    effects = [load.effect() for load in loads]
    titles = [f"{type(load).__name__} on {_where(e)}" for load, e in zip(loads, effects, strict=True)]
    many, seen = Counter(titles), Counter[str]()
    for title, effect in zip(titles, effects, strict=True):
        seen[title] += 1
        yield (f"{title} ({seen[title]})" if many[title] > 1 else title), effect


def _where(effect: Effect) -> str:
    names = [along.connection.name for along, _ in effect.efforts] + [w.point.body.name for w in effect.wrenches]
    return ", ".join(dict.fromkeys(names))


def expressions(effect: Effect) -> list[Expr]:
    """Every expression of an effect but its potential energy."""
    listed: list[object] = [e for _, e in effect.efforts]
    listed += [x for w in effect.wrenches for x in (*w.force, *w.torque)]
    return [x for x in listed if isinstance(x, Expr)]


def _replaced(effect: Effect, values: Mapping[Expr, Expr]) -> Effect:
    found = expressions(effect)
    image = dict(zip(found, substitute(found, values), strict=True))
    new = {x: image.get(x, x) for x in found}

    def changed(x: object) -> object:
        return new[x] if isinstance(x, Expr) else x

    efforts = [(c, changed(e)) for c, e in effect.efforts]
    wrenches = [
        replace(w, force=tuple(map(changed, w.force)), torque=tuple(map(changed, w.torque)))  # type: ignore[arg-type]
        for w in effect.wrenches
    ]
    return Effect(efforts, wrenches, effect.potential)  # type: ignore[arg-type]
