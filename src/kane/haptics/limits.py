"""What a virtual coupler may be set to before a device: ``coupler_limits``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from kane.errors import ModelError, shown
from kane.expression.arguments import number, positive
from kane.haptics.devices.device import Device, Traits
from kane.haptics.sampled_loop import SampledLoop

# The matching damping B takes this share of the handle's mass over the time by which forces are late: the stability
# limit then still grows with B nearly as the rule says.
SHARE = 0.1
# One step of the encoder, differenced over one sample, moves the force by no more than this part of the largest one.
GRAIN = 0.02
# Dampings that are looked through for the one that allows most.
PARTS = 50
CAP = 5.0  # N, what a session allows unless it is told more


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
    """

    damping: float
    stable: float
    passive: float
    unconditional: float
    quiet: float
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.reasons)


def coupler_limits(
    device: Device | Traits, *, damping: float | None = None, scale: float = 1.0, force_scale: float = 1.0
) -> Limits:
    """The largest stiffness and the damping of a virtual coupler before a device.

    Args:
        device: what renders it, or what is known of it; its sample time T, mass m, damping b, Coulomb friction,
            encoder step and delay count.
        damping: B of the coupler [N s/m]; unless given, 0.1 m/(T/2 + td), or less where the encoder is coarse.
        scale: s, metres in the simulation for each metre of the hand.
        force_scale: c, newtons at the hand for each newton in the simulation.

    Raises:
        ModelError: not a device, or an argument is not a meaningful number.

    Source: Colgate & Schenkel 1997; Gil et al. 2004; Abbott & Okamura 2005; Adams & Hannaford 1999.
    """
    traits = device.traits if isinstance(device, Device) else device
    if not isinstance(traits, Traits):
        raise ModelError(f"coupler_limits takes a device such as kane.haptics.Simulated(...), not {shown(device)}")
    felt = positive(scale, "scale") * positive(force_scale, "force_scale")
    loop = SampledLoop(traits.mass, traits.damping, traits.period, traits.delay)
    if damping is None:
        B = matching_damping(traits)
        passive, unconditional = (_best(f, traits.damping) for f in (loop.largest_passive, loop.largest_unconditional))
    else:
        B = passive = unconditional = number(damping, "damping", "N s/m") * felt
        if B < 0.0:
            raise ModelError(f"the damping of a coupler must not be negative: {damping!r}")
    at_hand = {
        "stable": loop.largest_stable(B),
        "passive": loop.largest_passive(passive),
        "unconditional": loop.largest_unconditional(unconditional),
        "quiet": 2 * traits.friction / traits.quantum if traits.quantum else math.inf,
    }
    found = {word: value / felt for word, value in at_hand.items()}
    return Limits(damping=B / felt, **found, reasons=_reasons(traits, (B, passive, unconditional), at_hand, felt))


def _best(largest: Callable[[float], float], b: float) -> float:
    """Which damping allows most, to a part of that of the handle."""
    return max((b * part / PARTS for part in range(PARTS + 1)), key=largest)


def matching_damping(traits: Traits) -> float:
    """The damping at the hand that goes with a device unless the user says otherwise [N s/m]."""
    wanted = SHARE * traits.mass / (traits.period / 2 + traits.delay)
    if traits.quantum == 0.0:
        return wanted
    return min(wanted, GRAIN * min(traits.force, CAP) * traits.period / traits.quantum)


def _reasons(
    traits: Traits, dampings: tuple[float, float, float], at_hand: dict[str, float], felt: float
) -> tuple[str, ...]:
    T, td, b = traits.period, traits.delay, traits.damping
    B, passive, unconditional = dampings
    stable, at_most, any_world, quiet = (f"{at_hand[word]:.4g} N/m" for word in at_hand)
    loop = SampledLoop(traits.mass, b, T, td)
    late = f"T/2 + td = {1e3 * (T / 2 + td):.4g} ms"
    said = [
        f"damping {B:.4g} N s/m: one step of the encoder moves the force by {B * traits.quantum / T:.3g} N",
        f"stable up to {stable}: eigenvalues of the loop with m = {traits.mass:g} kg, b = {b:g} N s/m, "
        f"{late}; the rule (b + B)/(T/2 + td) says {loop.rule(B):.4g}",
        f"passive up to {at_most}: with a damping of {passive:.3g}: b > K (T/2 + td) and what B "
        "takes of b (Colgate & Schenkel)",
        f"unconditionally stable up to {any_world} with a damping of {unconditional:.3g}: Llewellyn's "
        "criterion (Adams & Hannaford)",
    ]
    if traits.quantum:
        said.append(
            f"quiet up to {quiet}: 2 fc/Delta with fc = {traits.friction:g} N, Delta = {traits.quantum:g} m; above "
            "it the handle may tremble by a step of the encoder (Abbott & Okamura)"
        )
    if td > T:
        faster = SampledLoop(traits.mass, b, T, 0.0).largest_stable(B)
        said.append(
            f"a stiff wall cannot be rendered through this device: without its delay of {1e3 * td:.3g} ms the "
            f"coupler could have {faster:.4g} N/m; a higher rate alone changes little"
        )
    if felt != 1.0:
        said.append(f"the hand feels s c = {felt:g} of the coupler's stiffness; the figures above are at the hand")
    return tuple(said)
