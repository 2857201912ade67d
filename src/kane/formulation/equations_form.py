"""Equations as JSON without loss, and back: the model, and what was substituted in its equations.

Reading derives them anew. That takes as long as reading the graph of what was derived would, and whatever a file says
goes through the checks of ``formulate``; the nodes come back in their order, so that the result is the same to the
last bit.
"""

from __future__ import annotations

import copyreg
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from kane.errors import ImportFileError
from kane.expression.arena_form import add_nodes, node_rows
from kane.expression.arguments import require
from kane.expression.form import Reader, Writer
from kane.expression.node import Expr
from kane.expression.operations import INPUT, PARAMETER
from kane.files.json_file import Format
from kane.formulation.equations import Equations
from kane.formulation.formulate import ROUTES, formulate, recursive_route, resubstituted
from kane.model.model import Model
from kane.model.model_form import declare, described, model_reader, model_writer, taken
from kane.model.reaction import PREFIX

FORMAT = Format("kane equations", 1)


def save_equations(equations: Equations, path: str | PathLike[str]) -> None:
    """Write equations as a JSON file: their model, and what was substituted in them; ``load_equations`` reads it.

    Raises:
        ModelError: ``equations`` is not what ``formulate`` returns.
        FileError: as ``save_model``.
    """
    require(equations, Equations, "save_equations takes Equations, which kane.formulate(model) returns")
    model = equations.model
    write = model_writer(model)
    content = {**described(model, write), **_made(equations, write)}
    FORMAT.write(path, {**content, "nodes": node_rows(model.arena, write.extent, write)})


def load_equations(path: str | PathLike[str]) -> Equations:
    """Read equations that ``save_equations`` wrote, and derive them: the same to the last bit.

    Nothing that the file names is imported or executed.

    Raises:
        ImportFileError: as ``load_model``.
    """
    content = FORMAT.read(path)
    with FORMAT.reading(path):
        model = Model(taken(content, "name", str))
        read = model_reader(model)
        add_nodes(model.arena, taken(content, "nodes", list), read)
        declare(model, content, read)
        return _made_of(model, content, read)


def _made(equations: Equations, write: Writer) -> dict[str, Any]:
    """What equations are beyond their model."""
    return {
        "route": equations.route.name,
        "left_parameters": [leaf.data for leaf in equations.parameters],
        "left_inputs": [leaf.data for leaf in equations.inputs],
        "numbers": [[leaf.data, write(x, leaf.data)] for leaf, x in equations.baked.items()],
        "controllers": [[leaf.data, write(x, leaf.data)] for leaf, x in equations.controllers.items()],
        "in_force": _in_force(equations),
    }


def _in_force(equations: Equations) -> list[Any]:
    """Names of the speeds, of the constraint rows and of the dependent speeds, to be found again."""
    dependent = [leaf.data for leaf in equations.embedding.u] or None
    return [[leaf.data for leaf in equations.u], [row.name for row in equations.constraints], dependent]


def _made_of(model: Model, content: Mapping[str, Any], read: Reader) -> Equations:
    """The equations of a model with such additions.

    Raises:
        ImportFileError: they are none, or lead to other equations.
    """
    leaf = model.arena.leaf
    numbers, controllers = (dict(read(taken(content, key, list))) for key in ("numbers", "controllers"))
    parameters, inputs = (taken(content, key, list) for key in ("left_parameters", "left_inputs"))
    _require_all("parameter", [*parameters, *numbers], model.parameters)
    _require_all("input", [*inputs, *(name for name in controllers if not name.startswith(PREFIX))], model.inputs)
    if not all(isinstance(x, Expr) for x in (*numbers.values(), *controllers.values())):
        raise ImportFileError("what was substituted is no expression")
    found = resubstituted(
        formulate(model),
        parameters=tuple(leaf(PARAMETER, name) for name in parameters),
        inputs=tuple(leaf(INPUT, name) for name in inputs),
        baked={leaf(PARAMETER, name): x for name, x in numbers.items()},
        controllers={leaf(INPUT, name): x for name, x in controllers.items()},
    )
    if _in_force(found) != taken(content, "in_force", list):
        raise ImportFileError(
            "deriving leads to other speeds or constraints than were saved: the equations of a part "
            "(Equations.unconstrained, Equations.own) were, or another version of kane saved them; save the equations "
            "of the whole model, or formulate the model anew"
        )
    return replace(found, route_of=ROUTES.get(str(content.get("route")), recursive_route))


def _require_all(what: str, names: Sequence[Any], known: Mapping[str, float]) -> None:
    if sorted(map(str, names)) != sorted(known):
        raise ImportFileError(
            f"the {what}s {', '.join(map(str, names))} are not those of the model: {', '.join(known)}"
        )


def _sent(equations: Equations) -> tuple[Any, ...]:
    """The model, as it is where it has not changed since, and the rest as text."""
    live = equations.model.ground.model
    snapshot = equations.model
    as_it_was = [described(m, model_writer(m, [])) for m in (live, snapshot)]
    text = json.dumps(_made(equations, model_writer(snapshot, [])))
    return _received, (live if as_it_was[0] == as_it_was[1] else snapshot, text)


def _received(model: Model, text: str) -> Equations:
    return _made_of(model, json.loads(text), model_reader(model))


copyreg.pickle(Equations, _sent)
