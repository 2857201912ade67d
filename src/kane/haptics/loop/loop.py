"""Native loop of a session with its arrays, made from a mechanism, a channel and a coupler."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.engine.call import NativeLoop
from kane.engine.code import Entry, address_of
from kane.engine.kinds import packed
from kane.engine.memory.loop_arguments import AT_ONCE, CHANGED, TIME, Course, Indices, Matrix, Vector
from kane.engine.realtime import loop_arrays as at
from kane.engine.realtime.device_sample import COMMAND, SAMPLE
from kane.engine.realtime.passive_midpoint import march_passive
from kane.engine.realtime.prescribed_motion import march_rigid
from kane.engine.realtime.tick import run_ticks
from kane.engine.realtime.tick_prediction import PARTS
from kane.engine.realtime.watchdog import watch_ticks
from kane.engine.step.explicit import integrate_explicit
from kane.engine.step.implicit import integrate_implicit
from kane.errors import SimulationError
from kane.expression.number_arguments import require
from kane.haptics.coupling.handle import IMAGE, Coupled
from kane.haptics.coupling.inverse_dynamics import InverseDynamics, RigidSteps
from kane.haptics.coupling.passive_midpoint import PassiveMidpoint, PassiveSteps
from kane.haptics.coupling.prediction import passing_of, tried
from kane.haptics.coupling.rigid_coupler import AnyCoupler, RigidCoupler
from kane.haptics.devices.device import Channel, Device, Traits
from kane.haptics.realtime import favour_watchdog, promote
from kane.haptics.safety.force_limits import Safety
from kane.haptics.system_calls import system_calls
from kane.simulation.driver import FAILURES
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState, Outcome, Status
from kane.simulation.integrators.explicit import Explicit, scheme
from kane.simulation.integrators.implicit import Implicit
from kane.simulation.monitors.failure import explain

# The force of a lost device ends within 40 ms: 20 ms to detect the loss, and 20 ms, less one tick, to fade [s].
STALE, END = 0.02, 0.02
MISSED = 10  # ticks; a longer delay ends the force
FASTEST = 500.0  # 1/s, default rate of change of a force, relative to the largest force
SPIN = 60_000  # ns of busy waiting before a tick
EARLY, QUARTER = 200_000, 4  # ns before the spin at which the next tick is predicted, at most a quarter of a tick
AHEAD = 1_000_000  # ns from the start of a run to its first tick
MAX_KEPT_COMMANDS = 10_000  # commands of a session that are kept
SNAPSHOT_HEADER = 16  # numbers of a snapshot before the state
FELT = 0.01  # largest error of a predicted pull, relative to the largest force
Method = Explicit | Implicit | PassiveMidpoint | InverseDynamics


class Address(NamedTuple):
    """Address of native code, and the owner of the code."""

    owner: Any
    address: int


@dataclass
class Loop:
    """Loop of a session.

    Attributes:
        coupled: mechanism with its coupler.
        problem: initial value problem.
        integration: integrator state.
        method: method of the fixed steps.
        circuit: arrays of the loop.
        pace: timing of the ticks.
        lengths: number of ticks requested by each run.
        passive: data of passive steps or inverse dynamics; None for other methods.
        predict: whether the next tick is computed before it is due, for the predicted position of the device handle.
    """

    coupled: Coupled
    problem: InitialValueProblem
    integration: IntegratorState
    method: Method
    circuit: at.Circuit
    pace: Indices = field(default_factory=lambda: np.zeros(at.PACE, dtype=np.int64))
    lengths: list[int] = field(default_factory=list)
    passive: PassiveSteps | RigidSteps | None = None
    predict: bool = False
    _kept: list[Any] = field(default_factory=list)

    @property
    def ticks(self) -> int:
        """Number of completed ticks."""
        return int(self.circuit.counts[at.TICKS])

    @property
    def log(self) -> Matrix:
        """Log with one row per completed tick."""
        return self.circuit.desk.log[: self.ticks]

    @property
    def energy(self) -> float:
        """Sum of kinetic and potential energy of the mechanism after the last tick [J]."""
        store, function = self.integration.store, self.coupled.energy
        given = self.integration.system.inputs[: function.n_rest]
        now = np.append(store.clock[TIME], store.x)
        return float(function(now, given, self.circuit.grip.stage_of_energy).sum())

    @property
    def period(self) -> float:
        """Period of the ticks [s]."""
        return float(self.circuit.rules[at.PERIOD])

    def run(self) -> int:
        """Run the prepared ticks; see ``run_ticks``."""
        ticks, pace = self.lengths[-1], self.pace
        if pace[at.HOW] == at.BY_CLOCK:
            pace[at.EVERY], pace[at.SPIN] = round(self.period * 1e9), SPIN
            pace[at.EARLY] = min(EARLY, pace[at.EVERY] // QUARTER) if self.predict else 0
            pace[at.ZERO] = system_calls().clock() + AHEAD - self.ticks * pace[at.EVERY]
        return int(run_ticks(self.circuit, self.integration.system, self.integration.store, self.pace, ticks))

    def run_watched(self) -> tuple[int, tuple[str, ...]]:
        """Run the prepared ticks in real time in the calling thread, with a watchdog in another thread.

        Returns:
            Result of ``run_ticks``, and the real-time features that the system refused, in words.
        """
        desk, circuit = self.circuit.desk, self.circuit
        memory = [desk.log, desk.snapshot, circuit.moving, circuit.port.memory, self.integration.store.rows]
        missing = promote(memory)
        circuit.counts[at.WATCHING] = 1
        watchdog = threading.Thread(target=self._watch_favoured, name="kane haptic watchdog", daemon=True)
        watchdog.start()
        try:
            return self.run(), missing
        finally:
            circuit.counts[at.WATCHING] = 0
            watchdog.join()

    def _watch_favoured(self) -> None:
        favour_watchdog()
        self.watch()

    def watch(self) -> None:
        """Run the watchdog until WATCHING is cleared."""
        circuit = self.circuit
        words = np.zeros(at.SCRATCH, dtype=np.int64)
        port = circuit.port._replace(command=np.zeros(COMMAND), sample=np.zeros(SAMPLE))
        calls = circuit.calls._replace(words=words, doubles=words.view(np.float64))
        watch_ticks(circuit._replace(port=port, calls=calls), self.pace)

    def prepare(self, ticks: int, how: int) -> None:
        """Allocate memory for more ticks and their steps, because nothing is allocated while they run."""
        total = self.ticks + ticks
        integration, T = self.integration, self.period
        self.problem.plan.require_cover(0.0, total * T)
        self.lengths.append(ticks)
        integration.go(Course(0.0, total * T, T, total, 1, np.zeros(0), np.array([total * T])))
        integration.make_room(ticks + 1, 2 if self.passive is not None else len(scheme(self.method).nodes))
        if len(integration.system.automaton.guards.out):
            wanted = int(integration.store.counts[CHANGED]) + ticks + 2 * AT_ONCE
            integration.store = integration.store._replace(changes=_longer(integration.store.changes, wanted))
        desk = self.circuit.desk
        if len(desk.log) < total:
            desk = desk._replace(log=_longer(desk.log, total))
        calls = self.circuit.calls._replace(step=self._step_words(integration, self.passive))
        copied, carried, ahead = tried(integration, self.passive)
        ahead = ahead._replace(step=self._step_words(copied, carried))
        self.circuit = self.circuit._replace(desk=desk, calls=calls, ahead=ahead)
        self.pace[at.HOW] = how
        self.circuit.counts[at.WATCHING] = 0
        run_ticks(
            self.circuit, integration.system, integration.store, self.pace, 0
        )  # links the code before the timed run
        self.watch()

    def follow(self, commands: Matrix, log: Matrix) -> None:
        """Take commands and times from a recording."""
        self.circuit = self.circuit._replace(desk=self.circuit.desk._replace(script=commands, recorded=log))

    def failure(self, mode: NDArray[np.int8]) -> SimulationError:
        """Return the error of a simulation that cannot continue; ``mode`` is the contact mode at the start."""
        status, name = int(self.circuit.counts[at.MARCHED]), self.problem.layout.model
        if isinstance(self.passive, RigidSteps):
            return SimulationError(
                f"the handle of {name!r} cannot follow the device from t = {self.integration.time:.6g} s on: the "
                "position is out of reach, or the mechanism is singular there; use a smaller scale, or "
                "kane.haptics.Coupler"
            )
        if status < 0:
            found = self.problem.mode_source.occurrences(self.integration, mode)
            last = dict.fromkeys(event.name for event in found if event.time > self.integration.time - self.period)
            return SimulationError(
                f"{explain(self.integration, Outcome.ENDLESS)}: more than {PARTS} transitions within one "
                f"tick, of {', '.join(map(repr, last))}; try less restitution, less friction or a softer coupler"
            )
        return explain(self.integration, FAILURES.get(Status(status), Outcome.STUCK))

    def _step_words(self, m: IntegratorState, steps: PassiveSteps | RigidSteps | None) -> Vector:
        """Return the addresses of the step loop and of its arguments, for one step of an integrator state per call."""
        loop = integrate_implicit if isinstance(self.method, Implicit) else integrate_explicit
        given: tuple[Any, ...]
        if isinstance(steps, RigidSteps):
            loop, given = march_rigid, (m.system, m.course, m.store, steps.arrays, 1)
        elif steps is not None:
            loop, given = march_passive, (*m.step_arguments, steps.arrays, 1)
        else:
            given = (*m.step_arguments, scheme(self.method), 1)
        words = b"".join(packed(kind, value)[0] for kind, value in zip(loop.kinds, given, strict=True))
        memory = ctypes.create_string_buffer(words, len(words))
        code = Address(*address_of(_entry(loop)))
        self._kept = [*self._kept[-1:], (given, memory, code)]  # keeps the current and the predicted step alive
        return np.array([code.address, ctypes.addressof(memory)], dtype=np.int64).view(np.float64)


def begun_loop(
    device: Device,
    mechanism: tuple[Coupled, InitialValueProblem, IntegratorState, Method, PassiveSteps | RigidSteps | None],
    rules: Vector,
    first: Vector,
    *,
    predict: bool,
) -> tuple[Channel, Loop]:
    """Open the device and return its channel with a loop that has not ticked yet; release the device on errors.

    Args:
        device: the device.
        mechanism: mechanism with its coupler, initial value problem, integrator state, method, and data of the steps.
        rules: see ``loop_arrays``.
        first: the first command.
        predict: see ``Loop``.

    Raises:
        ModelError: predict is neither True nor False, or the device is in use.
    """
    require(predict, bool, "predict= of a Session takes True or False")
    held, problem, integration, method, passive = mechanism
    with ExitStack() as undo:
        channel = device.begin()
        undo.callback(device.end, channel, 0.0)
        circuit = new_circuit((held, problem, integration), channel, rules, first)
        if isinstance(passive, RigidSteps):
            passive, circuit = passive.of(circuit)
        loop = Loop(held, problem, integration, method, circuit, passive=passive, predict=predict)
        undo.pop_all()
    return channel, loop


def _entry(loop: NativeLoop) -> Entry:
    return Entry(loop.function.__module__, loop.function.__name__)


def _longer(rows: Matrix, length: int) -> Matrix:
    larger = np.zeros((max(length, len(rows)), rows.shape[1]))
    larger[: len(rows)] = rows
    return larger


def new_circuit(
    mechanism: tuple[Coupled, InitialValueProblem, IntegratorState], channel: Channel, rules: Vector, first: Vector
) -> at.Circuit:
    """Return the arrays of a loop that has not ticked yet.

    Args:
        mechanism: mechanism with its coupler, initial value problem, and integrator state.
        channel: channel of the device.
        rules: see ``loop_arrays``.
        first: the first command.
    """
    coupled, problem, integration = mechanism
    counts = np.zeros(at.COUNTERS, dtype=np.int64)
    counts[at.OWN], counts[at.BETWEEN] = 0, 1  # Python owns slot 2
    energy, sets = coupled.energy, problem.parameters
    grip = at.Grip(
        programs=np.array([coupled.handle.address, energy.address], dtype=np.int64),
        constants=coupled.handle.stage(sets).copy(),
        stage_of_energy=energy.stage(sets).copy(),
        work=np.zeros(max(coupled.handle.n_work, energy.n_work)),
        out=np.zeros(len(coupled.where)),
        turn=np.zeros(4),
        energy=np.zeros(2),
        reaction=np.zeros(6),
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
        taken=np.zeros((MAX_KEPT_COMMANDS, 1 + n)),
        snapshot=np.concatenate([np.zeros(SNAPSHOT_HEADER), integration.x]),
        log=np.zeros((0, at.LOGGED)),
        script=np.zeros((0, 1 + n)),
        recorded=np.zeros((0, at.LOGGED)),
    )
    words = np.zeros(at.SCRATCH, dtype=np.int64)
    calls = at.Calls(np.array(system_calls().addresses, dtype=np.int64), np.zeros(2), words, words.view(np.float64))
    beside = passing_of(coupled.dyn, integration), tried(integration, None)[2]
    moving = np.repeat([0.0, np.nan], [at.FORESEEN, at.MOVING - at.FORESEEN])  # no prediction yet
    return at.Circuit(rules, moving, counts, counts.view(np.float64), port, grip, desk, calls, *beside)


def rules_of(traits: Traits, coupler: AnyCoupler, safety: Safety, predict: bool) -> Vector:
    """Return the constants of a session, see ``loop_arrays``."""
    rules, T = np.zeros(at.RULES), traits.period
    rules[at.PERIOD], rules[at.POWER], rules[at.REACH] = T, safety.power, traits.reach
    rules[at.STALE], rules[at.RAMP], rules[at.SOFT] = max(STALE, 2 * T), max(END - T, 0.0), safety.soft
    rules[at.MISSED], rules[at.LEAD], rules[at.BEHIND] = MISSED, coupler.lead, traits.delay
    rise = FASTEST * safety.force if safety.rise is None else safety.rise
    pairs = {
        at.SCALE: (coupler.scale, 1.0),
        at.FORCE_SCALE: (coupler.force_scale, coupler.torque_scale),
        at.CAP: (min(safety.force, traits.force), min(safety.torque, traits.torque)),
        at.SLEW: (rise, FASTEST * safety.torque),
        at.FAST: (safety.speed, safety.turning_speed),
        at.LEAP: (safety.leap, safety.turning_leap),
        at.TAKE: (safety.brake, safety.turning_brake),
        at.FELT: (-np.inf, -np.inf),
        at.CRAWL: (traits.quantum / T, traits.turning_quantum / T),
    }
    for place, values in pairs.items():
        rules[place : place + 2] = values
    rules[at.AXES :] = coupler.coupled_axes
    if predict and not isinstance(coupler, RigidCoupler):
        rules[at.FELT : at.FELT + 2] = FELT * rules[at.CAP : at.CAP + 2] / rules[at.FORCE_SCALE : at.FORCE_SCALE + 2]
    return rules


def giving_back(session: Any, device: Device, channel: Channel, loop: Loop) -> weakref.finalize[Any, Any]:
    """Return a finalizer that releases the device once, in this process, at the latest when the session is deleted."""
    process = os.getpid()

    def end() -> None:
        if process == os.getpid():
            device.end(channel, loop.ticks * loop.period)

    call = weakref.finalize(session, end)
    call.atexit = False
    return call
