"""Abstract class of all loads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr, Scalar
from kane.geometry.scalars import Triple
from kane.model.body import Body, Point
from kane.model.connection import Connection, JointCoordinate


@dataclass(frozen=True)
class Wrench:
    """Force at a point and torque on its body, measured in the frame of ``expressed_in`` [N, N m]."""

    point: Point
    force: Triple
    torque: Triple
    expressed_in: Body


@dataclass(frozen=True)
class Effect:
    """Forces, torques and potential energy of a load.

    They are expressions of coordinates, rates, time, parameters, inputs and measures.

    Attributes:
        efforts: generalized forces along joint coordinates [N m or N], positive along the coordinate.
        wrenches: forces and torques on bodies.
        potential: potential energy [J], whose negative gradient is the load or a part of it; 0 without a potential.
    """

    efforts: Sequence[tuple[JointCoordinate, Expr]] = ()
    wrenches: Sequence[Wrench] = ()
    potential: Scalar = field(default=0.0)


class Load(ABC):
    """Force, torque or generalized force on a model. Its arguments are checked when it is constructed."""

    def __post_init__(self) -> None:
        self.effect()

    @abstractmethod
    def effect(self) -> Effect:
        """Return the efforts, wrenches and potential energy of the load.

        Raises:
            ModelError: the load cannot act on its joint or body.
        """


def acted_on(target: Any, load: str) -> JointCoordinate:
    """Return the coordinate along which a load acts: the only one of a joint, or ``joint["name"]``.

    Raises:
        ModelError: names the load and the joint.
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
    """Return a number or an expression of the joint's model; errors name ``what`` and the joint."""
    return along.connection.child.model.scalar(value, f"the {what} at joint {along.connection.name!r}")
