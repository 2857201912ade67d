"""Limits for the damping of an admittance coupler with a given device and arm: ``admittance_limits``."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.number_arguments import positive, require
from kane.haptics.devices.device import Device, Traits
from kane.haptics.devices.simulated import Arm
from kane.haptics.safety.servo_loop import ServoLoop


@dataclass(frozen=True)
class AdmittanceLimits:
    """Smallest dampings B [N s/m] of an AdmittanceCoupler with guaranteed properties, for one arm and one mass.

    Attributes:
        stable: limit above which the arm at the device comes to rest; from exact eigenvalues.
        any_spring: limit above which every spring comes to rest that is at most as stiff as the arm. Its stiffness may
            change with time and displacement, by the circle criterion.
        rule: k D - c at the operator, divided by s c; the limit ``stable`` for a large mass.
        age: delay D from a force to the position that it causes [s].
        reasons: explanation of each value, with its formula and numbers.
    """

    stable: float
    any_spring: float
    rule: float
    age: float
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.reasons)


def admittance_limits(
    device: Device | Traits, arm: Arm, *, mass: float, scale: float = 1.0, force_scale: float = 1.0
) -> AdmittanceLimits:
    """Return the smallest dampings of an AdmittanceCoupler for a device that measures force.

    The device follows late, so that an arm with the stiffness k draws a force that is late too. To first order this
    takes away a damping k D from the displayed damping b and the damping c of the arm. The condition is

        b > k D - c,    D = h + td + T/2.

    This is the limit for a large mass m. For a mass m and an arm of mass m_a, ``stable`` has the exact limit.

    Args:
        device: the device or its traits; sample time T, delay td, lag h and mass on the force sensor are used.
        arm: mass, damping and stiffness of the arm; its path is not used.
        mass: mass of the mechanism at the handle, in the simulation [kg].
        scale: s, metres in the simulation per metre of the device.
        force_scale: c, newtons at the operator per newton in the simulation.

    Raises:
        ModelError: the device does not measure force, the arm has no stiffness, or a number is not positive.
    """
    t = device.traits if isinstance(device, Device) else device
    if not isinstance(t, Traits) or not t.measures_force:
        raise ModelError(
            "admittance_limits takes a device that measures force, such as "
            f"kane.haptics.Simulated(measures_force=True, lag=3e-3), not {shown(device)}; others have coupler_limits"
        )
    require(arm, Arm, "admittance_limits takes a kane.haptics.Arm(stiffness=...)")
    k = positive(arm.stiffness, "the stiffness of the arm of admittance_limits")
    felt = positive(scale, "scale") * positive(force_scale, "force_scale")
    m = positive(mass, "mass of admittance_limits") * felt
    loop = ServoLoop(m, t.period, t.delay, t.lag, (k, arm.damping, arm.mass + t.mass))
    stable, any_spring = loop.least_stable, loop.any_spring
    rule = max(0.0, k * loop.age - arm.damping)
    reasons = [
        f"stable from {stable:.4g} N s/m: eigenvalues of the loop with m = {m:g} kg and an arm of {k:g} N/m, "
        f"{arm.damping:g} N s/m and {arm.mass + t.mass:g} kg with the device handle; the rule k D - c gives {rule:.4g}",
        f"stable with any spring up to {k:g} N/m, also one that changes, from {any_spring:.4g} N s/m: "
        "k D/2 + sqrt((k D/2)^2 + k m) (circle criterion)",
        f"D = h + td + T/2 = {1e3 * loop.age:.4g} ms: a lag of {1e3 * t.lag:.4g} ms, a delay of {1e3 * t.delay:.4g} ms "
        f"and T = {1e3 * t.period:.4g} ms",
        "no damping is enough for every passive operator, because the servo holds its position against any force: the "
        "limits grow with the stiffness of the arm",
    ]
    if felt != 1.0:
        reasons.append(f"the operator feels {felt:g} times the coupler's damping; these figures are at the operator")
    return AdmittanceLimits(stable / felt, any_spring / felt, rule / felt, loop.age, tuple(reasons))
