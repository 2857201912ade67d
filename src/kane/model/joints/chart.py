"""The contract of coordinates that serve where a joint's own are singular."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.expression.node import Expr

if TYPE_CHECKING:
    from kane.model.joints.joint import Joint


class Chart(ABC):
    """Other coordinates q' of the motion that a joint describes by q: as many, and regular where q are singular.

    Wherever q are within 45 deg of their singularity, q' are farther than that from theirs.

    Attributes:
        joint: the joint in q'; its own other chart leads back to q.
    """

    joint: Joint

    @property
    @abstractmethod
    def title(self) -> str:
        """What tells q' from q, such as "zyz"."""

    @property
    @abstractmethod
    def changes_speeds(self) -> bool:
        """Whether the natural speeds are others with q' than with q."""

    @abstractmethod
    def distance(self, q: np.ndarray) -> np.ndarray:
        """How far q (..., nq) are from their own singularity [rad]."""

    @abstractmethod
    def beyond(self, q: Sequence[Expr], within: float) -> Expr:
        """Positive where q are farther than ``within`` [rad] from their own singularity, negative where nearer."""

    @abstractmethod
    def carry(self, q: Sequence[Expr], u: Sequence[Expr]) -> tuple[Sequence[Any], Sequence[Any]]:
        """q' of q, of all that are the same any, and the natural speeds u' of the motion u; none where none are given.

        For native code, and for q that are regular.
        """

    @abstractmethod
    def coordinates(self, q: np.ndarray, near: np.ndarray) -> np.ndarray:
        """q' of a course of q (times, nq): of all that are the same, those next to their predecessor.

        Args:
            near: predecessor of the first, (nq,).
        """

    @abstractmethod
    def speeds(self, q: np.ndarray, u: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The natural speeds u' (..., nu) of the motion u at q, ``other`` = q'; of least norm where q' are singular."""

    @abstractmethod
    def continued(self, q: np.ndarray, near: np.ndarray) -> np.ndarray:
        """A course of q (times, nq) by those of the same q that begin next to ``near``, (nq,), and are as smooth."""

    @abstractmethod
    def continued_speeds(self, q: np.ndarray, u: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The natural speeds (..., nu) of the motion u at q by ``other``, which ``continued`` returned."""
