"""The contract that every load fulfils."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kane.errors import ModelError
from kane.expression.node import Expr, Scalar
from kane.model.body import Body, Point, Triple
from kane.model.connection import Connection


@dataclass(frozen=True)
class Wrench:
    """A force at a point and a torque on its body, measured in the frame of ``expressed_in`` [N, N m]."""

    point: Point
    force: Triple
    torque: Triple
    expressed_in: Body


@dataclass(frozen=True)
class Effect:
    """What a load does, as expressions of coordinates, rates, time, parameters, inputs and measures.

    Attributes:
        efforts: generalized forces along joint coordinates [N m or N], positive along the coordinate.
        wrenches: forces and torques on bodies.
        potential: potential energy whose negative gradient is (part of) the load [J]; 0 where there is none.
    """

    efforts: Sequence[tuple[Connection, Expr]] = ()
    wrenches: Sequence[Wrench] = ()
    potential: Scalar = field(default=0.0)


class Load(ABC):
    """A force, torque or generalized force on a model."""

    @abstractmethod
    def effect(self) -> Effect:
        """What the load does.

        Raises:
            ModelError: it acts on a joint or body that it cannot act on.
        """


def acted_on(connection: Any, load: str) -> Expr:
    """The coordinate on which a load acts, or an error that names the load."""
    if not isinstance(connection, Connection):
        raise ModelError(f"a {load} acts on a joint, which Model.connect returns, not on {connection!r}")
    return connection.require_one_dof(f"a {load}")


def checked(connection: Connection, value: Any, what: str) -> Scalar:
    """A number or an expression of the joint's model, or an error that names ``what`` and the joint."""
    return connection.child.model.scalar(value, f"the {what} at joint {connection.name!r}")
