"""Variables of differentiation, as directions in which leaves change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.number_arguments import words
from kane.formulation.equations import Equations
from kane.model.checks import require_known

# The rate of each changing leaf, along one direction.
LeafRates: TypeAlias = Mapping[Expr, Expr]


@dataclass(frozen=True)
class Variable:
    """A variable of differentiation.

    Attributes:
        word: "q", "coordinates", "u", "udot", "inputs", "t", or the name of a parameter.
        labels: label of each direction.
        directions: the columns of its block.
        single: whether it is one number, so that its block has no column axis.
    """

    word: str
    labels: tuple[str, ...]
    directions: tuple[LeafRates, ...]
    single: bool = False


def displacements(equations: Equations) -> Variable:
    """Return the tangent space of q as a variable: small displacements s = w dt along the joints' own speeds w.

    dq = Y(q) s, where dq/dt = Y w + y_t. If a coordinate's rate is its speed, s is the change of the coordinate. For a
    quaternion, s is the small rotation about the axes of the moving frame M [rad].
    """
    own = equations.system.own or equations.system
    speeds, zero = own.speeds, own.arena.zero
    Y, _ = linear_coefficients(speeds.kinematics, speeds.u)
    width = len(speeds.u)
    flat = equations.unconstrained.baked_in([x for row in Y for x in row])
    columns = [dict(zip(speeds.q, flat[j::width], strict=True)) for j in range(width)]
    moving = tuple({leaf: rate for leaf, rate in column.items() if rate is not zero} for column in columns)
    return Variable("q", tuple(leaf.name for leaf in speeds.u), moving)


def variables(equations: Equations, wrt: Sequence[str], read: Sequence[Expr]) -> tuple[Variable, ...]:
    """Return the variables named by words.

    Args:
        equations: equations of a model.
        wrt: words as in ``Variable``.
        read: leaves that the outputs read besides time, coordinates, speeds and parameters.

    Raises:
        ModelError: a word is unknown or given twice, or the outputs do not read its leaves.
    """
    known: dict[str, Callable[[], Variable]] = {
        "q": lambda: displacements(equations),
        "coordinates": lambda: _leaves("coordinates", equations.q),
        "u": lambda: _leaves("u", equations.u),
        "t": lambda: _leaf(equations.t),
    }
    for word, leaves in (("udot", equations.udot), ("inputs", equations.inputs)):
        if set(leaves) <= set(read):
            known[word] = partial(_leaves, word, leaves)
    for leaf in equations.parameters:
        known.setdefault(leaf.name, partial(_leaf, leaf))
    asked = words(wrt, "wrt", "words")
    for word in asked:
        require_known(word, known, "derivative with respect to", " here")
    if len(set(asked)) < len(asked):
        raise ModelError(f"wrt={shown(tuple(asked))} names something twice; name it once")
    return tuple(known[word]() for word in asked)


def _leaves(word: str, leaves: Sequence[Expr]) -> Variable:
    return Variable(word, tuple(leaf.name for leaf in leaves), tuple({leaf: leaf.arena.one} for leaf in leaves))


def _leaf(leaf: Expr) -> Variable:
    return Variable(leaf.name, (leaf.name,), ({leaf: leaf.arena.one},), single=True)
