"""Checks of declarations: names, expressions, bodies, and joints that must form a tree."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kane.errors import ModelError, list_names, shown
from kane.expression.node import Expr, Scalar
from kane.expression.operations import COORDINATE, INPUT, PARAMETER, TIME
from kane.expression.traverse import leaves
from kane.model.body import Body

if TYPE_CHECKING:
    from kane.model.model import Model


def require_word(name: Any) -> None:
    """Raise ModelError unless ``name`` is a non-empty string without spaces at its ends."""
    if not isinstance(name, str) or not name or name != name.strip():
        raise ModelError(f"{shown(name)} is not a name; give a non-empty word without spaces around it")


def require_fixed(values: Iterable[Scalar], what: str) -> None:
    """Raise ModelError if a value depends on anything but parameters.

    Such values are constants of the equations of motion, which omit their time derivatives.
    """
    wrong = [repr(leaf) for leaf in leaves([x for x in values if isinstance(x, Expr)]) if leaf.op != PARAMETER]
    if wrong:
        raise ModelError(
            f"{what} depends on {', '.join(wrong)}; it may depend on parameters only. "
            "For motion use a joint, whose coordinate may be an expression of time and other coordinates"
        )


def near(name: object, known: Sequence[str]) -> str:
    """Return the end of an error message: the known names that are close to a mistyped name."""
    close = difflib.get_close_matches(name if isinstance(name, str) else shown(name), known, n=3)
    if not known:
        return "there are none here"
    return f"did you mean {', '.join(close)}?" if close else f"known are {list_names(known)}"


def require_known(name: Any, known: Collection[str], what: str, purpose: str = "") -> None:
    """Raise ModelError with similar names unless ``name`` is one of the known names of ``what``."""
    if not isinstance(name, str) or name not in known:
        raise ModelError(f"there is no {what} {shown(name)}{purpose}; {near(name, list(known))}")


def cure_of(found: Iterable[Expr]) -> str:
    """Return the end of an error message that suggests a load, if an input is among the refused leaves."""
    if not any(leaf.op == INPUT for leaf in found):
        return ""
    return ". An input cannot impose a motion exactly; let it drive a joint coordinate by a load (kane.Motor) instead"


def require_coordinate_expression(model: Model, q: Expr, title: str) -> None:
    """Raise ModelError unless ``q`` is an expression of this model in coordinates, parameters and time."""
    if q.arena is not model.arena:
        raise ModelError(f"the coordinate of joint {title!r} is the expression {shown(q)} of another model")
    wrong = [leaf for leaf in leaves([q]) if leaf.op not in (COORDINATE, TIME, PARAMETER)]
    if wrong:
        raise ModelError(
            f"the coordinate of joint {title!r} depends on {', '.join(map(repr, wrong))}; a coordinate expression "
            f"may use coordinates, parameters and time only{cure_of(wrong)}"
        )


def own_body(model: Model, given: Any) -> Body:
    """Return the body of the model that is given as a Body or by its name."""
    if isinstance(given, str):
        found = next((body for body in model.bodies if body.name == given), None)
        if found is None:
            raise ModelError(f"there is no body {given!r}; {near(given, [body.name for body in model.bodies])}")
        return found
    if not isinstance(given, Body):
        raise ModelError(f"{shown(given)} is not a body of model {model.name!r}; give one from its Model.body")
    if given.model is not model:
        raise ModelError(f"body {given.name!r} belongs to model {given.model.name!r}; build everything with one model")
    return given


def require_tree(model: Model, parent: Body, child: Body, parents: Mapping[Body, Body]) -> None:
    """Raise ModelError if a new joint would break the tree of joints, whose root is the ground."""
    if child is model.ground:
        raise ModelError("the ground cannot be a child; swap parent and child")
    if child in parents:
        raise ModelError(
            f"body {child.name!r} already hangs on {parents[child].name!r}; a second joint would close a "
            "loop: use Model.close"
        )
    walk: Body | None = parent
    while walk is not None:
        if walk is child:
            raise ModelError(
                f"connecting {child.name!r} to {parent.name!r} would make a loop of joints; "
                "joints form a tree that starts at the ground"
            )
        walk = parents.get(walk)
