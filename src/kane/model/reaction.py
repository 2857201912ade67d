"""Joint reactions as leaves, for loads that depend on them, such as friction from a normal force."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.expression.traverse import leaves
from kane.model.body import Direction

if TYPE_CHECKING:
    from kane.model.connection import Connection

# Prefixes of the names of reaction leaves, and of forces of rows, which replace reactions in switches. Names of inputs
# cannot start with a space.
REACTION_PREFIX = " "
ROW_FORCE_PREFIX = 2 * REACTION_PREFIX


@dataclass(frozen=True)
class ReactionVector:
    """Force or torque (about Mo) of the parent on the child of a joint, including motors and springs of the joint.

    Attributes:
        connection: the joint.
        letter: "F" for the force, "T" for the torque.
    """

    connection: Connection
    letter: str

    def __repr__(self) -> str:
        return f"{self.connection.name}.reaction_{'force' if self.letter == 'F' else 'torque'}"

    def dot(self, direction: Direction) -> Expr:
        """Return the measure number along a direction, for use in loads; ``formulate`` solves for it with udot.

        Raises:
            ModelError: not a direction, or a direction of another model.
        """
        child = self.connection.child
        if not isinstance(direction, Direction) or direction.body.model is not child.model:
            raise ModelError(
                f"dot() takes a direction of model {child.model.name!r} such as body.x, not {shown(direction)}"
            )
        total: Expr = child.model.arena.zero
        for letter, axis in zip("xyz", ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), strict=True):
            m = Direction(child, tuple(self.connection.R_CM.apply(axis)))
            leaf = reaction_leaf(child.model.arena.zero, f"{self.connection.name} {self.letter}{letter}")
            total = total + leaf * m.dot(direction)
        return total


def reaction_leaf(any_of_arena: Expr, name: str) -> Expr:
    """Return the leaf of a reaction, by the name that ``reveal_reactions`` gives it."""
    return any_of_arena.arena.leaf(INPUT, REACTION_PREFIX + name)


def row_force(any_of_arena: Expr, name: str) -> Expr:
    """Return the leaf of the force of a constraint row in the active contact mode, by the name of the row."""
    return any_of_arena.arena.leaf(INPUT, ROW_FORCE_PREFIX + name)


def reaction_leaves(expressions: Iterable[Expr]) -> list[Expr]:
    """Return the reaction leaves in expressions."""
    return [leaf for leaf in leaves(expressions) if leaf.op == INPUT and leaf.data.startswith(REACTION_PREFIX)]
