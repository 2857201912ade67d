"""Report of a haptic session: ticks, lateness, energies, faults."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kane.deferred import dataclass
from kane.dynamics.run_interface import STEPPED_OVER
from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.engine.memory.views import LoopRules
from kane.engine.realtime import loop_arrays as at
from kane.geometry.quaternion import conjugate, multiply_quaternions
from kane.haptics.coupling.passive_midpoint import PassiveSteps, require_ledger
from kane.haptics.loop.loop import Log, Loop

FAULTS = {
    at.NO_FAULT: "",
    at.NO_SAMPLE: "no new sample came from the device",
    at.SAMPLE_NOT_FINITE: "a sample was not finite, or its orientation not a unit quaternion",
    at.SAMPLE_OUTSIDE: "a sample lay outside the workspace",
    at.SAMPLE_LEAPED: "a sample lay too far from the one before",
    at.SAMPLE_OLDER: "a sample was older than the one before, or from the future",
    at.OVERRUN: "too many ticks were missed",
    at.STEP_FAILED: "the simulation could not continue",
    at.FORCE_NOT_FINITE: "a force was infinite or not a number",
    at.WATCHDOG_ACTED: "the watchdog ended the force",
    at.FORCE_TOO_LARGE: "the measured force was larger than Safety(force=...) and the sensor allow",
    at.POSITION_NOT_FINITE: "a position for the device was infinite or not a number",
}
SESSION_STATUSES = {at.UNARMED: "idle", at.ARMED: "armed", at.ENDING: "ending"}
REPORTED_PERCENTILES = (50.0, 99.0, 99.9, 100.0)
# Edges of the histogram of lateness [s].
EDGES = np.array([0.0, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, np.inf])


@dataclass(frozen=True)
class Fault:
    """Time at which a fault ended the force [s], and its cause in words."""

    time: float
    cause: str


@dataclass(frozen=True)
class Report:
    """Report on all ticks of a session.

    Attributes:
        ticks: number of ticks.
        period: period of the ticks [s].
        timed: whether at least some ticks ran in real time.
        lateness: p50, p99, p99.9 and maximum of the delays with which ticks began [s]; zero in simulated time.
        histogram: number of ticks with a lateness between EDGES[k] and EDGES[k + 1], (14,).
        late: number of ticks that began more than a period late; later ticks made up for this.
        lost: number of ticks that were dropped.
        work: p50, p99, p99.9 and maximum of the computing time of a tick [s].
        age: mean and maximum of the age of a sample when its force acts, including the delay of the device [s].
        to_hand: energy given to operator and device, from the measured device motion [J].
        to_mechanism: energy given to the mechanism by the coupler [J], from the ledger if there is one. Otherwise the
            sum over ticks of the pull, averaged over start and end of the tick, times the displacement of the handle.
        energy: energy of the mechanism at the start and after the last tick [J].
        made: largest energy that coupler and clamp together made over any time span, see ``energy_made`` [J].
        force, torque: largest values on the operator, written to the device or measured [N], [N m].
        faults: faults that ended forces.
        released: times at which the coupler released the mechanism without a fault: 21 ms before the end of every run,
            and at ``disarm`` [s].
        predicted: number of ticks with a correct prediction of the device handle, and number of these ticks that were
            computed before they were due, see ``Session``; zero without ``predict``.
        passed: number of ticks taken as Moreau-Jean time steps, and the largest number of them in a row.
        events: transitions of intermittent constraints: time, name, cause.
        missing: real-time features that the system refused, in words.
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
    predicted: tuple[int, int]
    passed: tuple[int, int]
    events: tuple[tuple[float, str, str], ...]
    missing: tuple[str, ...]

    def __str__(self) -> str:
        def micro(values: Vector) -> str:
            return ", ".join(
                f"{name} {1e6 * x:.1f}" for name, x in zip(("p50", "p99", "p99.9", "max"), values, strict=True)
            )

        lines = [
            f"{self.ticks} ticks of {1e3 * self.period:g} ms; {self.late} began over one tick late, {self.lost} lost"
        ]
        if self.timed:
            lines += [f"lateness [us]: {micro(self.lateness)}", f"work of a tick [us]: {micro(self.work)}"]
            lines += [f"not granted by the system: {word}" for word in self.missing]
        lines += [
            f"age of samples: mean {1e3 * self.age[0]:.3g} ms, largest {1e3 * self.age[1]:.3g} ms",
            f"energy: to the hand {self.to_hand:.6g} J, to the mechanism {self.to_mechanism:.6g} J, which had "
            f"{self.energy[0]:.6g} J and has {self.energy[1]:.6g} J",
            f"largest energy made by the coupler over any time span, including clamp and spring: {self.made:.3g} J in "
            "the simulation",
            f"largest force {self.force:.3g} N" + (f", largest torque {self.torque:.3g} N m" if self.torque else ""),
        ]
        if self.predicted[0]:
            lines.append(
                f"prediction: the position was correct in {self.predicted[0]} ticks; {self.predicted[1]} of "
                "them were computed before they were due"
            )
        if self.passed[0]:
            lines.append(
                f"{self.passed[0]} ticks were Moreau-Jean time steps (first order), as no contact mode was found: "
                f"at most {self.passed[1]} in a row"
            )
        lines += [f"the coupler released the mechanism at {time:.4f} s" for time in self.released]
        lines += [f"force ended at {fault.time:.4f} s: {fault.cause}" for fault in self.faults]
        lines += [f"event at {time:.6f} s: {name} {cause}" for time, name, cause in self.events]
        return "\n".join(lines)


def energies_of(log: Log) -> Matrix:
    """Return energies given to operator and mechanism, then kinetic and potential energy [J], (ticks, 4)."""
    given = log["energies"]
    to_operator = given["to_operator"] + given["to_operator_by_torque"]
    return np.column_stack([to_operator, given["to_mechanism"], given["kinetic"], given["potential"]])


def energy_made(log: Log, rules: LoopRules) -> Vector:
    """Return the energy made by the coupler up to each tick [J]: given to operator and mechanism, and stored in it.

    This is the passivity observer. Energy at the operator counts s/c times, as the coupler sees it. A continuous
    coupler only dissipates, so that the result decreases. Sampling increases it; the effect of a delay inside the
    device is not included. Clamping increases it too, because the mechanism gets energy that the operator did not give.

    Source: Hannaford & Ryu 2002.
    """
    if not len(log):
        return np.zeros(0)
    proxy, handle, stiffness, given = log["proxy"], log["handle"], log["stiffness"], log["energies"]
    ratios = rules.scale / rules.force_scale
    with np.errstate(invalid="ignore", over="ignore"):  # diverged simulations have infinite values
        turn = multiply_quaternions(proxy[:, 3:], conjugate(handle[:, 3:]))[:, 1:]
        stored = stiffness[:, 0] * (proxy[:, :3] - handle[:, :3]).T ** 2 / 2
        stored += stiffness[:, 1] * 2 * turn.T**2 * rules.axes[3:, None]
        from_operator = given["to_operator"] * ratios[0] + given["to_operator_by_torque"] * ratios[1]
        return from_operator + given["to_mechanism"] + stored.sum(axis=0)


def report_of(loops: Sequence[Loop], missing: tuple[str, ...]) -> Report:
    """Return the report of a session that is not running.

    Args:
        loops: the loops of the session, in order.
        missing: real-time features that the system refused, in words.
    """
    loop = loops[-1]
    log, period, made = loop.log, loop.period, energy_made(loop.log, loop.circuit.rules)
    events = [event for part in loops for event in _events(part)]
    late, work, given = log["lateness"], log["work"], energies_of(log)
    armed = log["status"] == at.ARMED
    aged = log["age"][armed] if armed.any() else np.zeros(1)
    force, torque = (np.linalg.norm(log[name], axis=1) for name in ("force", "torque"))
    return Report(
        ticks=len(log),
        period=period,
        timed=bool((work > 0.0).any()),
        lateness=_percentiles(late),
        histogram=np.histogram(np.maximum(late, 0.0), EDGES)[0],
        late=int((late > period).sum()),
        lost=int(loop.circuit.counts.lost[0]),
        work=_percentiles(work[work > 0.0]),
        age=(float(aged.mean()), float(aged.max())),
        to_hand=float(given[-1, 0]) if len(log) else 0.0,
        to_mechanism=_to_mechanism(loop),
        energy=(float(given[0, 2:].sum()), loop.energy) if len(log) else (loop.energy, loop.energy),
        made=float((made - np.minimum.accumulate(made)).max(initial=0.0)) if len(log) else 0.0,
        force=float(force.max(initial=0.0)),
        torque=float(torque.max(initial=0.0)),
        faults=_faults(log),
        released=_released(log),
        predicted=(int(loop.circuit.counts.agreed[0]), int(loop.circuit.counts.adopted[0])),
        passed=_passed([time for time, _, kind in events if kind == STEPPED_OVER], period),
        events=tuple(events),
        missing=missing,
    )


def _events(loop: Loop) -> list[tuple[float, str, str]]:
    """Return time, name and cause of the transitions in one loop; the deletions that began the loop are first."""
    log = loop.problem.mode_source.contact_log(loop.integration, loop.mode)
    records = [] if log is None else [(r.time, log.intermittents[r.cause], r.kind) for r in log.records]
    return [*((event.time, event.name, event.cause) for event in loop.deletions), *records]


def _to_mechanism(loop: Loop) -> float:
    """Return the work of the coupler, from the ledger if possible; sums over ticks miss jumps of dampers at impacts."""
    if isinstance(loop.passive, PassiveSteps):
        return require_ledger(loop.passive).coupler
    return float(loop.circuit.state.to_mechanism[0])


def _percentiles(values: Vector) -> Vector:
    return np.percentile(values, REPORTED_PERCENTILES) if len(values) else np.zeros(len(REPORTED_PERCENTILES))


def _faults(log: Log) -> tuple[Fault, ...]:
    codes = log["fault"].astype(int)
    begins = np.flatnonzero((np.diff(codes, prepend=0) != 0) & (codes != at.NO_FAULT))
    return tuple(Fault(float(log["time"][k]), FAULTS[int(codes[k])]) for k in begins)


def _released(log: Log) -> tuple[float, ...]:
    status = log["status"]
    ends = (status[1:] != at.ARMED) & (status[:-1] == at.ARMED) & (log["fault"][1:] == at.NO_FAULT)
    return tuple(log["time"][1:][ends].tolist())


def _passed(times: list[float], period: float) -> tuple[int, int]:
    """Return the number of ticks taken as Moreau-Jean time steps, and the largest number of them in a row."""
    ticks = np.unique(np.round(np.array(times) / period))
    rows = np.split(ticks, np.flatnonzero(np.diff(ticks) != 1.0) + 1)
    return len(ticks), max(map(len, rows))
