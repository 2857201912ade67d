"""Contract of a route: a method that derives Kane's dynamical equations of a system under loads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from kane.formulation.tree.sparse import Sparse


class Route(ABC):
    """Equations F_r + F*_r = 0 of all speeds, without constraints, written as M udot + bias = B inputs.

    Attributes:
        name: name of the route in files and in the printed form of equations.
        symmetric: whether M is symmetric, as it is unless it was given by the user.
    """

    name: ClassVar[str]
    symmetric: bool = True

    @property
    @abstractmethod
    def mass(self) -> Sparse:
        """M over u, as entries (i, j) with j <= i; all entries if M is not symmetric."""

    @abstractmethod
    def passive(self, udot: Sequence[Any]) -> list[Any]:
        """Return -(F_r + F*_r) = M udot + bias for the given udot, at zero inputs.

        Raises:
            ModelError: a load has no value at zero inputs, such as 1 / input.
        """

    @abstractmethod
    def loaded(self, udot: Sequence[Any]) -> list[Any]:
        """Return -(F_r + F*_r) = M udot + bias - B inputs for the given udot."""

    @abstractmethod
    def forward(self) -> list[Any]:
        """Return the udot for which F_r + F*_r = 0."""

    @abstractmethod
    def input_columns(self) -> list[list[Any]]:
        """Return B by columns: the generalized forces per unit of each input.

        Raises:
            ModelError: a load is not linear in the inputs.
        """
