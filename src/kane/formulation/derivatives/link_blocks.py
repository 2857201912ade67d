"""Blocks of links that are processed together, one link per SIMD lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.codegen.programs.parts import ValuePlace
from kane.deferred import NamedTuple
from kane.formulation.constraints.embedding import NoConstraints
from kane.formulation.equations import Equations
from kane.formulation.recursive.coriolis import moves_evenly
from kane.formulation.recursive.recursive_route import RecursiveRoute
from kane.formulation.tree.system import System

# Smallest number of links beyond the first for which lanes save time.
FEWEST_LINKS = 4
# Programs, and the variables of differentiation, for which there are programs in parts.
VARIED = {"inverse": {"q", "u", "udot"}, "forward": {"q", "u", "inputs"}}


class LinkBlock(NamedTuple):
    """Links that are processed together.

    Attributes:
        links: links of one branch, or of several branches with the same parent, parents first.
        above: parent of these branches.
    """

    links: tuple[int, ...]
    above: int


def has_single_axes(equations: Equations, of: str, wrt: Sequence[str]) -> bool:
    """Return whether derivatives of "inverse" or "forward" can be computed with one link per lane.

    Every link beyond the first must have one speed, the joint's own, along an axis that is constant in the link.
    """
    if not (of in VARIED and {"q", "u"} & {*wrt} and {*wrt} <= VARIED[of]):
        return False
    route = equations.route
    if not (isinstance(route, RecursiveRoute) and isinstance(equations.embedding, NoConstraints)):
        return False
    system = route.system
    if not (system.speeds.are_natural and moves_evenly(system)):
        return False
    beyond = range(reference_of(system) + 1, len(system.links))
    return len(beyond) >= FEWEST_LINKS and all(len(system.columns(k)) == 1 for k in beyond)


def reference_of(system: System) -> int:
    """Return the link whose frame is used for all links: the first if all others descend from it, else the ground."""
    return int([link.parent for link in system.links[1:]].count(0) == 1)


def blocks_of(system: System, width: int) -> list[LinkBlock]:
    """Return the links beyond the reference in blocks, those of parents first."""
    children: dict[int, list[int]] = {}
    for index in range(1, len(system.links)):
        children.setdefault(system.links[index].parent, []).append(index)
    found: list[list[Any]] = []

    def beyond(index: int) -> list[int]:
        return [index, *(x for child in children.get(index, ()) for x in beyond(child))]

    def place(above: int, roots: Sequence[int]) -> None:
        open_block: list[int] = []
        for branch in map(beyond, roots):
            if len(branch) > width:
                trunk(above, branch[0])
                continue
            if not open_block or len(open_block) + len(branch) > width:
                open_block = []
                found.append([open_block, above])
            open_block += branch

    def trunk(above: int, index: int) -> None:
        links = [index]
        while len(children[links[-1]]) == 1 and len(links) < width:
            links += children[links[-1]]
        end = links[-1]
        found.append([links, above])
        left = []
        for child in sorted(children.get(end, ()), key=lambda child: len(beyond(child))):
            if len(links) + len(beyond(child)) <= width:
                links += beyond(child)
            else:
                left.append(child)
        place(end, left)

    place(reference_of(system), children.get(reference_of(system), ()))
    return [LinkBlock(tuple(links), above) for links, above in found]


class BlockArrays(NamedTuple):
    """Places of the arrays of a block: constants, or indices in memory; ``links_in_lanes`` defines the arrays.

    Attributes:
        masses, axes: mass parameters and joint axes of the links.
        pose, joint, moving, fields, rate, own, total: arrays that routines write.
        moved, pushed: second half of ``joint``, and last third of ``moving``.
    """

    masses: int | ValuePlace
    axes: int | ValuePlace
    pose: int
    joint: int
    moving: int
    fields: int
    rate: int
    own: int
    total: int
    moved: int
    pushed: int
