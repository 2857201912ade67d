"""The virtual coupler, and what a hand may feel of it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import final

from kane.errors import ModelError, shown
from kane.expression.arguments import number, positive
from kane.haptics.limits import CAP
from kane.model.body import Point


@final
@dataclass(frozen=True)
class Coupler:
    """A spring and damper between the image of the hand and a point of a mechanism, the handle.

    The mechanism gets f = K (x_h - p) + B (v_h - v), the hand -c f, with p, v of the handle in the ground and the image
    x_h = x_0 + s x of the hand; x_0 is chosen where hand and mechanism are taken together, so that f is zero there.

    Attributes:
        handle: a point of a body that moves.
        stiffness: K [N/m].
        damping: B [N s/m].
        scale: s, metres in the simulation for each metre of the hand.
        force_scale: c, newtons at the hand for each newton in the simulation.
        axes: of the ground, along which it pulls: some of "xyz".

    Source: Gillespie 2003, section 4; Brown & Colgate 1997.
    """

    handle: Point
    _: KW_ONLY
    stiffness: float
    damping: float = 0.0
    scale: float = 1.0
    force_scale: float = 1.0
    axes: str = "xyz"

    def __post_init__(self) -> None:
        if not isinstance(self.handle, Point):
            raise ModelError(f"a Coupler takes a point such as body.point((0.9, 0, 0)), not {shown(self.handle)}")
        positive(self.stiffness, "the stiffness of a coupler")
        for word in ("scale", "force_scale"):
            positive(getattr(self, word), f"{word} of a coupler")
        if number(self.damping, "the damping of a coupler", "N s/m") < 0.0:
            raise ModelError(f"the damping of a coupler must not be negative: {self.damping!r}")
        if not (isinstance(self.axes, str) and self.axes and sorted(set(self.axes)) == sorted(self.axes)):
            raise ModelError(f"the axes of a coupler are some of 'xyz', not {shown(self.axes)}")
        if not set(self.axes) <= set("xyz"):
            raise ModelError(f"the axes of a coupler are some of 'xyz', not {shown(self.axes)}")


@final
@dataclass(frozen=True, kw_only=True)
class Safety:
    """What no force on a hand exceeds, and when it ends.

    Attributes:
        force: the largest [N]; a device that gives less has its own limit.
        rise: how fast it changes [N/s]; the largest within 2 ms unless given.
        power: the most that is given to the hand [W].
        speed: of the hand, above which it feels damping only [m/s].
        leap: of the hand, which only a broken sample has [m/s].
        soft: how long forces take to reach their full size after arming [s].
        brake: the largest damping by which the hand is braked where the coupler made energy, to take it away (passivity
            controller) [N s/m]; none unless given. Where forces are clamped it brakes for that too.
    """

    force: float = CAP
    rise: float | None = None
    power: float = 5.0
    speed: float = 1.0
    leap: float = 5.0
    soft: float = 0.5
    brake: float = 0.0

    def __post_init__(self) -> None:
        for word in ("force", "power", "speed", "leap", "soft"):
            positive(getattr(self, word), f"{word} of Safety")
        if not number(self.brake, "brake of Safety", "N s/m") >= 0.0:
            raise ModelError(f"brake of Safety must not be negative: {self.brake!r}")
        if self.rise is not None and positive(self.rise, "rise of Safety") < 100.0 * self.force:
            raise ModelError(
                f"a force of {self.force:g} N that changes by {self.rise:g} N/s cannot end within 20 ms as it must; "
                f"give rise = {100.0 * self.force:g} or more"
            )
