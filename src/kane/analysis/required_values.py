"""Check that all inputs and accelerations on which a result depends have values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kane.errors import ModelError, list_names
from kane.expression.node import Expr
from kane.expression.text import name_of


def require_values(who: str, read: Collection[Expr], symbols: Sequence[Expr], given: Any, argument: str) -> None:
    """Raise if a result depends on symbols without a value; functions of a state take no defaults for them.

    Args:
        who: name of the result in the message.
        read: leaves on which the result depends, except leaves with a range.
        symbols: all inputs, or all accelerations.
        given: their values as the user gave them: None, a mapping by name, or an array of all.
        argument: name of the argument that takes them.

    Raises:
        ModelError: names the symbols without a value.
    """
    if given is not None and not isinstance(given, Mapping):
        return
    missing = [name for x in symbols if x in read and (name := name_of(x)) not in (given or {})]
    if missing:
        raise ModelError(
            f"{who} depends on {list_names(missing)}; give {'their values' if missing[1:] else 'its value'} by name, "
            f"{argument}={{{missing[0]!r}: 0.0{', ...' if missing[1:] else ''}}}"
        )
