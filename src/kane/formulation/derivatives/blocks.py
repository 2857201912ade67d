"""Links side by side: which of them stand beside each other, and where their numbers lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kane.codegen.programs.composed import CONSTANTS
from kane.formulation.constraints.embedding import NoConstraints
from kane.formulation.equations import Equations
from kane.formulation.recursive.coriolis import moves_evenly
from kane.formulation.recursive.recursive_route import RecursiveRoute
from kane.formulation.tree.system import System

ValuePlace = tuple[str, int]
# With fewer of them beyond the first there is nothing to gain.
FEWEST_LINKS = 4
# By what derivatives are found so.
VARIED = {"inverse": {"q", "u", "udot"}, "forward": {"q", "u", "inputs"}}


class LinkBlock(NamedTuple):
    """Links side by side.

    Attributes:
        links: those of one branch, or of several that hang on one link, parents first.
        above: on which they hang.
    """

    links: tuple[int, ...]
    above: int


def is_composable(equations: Equations, of: str, wrt: Sequence[str]) -> bool:
    """Whether the derivatives of "inverse" or "forward" can be found with links side by side.

    They can be where every link but the first has one speed, its own, along an axis that is constant in the link.
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
    """The link in whose frame all is done: the first if all others hang on it, else the ground."""
    return int([link.parent for link in system.links[1:]].count(0) == 1)


def blocks_of(system: System, width: int) -> list[LinkBlock]:
    """The links beyond the first in blocks, those of parents first."""
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


class Region(NamedTuple):
    """Where the numbers of a block lie.

    Attributes:
        masses, axes: of its links.
        pose, joint, moving, fields, rate, own, total: see ``side_by_side``.
    """

    masses: ValuePlace
    axes: ValuePlace
    pose: int
    joint: int
    moving: int
    fields: int
    rate: int
    own: int
    total: int


class ComposedLayout:
    """Memory, constants and results of a composed program, handed out in the order of demand.

    Attributes:
        memory, n_out: doubles taken so far.
        constants: numbers so far.
        places: where the outputs of the first program lie in memory.
        values: these outputs.
    """

    def __init__(self, width: int) -> None:
        self.width, self.memory, self.n_out = width, 0, 0
        self.constants: list[float] = []
        self.places: list[int] = []
        self.values: list[Any] = []

    def take(self, values: int) -> int:
        """Return the start of memory for this number of values in all lanes."""
        self.memory += values * self.width
        return self.memory - values * self.width

    def give(self, count: int) -> int:
        """Return the start of ``count`` more results."""
        self.n_out += count
        return self.n_out - count

    def constant(self, rows: Iterable[Sequence[float]]) -> ValuePlace:
        """Constants, for each value one of each lane."""
        start = len(self.constants)
        for row in rows:
            self.constants += [*row, *[0.0] * (self.width - len(row))]
        return CONSTANTS, start

    def put(self, start: int, values: Iterable[Any], apart: int = 1) -> None:
        """Let the first program put values into memory."""
        for k, x in enumerate(values):
            self.places.append(start + k * apart)
            self.values.append(x)
