"""Entries of models and equations: a name in the words of the user, and a value that can be compared."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from kane.expression.form import Writer
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.text import format_expression, name_of
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.equations import Equations
from kane.formulation.explicit.partial_velocities import Partials, body_partials
from kane.formulation.explicit.velocity_forms import Velocities
from kane.formulation.reasons.contributions import Contributions
from kane.formulation.tree.loads import titled
from kane.geometry.frame import Frame
from kane.model.model import Model
from kane.model.model_form import DECLARATIONS, model_writer

# Value of an entry: numbers, texts and expressions, or a tuple of them.
Value: TypeAlias = Any
Entries: TypeAlias = dict[str, Value]
# Parts of the declarations that are not compared: the name, and the requirements, which follow from other parts.
LEFT_OUT = ("name", "requirements", "notes")
SINGULAR = {"parameters": "parameter", "inputs": "input", "units": "unit of", "bodies": "body", "connections": "joint",
            "cuts": "cut", "frames": "frame", "constraints": "constraint", "candidates": "intermittent constraint",
            "loads": "load", "coordinates": "coordinate", "shapes": "shape"}  # fmt: skip
# Kinds that all entries under a label share.
UNTOLD = ("Candidate", "Row", "SpeedChoice")
AXES = ("x", "y", "z")
# Random samples of each leaf. Expressions whose values agree relative to the tolerance are the same.
SAMPLED_STATES, ROUNDING_DIFFERENCE = 3, 1e-11


def declared_entries(model: Model) -> Entries:
    """Return the declarations of a model by name, such as "body 'A' com y"."""
    write = model_writer(model, [], _Values)
    titles = [title for title, _ in titled(model.loads)]
    found: Entries = {}
    for section, form in DECLARATIONS.items():
        if section not in LEFT_OUT:
            names = titles if section == "loads" else ()
            value = form(model, write)
            # There is one selection of speeds.
            found.update(_flat(SINGULAR.get(section, section), value[0] if section == "speeds" else value, names))
    return found


class _Values(Writer):
    """Writer of declarations that keeps expressions as they are."""

    def node(self, x: Expr, who: str) -> Any:
        return x


def _flat(label: str, value: Any, names: Sequence[str] = ()) -> Iterator[tuple[str, Value]]:
    """Yield the numbers, texts and expressions of a nested value, with their names."""
    if isinstance(value, dict):
        if value.get("is", UNTOLD[0]) not in UNTOLD:
            yield f"{label} kind", value["is"]
        for key, part in value.items():
            if key not in ("is", "name"):
                yield from _flat(label if key == "dict" else f"{label} {key}", part)
    elif isinstance(value, (list, tuple)):
        for k, part in enumerate(value):
            yield from _flat(*_item(label, value, k, part, names))
    elif value is not None:
        yield label, value


def _item(label: str, value: Sequence[Any], k: int, part: Any, names: Sequence[str]) -> tuple[str, Any]:
    """Return the name and the value of an item of a list: by its title or name, by axis, else counted from 1."""
    if names:
        return f"{label} {names[k]!r}", part
    if isinstance(part, dict) and isinstance(part.get("name"), str):
        return f"{label} {part['name']!r}", part
    if isinstance(part, list) and len(part) == 2 and isinstance(part[0], str):
        return f"{label} {part[0]!r}", part[1]
    return f"{label} {AXES[k] if len(value) == 3 else k + 1}", part


def equation_entries(equations: Equations, sliding: Sequence[IntermittentEquations] = ()) -> Entries:
    """Return speeds, rows, intermittent constraints, defaults, partial velocities and terms of equations by name.

    ``sliding`` are intermittent constraints whose kinetic friction acts.
    """
    D, names = equations.embedding.D, [leaf.data for leaf in equations.u]
    found: Entries = {f"speed {name}": "dependent" if j in D else "independent" for j, name in enumerate(names)}
    found |= {f"default of {name}": value for name, value in equations.defaults.items()}
    found |= {f"constraint row {row.name!r}": row.motion for row in equations.constraints}
    found |= dict(_intermittent(equations))
    # Bases with fewer operations would change no value, and their search takes longer than the rest.
    motion = Velocities(equations.tree, equations.system.speeds)
    table = body_partials(motion, equations.system, equations.tree, equations.baked_in)
    for symbol, forms in (("w", table.angular_velocities), ("v", table.mass_centres)):
        for body, partials in forms.items():
            found.update(_partials(equations, symbol, body, partials, table.N))
    for c in Contributions(equations, sliding, motion).of([j for j in range(len(names)) if j not in D]):
        through = f" through {c.through}" if c.through else ""
        found[f"equation of {c.speed}: {c.term}, {c.kind} of {c.source}{through}"] = c.expression
    return found


def _intermittent(equations: Equations) -> Iterator[tuple[str, Value]]:
    """Yield the declarations of the intermittent constraints and their rows in u, with substituted values."""
    write = model_writer(equations.model, [], _Values)
    values = {**equations.baked, **equations.controllers}
    for c in equations.intermittents:
        who = f"{SINGULAR['candidates']} {c.name!r}"
        rows = ((f"{who} row {row.name.removeprefix(f'{c.name}: ')!r}", row.motion) for row in c.rows)
        for name, value in (*_flat(who, write(c.constraint, who)), *rows):
            yield name, substitute_nodes([value], values)[0] if isinstance(value, Expr) and values else value


def _partials(
    equations: Equations, symbol: str, body: str, partials: Partials, N: Frame
) -> Iterator[tuple[str, Value]]:
    """Yield the partial velocities of the independent speeds in N, v_i + sum of D_di v_d over the dependent speeds."""
    D = equations.embedding.D
    of_speeds = [v.express(N).components for v in partials.u]
    for i, leaf in enumerate(equations.u):
        if i not in D:
            total = list(of_speeds[i])
            for d, row in D.items():
                if i in row:
                    total = [a + row[i] * b for a, b in zip(total, of_speeds[d], strict=True)]
            if any(not _is_zero(x) for x in total):
                place = "" if symbol == "w" else "cm"
                yield f"partial velocity {symbol}_N{body}{place}_{leaf.data}", tuple(equations.baked_in(total))


def _is_zero(x: Any) -> bool:
    return x.data == 0.0 if isinstance(x, Expr) and x.is_constant else isinstance(x, (int, float)) and x == 0


def same_value(a: Value, b: Value, samples: Mapping[Expr, np.ndarray]) -> bool:
    """Check whether two values are equal; expressions are equal if their samples agree."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same_value(x, y, samples) for x, y in zip(a, b, strict=True))
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return (type(a) is type(b) or {type(a), type(b)} == {int, float}) and bool(a == b)
    if not all(isinstance(x, (Expr, float, int)) for x in (a, b)):
        return False
    x, y = (samples[x] if isinstance(x, Expr) else np.full(SAMPLED_STATES, float(x)) for x in (a, b))
    return bool(
        np.all((np.abs(x - y) <= ROUNDING_DIFFERENCE * np.maximum(np.abs(x), np.abs(y))) | (np.isnan(x) & np.isnan(y)))
    )


def sampled(entries: Entries) -> dict[Expr, np.ndarray]:
    """Return the values of all expressions where each leaf has random values that depend on its name only."""
    found = list(dict.fromkeys(x for value in entries.values() for x in _expressions(value)))
    values = {leaf: _random(f"{leaf.op} {name_of(leaf)}") for leaf in leaves(found)}
    rows = (np.broadcast_to(np.asarray(x, float), (SAMPLED_STATES,)) for x in interpret(found, values))
    return dict(zip(found, rows, strict=True))


def _expressions(value: Value) -> Iterator[Expr]:
    if isinstance(value, tuple):
        for x in value:
            yield from _expressions(x)
    elif isinstance(value, Expr):
        yield value


def _random(name: str) -> np.ndarray:
    return np.random.default_rng(zlib.crc32(name.encode())).uniform(0.2, 1.2, SAMPLED_STATES)


def written(value: Value) -> str:
    """Return a value as text."""
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))})"
    return (
        format_expression(value)
        if isinstance(value, Expr)
        else f"{value:.12g}"
        if isinstance(value, float)
        else str(value)
    )
