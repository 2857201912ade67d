"""The generalized speeds that the analyst has chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kane.errors import ModelError, shown
from kane.expression.arguments import words
from kane.expression.node import Expr
from kane.expression.operations import COORDINATE, MEASURE, PARAMETER, RATE, TIME
from kane.expression.traverse import leaves


@dataclass(frozen=True)
class Near:
    """A state near which dependent speeds are chosen.

    Attributes:
        q: every coordinate, by name.
        independent: names of the speeds that stay independent if they can.
    """

    q: Mapping[str, float]
    independent: tuple[str, ...]


@dataclass(frozen=True)
class SpeedChoice:
    """Definitions u_r = sum Y_rs qdot_s + Z_r by name, and which speeds are dependent.

    Attributes:
        definitions: of the speeds, in the order of u; empty where the joints' own speeds are used.
        dependent: names of dependent speeds; chosen by ``formulate`` where none are given.
        near: the state at which what is left open is decided; at each state anew where there is none.
    """

    definitions: Mapping[str, Expr]
    dependent: tuple[str, ...]
    near: Near | None = None


def checked_choice(definitions: Mapping[str, Expr], dependent: Sequence[str], taken: set[str]) -> SpeedChoice:
    """The choice, if it can be meant.

    Raises:
        ModelError: a name is taken, a definition has no rate in it or depends on something it cannot depend on.
    """
    for name, expression in definitions.items():
        if name in taken:
            raise ModelError(
                f"the name {name!r} of a speed is already taken by time, a parameter, an input or a coordinate; "
                "give another"
            )
        found = leaves([expression])
        wrong = [repr(leaf) for leaf in found if leaf.op not in (COORDINATE, RATE, TIME, PARAMETER, MEASURE)]
        if wrong:
            raise ModelError(
                f"the speed {name!r} depends on {', '.join(wrong)}; a speed is linear in the rates of coordinates "
                "(joint.qdot), with coordinates, parameters and time in its coefficients"
            )
        if not any(leaf.op in (RATE, MEASURE) for leaf in found):
            raise ModelError(
                f"no rate and no velocity stands in the speed {name!r}: {shown(expression)} is not a speed"
            )
    dependent = words(dependent, "dependent", "names of speeds")
    if len(set(dependent)) != len(dependent):
        raise ModelError(f"a dependent speed is named twice in {list(dependent)}; name each once")
    return SpeedChoice(dict(definitions), tuple(dependent))
