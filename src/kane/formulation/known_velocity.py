"""An angular velocity that speeds declare: its measure numbers are used as such, not made from the joints' rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kane.formulation.spatial import Vector, dot


@dataclass(frozen=True)
class KnownVelocity:
    """w_NK of a link, all of it or some components, as measure numbers along the axes of the frame K of another.

    Attributes:
        frame: the link whose axes these are.
        rows: by component, {speed: coefficient}, or None where it is not known; all known where the frame is not the
            link's own.
    """

    frame: int
    rows: tuple[dict[int, float] | None, ...]

    @property
    def whole(self) -> bool:
        """Whether every component is known."""
        return all(row is not None for row in self.rows)

    def mixed(self, values: Vector, speeds: Sequence[Any]) -> Vector:
        """The components: known ones from values of the speeds, the others as given."""
        return tuple(
            x if row is None else dot(tuple(row.values()), tuple(speeds[r] for r in row))
            for x, row in zip(values, self.rows, strict=True)
        )
