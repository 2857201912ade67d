"""Equations as JSON without loss: the model, and the substitutions made in its equations.

Loading derives the equations again. This takes as long as reading their expression graph would, and ``formulate``
checks the contents of the file. Nodes are restored in their original order, so that results agree to the last bit.
"""

from __future__ import annotations

import copyreg
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from os import PathLike
from typing import Any

from kane.errors import ImportFileError
from kane.expression.arena_form import add_nodes, node_rows
from kane.expression.form import Reader, Writer
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import INPUT, PARAMETER
from kane.files.json_file import Format
from kane.formulation.equations import Equations
from kane.formulation.formulate import ROUTES, formulate, recursive_route, resubstituted
from kane.formulation.matrix_route import has_bodies, require_bodies
from kane.model.model import Model
from kane.model.model_form import declare, described, model_reader, model_writer, taken
from kane.model.reaction import REACTION_PREFIX

EQUATIONS_FORMAT = Format("kane equations", 1)


def save_equations(equations: Equations, path: str | PathLike[str]) -> None:
    """Write equations to a JSON file, as their model and its substitutions, for ``load_equations``.

    Raises:
        ModelError: ``equations`` is not an ``Equations``.
        FileError: as ``save_model``.
    """
    require(equations, Equations, "save_equations takes Equations, which kane.formulate(model) returns")
    require_bodies(equations, "a file of the equations")
    model = equations.model
    write = model_writer(model)
    content = {**described(model, write), **settings(equations, write)}
    EQUATIONS_FORMAT.write(path, {**content, "nodes": node_rows(model.arena, write.extent, write)})


def load_equations(path: str | PathLike[str]) -> Equations:
    """Read a file that ``save_equations`` wrote and derive the equations again, equal to the last bit.

    Nothing that the file names is imported or executed.

    Raises:
        ImportFileError: as ``load_model``.
    """
    content = EQUATIONS_FORMAT.read(path)
    with EQUATIONS_FORMAT.reading(path):
        model = Model(taken(content, "name", str))
        read = model_reader(model)
        add_nodes(model.arena, taken(content, "nodes", list), read)
        declare(model, content, read)
        return _made_of(model, content, read)


def settings(equations: Equations, write: Writer) -> dict[str, Any]:
    """Return the settings of equations beyond their model: route and substitutions."""
    return {
        "route": equations.route.name,
        "left_parameters": [leaf.data for leaf in equations.parameters],
        "left_inputs": [leaf.data for leaf in equations.inputs],
        "numbers": [[leaf.data, write(x, leaf.data)] for leaf, x in equations.baked.items()],
        "controllers": [[leaf.data, write(x, leaf.data)] for leaf, x in equations.controllers.items()],
        "in_force": _in_force(equations),
    }


def _in_force(equations: Equations) -> list[Any]:
    """Return the names of speeds, constraint rows and dependent speeds, for comparison after loading."""
    dependent = [leaf.data for leaf in equations.embedding.u] or None
    return [[leaf.data for leaf in equations.u], [row.name for row in equations.constraints], dependent]


def _made_of(model: Model, content: Mapping[str, Any], read: Reader) -> Equations:
    """Return the equations of a model with saved settings.

    Raises:
        ImportFileError: the content is invalid, or leads to different equations.
    """
    leaf = model.arena.leaf
    numbers, controllers = (dict(read(taken(content, key, list))) for key in ("numbers", "controllers"))
    parameters, inputs = (taken(content, key, list) for key in ("left_parameters", "left_inputs"))
    _require_all("parameter", [*parameters, *numbers], model.parameters)
    _require_all(
        "input", [*inputs, *(name for name in controllers if not name.startswith(REACTION_PREFIX))], model.inputs
    )
    if not all(isinstance(x, Expr) for x in (*numbers.values(), *controllers.values())):
        raise ImportFileError("a substituted value is not an expression")
    found = resubstituted(
        formulate(model),
        parameters=tuple(leaf(PARAMETER, name) for name in parameters),
        inputs=tuple(leaf(INPUT, name) for name in inputs),
        baked={leaf(PARAMETER, name): x for name, x in numbers.items()},
        controllers={leaf(INPUT, name): x for name, x in controllers.items()},
    )
    if _in_force(found) != taken(content, "in_force", list):
        raise ImportFileError(
            "the derived speeds or constraints differ from the saved ones: equations of a part "
            "(Equations.unconstrained, Equations.own) or of another version of kane were saved; save the equations "
            "of the whole model, or formulate the model again"
        )
    return replace(found, route_of=ROUTES.get(str(content.get("route")), recursive_route)).of_whole_model()


def _require_all(what: str, names: Sequence[Any], known: Mapping[str, float]) -> None:
    if sorted(map(str, names)) != sorted(known):
        raise ImportFileError(
            f"the {what}s {', '.join(map(str, names))} are not those of the model: {', '.join(known)}"
        )


def _sent(equations: Equations) -> tuple[Any, ...]:
    """Return a pickle: the live model if it has not changed since, else the snapshot, and the settings as text."""
    if not has_bodies(equations):
        return Equations, tuple(getattr(equations, x.name) for x in fields(equations) if x.init)
    live = equations.model.ground.model
    assert isinstance(live, Model)
    snapshot = equations.model
    as_it_was = [described(m, model_writer(m, [])) for m in (live, snapshot)]
    text = json.dumps(settings(equations, model_writer(snapshot, [])))
    return _received, (live if as_it_was[0] == as_it_was[1] else snapshot, text)


def _received(model: Model, text: str) -> Equations:
    return _made_of(model, json.loads(text), model_reader(model))


copyreg.pickle(Equations, _sent)
