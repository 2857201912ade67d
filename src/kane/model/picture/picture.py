"""Picture of a model: its kinematic graph as SVG."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from kane.errors import ModelError, shown
from kane.model.body import Body
from kane.model.picture.graph_layout import COLUMN_GAP, SMALL_LETTER_WIDTH, BodyBox, PictureLayout, layout
from kane.model.picture.kinematic_graph import joint_words, loops, restrictions
from kane.model.picture.lines import DrawnLine, End, routes, tracks_below

if TYPE_CHECKING:
    from kane.model.connection import Connection
    from kane.model.model import Model

# Pixels: height of a box, of the words above it, of a line of words below it, of a track between rows; the margin.
BOX_HEIGHT, HEIGHT_ABOVE_BOX, HEIGHT_BELOW_BOX, TRACK_HEIGHT, PICTURE_MARGIN = 26.0, 18.0, 13.0, 15.0, 12.0
BETWEEN = 8.0  # between rows
ROAD = 10.0  # hatched line and the gap above it
LANE, PORT = 8.0, 4.0  # distance of lanes down the right side, and of lines at the right side of a box
JOINT_COLOUR, TREE_COLOUR, CONSTRAINT_COLOUR, FRAME_COLOUR = "#1f4e9c", "#777", "#b5331c", "#333"
CRISP = 'fill="none" shape-rendering="crispEdges"'


def draw(model: Model) -> str:
    """Return the kinematic graph as SVG: bodies in boxes, from the ground to the right, and their connections.

    The name of a joint is above the box of the body that it carries. Constraints and loops are red:

    * A line connects the bodies of a constraint and has its name. The line of a joint that closes a loop has its kind
      and coordinate.
    * A hatched line is below a body that a constraint connects to the ground, such as a rolling wheel.
    * A name alone is below a body if only coordinates of its joint are constrained.

    A branch that is wider than the page continues below, from a dashed box that repeats the body.

    Raises:
        ModelError: ``model`` is not a Model.
    """
    if not isinstance(getattr(model, "ground", None), Body):
        raise ModelError(f"draw takes a kane.Model, not {shown(model)}")
    marks: dict[Body, list[str]] = {}
    roads: set[Body] = set()
    between = {bodies: ", ".join(words) for bodies, words in loops(model).items()}
    for bodies, words in restrictions(model).items():
        outer = [body for body in bodies if body.index]
        if len(outer) > 1:
            between[bodies] = ", ".join([*filter(None, [between.get(bodies)]), *words])
            continue
        marks.setdefault(bodies[-1], []).extend(words)
        roads |= {*outer} if len(bodies) > 1 else set()
    grid = layout(model, {body: SMALL_LETTER_WIDTH * max(map(len, words)) for body, words in marks.items()})
    return _Sheet(grid, marks, roads, routes(grid, between)).svg()


class _Sheet:
    """Positions of all boxes, lines and words, in pixels."""

    def __init__(
        self, grid: PictureLayout, marks: dict[Body, list[str]], roads: set[Body], lines: list[DrawnLine]
    ) -> None:
        self.grid, self.marks, self.roads, self.lines = grid, marks, roads, lines
        self.middle: list[float] = []  # of the boxes of each row
        self.below: list[float] = []  # top of the tracks below each row
        self.height = PICTURE_MARGIN
        for row in range(1 + max(cell.row for cell in grid.cells)):
            marked = [
                HEIGHT_BELOW_BOX * len(marks.get(c.body, ())) + ROAD * (c.body in roads)
                for c in grid.cells
                if c.row == row
            ]
            self.middle.append(self.height + HEIGHT_ABOVE_BOX + BOX_HEIGHT / 2)
            self.below.append(self.middle[row] + BOX_HEIGHT / 2 + max(marked))
            self.height = self.below[row] + TRACK_HEIGHT * tracks_below(lines, row) + BETWEEN
        self.right = max(self._extent(cell) for cell in grid.cells)
        words = [self._words_at(line.ends[line.named])[0] + SMALL_LETTER_WIDTH * len(line.words) for line in lines]
        self.right = max([self.right, *words])
        lanes = [1 + line.lane for line in lines if line.lane is not None]
        self.width = self.right + LANE * (1 + max(lanes, default=0)) + PICTURE_MARGIN

    def svg(self) -> str:
        """Return the picture."""
        size = f'width="{self.width:.0f}" height="{self.height:.0f}" viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" style="background:white">'
        cells = self.grid.cells
        parts = [self._joint(cell, *cell.hangs) for cell in cells if cell.hangs]
        parts += [self._line(line) for line in self.lines]
        parts += [self._box(cell) + ("" if cell.repeated else self._marks(cell)) for cell in cells]
        return head + "".join(parts) + "</svg>"

    def _left(self, cell: BodyBox) -> float:
        return PICTURE_MARGIN + self.grid.left[cell.column]

    def _extent(self, cell: BodyBox) -> float:
        marks = [SMALL_LETTER_WIDTH * len(words) for words in self.marks.get(cell.body, ())]
        return self._left(cell) + max([cell.width, *marks])

    def _joint(self, cell: BodyBox, parent: BodyBox, joint: Connection) -> str:
        """Return the line from the box of the parent to the box of the child, with the words of the joint."""
        x, y = self._left(cell), self.middle[cell.row]
        start, row = self._left(parent) + parent.box, self.middle[parent.row]
        path = f"M{start:.0f} {row:.0f} H{x - COLUMN_GAP / 2:.0f} V{y:.0f} H{x:.0f}"
        words = _text(x, y - BOX_HEIGHT / 2 - 5, joint_words(joint), JOINT_COLOUR)
        return f'<path d="{path}" {CRISP} stroke="{TREE_COLOUR}"/>' + words

    def _box(self, cell: BodyBox) -> str:
        x, y, body = self._left(cell), self.middle[cell.row], cell.body
        fill = "#ddd" if body.index == 0 else "#fff"
        dashes = ' stroke-dasharray="3 3"' if cell.repeated else ""
        box = f'x="{x:.0f}" y="{y - BOX_HEIGHT / 2:.0f}" width="{cell.box:.0f}" height="{BOX_HEIGHT:.0f}" rx="5"'
        centre = f'x="{x + cell.box / 2:.0f}" y="{y + 4:.0f}"'
        name = f'<text {centre} font-size="12" text-anchor="middle" fill="{FRAME_COLOUR}">'
        drawn = f'<rect {box} fill="{fill}" stroke="{FRAME_COLOUR}"{dashes}/>{name}{escape(body.name)}</text>'
        end = x + cell.box
        arrow = f'<path d="M{end:.0f} {y:.0f} h10 m-4 -4 l4 4 l-4 4" fill="none" stroke="{TREE_COLOUR}"/>'
        return drawn + arrow * (cell in self.grid.going_on)

    def _marks(self, cell: BodyBox) -> str:
        """Return the marks below a box: the hatched line, and the names of the constraints of this body alone."""
        x, y, drawn = self._left(cell), self.middle[cell.row] + BOX_HEIGHT / 2, ""
        if cell.body in self.roads:
            y += ROAD / 2
            ticks = "".join(f"M{x + k:.0f} {y:.0f} l-4 5" for k in range(6, int(cell.box) + 1, 6))
            drawn = f'<path d="M{x:.0f} {y:.0f} h{cell.box:.0f} {ticks}" fill="none" stroke="{CONSTRAINT_COLOUR}"/>'
            y += ROAD / 2
        words = enumerate(self.marks.get(cell.body, ()), start=1)
        return drawn + "".join(_text(x, y + HEIGHT_BELOW_BOX * k - 2, name, CONSTRAINT_COLOUR) for k, name in words)

    def _line(self, line: DrawnLine) -> str:
        """Return the line of a constraint, with its words."""
        lane = None if line.lane is None else self.right + LANE * (1 + line.lane)
        paths, turns = [], []
        for end in line.ends:
            x, y = self._leaving(end)
            along = y if end.track is None else self._track(end)
            paths.append(f"M{x:.0f} {y:.0f} V{along:.0f}" + ("" if lane is None else f" H{lane:.0f}"))
            turns.append((x, along))
        if lane is None:
            paths.append(f"M{turns[0][0]:.0f} {turns[0][1]:.0f} H{turns[-1][0]:.0f}")
        else:
            paths.append(f"M{lane:.0f} {min(y for _, y in turns):.0f} V{max(y for _, y in turns):.0f}")
        x, y = self._words_at(line.ends[line.named])
        drawn = f'<path d="{" ".join(paths)}" {CRISP} stroke="{CONSTRAINT_COLOUR}"/>'
        return drawn + _text(x, y, line.words, CONSTRAINT_COLOUR)

    def _leaving(self, end: End) -> tuple[float, float]:
        """Return the point at which a line leaves its box."""
        right, y = self._left(end.cell) + end.cell.box, self.middle[end.cell.row]
        if end.track is None:
            return right, y + PORT * end.port
        return right - 8.0 - 8.0 * end.port, y + BOX_HEIGHT / 2

    def _track(self, end: End) -> float:
        return self.below[end.cell.row] + TRACK_HEIGHT * ((end.track or 0) + 1) - 2.0

    def _words_at(self, end: End) -> tuple[float, float]:
        x, y = self._leaving(end)
        return x + 5.0, (y if end.track is None else self._track(end)) - 3.0


def _text(x: float, y: float, words: str, fill: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="11" fill="{fill}">{escape(words)}</text>'
