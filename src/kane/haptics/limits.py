"""What a virtual coupler may be set to before a device: ``coupler_limits``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from kane.errors import ModelError, shown
from kane.expression.arguments import number, positive
from kane.haptics.devices.device import Device, Traits
from kane.haptics.sampled_loop import SampledLoop

# The matching damping B takes this share of the handle's mass over the time by which forces are late: the stability
# limit then still grows with B nearly as the rule says.
MATCHING_DAMPING_FRACTION = 0.1
# One step of the encoder, differenced over one sample, moves the force by no more than this part of the largest one.
GRAIN = 0.02
# Dampings that are looked through for the one that allows most.
DAMPING_TRIALS = 50
CAP, TORQUE_CAP = 5.0, 0.5  # N and N m, what a session allows unless it is told more


@dataclass(frozen=True)
class Limits:
    """Stiffnesses [N/m] up to which something is certain, for a coupler with this damping.

    All are of the coupler as the simulation has it: with positions scaled by s and forces by c, hands feel s c K.

    Attributes:
        damping: of the coupler, B [N s/m]: the one given, or one that matches the device.
        stable: up to here the free handle before a fixed wall comes to rest: exact eigenvalues of the sampled loop.
        passive: up to here no passive hand can draw energy from the coupler before a fixed wall. Such couplers have
            less damping than the handle; where none was given, this is for the damping that allows most.
        unconditional: up to here device and coupler are stable between any passive hand and any passive simulation;
            where no damping was given, for the one that allows most.
        quiet: up to here dry friction of the handle swallows one step of the encoder; infinite where it has no steps.
        reasons: each of these in words, with its formula and numbers.
        turning: the same about each axis about which the device turns [N m/rad], [N m s/rad]; None where it does not.
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
    """One axis of a device, along which it is pushed or about which it is turned, and its units."""

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
        """From a sample to the middle of the hold of its force [s]."""
        return self.traits.period / 2 + self.traits.delay

    @property
    def loop(self) -> SampledLoop:
        """Before a rendered wall."""
        return SampledLoop(self.mass, self.damping, self.traits.period, self.traits.delay, self.lead * self.late)

    @property
    def matching(self) -> float:
        """The damping at the hand that goes with it unless the user says otherwise."""
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
    """The largest stiffness and the damping of a virtual coupler before a device.

    Args:
        device: what renders it, or what is known of it; its sample time T, mass m, damping b, Coulomb friction,
            encoder step and delay count.
        damping: B of the coupler [N s/m]; unless given, 0.1 m/(T/2 + td), or less where the encoder is coarse.
        scale: s, metres in the simulation for each metre of the hand.
        force_scale: c, newtons at the hand for each newton in the simulation.
        turning_damping: B_t of the coupler [N m s/rad]; unless given, as the damping, of the inertia.
        torque_scale: d, torque at the hand for each newton metre in the simulation.
        lead: of the coupler, which makes it one with the damping B + K lead (T/2 + td).
        age: that samples have when their forces act, as a session has measured it (``Session.report.age``) [s]; the
            delay td of the device unless given.

    Raises:
        ModelError: not a device, or an argument is not a meaningful number.

    Source: Colgate & Schenkel 1997; Gil et al. 2004; Abbott & Okamura 2005; Adams & Hannaford 1999.
    """
    t = device.traits if isinstance(device, Device) else device
    if not isinstance(t, Traits):
        raise ModelError(f"coupler_limits takes a device such as kane.haptics.Simulated(...), not {shown(device)}")
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
    """Which damping allows most, to a part of that of the handle."""
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
    said = [
        f"{damping} {B:.4g} {unit} s/{way}: one step of the encoder moves the force by "
        f"{B * axis.quantum / T:.3g} {unit}",
        f"stable up to {stable}: eigenvalues of the loop with {mass}, b = {axis.damping:g} {unit} s/{way}, "
        f"{late}; the rule (b + B)/(T/2 + td) says {axis.loop.rule(B):.4g}",
        f"passive up to {at_most}: with a damping of {passive:.3g}: b > K (T/2 + td), and B and a delay of a part of a "
        "sample take some of b (Colgate & Schenkel)",
        f"unconditionally stable up to {any_world} with a damping of {unconditional:.3g}: Llewellyn's "
        "criterion (Adams & Hannaford)",
    ]
    if axis.quantum:
        said.append(
            f"quiet up to {quiet}: 2 fc/Delta with fc = {axis.friction:g} {unit}, Delta = {axis.quantum:g} {way}; "
            "above it the handle may tremble by a step of the encoder (Abbott & Okamura)"
        )
    return (*said, *_cautions(axis, B, at_hand["stable"], felt))


def _cautions(axis: Axis, B: float, stable: float, felt: float) -> list[str]:
    """What is to be known of these figures, in words."""
    said, T, td, unit, way = [], axis.traits.period, axis.traits.delay, axis.unit, axis.way
    if td > T:
        faster = SampledLoop(axis.mass, axis.damping, T, 0.0).largest_stable(B)
        said.append(
            f"a stiff wall cannot be rendered through this device: without its delay of {1e3 * td:.3g} ms the "
            f"coupler could have {faster:.4g} {unit}/{way}; a higher rate alone changes little"
        )
    if axis.lead:
        ahead = axis.lead * axis.late
        more = stable * ahead
        said.append(
            f"with a lead of {axis.lead:g} the hand is taken for where it will be in {1e3 * ahead:.3g} ms: at "
            f"{stable:.4g} {unit}/{way} that is a damping of {more:.3g} {unit} s/{way} more, and a step of the encoder "
            f"moves the force by {more * axis.quantum / T:.3g} {unit} more"
        )
    if not axis.traits.pushes:
        said.append(
            "this device shows its force and pushes nobody, so that no coupler is unstable through it: the figures are "
            "those of a handle that pushes as late"
        )
    if felt != 1.0:
        said.append(f"the hand feels {felt:g} of the coupler's stiffness; the figures above are at the hand")
    return said
