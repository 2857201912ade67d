"""Display by inverse dynamics: the device prescribes the motion of the handle, and the hand feels what that takes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NoReturn, final

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.arguments import number, positive
from kane.haptics.coupler import Coupler
from kane.haptics.devices.device import Device, Traits, require_axes
from kane.haptics.sampled_loop import BISECTION_TOLERANCE, SampledLoop
from kane.model.body import Point
from kane.native.arrays import Matrix

# Factor between consecutive masses in the search for the limit, before bisection.
MASS_SCAN_FACTOR = 1.1
# Eigenvalues so near to 1 are 1.
PLACE = 1e-6


@final
@dataclass(frozen=True)
class RigidCoupler:
    """The handle goes where the hand is, and the hand feels what that takes: display by inverse dynamics.

    The image x_h = x_0 + s x of the hand is followed by y'' = W^2 (x_h - y) - 2 W y', and the handle is at y. The
    force f on it that this motion takes comes from inverse dynamics, the hand gets -c f. Nothing is integrated: there
    is no spring between hand and mechanism, no stiffness to choose and none to be felt, but all of the mechanism has to
    move as the handle says, and what the hand feels of a mass m is m y'', late and without what is faster than W.

    Attributes:
        handle: a point of a body that moves.
        follow: W [1/s]. More is sharper and less stable; see ``largest_inertia``.
        scale: s, metres in the simulation for each metre of the hand.
        force_scale: c, newtons at the hand for each newton in the simulation.
        axes: of the ground, along which it holds the handle: as many of "xyz" as the mechanism has freedoms.
        turns: none; orientations are prescribed by nothing here.

    Source: Gillespie 2003, section 1.
    """

    handle: Point
    _: KW_ONLY
    follow: float = 100.0
    scale: float = 1.0
    force_scale: float = 1.0
    axes: str = "xyz"
    turns: str = ""

    # What a ``Coupler`` has and this has not.
    torque_scale = 1.0
    lead = 0.0
    settings = (0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if not isinstance(self.handle, Point):
            raise ModelError(f"a RigidCoupler takes a point such as body.point((0.9, 0, 0)), not {shown(self.handle)}")
        for word in ("follow", "scale", "force_scale"):
            positive(getattr(self, word), f"{word} of a rigid coupler")
        require_axes(self.axes, "the axes of a rigid coupler", some=True)
        if self.turns != "":
            raise ModelError(
                "a rigid coupler says where its handle is and not how it is turned, so that "
                f"turns={self.turns!r} cannot be; what turns is a matter of kane.haptics.Coupler(..., turns=...)"
            )

    @property
    def coupled_axes(self) -> tuple[bool, ...]:
        """Along which of x, y, z it holds the handle, and about which, (6,)."""
        return (*(axis in self.axes for axis in "xyz"), False, False, False)

    def set_to(self, settings: Any) -> NoReturn:
        """Refuse.

        Raises:
            ModelError: always.
        """
        raise ModelError("a rigid coupler has no stiffness and no damping that could be set")


def largest_inertia(device: Device | Traits, *, follow: float = 100.0) -> float:
    """The largest mass at the hand [kg] that the free handle of a device bears behind a RigidCoupler, times s c.

    Exact eigenvalues of the sampled loop of the handle and of what follows it; a mass that is felt pushes as it was a
    sample and the delay of the device ago.

    Args:
        device: what renders it, or what is known of it.
        follow: W of the coupler [1/s].

    Raises:
        ModelError: not a device, or not a positive number.
    """
    t = device.traits if isinstance(device, Device) else device
    if not isinstance(t, Traits):
        raise ModelError(f"largest_inertia takes a device such as kane.haptics.Simulated(...), not {shown(device)}")
    W = number(positive(follow, "follow"), "follow")
    low = high = t.mass * 1e-3
    while _is_stable(t, high, W) and high < 1e9 * t.mass:
        low, high = high, high * MASS_SCAN_FACTOR
    while high - low > BISECTION_TOLERANCE * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _is_stable(t, middle, W) else (low, middle)
    return low


def _is_stable(t: Traits, inertia: float, W: float) -> bool:
    """Whether handle and follower come to rest, wherever that is: eigenvalues of 1 are their place."""
    T, loop = t.period, SampledLoop(t.mass, t.damping, t.period, t.delay)
    free, pushed = loop.pushed()
    late = pushed.shape[1] - 1  # forces of samples before this one
    given = np.zeros((5, 6 + late))  # x, x a sample ago, y, y', y''; among [x, v, forces before, x before, y, y', y'']
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
    """y, y', y'' at the end of a sample from x, x a sample ago, y and y', as the native loop has them."""
    x, before, y, v, _ = given
    slope, fall = (x - before) / T, np.exp(-W * T)
    away = y - before + 2 / W * slope
    rate = v - slope + W * away
    y = x - 2 / W * slope + (away + T * rate) * fall
    v = slope + (v - slope - W * T * rate) * fall
    return np.array([y, v, W * W * (x - y) - 2 * W * v])


# What a session takes between hand and mechanism.
AnyCoupler = Coupler | RigidCoupler
