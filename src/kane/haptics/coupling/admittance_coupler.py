"""Coupler of an admittance display: the measured force of the operator moves the mechanism, which places the device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, replace
from typing import final

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.number_arguments import positive, require
from kane.haptics.devices.device import require_axes
from kane.model.body import Point


@final
@dataclass(frozen=True)
class AdmittanceCoupler:
    """Coupler for a device that measures force and takes positions (admittance display).

    The handle is a point of the mechanism with position p and velocity v in the ground. The mechanism gets

        f = F/c - B v

    with the measured force F of the operator on the device handle. The device gets the position (p - x_0)/s. When
    device and mechanism are coupled, x_0 is set so that the device does not move. The operator feels the damping s c B
    and the mass s c m, where m is the mass of the mechanism at the handle.

    The damper B is the virtual coupling of an admittance display. It keeps the loop stable, because the device follows
    late and the arm of the operator is a spring; see ``admittance_limits``.

    Attributes:
        handle: point of a moving body.
        damping: B [N s/m].
        scale: s, metres in the simulation per metre of the device.
        force_scale: c, newtons at the operator per newton in the simulation.
        axes: axes of the ground along which the force acts and the device moves: some of "xyz".

    Source: Adams & Hannaford 1999.
    """

    handle: Point
    _: KW_ONLY
    damping: float
    scale: float = 1.0
    force_scale: float = 1.0
    axes: str = "xyz"

    # Attributes of a ``Coupler`` that have no effect here.
    turns = ""
    torque_scale = 1.0
    lead = 0.0

    def __post_init__(self) -> None:
        require(self.handle, Point, "an AdmittanceCoupler takes a point such as body.point((0.9, 0, 0))")
        for word in ("damping", "scale", "force_scale"):
            positive(getattr(self, word), f"{word} of an admittance coupler")
        require_axes(self.axes, "the axes of an admittance coupler", some=True)

    @property
    def coupled_axes(self) -> tuple[bool, ...]:
        """Whether the coupler acts along x, y, z and about x, y, z, (6,)."""
        return (*(axis in self.axes for axis in "xyz"), False, False, False)

    @property
    def settings(self) -> tuple[float, ...]:
        """Stiffness of force and torque, then damping of force and torque, (4,)."""
        return 0.0, 0.0, self.damping, 0.0

    def set_to(self, settings: Mapping[str, float]) -> AdmittanceCoupler:
        """Return the coupler with another damping.

        Raises:
            ModelError: the damping is not positive, or a name is unknown.
        """
        for word in settings:
            if word != "damping":
                raise ModelError(f"set takes damping for an admittance coupler, not {word!r}")
        return replace(self, damping=settings.get("damping", self.damping))
