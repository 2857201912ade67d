"""Limits for the settings of a virtual coupler with a given device: ``coupler_limits``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number, positive
from kane.haptics.devices.device import Device, Traits, require_pushed
from kane.haptics.safety.force_limits import CAP, TORQUE_CAP
from kane.haptics.safety.sampled_loop import SampledLoop

# Matching damping relative to the device's mass over T/2 + td. Up to this value the stability limit grows with B
# nearly as the rule predicts.
MATCHING_DAMPING_FRACTION = 0.1
# Largest effect of one encoder step, differenced over one sample, relative to the largest force.
GRAIN = 0.02
# Number of dampings that are tested for the largest limit.
DAMPING_TRIALS = 50


@dataclass(frozen=True)
class Limits:
    """Largest stiffnesses [N/m] with guaranteed properties, for a coupler with the given damping.

    The values refer to the simulation: with positions scaled by s and forces by c, the operator feels s c K.

    Attributes:
        damping: B of the coupler [N s/m], as given or matching the device.
        stable: limit up to which the free device handle comes to rest at a fixed wall; from exact eigenvalues.
        passive: limit up to which no passive operator can draw energy from the coupler at a fixed wall. Such couplers
            have less damping than the device. If no damping was given, the damping with the largest limit is used.
        unconditional: limit up to which device and coupler are stable between any passive operator and any passive
            simulation. If no damping was given, the damping with the largest limit is used.
        quiet: limit up to which dry friction of the device absorbs one encoder step; infinite without encoder steps.
        reasons: explanation of each value, with its formula and numbers.
        turning: limits for rotations [N m/rad], [N m s/rad]; None if the device does not turn.
    """

    damping: float
    stable: float
    passive: float
    unconditional: float
    quiet: float
    reasons: tuple[str, ...]
    turning: Limits | None = None

    def __str__(self) -> str:
        return "\n".join(self.reasons + (self.turning.reasons if self.turning else ()))


@dataclass(frozen=True)
class Axis:
    """Axis of a device, for translation or rotation, with its units."""

    traits: Traits
    mass: float
    damping: float
    friction: float
    quantum: float
    most: float
    unit: str
    way: str
    lead: float

    @property
    def late(self) -> float:
        """Time from a sample to the middle of the hold of its force [s]."""
        return self.traits.period / 2 + self.traits.delay

    @property
    def loop(self) -> SampledLoop:
        """Sampled loop of the device handle at a rendered wall."""
        return SampledLoop(self.mass, self.damping, self.traits.period, self.traits.delay, self.lead * self.late)

    @property
    def matching(self) -> float:
        """Default damping at the operator."""
        wanted = MATCHING_DAMPING_FRACTION * self.mass / self.late
        return min(wanted, GRAIN * self.most * self.traits.period / self.quantum) if self.quantum else wanted


def coupler_limits(
    device: Device | Traits,
    *,
    damping: float | None = None,
    scale: float = 1.0,
    force_scale: float = 1.0,
    turning_damping: float | None = None,
    torque_scale: float = 1.0,
    lead: float = 0.0,
    age: float | None = None,
) -> Limits:
    """Return the largest stiffnesses and the damping of a virtual coupler for a device.

    Args:
        device: the device or its traits; sample time T, mass m, damping b, Coulomb friction, encoder step and delay td
            are used.
        damping: B of the coupler [N s/m]; by default 0.1 m/(T/2 + td), or less for coarse encoders.
        scale: s, metres in the simulation per metre of the device.
        force_scale: c, newtons at the operator per newton in the simulation.
        turning_damping: B_t of the coupler [N m s/rad]; by default as for ``damping``, with the inertia for m.
        torque_scale: d, torque at the operator per torque in the simulation.
        lead: lead of the coupler, which increases its damping to B + K lead (T/2 + td).
        age: age of samples when their forces act, as measured by a session (``Session.report.age``) [s]; by default
            the delay td of the device.

    Raises:
        ModelError: ``device`` is not a device, or an argument is not a meaningful number.

    Source: Colgate & Schenkel 1997; Gil et al. 2004; Abbott & Okamura 2005; Adams & Hannaford 1999.
    """
    t = device.traits if isinstance(device, Device) else device
    if not isinstance(t, Traits):
        raise ModelError(f"coupler_limits takes a device such as kane.haptics.Simulated(...), not {shown(device)}")
    require_pushed(t, "coupler_limits")
    if not 0.0 <= number(lead, "lead") <= 1.0:
        raise ModelError(f"lead is {lead!r}; give a number from 0 to 1")
    t = t if age is None else replace(t, delay=age)
    felt = positive(scale, "scale") * positive(force_scale, "force_scale")
    pushed = Axis(t, t.mass, t.damping, t.friction, t.quantum, min(t.force, CAP), "N", "m", lead)
    limits = _limits(pushed, damping, felt, "damping")
    felt = positive(torque_scale, "torque_scale")
    if not t.turns:
        return limits
    most = min(t.torque, TORQUE_CAP)
    turned = Axis(t, t.inertia, t.turning_damping, t.turning_friction, t.turning_quantum, most, "N m", "rad", lead)
    return replace(limits, turning=_limits(turned, turning_damping, felt, "turning_damping"))


def _limits(axis: Axis, damping: float | None, felt: float, word: str) -> Limits:
    loop = axis.loop
    if damping is None:
        B = axis.matching
        passive, unconditional = (_best(f, axis.damping) for f in (loop.largest_passive, loop.largest_unconditional))
    else:
        B = passive = unconditional = number(damping, word, f"{axis.unit} s/{axis.way}") * felt
        if B < 0.0:
            raise ModelError(f"the {word} of a coupler must not be negative: {damping!r}")
    at_hand = {
        "stable": loop.largest_stable(B),
        "passive": loop.largest_passive(passive),
        "unconditional": loop.largest_unconditional(unconditional),
        "quiet": 2 * axis.friction / axis.quantum if axis.quantum else math.inf,
    }
    stable, passive_up_to, any_world, quiet = (value / felt for value in at_hand.values())
    reasons = _reasons(axis, (B, passive, unconditional), at_hand, felt)
    return Limits(B / felt, stable, passive_up_to, any_world, quiet, reasons)


def _best(largest: Callable[[float], float], b: float) -> float:
    """Return the damping with the largest limit, among DAMPING_TRIALS + 1 values from 0 to b."""
    return max((b * part / DAMPING_TRIALS for part in range(DAMPING_TRIALS + 1)), key=largest)


def _reasons(
    axis: Axis, dampings: tuple[float, float, float], at_hand: dict[str, float], felt: float
) -> tuple[str, ...]:
    T, td, unit, way = axis.traits.period, axis.traits.delay, axis.unit, axis.way
    B, passive, unconditional = dampings
    stable, at_most, any_world, quiet = (f"{at_hand[word]:.4g} {unit}/{way}" for word in at_hand)
    late = f"T/2 + td = {1e3 * (T / 2 + td):.4g} ms"
    mass = f"m = {axis.mass:g} kg" if way == "m" else f"I = {axis.mass:g} kg m^2"
    damping = "damping" if way == "m" else "turning damping"
    message = [
        f"{damping} {B:.4g} {unit} s/{way}: one step of the encoder changes the force by "
        f"{B * axis.quantum / T:.3g} {unit}",
        f"stable up to {stable}: eigenvalues of the loop with {mass}, b = {axis.damping:g} {unit} s/{way}, "
        f"{late}; the rule (b + B)/(T/2 + td) gives {axis.loop.rule(B):.4g}",
        f"passive up to {at_most} with a damping of {passive:.3g}: b > K (T/2 + td); B and a delay by a fraction of a "
        "sample reduce b (Colgate & Schenkel)",
        f"unconditionally stable up to {any_world} with a damping of {unconditional:.3g}: Llewellyn's "
        "criterion (Adams & Hannaford)",
    ]
    if axis.quantum:
        message.append(
            f"quiet up to {quiet}: 2 fc/Delta with fc = {axis.friction:g} {unit}, Delta = {axis.quantum:g} {way}; "
            "above it the handle may vibrate by a step of the encoder (Abbott & Okamura)"
        )
    return (*message, *_cautions(axis, B, at_hand["stable"], felt))


def _cautions(axis: Axis, B: float, stable: float, felt: float) -> list[str]:
    """Return remarks on the limits: delay, lead, devices without force, and scaling."""
    message, T, td, unit, way = [], axis.traits.period, axis.traits.delay, axis.unit, axis.way
    if td > T:
        faster = SampledLoop(axis.mass, axis.damping, T, 0.0).largest_stable(B)
        message.append(
            f"a stiff wall cannot be rendered through this device: without its delay of {1e3 * td:.3g} ms the "
            f"coupler could have {faster:.4g} {unit}/{way}; a higher rate alone changes little"
        )
    if axis.lead:
        ahead = axis.lead * axis.late
        more = stable * ahead
        message.append(
            f"with a lead of {axis.lead:g} the device position is extrapolated by {1e3 * ahead:.3g} ms: at "
            f"{stable:.4g} {unit}/{way} this adds a damping of {more:.3g} {unit} s/{way}, and a step of the encoder "
            f"changes the force by another {more * axis.quantum / T:.3g} {unit}"
        )
    if not axis.traits.pushes:
        message.append(
            "this device only draws its force, so any coupler is stable with it: the figures are those of a device "
            "that pushes with the same delay"
        )
    if felt != 1.0:
        message.append(
            f"the operator feels {felt:g} times the coupler's stiffness; the figures above are at the operator"
        )
    return message
