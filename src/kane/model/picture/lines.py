"""Routes of the lines of constraints in the picture of a model: between the boxes, never across them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING

from kane.deferred import dataclass
from kane.model.picture.graph_layout import BodyBox, PictureLayout

if TYPE_CHECKING:
    from kane.model.body import Body

    Cells = tuple[BodyBox, ...]

PORTS = 7  # largest number of lines at the right side of a box


@dataclass(frozen=True)
class End:
    """End of a line at a box.

    Attributes:
        cell: the box.
        track: index of the line's track below the row; None if the line leaves at the right end of the row.
        port: for a line below, the number of lines that leave the box before it. For a line to the right, its offset
            downwards from the middle, in ports.
    """

    cell: BodyBox
    track: int | None
    port: float


@dataclass(frozen=True)
class DrawnLine:
    """Line between boxes.

    Attributes:
        words: names of the constraints.
        ends: its ends at the boxes.
        named: index of the end at which the words are written.
        lane: index of the lane down the right side; None if all boxes are in one row.
    """

    words: str
    ends: Sequence[End]
    named: int
    lane: int | None


def routes(grid: PictureLayout, between: Mapping[tuple[Body, ...], str]) -> list[DrawnLine]:
    """Return a line for each set of bodies; it leaves a box at its right if the row ends there, otherwise below it.

    The words are at the box that the fewest lines leave. Short lines are routed first, closer to the boxes.
    """
    place, busy = grid.place, Counter(body for bodies in between for body in bodies)
    joined = {tuple(sorted((place[b] for b in bodies), key=_reading)): words for bodies, words in between.items()}
    joined = dict(sorted(joined.items(), key=lambda item: _span(item[0])))
    named = {cells: min(reversed(cells), key=lambda c: busy[c.body]) for cells in joined}
    row_ends = {cell.row: cell.body for cell in grid.cells} | {cell.row: None for cell in grid.going_on}

    def beside(cell: BodyBox, cells: Cells) -> bool:
        crowded = busy[cell.body] > (1 if cell is named[cells] else PORTS)
        return row_ends[cell.row] is cell.body and _span(cells) > 0 and not crowded

    tracks: Counter[int] = Counter()
    below: Counter[BodyBox] = Counter()
    taken: dict[int, list[range]] = {}
    found: list[DrawnLine] = []
    for cells, words in joined.items():
        level = _span(cells) == 0
        ends: list[End] = []
        for cell in cells:
            if beside(cell, cells):
                others = sorted((x for x in joined if cell in x and beside(cell, x)), key=lambda x: _turn(cell, x))
                ends.append(End(cell, None, others.index(cells) - (len(others) - 1) / 2))
                continue
            tracks[cell.row] += not (level and ends)
            ends.append(End(cell, tracks[cell.row] - 1, below[cell]))
            below[cell] += 1
        lane = None if level else _lane(range(cells[0].row, cells[-1].row + 1), taken)
        found.append(DrawnLine(words, ends, 0 if level else cells.index(named[cells]), lane))
    return found


def _reading(cell: BodyBox) -> tuple[int, int]:
    return cell.row, cell.column


def _span(cells: Cells) -> int:
    """Return the number of rows that a line spans."""
    return cells[-1].row - cells[0].row


def _turn(cell: BodyBox, cells: Cells) -> tuple[bool, int]:
    """Return a sort key by which lines leave a box downwards without crossing.

    Lines up come first, the short ones before the long ones; then lines down, the long ones before the short ones.
    """
    up = cell is cells[-1]
    return not up, _span(cells) if up else -_span(cells)


def _lane(rows: range, taken: dict[int, list[range]]) -> int:
    """Return the first lane in which no other line passes these rows."""
    lane = next(k for k in count() if not any(_meet(rows, others) for others in taken.get(k, [])))
    taken.setdefault(lane, []).append(rows)
    return lane


def _meet(a: range, b: range) -> bool:
    return a.start < b.stop and b.start < a.stop


def tracks_below(lines: Sequence[DrawnLine], row: int) -> int:
    """Return the number of tracks below a row."""
    return max((1 + end.track for end in _ends(lines) if end.cell.row == row and end.track is not None), default=0)


def _ends(lines: Sequence[DrawnLine]) -> Iterator[End]:
    return (end for line in lines for end in line.ends)
