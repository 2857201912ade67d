"""Pose of a custom joint as expressions instead of Python functions, for files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.deferred import dataclass
from kane.expression.node import Expr, Scalar
from kane.expression.traverse import substitute_nodes
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import Elementary, Factor, General


@dataclass(frozen=True)
class RecordedOrientation:
    """R_FM as a function of coordinates, in place of the user's function.

    Attributes:
        coordinates: leaves.
        rotation: R_FM as expressions of these.
    """

    coordinates: tuple[Expr, ...]
    rotation: Rotation

    def __call__(self, *q: Expr) -> Rotation:
        """Return R_FM at q."""
        if q == self.coordinates:
            return self.rotation
        return Rotation(tuple(self._moved(factor, q) for factor in self.rotation.factors))

    def _moved(self, factor: Factor, q: Sequence[Expr]) -> Factor:
        if isinstance(factor, Elementary):
            return Elementary(factor.axis, _moved((factor.angle,), self.coordinates, q)[0])
        return General(tuple(_moved(row, self.coordinates, q) for row in factor.rows))


@dataclass(frozen=True)
class RecordedPosition:
    """p_FM as a function of coordinates, in place of the user's function.

    Attributes:
        coordinates: leaves.
        components: p_FM as expressions of these [m].
    """

    coordinates: tuple[Expr, ...]
    components: tuple[Scalar, ...]

    def __call__(self, *q: Expr) -> tuple[Scalar, ...]:
        """Return p_FM at q."""
        return self.components if q == self.coordinates else _moved(self.components, self.coordinates, q)


def _moved(values: Sequence[Any], leaves: Sequence[Expr], q: Sequence[Expr]) -> tuple[Any, ...]:
    images = dict(zip(leaves, q, strict=True))
    return tuple(substitute_nodes([x], images)[0] if isinstance(x, Expr) else x for x in values)
