"""A model drawn: its kinematic graph as text and as a picture, and its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from kane.expression.node import Expr

if TYPE_CHECKING:
    from kane.model.body import Body
    from kane.model.connection import Connection
    from kane.model.constraints import Imposed
    from kane.model.model import Model

# Sizes of the picture in pixels: a box, the gaps between boxes, the margin, the width of a letter.
BOX_HEIGHT, ROW, MARGIN, LETTER = 26, 44, 10, 7.2


def summary(model: Model) -> str:
    """The model in one line: its name and how much there is of what."""
    counts = (
        (len(model.bodies) - 1, "body", "bodies"),
        (len(model.connections), "joint", "joints"),
        (len(model.loads), "load", "loads"),
        (len(model.constraints), "constraint", "constraints"),
    )
    words = [f"{n} {one if n == 1 else many}" for n, one, many in counts if n or one == "body"]
    return f"<Model {model.name!r}: {', '.join(words)}>"


def graph_text(model: Model) -> str:
    """The tree of bodies, one a line, each behind the joint that carries it; then bodies that hang on nothing,
    constraints and speeds of choice.
    """
    below = _children(model)
    lines, stack = [model.ground.name], [(c, "") for c in reversed(below.get(model.ground, []))]
    while stack:
        connection, indent = stack.pop()
        siblings = below[connection.parent]
        last = connection is siblings[-1]
        lines.append(f"{indent}{'└─' if last else '├─'} {_joint_words(connection)} ─ {connection.child.name}")
        deeper = indent + ("   " if last else "│  ")
        stack.extend((c, deeper) for c in reversed(below.get(connection.child, [])))
    lines.extend(f"{body.name} (hangs on nothing)" for body in _loose(model))
    lines.extend(f"constraint: {_constraint_words(c)}" for c in model.constraints)
    if model.speed_choice.definitions:
        lines.append(f"speeds: {', '.join(model.speed_choice.definitions)}")
    if model.speed_choice.dependent:
        lines.append(f"dependent: {', '.join(model.speed_choice.dependent)}")
    return "\n".join(lines)


def tables(model: Model) -> dict[str, tuple[Sequence[str], list[Sequence[str]]]]:
    """Heads and rows of the tables of bodies, joints, loads, constraints, speeds of choice and symbols."""
    bodies = [
        (b.name, _number(b.mass), _numbers(b.com), _numbers(b.inertia[i][i] for i in range(3)))
        for b in model.bodies[1:]
    ]
    joints = [
        (c.name, type(c.joint).__name__, c.parent.name, c.child.name, _coordinates(c), ", ".join(c.speed_names))
        for c in model.connections
    ]
    symbols = [(name, "parameter", _number(x)) for name, x in model.parameters.items()]
    symbols += [(name, "input", _number(x)) for name, x in model.inputs.items()]
    return {
        "Bodies": (("body", "mass [kg]", "mass centre [m]", "Ixx, Iyy, Izz [kg m²]"), list(bodies)),
        "Joints": (("joint", "kind", "parent", "child", "coordinates", "speeds"), list(joints)),
        "Loads": (("load", "acts on"), [(type(x).__name__, _acts_on(x)) for x in model.loads]),
        "Constraints": (("constraint", "equations"), [(c.name, _row_names(c)) for c in model.constraints]),
        "Speeds": (("speed", "definition"), [(n, repr(x)) for n, x in model.speed_choice.definitions.items()]),
        "Symbols": (("name", "kind", "default"), list(symbols)),
    }


def html(model: Model) -> str:
    """The picture and the tables, as a notebook shows them."""
    parts = [f"<h3>{escape(model.name)}</h3>", draw(model)]
    for title, (head, rows) in tables(model).items():
        if rows:
            cells = "".join(f"<th>{escape(h)}</th>" for h in head)
            body = "".join("<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in rows)
            parts.append(f"<h4>{title}</h4><table><tr>{cells}</tr>{body}</table>")
    return "\n".join(parts)


def draw(model: Model) -> str:
    """The kinematic graph as a picture, SVG: bodies in boxes, from the ground rightwards, joints on the lines
    between.
    """
    place = _places(model, _children(model))
    columns = range(1 + max(column for column, _ in place.values()))
    widths = [max(LETTER * len(body.name) + 16 for body, (k, _) in place.items() if k == column) for column in columns]
    gaps = [0.0 for _ in columns]
    for c in model.connections:
        if c.child in place:
            k = place[c.child][0]
            gaps[k] = max(gaps[k], LETTER * len(_joint_words(c)) + 30)
    left = [MARGIN + sum(widths[:k]) + sum(gaps[: k + 1]) for k in columns]
    spans = {body: (left[k], left[k] + widths[k], _middle(row)) for body, (k, row) in place.items()}
    parts = [_line(c, spans) for c in model.connections if c.child in place]
    parts += [_box(body, *span) for body, span in spans.items()]
    width, height = left[-1] + widths[-1] + MARGIN, 2 * MARGIN + ROW * (1 + max(row for _, row in place.values()))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" font-family="sans-serif">'
    return head + "".join(parts) + "</svg>"


def _line(c: Connection, spans: dict[Body, tuple[float, float, int]]) -> str:
    """The line of a joint, with its words on it."""
    (_, x0, y0), (x1, _, y1) = spans[c.parent], spans[c.child]
    path = f'<path d="M{x0:.0f} {y0} L{x0 + 12:.0f} {y1} L{x1:.0f} {y1}" fill="none" stroke="#888"/>'
    words = escape(_joint_words(c))
    return path + f'<text x="{x0 + 16:.0f}" y="{y1 - 5}" font-size="11" fill="#36c">{words}</text>'


def _box(body: Body, x0: float, x1: float, y: int) -> str:
    fill = "#fff" if body.index else "#ddd"
    top = y - BOX_HEIGHT // 2
    box = f'x="{x0:.0f}" y="{top}" width="{x1 - x0:.0f}" height="{BOX_HEIGHT}" rx="5" fill="{fill}" stroke="#444"'
    name, middle = escape(body.name), (x0 + x1) / 2
    return f'<rect {box}/><text x="{middle:.0f}" y="{y + 4}" font-size="12" text-anchor="middle">{name}</text>'


def _middle(row: int) -> int:
    return MARGIN + ROW * row + ROW // 2


def _places(model: Model, below: dict[Body, list[Connection]]) -> dict[Body, tuple[int, int]]:
    """Column and row of each body: a first child stays on the row of its parent. Loose bodies stand below."""
    place: dict[Body, tuple[int, int]] = {}
    row = -1
    stack = [(model.ground, 0, True)]
    while stack:
        body, column, opens_row = stack.pop()
        row += opens_row
        place[body] = (column, row)
        children = below.get(body, [])
        stack.extend((c.child, column + 1, k > 0) for k, c in reversed(list(enumerate(children))))
    for body in _loose(model):
        row += 1
        place[body] = (0, row)
    return place


def _loose(model: Model) -> list[Body]:
    carried = {c.child for c in model.connections}
    return [b for b in model.bodies[1:] if b not in carried]


def _children(model: Model) -> dict[Body, list[Connection]]:
    below: dict[Body, list[Connection]] = {}
    for c in model.connections:
        below.setdefault(c.parent, []).append(c)
    return below


def _joint_words(c: Connection) -> str:
    words = _coordinates(c)
    return f"{type(c.joint).__name__}({words})" if words else type(c.joint).__name__


def _coordinates(c: Connection) -> str:
    if c.coordinate_names:
        names = c.coordinate_names
        return ", ".join(names) if len(names) <= 3 else f"{names[0]}, ..., {names[-1]}"
    return ", ".join(repr(q) for q in c.coordinates)


def _acts_on(load: object) -> str:
    targets = (getattr(load, word, None) for word in ("connection", "body", "point", "P", "Q"))
    return ", ".join(str(getattr(x, "name", None) or x.body.name) for x in targets if x is not None)


def _constraint_words(c: Imposed) -> str:
    return c.name if len(c.rows) == 1 else f"{c.name} ({_row_names(c)})"


def _row_names(c: Imposed) -> str:
    return ", ".join(row.name for row in c.rows)


def _number(x: object) -> str:
    return repr(x) if isinstance(x, Expr) else f"{x:.6g}"


def _numbers(values: Iterable[object]) -> str:
    return ", ".join(_number(x) for x in values)
