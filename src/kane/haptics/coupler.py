"""The virtual coupler, and what a hand may feel of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import final

from kane.errors import ModelError, shown
from kane.expression.arguments import number, positive
from kane.haptics.devices.device import require_axes
from kane.haptics.limits import CAP, TORQUE_CAP
from kane.model.body import Point

# What of a coupler can be set anew while it is in use.
COUPLER_SETTINGS = ("stiffness", "damping", "turning_stiffness", "turning_damping")


@final
@dataclass(frozen=True)
class Coupler:
    """A spring and damper between the image of the hand and a point of a mechanism, the handle; also of orientations.

    The mechanism gets f = K (x_h - p) + B (v_h - v), the hand -c f, with p, v of the handle in the ground and the image
    x_h = x_0 + s x of the hand; x_0 is chosen where hand and mechanism are taken together, so that f is zero there. The
    torque is that of the potential 2 K_t |e|^2, with e the vector of the unit quaternion that turns the body of the
    handle into the image of the hand, R_h R_0, and of a damper:

        t = 2 K_t e_w e + B_t (w_h - w) = K_t sin(angle) axis + B_t (w_h - w),

    the hand gets -d t. Where it turns about some axes only, |e|^2 has these alone, and the torque is again minus the
    gradient of the potential, so that the spring makes no energy on any way.

    Attributes:
        handle: a point of a body that moves.
        stiffness: K [N/m].
        damping: B [N s/m].
        scale: s, metres in the simulation for each metre of the hand.
        force_scale: c, newtons at the hand for each newton in the simulation.
        axes: of the ground, along which it pulls: some of "xyz".
        turning_stiffness: K_t [N m/rad].
        turning_damping: B_t [N m s/rad].
        torque_scale: d, torque at the hand for each newton metre in the simulation; angles are those of the hand.
        lead: how much of the age that a sample has when its force acts is made up for, 0 to 1: the hand is taken for
            where it will be then, at the speed that it has. The age is measured at every tick. It counts as damping of
            K lead age, see ``coupler_limits``.
        turns: axes of the ground about which it turns: some of "xyz"; "z" with axes="xy" is a planar handle of 2 + 1.

    Source: Gillespie 2003, section 4; Brown & Colgate 1997.
    """

    handle: Point
    _: KW_ONLY
    stiffness: float
    damping: float = 0.0
    scale: float = 1.0
    force_scale: float = 1.0
    axes: str = "xyz"
    turning_stiffness: float = 0.0
    turning_damping: float = 0.0
    torque_scale: float = 1.0
    turns: str = ""
    lead: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.handle, Point):
            raise ModelError(f"a Coupler takes a point such as body.point((0.9, 0, 0)), not {shown(self.handle)}")
        positive(self.stiffness, "the stiffness of a coupler")
        for word in ("scale", "force_scale", "torque_scale"):
            positive(getattr(self, word), f"{word} of a coupler")
        for word, unit in (("damping", "N s/m"), ("turning_stiffness", "N m/rad"), ("turning_damping", "N m s/rad")):
            if number(getattr(self, word), f"the {word} of a coupler", unit) < 0.0:
                raise ModelError(f"the {word} of a coupler must not be negative: {getattr(self, word)!r}")
        if not 0.0 <= number(self.lead, "lead of a coupler") <= 1.0:
            raise ModelError(f"the lead of a coupler is {self.lead!r}; give a number from 0 to 1")
        require_axes(self.axes, "the axes of a coupler", some=True)
        require_axes(self.turns, "the turns of a coupler", some=False)
        if bool(self.turns) != bool(self.turning_stiffness or self.turning_damping):
            raise ModelError(
                "a coupler that turns has both turns, such as 'xyz', and a turning_stiffness or turning_damping; this "
                f"one has turns={self.turns!r}, {self.turning_stiffness:g} N m/rad, {self.turning_damping:g} N m s/rad"
            )

    @property
    def coupled_axes(self) -> tuple[bool, ...]:
        """Along which of x, y, z it pulls, and about which it turns, (6,)."""
        return tuple(axis in self.axes for axis in "xyz") + tuple(axis in self.turns for axis in "xyz")

    @property
    def settings(self) -> tuple[float, ...]:
        """Stiffness of force and torque, damping of both, (4,)."""
        return self.stiffness, self.turning_stiffness, self.damping, self.turning_damping

    def set_to(self, settings: Mapping[str, float]) -> Coupler:
        """The same coupler with some of ``COUPLER_SETTINGS`` set anew.

        Raises:
            ModelError: a stiffness that is not positive, negative damping, or another word.
        """
        for word in settings:
            if word not in COUPLER_SETTINGS:
                raise ModelError(f"set takes {', '.join(COUPLER_SETTINGS)}, not {word!r}")
        return Coupler(**{**vars(self), **settings})


@final
@dataclass(frozen=True, kw_only=True)
class Safety:
    """What no force and torque on a hand exceeds, and when they end.

    Attributes:
        force, torque: the largest [N], [N m]; a device that gives less has its own limit. A torque changes from zero to
            the largest within 2 ms at the fastest.
        rise: how fast the force changes [N/s]; the largest within 2 ms unless given.
        power: the most that is given to the hand, by both [W].
        speed, turning_speed: of the hand, above which it feels damping only [m/s], [rad/s].
        leap, turning_leap: of the hand, which only a broken sample has [m/s], [rad/s].
        soft: how long forces take to reach their full size after arming [s].
        brake, turning_brake: the largest damping by which the hand is braked where the coupler made energy, to take it
            away (passivity controller) [N s/m], [N m s]; none unless given. Where forces are clamped it brakes for that
            too.
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
