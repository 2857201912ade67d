"""Link tree of the recursions: welded bodies are lumped into links, and parents precede their children."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.formulation.tree.spatial import ZERO_SIX, minus, plus, shifted_moment, square_of, times
from kane.geometry.inertia import second_moment, six
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR, Six, Triple, add_vectors, scaled
from kane.model.body import Body
from kane.model.connection import Connection
from kane.model.model import Model


@dataclass(frozen=True)
class PlaceInLink:
    """Link of a body B, and the pose of the body frame in the frame L of the link's first body."""

    link: int
    R_LB: Rotation
    p_LB: Triple


@dataclass
class Link:
    """Bodies that are welded together and moved by one joint. L is the frame of the first body.

    Attributes:
        parent: index of the parent link; 0 is the ground.
        connection: the joint that moves the link; None for the ground.
        R_PF, p_PF: pose of the joint frame F in the parent link's frame L.
        mass, mc, J: mass, first and second moment about Lo in L, of all bodies together [kg, kg m, kg m^2].
        children: indices of the links whose parent this link is.
        followers: number of links in the subtree, including this one.
    """

    parent: int
    body: Body
    connection: Connection | None
    R_PF: Rotation
    p_PF: Triple
    mass: Any
    mc: Triple
    J: Six
    children: list[int]
    followers: int = 1


@dataclass(frozen=True)
class LinkTree:
    """Links, parents first, and the place of every body in them, by body index."""

    links: list[Link]
    places: dict[int, PlaceInLink]


def link_tree(model: Model, apart: Collection[Connection] = ()) -> LinkTree:
    """Lump welded bodies into links and order the links; welds in ``apart`` are not lumped.

    Raises:
        ModelError: a body is not connected to the ground, or a joint moves neither mass nor inertia.
    """
    below: dict[Body, list[Connection]] = {}
    for connection in model.connections:
        below.setdefault(connection.parent, []).append(connection)
    ground = Link(0, model.ground, None, Rotation.identity(), ZERO_VECTOR, 0.0, ZERO_VECTOR, ZERO_SIX, [])
    links, places = [ground], {0: PlaceInLink(0, Rotation.identity(), ZERO_VECTOR)}
    stack = list(reversed(below.get(model.ground, [])))
    while stack:
        connection = stack.pop()
        _hang(connection, links, places, connection in apart)
        stack.extend(reversed(below.get(connection.child, [])))
    loose = [b.name for b in model.bodies if b.index not in places]
    if loose:
        raise ModelError(
            f"these bodies are not connected to the ground: {', '.join(loose)}; connect each to a parent or the ground"
        )
    for index in range(len(links) - 1, 0, -1):
        links[links[index].parent].followers += links[index].followers
    if not model.constraints:  # constraints can make a massless link follow one that has mass
        _require_inertia(links)
    return LinkTree(links, places)


def _hang(connection: Connection, links: list[Link], places: dict[int, PlaceInLink], apart: bool) -> None:
    """Add the child of a connection: to its parent's link if it is welded and not ``apart``, else as a new link."""
    on = places[connection.parent.index]
    R_LF = on.R_LB @ connection.R_PF
    p_LF = plus(on.p_LB, on.R_LB.apply(connection.p_PF))
    child = connection.child
    if connection.joint.nu == 0 and not apart:
        R_LB = R_LF @ connection.R_CM.inverse()
        place = PlaceInLink(on.link, R_LB, minus(p_LF, R_LB.apply(connection.p_CM)))
    else:
        place = PlaceInLink(len(links), Rotation.identity(), ZERO_VECTOR)
        links[on.link].children.append(len(links))
        links.append(Link(on.link, child, connection, R_LF, p_LF, 0.0, ZERO_VECTOR, ZERO_SIX, []))
    places[child.index] = place
    link = links[place.link]
    mc, J = moments(child)
    m, turned = child.mass, place.R_LB.apply(mc)
    mc, J = shifted_moment(m, turned, place.R_LB.rotate_symmetric(J), place.p_LB)
    link.mass, link.mc, link.J = link.mass + m, plus(link.mc, mc), add_vectors(link.J, J)


def moments(body: Body) -> tuple[Triple, Six]:
    """Return the first moment m p_BoBcm and the second moment about Bo, in the body frame [kg m, kg m^2]."""
    if body.moments is not None:
        first, inertia = body.moments
        return first, six(second_moment(inertia))
    central = six(second_moment(body.inertia))
    return times(body.mass, body.com), add_vectors(central, scaled(body.mass, square_of(body.com)))


def _require_inertia(links: list[Link]) -> None:
    """Raise ModelError if a joint moves neither mass nor inertia, because it then has no equation of motion."""
    empty = [True] * len(links)
    for index in range(len(links) - 1, 0, -1):
        link = links[index]
        weightless = not any(_present(x) for x in (link.mass, *link.J))
        empty[index] = weightless and all(empty[c] for c in link.children)
    for index, link in enumerate(links[1:], start=1):
        assert link.connection is not None
        if empty[index] and link.connection.speed_names:
            raise ModelError(
                f"joint {link.connection.name!r} moves no mass or inertia, only {link.body.name!r} and the bodies "
                "beyond it, so that its motion is undetermined; give them mass, or weld the joint"
            )


def _present(x: Any) -> bool:
    return not isinstance(x, (int, float)) or x != 0.0
