"""Answers of the playground: the equations, counts and page of a model that is given as Python text.

``worker.js`` calls ``answers`` in the browser, where only NumPy is installed.
"""

from __future__ import annotations

import json
import runpy
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kane.display.live_motion import live_page, model_page
from kane.errors import KaneError, ModelError, shown
from kane.formulation.equations import Equations
from kane.formulation.formulate import formulate
from kane.formulation.quantities.counts import count_programs
from kane.model.model import Model
from kane.model.named_vector import named_vector

# Quantities of models with closed loops that are embedded numerically: they have no expression of udot.
LISTED_PARTS = ("unconstrained", "constraints")
MOST_SLIDERS, MOST_ARROWS = 12, 6


def answers(text: str, file: str = "model.py") -> Iterator[str]:
    """Run the text of a model, and yield JSON objects with "kind": "equations", "counts", "page", or one "problem".

    The text assigns a ``kane.Model`` to ``model``. ``q`` and ``u`` are initial values, dicts from names to numbers;
    without them the page begins in the neutral position at rest.

    Args:
        text: Python text, which this process executes.
        file: path to which the text is written.
    """
    try:
        Path(file).write_text(text, "utf-8")
        names = runpy.run_path(file, run_name="playground")
        equations = formulate(_model(names))
        yield _message("equations", title=equations.name, text=listing(equations))
        yield _message("counts", rows=counts(equations))
        page, note = moving_page(equations, names.get("q"), names.get("u"))
        yield _message("page", note=note, **json.loads(page.message()))
    except (Exception, SystemExit) as error:  # any error of the text is an answer
        yield _message("problem", text=_described(error, file), line=_line(error, file))


def _message(kind: str, **content: Any) -> str:
    return json.dumps({"kind": kind, **content})


def _model(names: dict[str, Any]) -> Model:
    found = names.get("model")
    if not isinstance(found, Model):
        raise ModelError(f'the text must assign a model, model = kane.Model("name"); "model" is {shown(found)}')
    return found


def listing(equations: Equations) -> str:
    """Return ``Equations.listing()``; without expressions of udot, the unconstrained equations and the constraints."""
    try:
        return equations.listing()
    except ModelError as error:
        parts = [f"# {name}\n{equations.listing(name)}" for name in LISTED_PARTS]
        return "\n\n".join([f"# {str(error).partition(':')[0]}.", *parts])


def counts(equations: Equations) -> list[list[Any]]:
    """Return rows of the table of operations, titles first; of the programs before a numerical embedding."""
    found = count_programs(equations, equations.embedding.counted)
    titles = list(next(iter(found.values())))
    return [["operations", *titles], *([name, *(row[word] for word in titles)] for name, row in found.items())]


def moving_page(equations: Equations, q: Any, u: Any) -> tuple[Any, str]:
    """Return the page that integrates these equations, and a remark.

    Models with intermittent constraints get the page that moves their coordinates by sliders.
    """
    start = [
        *named_vector(q, [leaf.name for leaf in equations.q], equations.neutral, "coordinate"),
        *named_vector(u, [leaf.name for leaf in equations.u], [0.0] * len(equations.u), "speed"),
    ]
    if equations.intermittents:
        page = model_page(equations, start=(0.0, start), parameters={})
        return page, "Pages do not simulate contacts: move the coordinates by the sliders."
    sliders = [leaf.name for leaf in (*equations.inputs, *equations.parameters)][:MOST_SLIDERS]
    arrows = [title for title, _ in equations.tree.loads][:MOST_ARROWS]
    page = live_page(equations, start=(0.0, start), sliders_asked=sliders, parameters={}, inputs={}, arrows=arrows)
    return page, ""


def _described(error: BaseException, file: str) -> str:
    kind = "" if isinstance(error, KaneError) else f"{type(error).__name__}: "
    line = _line(error, file)
    return f"{f'line {line}: ' if line else ''}{kind}{error}"


def _line(error: BaseException, file: str) -> int:
    """Return the line of the text at which an error was raised; 0 if it was raised elsewhere."""
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    lines = [frame.lineno or 0 for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else 0
