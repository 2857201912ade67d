"""Check parameter values against the requirements of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.model.named_vector import named_vector
from kane.model.requirements import NONNEGATIVE_INERTIA, NONNEGATIVE_MASS, REQUIRED, Requirement


class ParameterBounds:
    """Requirements of a model as functions of the parameters that remain in its equations.

    Args:
        requirements: requirements of the model, with substituted values inserted.
        parameters: parameter leaves, in the order of the run-time array.
        defaults: default values by name.
    """

    def __init__(
        self, requirements: Sequence[Requirement], parameters: Sequence[Expr], defaults: Mapping[str, float]
    ) -> None:
        self._leaves, self._places = parameters, {leaf: k for k, leaf in enumerate(parameters)}
        self._requirements = requirements
        alone = [r for r in requirements if len(r.expressions) == 1 and r.expressions[0] in self._places]
        self._alone = [(self._places[r.expressions[0]], REQUIRED[r.kind].fails) for r in alone]
        self._composed = [r for r in requirements if r not in alone]
        self._defaults = [defaults[leaf.name] for leaf in parameters]
        masses = [r for r in requirements if r.kind in (NONNEGATIVE_MASS, NONNEGATIVE_INERTIA)]
        self._masses = [r for r in masses if self._quantity(r, np.array(self._defaults)) > 0.0]

    def given(self, parameters: Any) -> Array:
        """Return checked values of all parameters, given as an array or as a dict by name with defaults for the rest.

        Raises:
            ModelError: a name is unknown, a value is not a finite number, or values break a requirement of the model.
        """
        values = named_vector(parameters, [leaf.name for leaf in self._leaves], self._defaults, "parameter")
        self.require(values)
        return values

    def require(self, values: Array) -> None:
        """Raise if parameter values, (..., parameters), break a requirement.

        Raises:
            ModelError: a requirement is broken; the message names the quantity and the parameters.
        """
        if values.ndim == 1 and not self._composed:  # fast path: about a microsecond
            row = values.tolist()
            if not any(fails(row[k]) for k, fails in self._alone):
                return
        for requirement in self._requirements:
            found = self._quantity(requirement, values)
            broken = REQUIRED[requirement.kind].fails(found)
            if broken.any():
                at = np.unravel_index(int(np.argmax(broken)), broken.shape)
                row = np.broadcast_to(values, (*broken.shape, len(self._leaves)))[at]
                given = {leaf.name: float(row[k]) for leaf, k in self._places.items()}
                raise ModelError(requirement.fault(float(found[at]), given))

    def allows(self, values: Array) -> NDArray[np.bool_]:
        """Return which rows of values, (rows, parameters), meet all requirements."""
        fine = np.ones(len(values), bool)
        for requirement in self._requirements:
            fine &= ~REQUIRED[requirement.kind].fails(self._quantity(requirement, values))
        return fine

    def weightless(self, values: Array) -> NDArray[np.bool_]:
        """Return which rows of values, (rows, parameters), have a zero mass or inertia that is positive by default."""
        found = np.zeros(len(values), bool)
        for requirement in self._masses:
            found |= self._quantity(requirement, values) == 0.0
        return found

    def _quantity(self, requirement: Requirement, values: Array) -> Array:
        if len(requirement.expressions) == 1 and requirement.expressions[0] in self._places:
            return np.asarray(values[..., self._places[requirement.expressions[0]]])
        found = requirement.quantity({leaf: values[..., k] for leaf, k in self._places.items()})
        return np.broadcast_to(found, values.shape[:-1])
