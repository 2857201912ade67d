"""Native loop of a session with its arrays, made from a mechanism, a channel and a coupler."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.engine.call import NativeLoop
from kane.engine.memory.fill import record_dtype
from kane.engine.memory.loop_arguments import AT_ONCE, Course, Matrix, Vector
from kane.engine.memory.realtime import LOG_ROW
from kane.engine.memory.run_memory import clock_of
from kane.engine.memory.views import LoopPace, LoopRules, loop_pace_at, loop_pace_size
from kane.engine.realtime.loop_arrays import BY_CLOCK, Circuit, Messages, RunningArrays
from kane.engine.realtime.offered_loop import begin_revision
from kane.engine.realtime.passive_midpoint import march_passive
from kane.engine.realtime.prescribed_motion import march_rigid
from kane.engine.realtime.tick import run_session, run_ticks
from kane.engine.realtime.tick_step import MOST_PARTS
from kane.engine.realtime.watchdog import watch_ticks
from kane.engine.step.explicit import integrate_explicit
from kane.engine.step.implicit import integrate_implicit
from kane.errors import SimulationError
from kane.expression.number_arguments import require
from kane.haptics.coupling.handle import Coupled
from kane.haptics.coupling.inverse_dynamics import InverseDynamics, RigidSteps
from kane.haptics.coupling.passive_midpoint import PassiveMidpoint, PassiveSteps
from kane.haptics.coupling.prediction import copied_for_prediction, moreau_jean_program
from kane.haptics.coupling.rigid_coupler import AnyCoupler
from kane.haptics.devices.device import Channel, Device
from kane.haptics.loop.circuit import new_circuit, new_device_command, new_sample, new_scratch
from kane.haptics.loop.session_arguments import prepare_tick_steps
from kane.haptics.realtime import favour_watchdog, promote
from kane.haptics.system_calls import system_calls
from kane.simulation.driver import FAILURES
from kane.simulation.events.event import Occurrence
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState, Outcome, Status
from kane.simulation.integrators.explicit import Explicit, scheme
from kane.simulation.integrators.implicit import Implicit
from kane.simulation.monitors.failure import failure_of

SPIN = 60_000  # ns of busy waiting before a tick
EARLY, QUARTER = 200_000, 4  # ns before the spin at which the next tick is predicted, at most a quarter of a tick
AHEAD = 1_000_000  # ns from the start of a run to its first tick
Log = NDArray[np.void]  # records with the fields of LogRow
Method = Explicit | Implicit | PassiveMidpoint | InverseDynamics


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
        deletions: constraints whose deletion began this loop, as events.
        mode: contact mode at the first recorded state.
        words: address of ``run_ticks`` and of its arguments.
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
    deletions: Sequence[Occurrence] = ()
    mode: NDArray[np.int8] = field(init=False)
    words: Vector = field(init=False)
    _kept: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.mode = self.problem.mode_source.mode(self.integration).astype(np.int8)
        self.words, self._kept = np.zeros(2), []

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

    @property
    def memory(self) -> list[np.ndarray]:
        """Arrays that must stay in main memory while ticks run."""
        circuit, rows = self.circuit, self.integration.store.rows
        return [circuit.messages.log, circuit.messages.snapshot, circuit.state.whole, circuit.port.memory, rows]

    def run(self) -> int:
        """Run the prepared ticks, with all loops that take over; see ``run_session``."""
        pace = self.pace
        if pace.clock[0] == BY_CLOCK:
            pace.period[0], pace.spin[0] = round(self.period * 1e9), SPIN
            pace.early[0] = min(EARLY, pace.period[0] // QUARTER) if self.predict else 0
            pace.zero[0] = system_calls().read_clock() + AHEAD - self.ticks * pace.period[0]
        return int(run_session(self.circuit))

    def run_watched(self) -> tuple[int, tuple[str, ...]]:
        """Run the prepared ticks in real time in the calling thread, with a watchdog in another thread.

        Returns:
            Result of ``run_ticks``, and the real-time features that the system refused, in words.
        """
        circuit, missing = self.circuit, promote(self.memory)
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
        port = circuit.port._replace(command=new_device_command(), sample=new_sample())
        calls = circuit.calls._replace(scratch=new_scratch())
        watch_ticks(circuit._replace(port=port, calls=calls), self.pace)

    def prepare(self, ticks: int, how: int) -> None:
        """Allocate memory for more ticks, because nothing is allocated while they run."""
        total, messages = self.ticks + ticks, self.circuit.messages
        self.problem.plan.require_cover(0.0, total * self.period)
        self.lengths.append(ticks)
        if len(messages.log) < total:
            messages = messages._replace(log=_longer(messages.log, total))
        self.fit(messages, total)
        self.pace.clock[0] = how
        self.circuit.counts.watching[0] = 0
        messages.running[:] = self._loop_words(self.ticks)
        run_session(self.circuit)  # links the code before the timed run
        self.watch()
        messages.running[:] = self.words

    def fit(self, messages: Messages, total: int) -> None:
        """Allocate memory for the steps of this number of old and new ticks, and take the messages of the session."""
        ticks, integration = total - self.ticks, self.integration
        integration.go(course_of_ticks(total, self.period))
        integration.make_room(ticks + 1, 2 if self.passive is not None else len(scheme(self.method).nodes))
        if len(integration.system.automaton.guards.out):
            wanted = int(integration.counts.transitions[0]) + ticks + 2 * AT_ONCE
            integration.store = integration.store._replace(transitions=_longer(integration.store.transitions, wanted))
        self._kept = []
        calls = self.circuit.calls._replace(arguments=self._step_words(integration, self.passive))
        copied, carried, prediction = copied_for_prediction(integration, self.passive)
        prediction = prediction._replace(arguments=self._step_words(copied, carried))
        self.circuit = self.circuit._replace(messages=messages, calls=calls, prediction=prediction)
        self.words = self._loop_words(total)

    def revised(self, problem: InitialValueProblem, coupler: AnyCoupler, x: Vector) -> Loop:
        """Return a loop of the same session with other intermittent constraints.

        Args:
            problem: initial value problem with these constraints.
            coupler: the coupler.
            x: state [q, u] at the start of the session, which a running loop replaces by its own.

        Raises:
            ModelError: the method does not support a constraint.
        """
        held = self.coupled._replace(dyn=problem.dyn)
        steps = prepare_tick_steps(self.method, held, coupler, problem, x)
        integration = problem.integration(course_of_ticks(1, self.period), x)
        circuit = self.circuit._replace(moreau_jean=moreau_jean_program(held.dyn))
        return replace(
            self, coupled=held, problem=problem, integration=integration, circuit=circuit, passive=steps, deletions=()
        )

    def rewind(self) -> tuple[float, Vector, Vector]:
        """Set the state to the last recorded one, after another loop has taken over; return its time, q and u."""
        row, nq = self.integration.states()[-1], len(self.problem.layout.coordinates)
        self.integration.clock.time[0], self.integration.x[:] = row[0], row[1:]
        return float(row[0]), row[1 : 1 + nq], row[1 + nq :]

    def continue_mode(self, before: Loop) -> None:
        """Set the contact mode at the first record to the last one of the loop before."""
        source, now = before.problem.mode_source, self.problem.mode_source.intermittents
        known = dict(zip(source.intermittents, source.mode(before.integration), strict=True))
        self.mode = np.array([known.get(name, new) for name, new in zip(now, self.mode, strict=True)], dtype=np.int8)

    def taking_over(self, running: Loop) -> Vector:
        """Return the address of ``begin_revision`` and of its arguments, to take over from a running loop.

        The running loop keeps this loop alive.
        """
        running._kept.append(self)
        now, then = self.integration, running.integration
        pairs = self.problem.mode_source.shared_memory(now, then)
        places = [np.zeros((0, 2), dtype=np.int64)]
        for old, new in pairs:
            places.append(np.column_stack([_places(old, then.system.stages), _places(new, now.system.stages)]))
        s, m = then.store, then.system
        arrays = RunningArrays(s, m.inputs, m.stages, np.vstack(places), running.circuit.prediction.carried)
        return self._words_of(begin_revision, (self.circuit, now.system, now.store, arrays))

    def follow(self, commands: Matrix, log: Matrix) -> None:
        """Take commands and times from a recording."""
        messages = self.circuit.messages._replace(script=commands, recorded=log)
        self.circuit = self.circuit._replace(messages=messages)

    def failure(self, status: int) -> SimulationError:
        """Return the error of a simulation whose last step had this status."""
        name = self.problem.layout.model
        if isinstance(self.passive, RigidSteps):
            return SimulationError(
                f"the handle of {name!r} cannot follow the device from t = {self.integration.time:.6g} s on: the "
                "position is out of reach, or the mechanism is singular there; use a smaller scale, or "
                "kane.haptics.Coupler"
            )
        if status < 0:
            log, since = (
                self.problem.mode_source.contact_log(self.integration, self.mode),
                self.integration.time - self.period,
            )
            records = () if log is None else log.records
            last = dict.fromkeys(log.intermittents[record.cause] for record in records if log and record.time > since)
            return SimulationError(
                f"{failure_of(self.integration, Outcome.ENDLESS)}: more than {MOST_PARTS} transitions within one "
                f"tick, of {', '.join(map(repr, last))}; try less restitution, less friction or a softer coupler"
            )
        return failure_of(self.integration, FAILURES.get(Status(status), Outcome.STUCK))

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
        return self._words_of(loop, given)

    def _loop_words(self, until: int) -> Vector:
        """Return the addresses of ``run_ticks`` and of its arguments, for ticks up to this number."""
        arrays = self.integration.system, self.integration.store
        return self._words_of(run_ticks, (self.circuit, *arrays, self.pace, until))

    def _words_of(self, loop: NativeLoop, given: tuple[Any, ...]) -> Vector:
        """Return the addresses of a native loop and of its arguments, and keep both until the next ``fit``."""
        call = loop.prepared(*given)
        self._kept.append(call)
        return np.array(call.addresses, dtype=np.int64).view(np.float64)


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


def course_of_ticks(ticks: int, period: float) -> Course:
    """Return the course of the steps of this number of ticks."""
    return Course(0.0, ticks * period, period, ticks, 1, np.zeros(0), np.array([ticks * period]))


def _places(part: np.ndarray, whole: Vector) -> NDArray[np.int64]:
    """Return the indices of the numbers of a view in the array that it views, which has numbers of the same size."""
    return (part.ctypes.data - whole.ctypes.data) // whole.itemsize + np.arange(part.size)


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
