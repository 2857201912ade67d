"""Places of the bodies in the picture of a model: a tree that is wrapped at the width of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from kane.deferred import dataclass
from kane.model.picture.kinematic_graph import children, joint_words, loose

if TYPE_CHECKING:
    from kane.model.body import Body
    from kane.model.connection import Connection
    from kane.model.model import Model

# Pixels: width of a page, of a letter in a box, of a smaller letter on a line, and of the gap before a column.
PAGE_WIDTH, LETTER_WIDTH, SMALL_LETTER_WIDTH, COLUMN_GAP = 940.0, 7.2, 6.2, 26.0


@dataclass(frozen=True, eq=False)
class BodyBox:
    """Box of a body in the picture, or its repetition at the start of a line that continues an earlier line.

    Attributes:
        body: the body.
        hangs: box of the parent and the joint, if these are drawn.
        column, row: place in the grid.
        repeated: whether the box repeats a body.
    """

    body: Body
    hangs: tuple[BodyBox, Connection] | None
    column: int
    row: int
    repeated: bool = False

    @property
    def box(self) -> float:
        """Width of the box."""
        return LETTER_WIDTH * len(self.body.name) + 16.0

    @property
    def width(self) -> float:
        """Width of the box, or of the words of the joint above it if these are wider."""
        return max(self.box, SMALL_LETTER_WIDTH * len(joint_words(self.hangs[1])) if self.hangs else 0.0)


@dataclass(frozen=True)
class PictureLayout:
    """Boxes in the order of their rows, and the left ends of columns."""

    cells: Sequence[BodyBox]
    left: Sequence[float]

    @cached_property
    def place(self) -> dict[Body, BodyBox]:
        """The box of each body, without repetitions."""
        return {cell.body: cell for cell in self.cells if not cell.repeated}

    @cached_property
    def going_on(self) -> set[BodyBox]:
        """Boxes whose branches continue on a later line, next to a repeated box."""
        return {self.place[cell.body] for cell in self.cells if cell.repeated}


def layout(model: Model, marks: dict[Body, float]) -> PictureLayout:
    """Return the tree from the ground to the right: a first child is on its parent's row, others open rows below.

    The number of columns is the largest that fits the page. Branches beyond the last column continue below.

    Args:
        model: the model.
        marks: width of the marks below the box of a body.
    """
    for columns in range(min(len(model.bodies), int(PAGE_WIDTH / (2 * COLUMN_GAP))), 1, -1):
        cells = _cells(model, columns)
        used = range(1 + max(cell.column for cell in cells))
        widths = [max(max(c.width, marks.get(c.body, 0.0)) for c in cells if c.column == k) for k in used]
        if columns == 2 or sum(widths) + COLUMN_GAP * len(widths) <= PAGE_WIDTH:
            break
    else:  # the ground alone
        cells, widths = _cells(model, 1), [LETTER_WIDTH * len(model.ground.name) + 16.0]
    return PictureLayout(cells, [sum(widths[:k]) + COLUMN_GAP * k for k in range(len(widths) + 1)])


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
        waiting = go_on + waiting  # a branch continues directly below, before the next branch
    return found
