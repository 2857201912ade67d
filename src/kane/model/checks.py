"""Checks of declarations: names and expressions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from kane.errors import ModelError, list_names, shown
from kane.expression.arena import Arena
from kane.expression.node import Expr, Scalar
from kane.expression.operations import COORDINATE, EQUAL, INPUT, LESS, LESS_EQUAL, PARAMETER, TIME
from kane.expression.traverse import leaves


def require_word(name: Any) -> None:
    """Raise ModelError unless ``name`` is a non-empty string without spaces at its ends."""
    if not isinstance(name, str) or not name or name != name.strip():
        raise ModelError(f"{shown(name)} is not a name; give a non-empty word without spaces around it")


def is_symbolic(value: Any) -> bool:
    """Check whether a value is a SymPy expression."""
    return hasattr(value, "is_Symbol") and hasattr(value, "func")


def has_symbolic(declared: Any) -> bool:
    """Check whether a field of a load, constraint or joint is a SymPy expression, or a sequence with one."""
    fields = getattr(declared, "__dataclass_fields__", ())
    values: list[Any] = [getattr(declared, name, None) for name in fields]
    return any(is_symbolic(x) for v in values for x in (v if type(v) in (tuple, list) else (v,)))


USE_A_JOINT = "For motion use a joint, whose coordinate may be an expression of time and other coordinates"


def require_fixed(values: Iterable[Scalar], what: str, cure: str = USE_A_JOINT) -> None:
    """Raise ModelError with a cure if a value depends on anything but parameters.

    These values are constants of the equations of motion, which omit their time derivatives.
    """
    wrong = [repr(leaf) for leaf in leaves([x for x in values if isinstance(x, Expr)]) if leaf.op != PARAMETER]
    if wrong:
        raise ModelError(f"{what} depends on {', '.join(wrong)}; it may depend on parameters only. {cure}")


def near(name: object, known: Sequence[str]) -> str:
    """Return the end of an error message: the known names that are close to a mistyped name."""
    import difflib  # needed for errors only

    close = difflib.get_close_matches(name if isinstance(name, str) else shown(name), known, n=3)
    if not known:
        return "there are none here"
    return f"did you mean {', '.join(close)}?" if close else f"known are {list_names(known)}"


def require_known(name: Any, known: Collection[str], what: str, purpose: str = "") -> None:
    """Raise ModelError with similar names unless ``name`` is one of the known names of ``what``."""
    if not isinstance(name, str) or name not in known:
        raise ModelError(f"there is no {what} {shown(name)}{purpose}; {near(name, list(known))}")


def require_no_comparison(x: Any, who: str, limit: str) -> None:
    """Raise ModelError if an expression that must vanish or has limits is a comparison, whose value is 0 or 1.

    Args:
        x: the expression.
        who: its name in messages.
        limit: cure for an inequality; that for an equation is the difference of both sides.
    """
    if isinstance(x, Expr) and x.op in (LESS, LESS_EQUAL, EQUAL):
        cure = f"write {x.args[0] - x.args[1]!r} for the equation" if x.op == EQUAL else f"for a limit {limit}"
        raise ModelError(f"{who} is the comparison {x!r}, whose value is 0 or 1; {cure}")


def cure_of(found: Iterable[Expr]) -> str:
    """Return the end of an error message that suggests a load, if an input is among the refused leaves."""
    if not any(leaf.op == INPUT for leaf in found):
        return ""
    return ". An input cannot impose a motion exactly; let it drive a joint coordinate by a load (kane.Motor) instead"


def require_coordinate_expression(arena: Arena, q: Expr, title: str) -> None:
    """Raise ModelError unless ``q`` is of this arena and contains only coordinates, parameters and time."""
    if q.arena is not arena:
        raise ModelError(f"the coordinate of joint {title!r} is the expression {shown(q)} of another model")
    wrong = [leaf for leaf in leaves([q]) if leaf.op not in (COORDINATE, TIME, PARAMETER)]
    if wrong:
        raise ModelError(
            f"the coordinate of joint {title!r} depends on {', '.join(map(repr, wrong))}; a coordinate expression "
            f"may use coordinates, parameters and time only{cure_of(wrong)}"
        )
