"""A user-defined joint: the pose is given, velocities and accelerations follow by differentiation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import list_argument
from kane.expression.operations import PARAMETER
from kane.expression.traverse import leaves
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR, Triple, triple
from kane.model.joints.joint import Joint, JointMotion, default_speed_name
from kane.model.joints.pose_check import require_joint
from kane.model.joints.pose_motion import motion_of_pose, moved_to, own_leaves
from kane.model.joints.recorded_pose import RecordedOrientation, RecordedPosition


@dataclass(frozen=True)
class CustomJoint(Joint):
    """Joint whose pose is given by two functions of its coordinates; u = dq/dt.

    A door that rises as it opens:

        CustomJoint("q1", lambda q: Rotation.about("z", q), lambda q: (0, 0, 0.02 * q * q))

    Attributes:
        q: name of the coordinate or a tuple of names; a single coordinate may be an expression of others and of time.
        orientation: function of the coordinates that returns R_FM, a Rotation; None for R_FM = 1.
        position: function of the coordinates that returns p_FM in F [m], three expressions; None for p_FM = 0.
        units: units of the coordinates; rad by default.
    """

    q: str | tuple[str, ...] | Expr
    orientation: Callable[..., Rotation] | None = None
    position: Callable[..., Sequence[Any]] | None = None
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.q, (str, Expr)):
            if not isinstance(self.q, (tuple, list)):
                raise ModelError(
                    f"the coordinates of a custom joint are named {shown(self.q)}; give a name, or several"
                )
            object.__setattr__(self, "q", tuple(self.q))
        for word in ("orientation", "position"):
            if getattr(self, word) is not None and not callable(getattr(self, word)):
                raise ModelError(
                    f"the {word} of the custom joint {shown(self.q)} is {shown(getattr(self, word))}; give a function"
                )
        units = (
            (self.units,) if isinstance(self.units, str) else list_argument(self.units, "units", 'words such as "rad"')
        )
        count = len(self.q) if isinstance(self.q, tuple) else 1
        object.__setattr__(self, "units", tuple(units) or ("rad",) * count)
        if not count or len(self.units) != count:
            raise ModelError(
                f"the custom joint {shown(self.q)} has {len(self.units)} units; give one for every coordinate"
            )

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        return self.units

    @property
    def speed_units(self) -> tuple[str, ...]:
        return tuple(f"{unit}/s" for unit in self.units)

    @property
    def label(self) -> str | tuple[str, ...] | Expr:
        return self.q

    def coordinate_names(self, name: str) -> tuple[str, ...]:
        return self.q if isinstance(self.q, tuple) else (name,)

    def speed_names(self, name: str) -> tuple[str, ...]:
        return tuple(map(default_speed_name, self.coordinate_names(name)))

    @classmethod
    def examples(cls, name: str, axis: tuple[float, float, float]) -> Sequence[Joint]:
        """Return a joint that turns about the axis and slides along it; its height depends on both coordinates."""

        def position(turn: Expr, lift: Expr) -> tuple[Expr, ...]:
            return tuple(a * (lift + 0.1 * turn * turn + 0.2 * turn * lift) for a in axis)

        names = (f"{name}_turn", f"{name}_lift")
        return (cls(names, lambda turn, lift: Rotation.about(axis, turn), position, ("rad", "m")),)

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        own = own_leaves(q)
        found = motion_of_pose(*self.pose(own), own, u)
        return found if own == tuple(q) else moved_to(found, dict(zip(own, q, strict=True)), *self.pose(q))

    def recorded(self, q: Sequence[Expr]) -> CustomJoint:
        own = own_leaves(q)
        R_FM, p_FM = self.pose(own)
        orientation = None if self.orientation is None else RecordedOrientation(own, R_FM)
        return replace(self, orientation=orientation, position=self.position and RecordedPosition(own, p_FM))

    def pose(self, q: Sequence[Expr]) -> tuple[Rotation, Triple]:
        """Return R_FM and p_FM, checked.

        Raises:
            ModelError: the functions do not return a Rotation and three numbers or expressions.
        """
        R_FM = Rotation.identity() if self.orientation is None else self.orientation(*q)
        if not isinstance(R_FM, Rotation):
            raise ModelError(
                f"the orientation of the custom joint {shown(self.q)} is {shown(R_FM)}; return a kane.Rotation"
            )
        if self.position is None:
            return R_FM, ZERO_VECTOR
        return R_FM, triple(self.position(*q), f"the position of the custom joint {self.q!r}")

    def check(self, q: Sequence[Expr], parameters: Mapping[Expr, float], who: str) -> None:
        own = own_leaves(q)
        R_FM, p_FM = self.pose(own)
        entries = [x for row in (*R_FM.entries, p_FM) for x in row if isinstance(x, Expr)]
        foreign = [x.name for x in leaves(entries) if x.op != PARAMETER and x not in own]
        if foreign:
            raise ModelError(
                f"the pose of {who} depends on {', '.join(foreign)}; it may depend on its own coordinates and on "
                "parameters only. Add coordinates, or give it an expression of time and other coordinates as coordinate"
            )
        require_joint(motion_of_pose(R_FM, p_FM, own, own), own, parameters, who)
