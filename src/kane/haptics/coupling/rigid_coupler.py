"""Display by inverse dynamics: the device prescribes the motion of the handle, the operator feels the force."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, NoReturn, final

import numpy as np

from kane.deferred import dataclass
from kane.engine.memory.loop_arguments import Matrix
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number, positive, require
from kane.haptics.coupling.admittance_coupler import AdmittanceCoupler
from kane.haptics.coupling.coupler import Coupler
from kane.haptics.devices.device import Device, Traits, require_axes, require_pushed
from kane.haptics.safety.sampled_loop import BISECTION_TOLERANCE, SampledLoop
from kane.model.body import Point

# Factor between tested masses, before bisection.
MASS_SCAN_FACTOR = 1.1
# Distance from 1 below which an eigenvalue counts as 1.
PLACE = 1e-6


@final
@dataclass(frozen=True)
class RigidCoupler:
    """Display by inverse dynamics: the handle follows the device, and the operator feels the required force.

    The proxy x_h = x_0 + s x represents the device position x in the simulation. The handle is at y, which follows the
    proxy by y'' = W^2 (x_h - y) - 2 W y'. Inverse dynamics gives the force f on the handle that this motion requires,
    and the operator gets -c f. Nothing is integrated, and there is no spring between operator and mechanism. The handle
    must determine the motion of the whole mechanism. The operator feels a mass m as m y'', with a delay and without
    frequencies above W.

    Attributes:
        handle: point of a moving body.
        follow: W [1/s]. Larger values follow faster and are less stable; see ``largest_inertia``.
        scale: s, metres in the simulation per metre of the device.
        force_scale: c, newtons at the operator per newton in the simulation.
        axes: axes of the ground along which the handle is held: some of "xyz", as many as the mechanism has freedoms.
        turns: always empty, because orientations are not prescribed.

    Source: Gillespie 2003, section 1.
    """

    handle: Point
    _: KW_ONLY
    follow: float = 100.0
    scale: float = 1.0
    force_scale: float = 1.0
    axes: str = "xyz"
    turns: str = ""

    # Attributes of a ``Coupler`` that have no effect here.
    torque_scale = 1.0
    lead = 0.0
    settings = (0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        require(self.handle, Point, "a RigidCoupler takes a point such as body.point((0.9, 0, 0))")
        for word in ("follow", "scale", "force_scale"):
            positive(getattr(self, word), f"{word} of a rigid coupler")
        require_axes(self.axes, "the axes of a rigid coupler", some=True)
        if self.turns != "":
            raise ModelError(
                "a rigid coupler prescribes the position of its handle and not the orientation, so that "
                f"turns={self.turns!r} cannot be; use kane.haptics.Coupler(..., turns=...)"
            )

    @property
    def coupled_axes(self) -> tuple[bool, ...]:
        """Whether the handle is held along x, y, z and about x, y, z, (6,)."""
        return (*(axis in self.axes for axis in "xyz"), False, False, False)

    def set_to(self, settings: Any) -> NoReturn:
        """Raise, because there are no settings.

        Raises:
            ModelError: always.
        """
        raise ModelError("a rigid coupler has no stiffness and no damping to be set; use kane.haptics.Coupler")


def largest_inertia(device: Device | Traits, *, follow: float = 100.0) -> float:
    """Return the largest mass, as felt by the operator, for which the free device handle with a RigidCoupler is stable.

    A mass m of the mechanism is felt as s c m [kg]. The limit comes from exact eigenvalues of the sampled loop of the
    device handle and the follower. The force of the mass is late by one sample and the delay of the device.

    Args:
        device: the device or its traits.
        follow: W of the coupler [1/s].

    Raises:
        ModelError: ``device`` is not a device, or ``follow`` is not a positive number.
    """
    t = device.traits if isinstance(device, Device) else device
    if not isinstance(t, Traits):
        raise ModelError(f"largest_inertia takes a device such as kane.haptics.Simulated(...), not {shown(device)}")
    require_pushed(t, "largest_inertia")
    W = number(positive(follow, "follow"), "follow")
    low = high = t.mass * 1e-3
    while _is_stable(t, high, W) and high < 1e9 * t.mass:
        low, high = high, high * MASS_SCAN_FACTOR
    while high - low > BISECTION_TOLERANCE * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _is_stable(t, middle, W) else (low, middle)
    return low


def _is_stable(t: Traits, inertia: float, W: float) -> bool:
    """Check whether device handle and follower come to rest; eigenvalues of 1 are rest at any position."""
    T, loop = t.period, SampledLoop(t.mass, t.damping, t.period, t.delay)
    free, pushed = loop.pushed()
    late = pushed.shape[1] - 1  # number of earlier forces
    given = np.zeros((5, 6 + late))  # [x, x before, y, y', y''] from [x, v, forces before, x before, y, y', y'']
    given[[0, 1, 2, 3, 4], [0, 2 + late, 3 + late, 4 + late, 5 + late]] = 1.0
    A = np.zeros((6 + late, 6 + late))
    A[:2, :2], A[:2, 2 : 2 + late] = free, -pushed[:, 1:]
    A[:2] -= inertia * np.outer(pushed[:, 0], given[4])
    A[2] = inertia * given[4]
    A[3 : 2 + late, 2 : 1 + late] = np.eye(late - 1)
    A[2 + late] = given[0]
    A[3 + late :] = _followed(W, T, given)
    values = np.linalg.eigvals(A)
    return bool(np.abs(values[np.abs(values - 1) > PLACE]).max() < 1.0)


def _followed(W: float, T: float, given: Matrix) -> Matrix:
    """Return y, y', y'' at the end of a sample from x, x one sample ago, y and y', as in the native loop."""
    x, before, y, v, _ = given
    slope, fall = (x - before) / T, np.exp(-W * T)
    away = y - before + 2 / W * slope
    rate = v - slope + W * away
    y = x - 2 / W * slope + (away + T * rate) * fall
    v = slope + (v - slope - W * T * rate) * fall
    return np.array([y, v, W * W * (x - y) - 2 * W * v])


# Couplers that a session accepts.
AnyCoupler = Coupler | RigidCoupler | AdmittanceCoupler
