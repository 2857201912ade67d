"""The native loop of a session with its arrays, made from a mechanism, a channel and a coupler."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kane.haptics.coupler import Coupler, Safety
from kane.haptics.devices.device import Channel, Traits
from kane.haptics.grip import IMAGE, Coupled
from kane.haptics.passive import PassiveMidpoint, PassiveSteps
from kane.haptics.system_calls import system_calls
from kane.native.arrays import AT_ONCE, CHANGED, Course, Indices, Matrix, Vector
from kane.native.call import NativeLoop
from kane.native.code import Entry, address_of
from kane.native.explicit import march_explicit
from kane.native.haptics import loop_arrays as at
from kane.native.haptics.passive import march_passive
from kane.native.haptics.sample import COMMAND, SAMPLE
from kane.native.haptics.tick import run_ticks
from kane.native.haptics.watch import watch_ticks
from kane.native.implicit import march_implicit
from kane.native.kinds import packed
from kane.simulation.integrators.explicit import Explicit, scheme
from kane.simulation.integrators.implicit import Implicit
from kane.simulation.march import March
from kane.simulation.problem import Problem

# The force of a lost device ends by 40 ms: seen after 20 at most, and gone within 20 more, of which one tick is kept.
STALE, END = 0.02, 0.02
MISSED = 10
SPIN = 60_000  # ns
AHEAD = 1_000_000  # ns, from which the first tick is counted
COMMANDS = 10_000  # of a session that are kept


class Address(NamedTuple):
    """Native code and who owns it."""

    owner: Any
    address: int


@dataclass
class Loop:
    """The loop of a session.

    Attributes:
        coupled: the mechanism with its coupler.
        problem: what is integrated.
        march: how far it is.
        method: by which fixed steps.
        circuit: the arrays of the loop.
        pace: of the ticks.
        lengths: how many ticks each run so far was to take.
        passive: what passive steps need; None where another method takes them.
    """

    coupled: Coupled
    problem: Problem
    march: March
    method: Explicit | Implicit | PassiveMidpoint
    circuit: at.Circuit
    pace: Indices = field(default_factory=lambda: np.zeros(at.PACE, dtype=np.int64))
    lengths: list[int] = field(default_factory=list)
    passive: PassiveSteps | None = None
    _kept: Any = None

    @property
    def ticks(self) -> int:
        """How many were done."""
        return int(self.circuit.counts[at.TICKS])

    @property
    def log(self) -> Matrix:
        """A row for each of them."""
        return self.circuit.desk.log[: self.ticks]

    @property
    def period(self) -> float:
        """Of the ticks [s]."""
        return float(self.circuit.rules[at.PERIOD])

    def run(self) -> int:
        """The ticks that were prepared; see ``run_ticks``."""
        ticks, pace = self.lengths[-1], self.pace
        if pace[at.HOW] == at.BY_CLOCK:
            pace[at.EVERY], pace[at.SPIN] = round(self.period * 1e9), SPIN
            pace[at.ZERO] = system_calls().clock() + AHEAD - self.ticks * pace[at.EVERY]
        return int(run_ticks(self.circuit, self.march.system, self.march.store, self.pace, ticks))

    def watch(self) -> None:
        """What the watchdog's thread does until it is told that the ticks are done."""
        circuit = self.circuit
        words = np.zeros(16, dtype=np.int64)
        port = circuit.port._replace(command=np.zeros(COMMAND), sample=np.zeros(SAMPLE))
        calls = circuit.calls._replace(words=words, doubles=words.view(np.float64))
        watch_ticks(circuit._replace(port=port, calls=calls), self.pace)

    def prepare(self, ticks: int, how: int) -> None:
        """Make room for so many more ticks, and what their steps need; nothing is allocated while they run."""
        total = self.ticks + ticks
        march, T = self.march, self.period
        self.problem.plan.require_cover(0.0, total * T)
        self.lengths.append(ticks)
        march.go(Course(0.0, total * T, T, total, 1, np.zeros(0), np.array([total * T])))
        march.make_room(ticks + 1, 0 if self.passive is not None else len(scheme(self.method).nodes))
        if len(march.system.automaton.guards.out):
            wanted = int(march.store.counts[CHANGED]) + ticks + 2 * AT_ONCE
            march.store = march.store._replace(changes=_longer(march.store.changes, wanted))
        desk = self.circuit.desk
        if len(desk.log) < total:
            desk = desk._replace(log=_longer(desk.log, total))
        calls = self.circuit.calls._replace(step=self._step_words())
        self.circuit = self.circuit._replace(desk=desk, calls=calls)
        self.pace[at.HOW] = how
        self.circuit.counts[at.WATCHING] = 0
        run_ticks(self.circuit, march.system, march.store, self.pace, 0)  # linked now, not when time counts
        self.watch()

    def _step_words(self) -> Vector:
        """Where the loop of steps is and where its arguments lie, for one step at a time."""
        m, loop = self.march, march_implicit if isinstance(self.method, Implicit) else march_explicit
        given: tuple[Any, ...]
        if self.passive is not None:
            loop, given = march_passive, (m.system, m.course, m.store, self.passive.arrays, 1)
        else:
            given = (m.system, m.tables, m.course, m.watch, m.store, scheme(self.method), 1)
        words = b"".join(packed(kind, value)[0] for kind, value in zip(loop.kinds, given, strict=True))
        memory = ctypes.create_string_buffer(words, len(words))
        code = Address(*address_of(_entry(loop)))
        self._kept = given, memory, code
        return np.array([code.address, ctypes.addressof(memory)], dtype=np.int64).view(np.float64)


def _entry(loop: NativeLoop) -> Entry:
    return Entry(loop.function.__module__, loop.function.__name__)


def _longer(rows: Matrix, length: int) -> Matrix:
    larger = np.zeros((max(length, len(rows)), rows.shape[1]))
    larger[: len(rows)] = rows
    return larger


def new_circuit(
    mechanism: tuple[Coupled, Problem, Vector], channel: Channel, rules: Vector, first: Vector
) -> at.Circuit:
    """The arrays of a loop that has not ticked yet.

    Args:
        mechanism: with its coupler; what is integrated; the first state [q, u].
        channel: the device.
        rules: see ``loop_arrays``.
        first: the first command.
    """
    coupled, problem, x = mechanism
    counts = np.zeros(at.COUNTERS, dtype=np.int64)
    counts[at.OWN], counts[at.BETWEEN] = 0, 1  # Python has slot 2
    energy = coupled.energy
    sets = problem.parameters
    grip = at.Grip(
        programs=np.array([coupled.handle.address, energy.address], dtype=np.int64),
        stage=coupled.handle.stage(sets).copy(),
        stage_of_energy=energy.stage(sets).copy(),
        work=np.zeros(max(coupled.handle.n_work, energy.n_work)),
        out=np.zeros(6),
        energy=np.zeros(2),
        inputs=len(problem.plan.names) - len(IMAGE),
    )
    port = at.Port(
        programs=np.array([channel.read, channel.write], dtype=np.int64),
        table=channel.table,
        settings=channel.settings,
        memory=channel.memory,
        sample=np.zeros(SAMPLE),
        command=np.zeros(COMMAND),
    )
    n = len(first)
    desk = at.Desk(
        slots=np.tile(first, (3, 1)),
        taken=np.zeros((COMMANDS, 1 + n)),
        snapshot=np.concatenate([np.zeros(8), x]),
        log=np.zeros((0, at.LOGGED)),
        script=np.zeros((0, 1 + n)),
        recorded=np.zeros((0, at.LOGGED)),
    )
    words = np.zeros(16, dtype=np.int64)
    addresses = np.array(system_calls().addresses, dtype=np.int64)
    calls = at.Calls(addresses, np.zeros(2), words, words.view(np.float64))
    return at.Circuit(rules, np.zeros(at.MOVING), counts, counts.view(np.float64), port, grip, desk, calls)


def rules_of(traits: Traits, coupler: Coupler, safety: Safety) -> Vector:
    """What does not change in a session, see ``loop_arrays``."""
    rules, T = np.zeros(at.RULES), traits.period
    cap = min(safety.force, traits.force)
    rules[at.PERIOD], rules[at.SCALE], rules[at.FORCE_SCALE] = T, coupler.scale, coupler.force_scale
    rules[at.CAP], rules[at.SLEW] = cap, 500.0 * safety.force if safety.rise is None else safety.rise
    rules[at.POWER], rules[at.FAST], rules[at.LEAP], rules[at.REACH] = (
        safety.power,
        safety.speed,
        safety.leap,
        traits.reach,
    )
    rules[at.STALE], rules[at.RAMP], rules[at.SOFT] = max(STALE, 2 * T), max(END - T, 0.0), safety.soft
    rules[at.MISSED], rules[at.TAKE], rules[at.CRAWL] = MISSED, safety.brake, traits.quantum / T
    rules[at.AXES :] = [1.0 if axis in coupler.axes else 0.0 for axis in "xyz"]
    return rules
