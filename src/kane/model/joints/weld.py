"""Weld: no degree of freedom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR
from kane.model.joints.joint import Joint, JointMotion


@dataclass(frozen=True)
class Weld(Joint):
    """M is fixed in F: R_FM = 1, p_FM = 0."""

    coordinate_units: ClassVar[tuple[str, ...]] = ()
    speed_units: ClassVar[tuple[str, ...]] = ()

    @property
    def label(self) -> None:
        return None

    def coordinate_names(self, name: str) -> tuple[str, ...]:
        return ()

    def speed_names(self, name: str) -> tuple[str, ...]:
        return ()

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        return JointMotion(Rotation.identity(), ZERO_VECTOR, (), (), ZERO_VECTOR, ZERO_VECTOR, ())
