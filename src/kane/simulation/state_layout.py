"""Names, units and positions of the entries of a state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kane.dynamics.unit_quaternions import UNIT, require_unit
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, shown
from kane.formulation.equations import Equations
from kane.geometry.quaternion import normalise_quaternions
from kane.model.joints.joint import Joint
from kane.model.named_vector import named_vector


class UnitsOnDemand(Mapping[str, str]):
    """Units of the quantities of equations by name, inferred at the first access."""

    def __init__(self, equations: Equations) -> None:
        self._equations = equations

    @cached_property
    def _by_name(self) -> Mapping[str, str]:
        from kane.formulation.units.inferred_units import shown_units  # imported late: runs need no units

        return shown_units(self._equations).by_name

    def __getitem__(self, name: str) -> str:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


@dataclass(frozen=True)
class Layout:
    """Meaning of each entry of q, u, inputs and parameters.

    Attributes:
        model: name of the model.
        coordinates, speeds, inputs, parameters: names.
        coordinate_units: units that the joints give the coordinates.
        units: units of all quantities by name, as every display of runs writes them; "?" if undetermined.
        neutral: default of q.
        input_defaults, parameter_defaults: default values.
        quaternions: index in q of the first number of each unit quaternion.
        joints: the joints that have coordinates, in the order of q.
    """

    model: str
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    coordinate_units: tuple[str, ...]
    neutral: tuple[float, ...]
    input_defaults: tuple[float, ...]
    parameter_defaults: tuple[float, ...]
    quaternions: tuple[int, ...]
    joints: tuple[Joint, ...]
    units: Mapping[str, str] = field(compare=False)

    @classmethod
    def of(cls, equations: Equations) -> Layout:
        """Return the layout of the state of these equations."""
        groups = ("q", "u", "inputs", "parameters")
        q, u, inputs, parameters = (tuple(leaf.name for leaf in getattr(equations, group)) for group in groups)
        return cls(
            model=equations.name,
            coordinates=q,
            speeds=u,
            inputs=inputs,
            parameters=parameters,
            coordinate_units=tuple(equations.coordinate_units),
            neutral=tuple(equations.neutral),
            input_defaults=tuple(equations.defaults[name] for name in inputs),
            parameter_defaults=tuple(equations.defaults[name] for name in parameters),
            quaternions=tuple(equations.quaternions),
            joints=tuple(c.joint for c in equations.system.speeds.motion if c.coordinate_names),
            units=UnitsOnDemand(equations),
        )

    def initial_state(self, q: Any, u: Any) -> Vector:
        """Return x = [q, u] from the user's arguments; by default the neutral configuration at rest.

        Raises:
            ModelError: an unknown name, a wrong shape, a value that is not finite, a quaternion that is not of unit
                length, or a singular configuration of a gimbal.
        """
        x = self.named_state(q, u)
        self.require_regular(x)
        return x

    def named_state(self, q: Any, u: Any) -> Vector:
        """Return the same state without the check for singular gimbals."""
        coordinates = named_vector(q, self.coordinates, self.neutral, "coordinate")
        require_unit(coordinates, self.quaternions, self.coordinates, UNIT)
        normalise_quaternions(coordinates, self.quaternions)
        return np.concatenate([coordinates, named_vector(u, self.speeds, [0.0] * len(self.speeds), "speed")])

    def require_regular(self, x: Vector) -> None:
        """Raise if a joint is singular at the state x = [q, u].

        Raises:
            ModelError: names the joint and the cure.
        """
        singular = self.singular(x, within=1e-6)
        if singular:
            raise ModelError(f"{shown(self.model)} cannot start there: {singular}")

    def singular(self, x: Vector, *, within: float) -> str | None:
        """Describe the joint that is singular within this distance of the state, and the cure; None without one."""
        start = 0
        for joint in self.joints:
            found = joint.singular_at(x[start : start + joint.nq], within=within)
            if found is not None:
                return f"({', '.join(self.coordinates[start : start + joint.nq])}): {found}"
            start += joint.nq
        return None

    def describe(self, x: Vector, *, at_most: int = 12) -> str:
        """Return the state as text, with names; for a long state only the largest entries."""
        names = self.coordinates + self.speeds
        order = sorted(range(len(names)), key=lambda i: -abs(x[i]))[:at_most]
        text = ", ".join(f"{names[i]} = {x[i]:.9g}" for i in sorted(order))
        left = len(names) - len(order)
        return f"{text} and {left} smaller ones" if left else text
