"""Generalized speeds that the user defines, and the selection of dependent speeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import words
from kane.expression.operations import COORDINATE, MEASURE, PARAMETER, RATE, TIME
from kane.expression.traverse import leaves


@dataclass(frozen=True)
class Near:
    """State at which the dependent speeds are selected.

    Attributes:
        q: all coordinates, by name.
        independent: names of the speeds that stay independent if possible.
    """

    q: Mapping[str, float]
    independent: tuple[str, ...]


@dataclass(frozen=True)
class SpeedChoice:
    """Definitions u_r = sum Y_rs qdot_s + Z_r by name, and the selection of dependent speeds.

    Attributes:
        definitions: definitions of the speeds, in the order of u; empty if the joints' own speeds are used.
        dependent: names of dependent speeds; empty if ``formulate`` selects them.
        near: state at which the remaining dependent speeds are selected; None to select them anew at each state.
    """

    definitions: Mapping[str, Expr]
    dependent: tuple[str, ...]
    near: Near | None = None


def checked_choice(definitions: Mapping[str, Expr], dependent: Sequence[str], taken: set[str]) -> SpeedChoice:
    """Return the definitions and dependent speeds as a SpeedChoice, if they are valid.

    Raises:
        ModelError: a name is taken, a definition has no rate, or it depends on a quantity that is not allowed.
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
            raise ModelError(f"the speed {name!r} contains no rate and no velocity: {shown(expression)} is not a speed")
    dependent = words(dependent, "dependent", "names of speeds")
    if len(set(dependent)) != len(dependent):
        raise ModelError(f"a dependent speed is named twice in {list(dependent)}; name each once")
    return SpeedChoice(dict(definitions), tuple(dependent))
