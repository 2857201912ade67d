"""Base class of joints with several coordinates, whose speeds are the rates of the coordinates."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.model.joints.joint import Joint, default_speed_name


@dataclass(frozen=True)
class RateJoint(Joint):
    """Joint with several coordinates; u = dq/dt unless a subclass defines other speeds.

    Attributes:
        q: one name for the joint, from which the names of the coordinates are made, or a name for each coordinate.
    """

    q: str | tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.q, str):
            return
        try:
            names = tuple(self.q)
        except TypeError:
            names = ()
        if len(names) != self.nq or not all(isinstance(n, str) for n in names):
            kind = type(self).__name__
            raise ModelError(
                f"the coordinates of a {kind} are named {shown(self.q)}; give one name for the joint, or one for "
                f"each of its {self.nq} coordinates: {', '.join(self.endings)}"
            )
        object.__setattr__(self, "q", names)

    @property
    def endings(self) -> tuple[str, ...]:
        """Endings that are added to the joint's name, one for each coordinate."""
        return tuple(str(k + 1) for k in range(self.nq))

    @property
    def label(self) -> str | tuple[str, ...]:
        return self.q

    def coordinate_names(self, name: str) -> tuple[str, ...]:
        return self.q if isinstance(self.q, tuple) else tuple(f"{name}_{ending}" for ending in self.endings)

    def speed_names(self, name: str) -> tuple[str, ...]:
        return tuple(map(default_speed_name, self.coordinate_names(name)))

    @property
    def speed_units(self) -> tuple[str, ...]:
        return tuple(f"{unit}/s" for unit in self.coordinate_units)
