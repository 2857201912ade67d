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
from kane.engine.memory.fill import record_dtype
from kane.engine.memory.loop_arguments import AT_ONCE, Course, Matrix, Vector
from kane.engine.memory.realtime import LOG_ROW
from kane.engine.memory.run_memory import clock_of
from kane.engine.memory.views import LoopPace, LoopRules, loop_pace_at, loop_pace_size
from kane.engine.realtime.loop_arrays import BY_CLOCK, Circuit
from kane.engine.realtime.passive_midpoint import march_passive
from kane.engine.realtime.prescribed_motion import march_rigid
from kane.engine.realtime.tick import run_ticks
from kane.engine.realtime.tick_prediction import MOST_PARTS
from kane.engine.realtime.watchdog import watch_ticks
from kane.engine.step.explicit import integrate_explicit
from kane.engine.step.implicit import integrate_implicit
from kane.errors import SimulationError
from kane.expression.number_arguments import require
from kane.haptics.coupling.handle import Coupled
from kane.haptics.coupling.inverse_dynamics import InverseDynamics, RigidSteps
from kane.haptics.coupling.passive_midpoint import PassiveMidpoint, PassiveSteps
from kane.haptics.coupling.prediction import copied_for_prediction
from kane.haptics.devices.device import Channel, Device
from kane.haptics.loop.circuit import new_circuit, new_command, new_sample, new_scratch
from kane.haptics.realtime import favour_watchdog, promote
from kane.haptics.system_calls import system_calls
from kane.simulation.driver import FAILURES
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState, Outcome, Status
from kane.simulation.integrators.explicit import Explicit, scheme
from kane.simulation.integrators.implicit import Implicit
from kane.simulation.monitors.failure import explain

SPIN = 60_000  # ns of busy waiting before a tick
EARLY, QUARTER = 200_000, 4  # ns before the spin at which the next tick is predicted, at most a quarter of a tick
AHEAD = 1_000_000  # ns from the start of a run to its first tick
Log = NDArray[np.void]  # records with the fields of LogRow
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
    circuit: Circuit
    pace: LoopPace = field(default_factory=lambda: loop_pace_at(np.zeros(loop_pace_size()), 0))
    lengths: list[int] = field(default_factory=list)
    passive: PassiveSteps | RigidSteps | None = None
    predict: bool = False
    _kept: list[Any] = field(default_factory=list)

    @property
    def ticks(self) -> int:
        """Number of completed ticks."""
        return int(self.circuit.counts.ticks[0])

    @property
    def rows(self) -> Matrix:
        """Numbers of the log, one row per completed tick."""
        return self.circuit.messages.log[: self.ticks]

    @property
    def log(self) -> Log:
        """Log with one record per completed tick and the fields of ``LogRow``."""
        return self.rows.view(record_dtype(LOG_ROW))[:, 0]

    @property
    def energy(self) -> float:
        """Sum of kinetic and potential energy of the mechanism after the last tick [J]."""
        store, function = self.integration.store, self.coupled.energy
        given = self.integration.system.inputs[: function.n_rest]
        now = np.append(clock_of(store).time[0], store.x)
        return float(function(now, given, self.circuit.handle.energy_constants).sum())

    @property
    def period(self) -> float:
        """Period of the ticks [s]."""
        return float(self.circuit.rules.period[0])

    def run(self) -> int:
        """Run the prepared ticks; see ``run_ticks``."""
        ticks, pace = self.lengths[-1], self.pace
        if pace.clock[0] == BY_CLOCK:
            pace.period[0], pace.spin[0] = round(self.period * 1e9), SPIN
            pace.early[0] = min(EARLY, pace.period[0] // QUARTER) if self.predict else 0
            pace.zero[0] = system_calls().read_clock() + AHEAD - self.ticks * pace.period[0]
        return int(run_ticks(self.circuit, self.integration.system, self.integration.store, self.pace, ticks))

    def run_watched(self) -> tuple[int, tuple[str, ...]]:
        """Run the prepared ticks in real time in the calling thread, with a watchdog in another thread.

        Returns:
            Result of ``run_ticks``, and the real-time features that the system refused, in words.
        """
        messages, circuit = self.circuit.messages, self.circuit
        memory = [
            messages.log,
            messages.snapshot,
            circuit.state.whole,
            circuit.port.memory,
            self.integration.store.rows,
        ]
        missing = promote(memory)
        circuit.counts.watching[0] = 1
        watchdog = threading.Thread(target=self._watch_favoured, name="kane haptic watchdog", daemon=True)
        watchdog.start()
        try:
            return self.run(), missing
        finally:
            circuit.counts.watching[0] = 0
            watchdog.join()

    def _watch_favoured(self) -> None:
        favour_watchdog()
        self.watch()

    def watch(self) -> None:
        """Run the watchdog until ``watching`` is cleared."""
        circuit = self.circuit
        port = circuit.port._replace(command=new_command(), sample=new_sample())
        calls = circuit.calls._replace(scratch=new_scratch())
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
            wanted = int(integration.counts.transitions[0]) + ticks + 2 * AT_ONCE
            integration.store = integration.store._replace(transitions=_longer(integration.store.transitions, wanted))
        messages = self.circuit.messages
        if len(messages.log) < total:
            messages = messages._replace(log=_longer(messages.log, total))
        calls = self.circuit.calls._replace(arguments=self._step_words(integration, self.passive))
        copied, carried, prediction = copied_for_prediction(integration, self.passive)
        prediction = prediction._replace(arguments=self._step_words(copied, carried))
        self.circuit = self.circuit._replace(messages=messages, calls=calls, prediction=prediction)
        self.pace.clock[0] = how
        self.circuit.counts.watching[0] = 0
        run_ticks(
            self.circuit, integration.system, integration.store, self.pace, 0
        )  # links the code before the timed run
        self.watch()

    def follow(self, commands: Matrix, log: Matrix) -> None:
        """Take commands and times from a recording."""
        messages = self.circuit.messages._replace(script=commands, recorded=log)
        self.circuit = self.circuit._replace(messages=messages)

    def failure(self, mode: NDArray[np.int8]) -> SimulationError:
        """Return the error of a simulation that cannot continue; ``mode`` is the contact mode at the start."""
        status, name = int(self.circuit.counts.step[0]), self.problem.layout.model
        if isinstance(self.passive, RigidSteps):
            return SimulationError(
                f"the handle of {name!r} cannot follow the device from t = {self.integration.time:.6g} s on: the "
                "position is out of reach, or the mechanism is singular there; use a smaller scale, or "
                "kane.haptics.Coupler"
            )
        if status < 0:
            log, since = (
                self.problem.mode_source.contact_log(self.integration, mode),
                self.integration.time - self.period,
            )
            records = () if log is None else log.records
            last = dict.fromkeys(log.intermittents[record.cause] for record in records if log and record.time > since)
            return SimulationError(
                f"{explain(self.integration, Outcome.ENDLESS)}: more than {MOST_PARTS} transitions within one "
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
    rules: LoopRules,
    first: Vector,
    *,
    predict: bool,
) -> tuple[Channel, Loop]:
    """Open the device and return its channel with a loop that has not ticked yet; release the device on errors.

    Args:
        device: the device.
        mechanism: mechanism with its coupler, initial value problem, integrator state, method, and data of the steps.
        rules: constants of the session.
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


def giving_back(session: Any, device: Device, channel: Channel, loop: Loop) -> weakref.finalize[Any, Any]:
    """Return a finalizer that releases the device once, in this process, at the latest when the session is deleted."""
    process = os.getpid()

    def end() -> None:
        if process == os.getpid():
            device.end(channel, loop.ticks * loop.period)

    call = weakref.finalize(session, end)
    call.atexit = False
    return call
