"""The contract of a route: a way from a system under loads to the terms of Kane's dynamical equations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from kane.formulation.tree.sparse import Sparse


class Route(ABC):
    """F_r + F*_r = 0 for all speeds of a system, its constraints apart, written as M udot + bias = B inputs.

    Attributes:
        name: of the route, in files and in what equations print as.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def mass(self) -> Sparse:
        """M over u, entries (i, j) with j <= i."""

    @abstractmethod
    def passive(self, udot: Sequence[Any]) -> list[Any]:
        """-(F_r + F*_r) for given udot, the inputs zero: M udot + bias.

        Raises:
            ModelError: a load has no value where the inputs are zero, such as 1 / input.
        """

    @abstractmethod
    def loaded(self, udot: Sequence[Any]) -> list[Any]:
        """-(F_r + F*_r) for given udot, inputs included: M udot + bias - B inputs."""

    @abstractmethod
    def forward(self) -> list[Any]:
        """The udot for which F_r + F*_r = 0."""

    @abstractmethod
    def input_columns(self) -> list[list[Any]]:
        """B by columns: the generalized forces per unit of each input.

        Raises:
            ModelError: a load is not linear in the inputs.
        """
