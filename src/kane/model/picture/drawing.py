"""Display of a model: kinematic graph as text, tables, and an HTML page with picture and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from kane.expression.node import Expr
from kane.model.contacts.intermittent_constraint import candidates_by_declaration, declared_name
from kane.model.picture.kinematic_graph import children, coordinate_words, joint_words, loose
from kane.model.picture.picture import draw

if TYPE_CHECKING:
    from kane.model.constraints.constraint import Imposed
    from kane.model.contacts import IntermittentConstraint
    from kane.model.model import Model


def summary(model: Model) -> str:
    """Return the model in one line: its name and the numbers of its parts."""
    counts = (
        (len(model.bodies) - 1, "body", "bodies"),
        (len(model.connections), "joint", "joints"),
        (len(model.loads), "load", "loads"),
        (len(model.constraints), "constraint", "constraints"),
        (len(model.intermittents), "intermittent constraint", "intermittent constraints"),
    )
    words = [f"{n} {one if n == 1 else many}" for n, one, many in counts if n or one == "body"]
    return f"<Model {model.name!r}: {', '.join(words)}>"


def graph_text(model: Model) -> str:
    """Return the kinematic graph as text: the tree of bodies, one per line, each after the joint that carries it.

    Further lines list unconnected bodies, permanent constraints, intermittent constraints by declaration, defined and
    dependent speeds, and the number of notes.
    """
    below = children(model)
    lines, stack = [model.ground.name], [(c, "") for c in reversed(below.get(model.ground, []))]
    while stack:
        connection, indent = stack.pop()
        siblings = below[connection.parent]
        last = connection is siblings[-1]
        lines.append(f"{indent}{'└─' if last else '├─'} {joint_words(connection)} ─ {connection.child.name}")
        deeper = indent + ("   " if last else "│  ")
        stack.extend((c, deeper) for c in reversed(below.get(connection.child, [])))
    lines.extend(f"{body.name} (not connected)" for body in loose(model))
    lines.extend(f"constraint: {_constraint_words(c)}" for c in model.constraints)
    lines.extend(
        f"intermittent: {_declaration_words(group)}" for group in candidates_by_declaration(model.intermittents)
    )
    if model.speed_choice.definitions:
        lines.append(f"speeds: {', '.join(model.speed_choice.definitions)}")
    if model.speed_choice.dependent:
        lines.append(f"dependent: {', '.join(model.speed_choice.dependent)}")
    if model.notes:
        lines.append(f"notes: {len(model.notes)}, in model.notes")
    return "\n".join(lines)


def tables(model: Model) -> dict[str, tuple[Sequence[str], list[Sequence[str]]]]:
    """Return header and rows of the tables of bodies, joints, loads, constraints, speeds and symbols, by title."""
    bodies = [
        (b.name, _number(b.mass), _numbers(b.com), _numbers(b.inertia[i][i] for i in range(3)))
        for b in model.bodies[1:]
    ]
    joints = [
        (c.name, type(c.joint).__name__, c.parent.name, c.child.name, coordinate_words(c), ", ".join(c.speed_names))
        for c in model.connections
    ]
    symbols = [(name, "parameter", _number(x)) for name, x in model.parameters.items()]
    symbols += [(name, "input", _number(x)) for name, x in model.inputs.items()]
    return {
        "Bodies": (("body", "mass [kg]", "mass centre [m]", "Ixx, Iyy, Izz [kg m²]"), list(bodies)),
        "Joints": (("joint", "kind", "parent", "child", "coordinates", "speeds"), list(joints)),
        "Loads": (("load", "acts on"), [(type(x).__name__, _acts_on(x)) for x in model.loads]),
        "Constraints": (("constraint", "equations"), [(c.name, _row_names(c)) for c in model.constraints]),
        "Intermittent constraints": (
            ("name", "equations", "law"),
            [_declared(group) for group in candidates_by_declaration(model.intermittents)],
        ),
        "Speeds": (("speed", "definition"), [(n, repr(x)) for n, x in model.speed_choice.definitions.items()]),
        "Symbols": (("name", "kind", "default"), list(symbols)),
    }


def html(model: Model) -> str:
    """Return the picture and the tables as HTML, for notebooks."""
    parts = [f"<h3>{escape(model.name)}</h3>", draw(model)]
    for title, (head, rows) in tables(model).items():
        if rows:
            cells = "".join(f"<th>{escape(h)}</th>" for h in head)
            body = "".join("<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in rows)
            parts.append(f"<h4>{title}</h4><table><tr>{cells}</tr>{body}</table>")
    return "\n".join(parts)


def _acts_on(load: object) -> str:
    targets = (getattr(load, word, None) for word in ("connection", "body", "point", "P", "Q"))
    return ", ".join(str(getattr(x, "name", None) or x.body.name) for x in targets if x is not None)


def _declared(group: Sequence[IntermittentConstraint]) -> Sequence[str]:
    """Return name, rows and law of one declaration; ``on`` and ``off`` only if it has a single constraint."""
    c = group[0]
    message = (
        [] if c.friction is None else [f"static {_number(c.friction.static)}, kinetic {_number(c.friction.kinetic)}"]
    )
    if c.gap is not None and not c.bilateral:
        message.append(f"restitution {_number(c.restitution.coefficient)} ({type(c.restitution).__name__})")
    if len(group) > 1:
        return f"{declared_name(c)} ({len(group)} parts)", _row_names(c), "; ".join(message)
    message += [f"{word} {x!r} > 0" for word, x in (("on", c.on), ("off", c.off)) if x is not None]
    return c.name, _row_names(c), "; ".join(message)


def _declaration_words(group: Sequence[IntermittentConstraint]) -> str:
    if len(group) == 1:
        return _constraint_words(group[0])
    return f"{declared_name(group[0])} ({len(group)} parts: {_row_names(group[0])})"


def _constraint_words(c: Imposed | IntermittentConstraint) -> str:
    return c.name if len(c.rows) == 1 else f"{c.name} ({_row_names(c)})"


def _row_names(c: Imposed | IntermittentConstraint) -> str:
    return ", ".join(row.name for row in c.rows)


def _number(x: object) -> str:
    return repr(x) if isinstance(x, Expr) else f"{x:.6g}"


def _numbers(values: Iterable[object]) -> str:
    return ", ".join(_number(x) for x in values)
