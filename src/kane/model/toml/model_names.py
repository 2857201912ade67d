"""Names that formulas of a model file may use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from kane.errors import ModelError
from kane.expression.formula import RESERVED
from kane.expression.operations import COORDINATE, INPUT, PARAMETER, RATE
from kane.model.body import Body, Direction, Point, VectorDifference, VectorMeasure
from kane.model.connection import coordinate_rate
from kane.model.model import Model

# Usable members of the objects of a formula; the others cannot be reached.
MEMBERS: Mapping[type, tuple[str, ...]] = {
    Body: ("x", "y", "z", "point", "direction", "angular_velocity"),
    Point: ("position", "velocity"),
    Direction: ("dot",),
    VectorMeasure: ("dot",),
    VectorDifference: ("dot",),
}


def require_unreserved(names: Iterable[str], cure: str) -> None:
    """Raise ModelError with a cure if a name is that of a function of formulas, or pi."""
    for name in names:
        if name in RESERVED:
            raise ModelError(
                f"{name!r} is reserved in formulas of model files, as one of {', '.join(RESERVED)}; {cure}"
            )


class ModelNames(Mapping[str, Any]):
    """Scalars by name: t, parameters, inputs, coordinates, rates (q1', u1), reactions ([name]) and definitions.

    Attributes:
        own: names of the coordinates of the joint that is declared next; its pose may use them.
    """

    def __init__(self, model: Model, definitions: Collection[str], define: Callable[[str], Any]) -> None:
        """Set up the names of a model that grows; ``define`` returns the value of a definition."""
        self._model, self._definitions, self._define = model, definitions, define
        self.own: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        model, leaf = self._model, self._model.arena.leaf
        if name in self._definitions:
            return self._define(name)
        if name.startswith("["):
            return model.reaction(name[1:-1])
        if name == "t":
            return model.time
        if name in model.parameters:
            return leaf(PARAMETER, name)
        if name in model.inputs:
            return leaf(INPUT, name)
        if name in self.own:
            return leaf(COORDINATE, name)
        for joint in model.connections:
            if name in joint.coordinate_names:
                return leaf(COORDINATE, name)
            if name.removesuffix("'") in joint.coordinate_names:
                return leaf(RATE, name.removesuffix("'"))
            if name in joint.speed_names:
                return coordinate_rate(joint.coordinates[0]) if joint.joint.one_dof else leaf(RATE, name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        model = self._model
        joints = [name for c in model.connections for name in (*c.coordinate_names, *c.speed_names)]
        return iter(["t", *model.parameters, *model.inputs, *joints, *self._definitions])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class NamedObjects(Mapping[str, Any]):
    """Bodies by name, and definitions that are points or directions."""

    def __init__(self, model: Model, definitions: Collection[str], define: Callable[[str], Any]) -> None:
        self._model, self._definitions, self._define = model, definitions, define

    def __getitem__(self, name: str) -> Any:
        if name in self._definitions:
            return self._define(name)
        found = next((body for body in self._model.bodies if body.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter([*(body.name for body in self._model.bodies), *self._definitions])

    def __len__(self) -> int:
        return sum(1 for _ in self)
