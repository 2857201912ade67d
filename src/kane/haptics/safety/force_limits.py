"""Limits of force, torque, power and speed on the operator, which the clamps of the native loop enforce.

In ``kane.engine.realtime.safety``, ``clamp`` is the only way of a force to the device, and ``place`` the only way of a
position.
"""

from __future__ import annotations

from typing import final

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.number_arguments import number, positive

CAP, TORQUE_CAP = 5.0, 0.5  # N and N m, default limits of a session


@final
@dataclass(frozen=True, kw_only=True)
class Safety:
    """Limits of force, torque and motion.

    For a device that measures force, a measured force above ``force`` ends the motion. The commanded position moves at
    most as fast as ``speed``. After arming this limit rises from zero in the time ``soft``.

    Attributes:
        force, torque: largest values [N], [N m]; smaller limits of the device also apply. A torque takes at least 2 ms
            from zero to the largest value.
        rise: largest rate of change of the force [N/s]; by default the largest force within 2 ms.
        power: largest power given to the operator by force and torque [W].
        speed, turning_speed: speed of the device handle above which the operator feels damping only [m/s], [rad/s].
        leap, turning_leap: speed of the device handle above which a sample is invalid [m/s], [rad/s].
        soft: time in which forces reach their full size after arming [s].
        brake, turning_brake: largest damping that removes energy made by the coupler (passivity controller) [N s/m],
            [N m s/rad]; zero by default. Energy made by clamping of forces counts too.
    """

    force: float = CAP
    rise: float | None = None
    power: float = 5.0
    speed: float = 1.0
    leap: float = 5.0
    soft: float = 0.5
    brake: float = 0.0
    torque: float = TORQUE_CAP
    turning_speed: float = 10.0
    turning_leap: float = 50.0
    turning_brake: float = 0.0

    def __post_init__(self) -> None:
        for word in ("force", "power", "speed", "leap", "soft", "torque", "turning_speed", "turning_leap"):
            positive(getattr(self, word), f"{word} of Safety")
        for word in ("brake", "turning_brake"):
            if not number(getattr(self, word), f"{word} of Safety") >= 0.0:
                raise ModelError(f"{word} of Safety must not be negative: {getattr(self, word)!r}")
        if self.rise is not None and positive(self.rise, "rise of Safety") < 100.0 * self.force:
            raise ModelError(
                f"a force of {self.force:g} N that changes by {self.rise:g} N/s cannot end within 20 ms as it must; "
                f"give rise = {100.0 * self.force:g} or more"
            )
