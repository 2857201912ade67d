"""What happened in a haptic session: ticks, lateness, energies, faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.geometry.quaternion import conjugate, product
from kane.haptics.loop import Loop
from kane.haptics.passive import PassiveSteps, require_ledger
from kane.native.arrays import Matrix, Vector
from kane.native.haptics import loop_arrays as at
from kane.simulation.modes.contacting import KINDS, STEPPED

FAULTS = {
    at.SOUND: "",
    at.NO_SAMPLE: "no new sample came from the device",
    at.NO_NUMBER: "a sample was no number, or its orientation no unit quaternion",
    at.OUTSIDE: "a sample lay outside the workspace",
    at.LEAPED: "a sample lay too far from the one before",
    at.OLDER: "a sample was older than the one before, or from the future",
    at.OVERRUN: "too many ticks were missed",
    at.NO_STEP: "the simulation could not go on",
    at.NO_FORCE: "a force was infinite or no number",
    at.WATCHED: "the watchdog stepped in",
}
SESSION_STATUSES = {at.IDLE: "idle", at.ARMED: "armed", at.ENDING: "ending"}
REPORTED_PERCENTILES = (50.0, 99.0, 99.9, 100.0)
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
        age: the mean and the largest age of a sample when the force that answers it acts, the delay of the device
            included [s].
        to_hand: energy given to hand and device, as the device measures its way [J].
        to_mechanism: energy given to the mechanism by the coupler [J]: that of the ledger where there is one. Elsewhere
            the sum over ticks of the mean of the coupler's pull at both ends times the way of the handle in between.
        energy: of the mechanism at the start and now, after the last tick [J].
        made: the most energy that coupler and clamp together made over any stretch of time, see ``energy_made`` [J].
        force, torque: the largest that were written [N], [N m].
        faults: what ended forces.
        released: when the coupler let hand and mechanism go without a fault, as it does 21 ms before the end of every
            run, and at ``disarm`` [s].
        foreseen: ticks in which the hand was where it was foreseen, and those of them whose step was there when they
            were due, see ``Session``; none without ``predict``.
        passed: ticks that no step of the method passed and one of Moreau and Jean did; the most of them in a row.
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
    torque: float
    faults: tuple[Fault, ...]
    released: tuple[float, ...]
    foreseen: tuple[int, int]
    passed: tuple[int, int]
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
            f"largest force {self.force:.3g} N" + (f", largest torque {self.torque:.3g} N m" if self.torque else ""),
        ]
        if self.foreseen[0]:
            lines.append(
                f"prediction: the hand was where it was foreseen in {self.foreseen[0]} ticks; {self.foreseen[1]} of "
                "them were taken before they were due"
            )
        if self.passed[0]:
            lines.append(
                f"{self.passed[0]} ticks were steps of Moreau and Jean, of the first order, where no other passed: "
                f"{self.passed[1]} of them in a row at most"
            )
        lines += [f"the coupler let go at {time:.4f} s, before the end" for time in self.released]
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
    image, handle = (log[:, place : place + 7] for place in (at.OF_IMAGE, at.OF_HANDLE))
    ratios = rules[at.SCALE : at.SCALE + 2] / rules[at.FORCE_SCALE : at.FORCE_SCALE + 2]
    energies = log[:, at.OF_ENERGIES : at.OF_ENERGIES + 5]
    with np.errstate(invalid="ignore", over="ignore"):  # of a simulation that went to infinity
        turn = product(image[:, 3:], conjugate(handle[:, 3:]))[:, 1:]
        stored = log[:, at.OF_SETTINGS] * (image[:, :3] - handle[:, :3]).T ** 2 / 2
        stored += log[:, at.OF_SETTINGS + 1] * 2 * turn.T**2 * rules[at.AXES + 3 :, None]
        return energies[:, 0] * ratios[0] + energies[:, 4] * ratios[1] + energies[:, 1] + stored.sum(axis=0)


def report_of(loop: Loop, mode: Any, missing: tuple[str, ...]) -> Report:
    """The report of a loop at rest: of its log, whose rows are ticks, see ``loop_arrays``, and of its state.

    Args:
        loop: whose ticks are told.
        mode: in which it began.
        missing: what the system did not give to it, in words.
    """
    log, period, made = loop.log, loop.period, energy_made(loop.log, loop.circuit.rules)
    found = loop.problem.switching.occurrences(loop.march, mode)
    late, work = log[:, at.LATE], log[:, at.WORKED]
    energies = log[:, at.OF_ENERGIES : at.OF_ENERGIES + 5]
    armed = log[:, at.OF_STATUS] == at.ARMED
    aged = log[armed, at.AGE] if armed.any() else np.zeros(1)
    force, torque = (np.linalg.norm(log[:, k : k + 3], axis=1) for k in (at.OF_FORCE, at.OF_FORCE + 3))
    return Report(
        ticks=len(log),
        period=period,
        timed=bool((work > 0.0).any()),
        lateness=_percentiles(late),
        histogram=np.histogram(np.maximum(late, 0.0), EDGES)[0],
        late=int((late > period).sum()),
        lost=int(loop.circuit.counts[at.LOST]),
        work=_percentiles(work[work > 0.0]),
        age=(float(aged.mean()), float(aged.max())),
        to_hand=float(energies[-1, 0] + energies[-1, 4]) if len(log) else 0.0,
        to_mechanism=_to_mechanism(loop),
        energy=(float(energies[0, 2:4].sum()), loop.energy) if len(log) else (loop.energy, loop.energy),
        made=float((made - np.minimum.accumulate(made)).max(initial=0.0)) if len(log) else 0.0,
        force=float(force.max(initial=0.0)),
        torque=float(torque.max(initial=0.0)),
        faults=_faults(log),
        released=_released(log),
        foreseen=(int(loop.circuit.counts[at.AGREED]), int(loop.circuit.counts[at.ADOPTED])),
        passed=_passed([event.time for event in found if event.cause == KINDS[STEPPED]], period),
        events=tuple((event.time, event.name, event.cause) for event in found),
        missing=missing,
    )


def _to_mechanism(loop: Loop) -> float:
    """The ledger's where there is one: sums over ticks miss that the pull of a damper jumps where something hits."""
    if isinstance(loop.passive, PassiveSteps):
        return require_ledger(loop.passive).coupler
    return float(loop.circuit.moving[at.GIVEN_IN])


def _percentiles(values: Vector) -> Vector:
    return np.percentile(values, REPORTED_PERCENTILES) if len(values) else np.zeros(len(REPORTED_PERCENTILES))


def _faults(log: Matrix) -> tuple[Fault, ...]:
    codes = log[:, at.OF_FAULT].astype(int)
    begins = np.flatnonzero((np.diff(codes, prepend=0) != 0) & (codes != at.SOUND))
    return tuple(Fault(float(log[k, at.AT]), FAULTS[int(codes[k])]) for k in begins)


def _released(log: Matrix) -> tuple[float, ...]:
    status = log[:, at.OF_STATUS]
    ends = (status[1:] != at.ARMED) & (status[:-1] == at.ARMED) & (log[1:, at.OF_FAULT] == at.SOUND)
    return tuple(log[1:, at.AT][ends].tolist())


def _passed(times: list[float], period: float) -> tuple[int, int]:
    """How many ticks were stepped over, and the most of them in a row."""
    ticks = np.unique(np.round(np.array(times) / period))
    rows = np.split(ticks, np.flatnonzero(np.diff(ticks) != 1.0) + 1)
    return len(ticks), max(map(len, rows))
