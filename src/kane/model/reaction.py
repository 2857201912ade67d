"""Reactions as leaves, for loads that depend on them: friction from a normal force."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.expression.traverse import leaves
from kane.model.body import Direction

if TYPE_CHECKING:
    from kane.model.connection import Connection

# In front of the names of reaction leaves; no name of an input has a space there.
PREFIX = " "


@dataclass(frozen=True)
class ReactionVector:
    """The force or the torque about Mo that the parent exerts on the child of a joint, motors and springs included.

    Attributes:
        connection: the joint.
        letter: F or T.
    """

    connection: Connection
    letter: str

    def __repr__(self) -> str:
        return f"{self.connection.name}.reaction_{'force' if self.letter == 'F' else 'torque'}"

    def dot(self, direction: Direction) -> Expr:
        """The measure number along a direction: usable in loads, where ``formulate`` solves for it with udot.

        Raises:
            ModelError: the direction belongs to another model.
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
    """The leaf that stands for a reaction, by the name that ``reveal_reactions`` gives it."""
    return any_of_arena.arena.leaf(INPUT, PREFIX + name)


def reaction_leaves(expressions: Iterable[Expr]) -> list[Expr]:
    """The reactions in some expressions."""
    return [leaf for leaf in leaves(expressions) if leaf.op == INPUT and leaf.data.startswith(PREFIX)]
