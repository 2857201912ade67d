"""What happened in a haptic session: ticks, lateness, energies, faults."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kane.native.arrays import Matrix, Vector
from kane.native.haptics import loop_arrays as at

FAULTS = {
    at.SOUND: "",
    at.NO_SAMPLE: "no new sample came from the device",
    at.NO_NUMBER: "a sample was no number",
    at.OUTSIDE: "a sample lay outside the workspace",
    at.LEAPED: "a sample lay too far from the one before",
    at.OLDER: "a sample was older than the one before, or from the future",
    at.OVERRUN: "too many ticks were missed",
    at.NO_STEP: "the simulation could not go on",
    at.NO_FORCE: "a force was infinite or no number",
    at.WATCHED: "the watchdog stepped in",
}
STATUSES = {at.IDLE: "idle", at.ARMED: "armed", at.ENDING: "ending"}
PARTS = (50.0, 99.0, 99.9, 100.0)
# Edges of the histogram of lateness [s].
EDGES = np.array([0.0, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, np.inf])


@dataclass(frozen=True)
class Fault:
    """When a force was ended, and why: time [s] and words."""

    time: float
    cause: str


@dataclass(frozen=True)
class Report:
    """Of all ticks of a session.

    Attributes:
        ticks: how many.
        period: of the ticks [s].
        timed: whether they went by the clock of the machine, at least in part.
        lateness: p50, p99, p99.9 and largest of how late ticks began [s]; zero in simulated time.
        histogram: how many ticks were late by EDGES[k] to EDGES[k + 1], (14,).
        late: ticks that began more than a period late; they were made up for.
        lost: ticks that were never made up for.
        work: p50, p99, p99.9 and largest of what a tick took by itself [s].
        age: the mean and the largest age of a sample when the force that answers it was written [s].
        to_hand: energy given to hand and device, as the device measures its way [J].
        to_mechanism: energy given to the mechanism by the coupler [J].
        energy: of the mechanism at the first and at the last tick [J].
        made: the most energy that coupler and clamp together made over any stretch of time, see ``energy_made`` [J].
        force: the largest that was written [N].
        faults: what ended forces.
        events: what happened to constraints that come and go: time, name, cause.
        missing: what the system did not give to the loop, in words.
    """

    ticks: int
    period: float
    timed: bool
    lateness: Vector
    histogram: Vector
    late: int
    lost: int
    work: Vector
    age: tuple[float, float]
    to_hand: float
    to_mechanism: float
    energy: tuple[float, float]
    made: float
    force: float
    faults: tuple[Fault, ...]
    events: tuple[tuple[float, str, str], ...]
    missing: tuple[str, ...]

    def __str__(self) -> str:
        def micro(values: Vector) -> str:
            return ", ".join(
                f"{name} {1e6 * x:.1f}" for name, x in zip(("p50", "p99", "p99.9", "max"), values, strict=True)
            )

        lines = [
            f"{self.ticks} ticks of {1e3 * self.period:g} ms; {self.late} began more than one late, {self.lost} lost"
        ]
        if self.timed:
            lines += [f"lateness [us]: {micro(self.lateness)}", f"work of a tick [us]: {micro(self.work)}"]
            lines += [f"not granted by the system: {word}" for word in self.missing]
        lines += [
            f"age of samples: mean {1e3 * self.age[0]:.3g} ms, largest {1e3 * self.age[1]:.3g} ms",
            f"energy: to the hand {self.to_hand:.6g} J, to the mechanism {self.to_mechanism:.6g} J, which had "
            f"{self.energy[0]:.6g} J and has {self.energy[1]:.6g} J",
            f"the most that the coupler made over any stretch of time, clamp and spring included: {self.made:.3g} J in "
            "the simulation",
            f"largest force {self.force:.3g} N",
        ]
        lines += [f"force ended at {fault.time:.4f} s: {fault.cause}" for fault in self.faults]
        lines += [f"event at {time:.6f} s: {name} {cause}" for time, name, cause in self.events]
        return "\n".join(lines)


def energy_made(log: Matrix, rules: Vector) -> Vector:
    """What the coupler has made by each tick [J]: given to hand and mechanism, and stored in its spring.

    The passivity observer. A joule at the hand counts s/c, as the coupler sees it. A continuous coupler only takes
    energy: this falls. What sampling makes of it rises, a delay within the device apart; so does what the mechanism has
    for nothing where the force on the hand is clamped.

    Source: Hannaford & Ryu 2002.
    """
    if not len(log):
        return np.zeros(0)
    stretch = log[:, at.OF_IMAGE : at.OF_IMAGE + 3] - log[:, at.OF_HANDLE : at.OF_HANDLE + 3]
    ratio = rules[at.SCALE] / rules[at.FORCE_SCALE]
    with np.errstate(invalid="ignore"):  # of a simulation that went to infinity
        stored = 0.5 * log[:, at.OF_SETTINGS] * np.einsum("ij,ij->i", stretch, stretch)
        return ratio * log[:, at.OF_ENERGIES] + log[:, at.OF_ENERGIES + 1] + stored


def report_of(
    log: Matrix, rules: Vector, lost: int, missing: tuple[str, ...], events: tuple[tuple[float, str, str], ...]
) -> Report:
    """The report of a log, whose rows are ticks, by the rules of the loop; see ``loop_arrays``."""
    period, made = float(rules[at.PERIOD]), energy_made(log, rules)
    late, work = log[:, at.LATE], log[:, at.WORKED]
    energies = log[:, at.OF_ENERGIES : at.OF_ENERGIES + 4]
    stored = energies[:, 2] + energies[:, 3]
    armed = log[:, at.OF_STATUS] == at.ARMED
    aged = log[armed, at.AGE] if armed.any() else np.zeros(1)
    force = np.linalg.norm(log[:, at.OF_FORCE : at.OF_FORCE + 3], axis=1)
    return Report(
        ticks=len(log),
        period=period,
        timed=bool((work > 0.0).any()),
        lateness=_percentiles(late),
        histogram=np.histogram(np.maximum(late, 0.0), EDGES)[0],
        late=int((late > period).sum()),
        lost=lost,
        work=_percentiles(work[work > 0.0]),
        age=(float(aged.mean()), float(aged.max())),
        to_hand=float(energies[-1, 0]) if len(log) else 0.0,
        to_mechanism=float(energies[-1, 1]) if len(log) else 0.0,
        energy=(float(stored[0]), float(stored[-1])) if len(log) else (0.0, 0.0),
        made=float((made - np.minimum.accumulate(made)).max(initial=0.0)) if len(log) else 0.0,
        force=float(force.max(initial=0.0)),
        faults=_faults(log),
        events=events,
        missing=missing,
    )


def _percentiles(values: Vector) -> Vector:
    return np.percentile(values, PARTS) if len(values) else np.zeros(len(PARTS))


def _faults(log: Matrix) -> tuple[Fault, ...]:
    codes = log[:, at.OF_FAULT].astype(int)
    begins = np.flatnonzero((np.diff(codes, prepend=0) != 0) & (codes != at.SOUND))
    return tuple(Fault(float(log[k, at.AT]), FAULTS[int(codes[k])]) for k in begins)
