"""Direction of slip: along the slip velocity, which near zero turns no faster than steps can follow."""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.vectors import length
from kane.engine.memory.views import ContactState

# Slip velocities below this are zero [m/s or rad/s]: rounding error of speeds of 1 km/s.
SLOW = 1e-13
# Friction turns slow slip in space fast, so that a step from rest would have to be very short. Below this speed
# [m/s or rad/s] along its old direction, slip has the friction of this speed. Slip that has turned back, as in stages
# of a step beyond the end of the slip, turns friction less. Runs with larger tolerances choose a larger speed.
LEAST_BEGUN = 1e-9
# Sideways slip up to this ratio of the missing forward slip is error of steps: its square turns friction.
BLURRED = 1e-3


@native_kernel
def slip_direction(of: ContactState, k: int, tangents: int, vx: float, vy: float) -> Any:
    """Return the direction of slip of a sliding constraint with slip velocity (vx, vy).

    A constraint with one tangent keeps its direction, also after the slip has ended. With two tangents it slips along
    the slip velocity, whose part along the old direction counts at least as the speed ``begun``. A constraint without
    an old direction, because a caller set its status, gets the direction of the slip velocity.
    """
    x, y = of.along[k, 0], of.along[k, 1]
    if tangents == 2:
        along = vx * x + vy * y
        begun = of.begun[k]
        missing, ahead = max(begun - along, 0.0), max(along, begun)
        vx, vy = vx - along * x, vy - along * y
        square, blur = vx * vx + vy * vy, BLURRED * missing
        across = begun * square / ((begun + missing) * (square + blur * blur + SLOW * SLOW))
        vx, vy = across * vx + ahead * x, across * vy + ahead * y
    elif x != 0.0:
        return x, y
    speed = length(vx, vy)
    return (vx / speed, vy / speed) if speed > SLOW else (x, y)


@native_inline
def slip_left(x: Any, y: Any, vx: Any, vy: Any) -> Any:
    """Return the remaining slip of a velocity in space, for the previous direction (x, y).

    It is negative if the velocity points more backward than sideways. A load can turn slow slip sideways while friction
    follows the direction, and that does not end the slip.
    """
    return x * vx + y * vy + abs(x * vy - y * vx)
