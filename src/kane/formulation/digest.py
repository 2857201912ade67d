"""Digest of equations: hash of everything from which their programs are derived."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from kane.errors import FileError
from kane.expression.arena_form import node_rows
from kane.expression.form import Writer
from kane.formulation.equations import Equations
from kane.formulation.equations_form import settings
from kane.machine.sources import sources_digest
from kane.model.model_form import described, model_writer

# Parts of a model from which nothing is derived: shapes are drawn, and contacts between them are kept as expressions.
PARTS_WITHOUT_EQUATIONS = ("shapes", "notes", "units")


def equations_digest(equations: Equations) -> str | None:
    """Return the hash of equations and of the sources that derive programs from them; None if there is none.

    Equations of a part of a model have no digest. Models with joints or loads from outside kane, or with Python
    functions, have none either: no hash covers their code.
    """
    if not equations.whole:
        return None
    sources = sources_digest()
    if sources is None or any(c.joint.recorded(c.coordinates) is not c.joint for c in equations.model.connections):
        return None
    try:
        content = _content(equations, model_writer(equations.model))
    except FileError:
        return None
    return hashlib.sha256(json.dumps([sources, content]).encode()).hexdigest()


def model_digest(equations: Equations) -> str | None:
    """Return the hash of a model with its expressions and of the substitutions in its equations.

    It does not depend on the sources of kane. Models with classes from outside kane have none.
    """
    write = model_writer(equations.model)
    try:
        content = _content(equations, write)
        nodes = node_rows(equations.model.arena, write.extent, write)
    except FileError:
        return None
    return hashlib.sha256(json.dumps([content, nodes]).encode()).hexdigest()


def _content(equations: Equations, write: Writer) -> dict[str, Any]:
    model = described(equations.model, write, without=PARTS_WITHOUT_EQUATIONS)
    return {**model, **settings(equations, write), "defaults": list(equations.defaults.items())}
