"""What is refused when it is declared: names, expressions, loops."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kane.errors import ModelError, listed, shown
from kane.expression.node import Expr, Scalar
from kane.expression.operations import COORDINATE, INPUT, PARAMETER, TIME
from kane.expression.traverse import leaves
from kane.model.body import Body

if TYPE_CHECKING:
    from kane.model.model import Model


def require_word(name: Any) -> None:
    """Refuse what cannot be a name."""
    if not isinstance(name, str) or not name or name != name.strip():
        raise ModelError(f"{shown(name)} is not a name; give a non-empty word without spaces around it")


def require_fixed(values: Iterable[Scalar], what: str) -> None:
    """Refuse a description of bodies that changes with the motion: its rate of change is in no equation."""
    wrong = [repr(leaf) for leaf in leaves([x for x in values if isinstance(x, Expr)]) if leaf.op != PARAMETER]
    if wrong:
        raise ModelError(
            f"{what} depends on {', '.join(wrong)}; it may depend on parameters only. "
            "For motion use a joint, whose coordinate may be an expression of time and other coordinates"
        )


def near(name: object, known: Sequence[str]) -> str:
    """A hint for a mistyped name."""
    close = difflib.get_close_matches(name if isinstance(name, str) else shown(name), known, n=3)
    if not known:
        return "there are none here"
    return f"did you mean {', '.join(close)}?" if close else f"known are {listed(known)}"


def cure_of(found: Iterable[Expr]) -> str:
    """What to do in place of an input among leaves that may not be there, as the end of a message."""
    if not any(leaf.op == INPUT for leaf in found):
        return ""
    return ". An input imposes nothing exactly: let it drive the coordinate of a joint by a load (kane.Motor) instead"


def require_coordinate_expression(model: Model, q: Expr, title: str) -> None:
    """Refuse a coordinate expression of another model, or of anything but coordinates, parameters and time."""
    if q.arena is not model.arena:
        raise ModelError(f"the coordinate of joint {title!r} is the expression {shown(q)} of another model")
    wrong = [leaf for leaf in leaves([q]) if leaf.op not in (COORDINATE, TIME, PARAMETER)]
    if wrong:
        raise ModelError(
            f"the coordinate of joint {title!r} depends on {', '.join(map(repr, wrong))}; a coordinate expression "
            f"may use coordinates, parameters and time only{cure_of(wrong)}"
        )


def own_body(model: Model, given: Any) -> Body:
    """A body of the model, given as it is or by its name."""
    if isinstance(given, str):
        found = next((body for body in model.bodies if body.name == given), None)
        if found is None:
            raise ModelError(f"there is no body {given!r}; {near(given, [body.name for body in model.bodies])}")
        return found
    if not isinstance(given, Body):
        raise ModelError(f"{shown(given)} is not a body of model {model.name!r}; give what its Model.body returned")
    if given.model is not model:
        raise ModelError(f"body {given.name!r} belongs to model {given.model.name!r}; build everything with one model")
    return given


def require_tree(model: Model, parent: Body, child: Body, parents: Mapping[Body, Body]) -> None:
    """Refuse what would not leave the joints a tree that starts at the ground."""
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
