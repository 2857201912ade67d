"""The virtual coupler, and the limits of the force on the operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import final

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.number_arguments import number, positive, require
from kane.haptics.devices.device import require_axes
from kane.model.body import Point

# Settings of a coupler that can change while it is in use.
COUPLER_SETTINGS = ("stiffness", "damping", "turning_stiffness", "turning_damping")


@final
@dataclass(frozen=True)
class Coupler:
    """Virtual coupler: spring and damper between the proxy and the handle, also for orientations.

    The handle is a point of the mechanism with position p and velocity v in the ground. The proxy x_h = x_0 + s x
    represents the device position x in the simulation. The mechanism gets f = K (x_h - p) + B (v_h - v), the operator
    -c f. When device and mechanism are coupled, x_0 is set so that the spring is not stretched.

    The unit quaternion (e_w, e) turns the body of the handle into the orientation R_h R_0 of the proxy. The torque of a
    spring with the potential 2 K_t |e|^2 and a damper is

        t = 2 K_t e_w e + B_t (w_h - w) = K_t sin(angle) axis + B_t (w_h - w).

    The operator gets -d t. If the coupler turns about some axes only, |e|^2 contains the components along these axes.
    The torque is still minus the gradient of the potential, so that the spring makes no energy on a closed path.

    Attributes:
        handle: point of a moving body.
        stiffness: K [N/m].
        damping: B [N s/m].
        scale: s, metres in the simulation per metre of the device.
        force_scale: c, newtons at the operator per newton in the simulation.
        axes: axes of the ground along which the coupler pulls: some of "xyz".
        turning_stiffness: K_t [N m/rad].
        turning_damping: B_t [N m s/rad].
        torque_scale: d, torque at the operator per torque in the simulation; angles are not scaled.
        lead: fraction of the sample age, measured at every tick, that is compensated, 0 to 1. The device position is
            extrapolated at constant velocity to the time when the force acts. This adds the damping K lead age, see
            ``coupler_limits``.
        turns: axes of the ground about which the coupler turns: some of "xyz". A planar handle has turns="z" and
            axes="xy".

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
        require(self.handle, Point, "a Coupler takes a point such as body.point((0.9, 0, 0))")
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
        """Whether the coupler pulls along x, y, z and turns about x, y, z, (6,)."""
        return tuple(axis in self.axes for axis in "xyz") + tuple(axis in self.turns for axis in "xyz")

    @property
    def settings(self) -> tuple[float, ...]:
        """Stiffness of force and torque, then damping of force and torque, (4,)."""
        return self.stiffness, self.turning_stiffness, self.damping, self.turning_damping

    def set_to(self, settings: Mapping[str, float]) -> Coupler:
        """Return the coupler with other values of some ``COUPLER_SETTINGS``.

        Raises:
            ModelError: a stiffness is not positive, a damping is negative, or a name is unknown.
        """
        for word in settings:
            if word not in COUPLER_SETTINGS:
                raise ModelError(f"set takes {', '.join(COUPLER_SETTINGS)}, not {word!r}")
        return Coupler(**{**vars(self), **settings})
