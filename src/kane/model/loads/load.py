"""The contract that every load fulfils."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kane.errors import ModelError, shown
from kane.expression.node import Expr, Scalar
from kane.geometry.scalars import Triple
from kane.model.body import Body, Point
from kane.model.connection import Connection, JointCoordinate


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

    efforts: Sequence[tuple[JointCoordinate, Expr]] = ()
    wrenches: Sequence[Wrench] = ()
    potential: Scalar = field(default=0.0)


class Load(ABC):
    """A force, torque or generalized force on a model. What it says is checked when it is made."""

    def __post_init__(self) -> None:
        self.effect()

    @abstractmethod
    def effect(self) -> Effect:
        """What the load does.

        Raises:
            ModelError: it acts on a joint or body that it cannot act on.
        """


def acted_on(target: Any, load: str) -> JointCoordinate:
    """The coordinate along which a load acts: a joint's only one, or ``joint["name"]``.

    Raises:
        ModelError: naming the load and the joint.
    """
    if isinstance(target, Connection):
        if not target.coordinates or len(target.coordinates) > 1:
            raise ModelError(
                f"a {load} acts along one coordinate, but joint {target.name!r} is {type(target.joint).__name__}; "
                f'give one of its coordinates, {target.name}["..."], or use kane.Force or kane.Torque on its bodies'
            )
        target = JointCoordinate(target)
    if not isinstance(target, JointCoordinate):
        raise ModelError(f"a {load} acts on a joint, which Model.connect returns, not on {shown(target)}")
    target.require_rate(load)
    return target


def checked(along: JointCoordinate, value: Any, what: str) -> Scalar:
    """A number or an expression of the joint's model, or an error that names ``what`` and the joint."""
    return along.connection.child.model.scalar(value, f"the {what} at joint {along.connection.name!r}")
