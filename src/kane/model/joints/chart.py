"""Abstract class of alternative coordinates, used near the singularity of a joint's own coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.expression.node import Expr

if TYPE_CHECKING:
    from kane.model.joints.joint import Joint


class Chart(ABC):
    """Alternative coordinates q' of a joint with coordinates q: equal in number, and regular where q is singular.

    If q is within 45 deg of its singularity, q' is more than 45 deg away from its own.

    Attributes:
        joint: the joint in q'; its other chart leads back to q.
    """

    joint: Joint

    @property
    @abstractmethod
    def title(self) -> str:
        """Word that distinguishes q' from q, such as "zyz"."""

    @property
    @abstractmethod
    def changes_speeds(self) -> bool:
        """Whether the natural speeds with q' differ from the natural speeds with q."""

    @abstractmethod
    def distance(self, q: np.ndarray) -> np.ndarray:
        """Return the distance of q (..., nq) from its own singularity [rad]."""

    @abstractmethod
    def beyond(self, q: Sequence[Expr], within: float) -> Expr:
        """Return an expression that is positive if ``distance`` exceeds ``within`` [rad], else negative."""

    @abstractmethod
    def carry(self, q: Sequence[Expr], u: Sequence[Expr]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return q' and the natural speeds u' of the motion u, symbolically for native code; u' is empty if u is empty.

        q must be regular. The result may be any of the equivalent values of q'.
        """

    @abstractmethod
    def coordinates(self, q: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Return q' along a trajectory q (times, nq), each the equivalent value nearest to its predecessor.

        Args:
            near: predecessor of the first, (nq,).
        """

    @abstractmethod
    def speeds(self, q: np.ndarray, u: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the natural speeds u' (..., nu) of the motion u at q; least norm if q' = ``other`` is singular."""

    @abstractmethod
    def continued(self, q: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Return an equivalent, equally smooth trajectory of q (times, nq) that begins next to ``near``, (nq,)."""

    @abstractmethod
    def continued_speeds(self, q: np.ndarray, u: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the natural speeds (..., nu) of the motion u at q in the coordinates ``other`` from ``continued``."""
