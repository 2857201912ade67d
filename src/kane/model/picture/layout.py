"""Where the bodies of a model stand in its picture: a tree that breaks its lines at the width of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from kane.model.picture.kinematic_graph import children, joint_words, loose

if TYPE_CHECKING:
    from kane.model.body import Body
    from kane.model.connection import Connection
    from kane.model.model import Model

# Pixels: the width of a page, of a letter in a box and of a smaller one on a line, of the gap before a column.
PAGE, LETTER, SMALL, GAP = 940.0, 7.2, 6.2, 26.0


@dataclass(frozen=True, eq=False)
class BodyBox:
    """A body in the picture, or, at the beginning of a line, a body repeated from the end of an earlier line.

    Attributes:
        hangs: on what, and by which joint, where that is drawn.
    """

    body: Body
    hangs: tuple[BodyBox, Connection] | None
    column: int
    row: int
    repeated: bool = False

    @property
    def box(self) -> float:
        """Width of the box."""
        return LETTER * len(self.body.name) + 16.0

    @property
    def width(self) -> float:
        """Of the box, or of the words of the joint above it."""
        return max(self.box, SMALL * len(joint_words(self.hangs[1])) if self.hangs else 0.0)


@dataclass(frozen=True)
class PictureLayout:
    """Cells in the order of their rows, and the left ends of columns."""

    cells: Sequence[BodyBox]
    left: Sequence[float]

    @cached_property
    def place(self) -> dict[Body, BodyBox]:
        """Where each body itself stands."""
        return {cell.body: cell for cell in self.cells if not cell.repeated}

    @cached_property
    def going_on(self) -> set[BodyBox]:
        """Where what a body carries stands below, beside a box that repeats the body."""
        return {self.place[cell.body] for cell in self.cells if cell.repeated}


def layout(model: Model, marks: dict[Body, float]) -> PictureLayout:
    """The tree from the ground rightwards: a first child stays on the row of its parent, others open rows below.

    With as many columns as the page has room for; what goes on from the last column goes on below.

    Args:
        marks: width of what stands below the box of a body.
    """
    for columns in range(min(len(model.bodies), int(PAGE / (2 * GAP))), 1, -1):
        cells = _cells(model, columns)
        used = range(1 + max(cell.column for cell in cells))
        widths = [max(max(c.width, marks.get(c.body, 0.0)) for c in cells if c.column == k) for k in used]
        if columns == 2 or sum(widths) + GAP * len(widths) <= PAGE:
            break
    else:  # the ground alone
        cells, widths = _cells(model, 1), [LETTER * len(model.ground.name) + 16.0]
    return PictureLayout(cells, [sum(widths[:k]) + GAP * k for k in range(len(widths) + 1)])


def _cells(model: Model, columns: int) -> list[BodyBox]:
    below = {body: [c for c in carried if c not in model.cuts] for body, carried in children(model).items()}
    found: list[BodyBox] = []
    waiting = [BodyBox(root, None, 0, 0) for root in (model.ground, *loose(model))]
    row = -1
    while waiting:
        go_on: list[BodyBox] = []
        stack = [(waiting.pop(0), True)]
        while stack:
            cell, opens_row = stack.pop()
            row += opens_row
            cell = replace(cell, row=row)
            found.append(cell)
            carried = below.get(cell.body, [])
            if carried and cell.column == columns - 1:
                go_on.append(BodyBox(cell.body, None, 0, 0, repeated=True))
                continue
            nexts = [(BodyBox(c.child, (cell, c), cell.column + 1, 0), k > 0) for k, c in enumerate(carried)]
            stack.extend(reversed(nexts))
        waiting = go_on + waiting  # a branch goes on right below, before the next
    return found
