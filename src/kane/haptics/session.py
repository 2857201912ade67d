"""Session: a hand on a mechanism, in real time."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple, final

import numpy as np

from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, SimulationError
from kane.expression.arguments import number, positive, require
from kane.haptics.asked import passive_of, require_kinds, require_native, warn_of
from kane.haptics.commands import CommandPost, snapshot_of
from kane.haptics.coupler import Coupler, Safety
from kane.haptics.devices.device import Channel, Device
from kane.haptics.devices.simulated import Simulated
from kane.haptics.grip import IMAGE, coupled
from kane.haptics.loop import Loop, new_circuit, rules_of
from kane.haptics.motion import recording_of, trajectory_of
from kane.haptics.passive import Ledger, PassiveMidpoint, ledger_of
from kane.haptics.realtime import favour_watchdog, promote
from kane.haptics.recording import Recording, write_recording
from kane.haptics.report import FAULTS, STATUSES, Report, report_of
from kane.model.named_vector import named_vector
from kane.native.arrays import Course, Matrix, Vector
from kane.native.haptics import loop_arrays as at
from kane.native.haptics.tick import BROKEN
from kane.simulation.integrators.explicit import Explicit
from kane.simulation.integrators.implicit import Implicit
from kane.simulation.integrators.rk4 import RK4
from kane.simulation.march import Status
from kane.simulation.modes.pose import pose
from kane.simulation.recorded.trajectory import Trajectory
from kane.simulation.run import FAILURES, Outcome


class Snapshot(NamedTuple):
    """What a session is at: tick, time [s], status and what ended the force, the force on the hand [N], q, u."""

    tick: int
    time: float
    status: str
    fault: str
    force: Vector
    q: Vector
    u: Vector


@final
class Session:
    """A mechanism coupled to a hand through a device, impedance display.

    Each tick reads the device, writes the force of the coupler and takes one step of the mechanism, whose constraints
    come and go within it: one native function, in a thread that Python does not hold up. Without ``arm`` no force is
    written. A force ends within 20 ms, and stays ended until it is armed again: by ``disarm``, at the end of every run,
    and where a sample cannot be believed, does not come, ticks are missed, or the simulation cannot go on.

    Args:
        dyn: what ``kane.build`` returned; its inputs are numbers, samples, or expressions.
        hand: the device.
        coupler: between them.
        q, u, inputs, parameters: as ``simulate`` takes them.
        integrator: one of fixed steps; RK4() unless given. PassiveMidpoint() makes no energy.
        safety: limits of the force; Safety() unless given.

    Raises:
        ModelError: an argument is not meaningful, the handle is fixed in the ground, or the device is in use.

    Warns:
        UserWarning: the coupler is stiffer than the device can render.
    """

    def __init__(
        self,
        dyn: Dynamics,
        hand: Device,
        coupler: Coupler,
        *,
        q: Any = None,
        u: Any = None,
        inputs: Any = None,
        parameters: Any = None,
        integrator: Explicit | Implicit | PassiveMidpoint | None = None,
        safety: Safety | None = None,
    ) -> None:
        safety, method = safety or Safety(), RK4() if integrator is None else integrator
        require_kinds(dyn, hand, coupler, safety, method)
        self._hand, self._coupler, self._first_coupler, self._safety = hand, coupler, coupler, safety
        held = coupled(dyn, coupler.handle, coupler.axes)
        self._names = tuple(leaf.name for leaf in held.dyn.equations.inputs)[: -len(IMAGE)]
        if inputs is not None and not isinstance(inputs, Mapping):
            defaults = [dyn.equations.defaults[name] for name in self._names]
            inputs = dict(zip(self._names, named_vector(inputs, self._names, defaults, "input").tolist(), strict=True))
        posed = pose(held.dyn, inputs, parameters, ())
        require_native(posed)
        problem, x = posed.switching.start(posed, 0.0, q, u)
        passive = passive_of(held, problem) if isinstance(method, PassiveMidpoint) else None
        self._start, T = x.copy(), hand.traits.period
        march = problem.march(Course(0.0, T, T, 1, 1, np.zeros(0), np.array([T])), x)
        self._mode = problem.switching.mode(march)
        given = march.system.inputs[: len(self._names)]
        first = np.concatenate([[0.0, 0.0, 0.0, 0.0, coupler.stiffness, coupler.damping], given])
        warn_of(hand, coupler)
        self._channel = hand.begin()
        rules = rules_of(hand.traits, coupler, self._safety)
        circuit = new_circuit((held, problem, x), self._channel, rules, first)
        self._loop = Loop(held, problem, march, method, circuit, passive=passive)
        self._thread: threading.Thread | None = None
        self._missing: tuple[str, ...] = ()
        self._end, self._closed = 0, False
        self._give_back = _giving_back(self, hand, self._channel, self._loop)
        self._commands = CommandPost(first, circuit.counts, circuit.desk.slots)

    def __repr__(self) -> str:
        s, model = self.snapshot(), self._loop.problem.layout.model
        return f"Session of {model!r} at t = {s.time:.9g} s, {s.status}{s.fault and ': ' + s.fault}"

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the loop, with no force left, and give the device back."""
        if not self._closed:
            self._stop()
            self._closed = True
            self._give_back()

    def arm(self) -> None:
        """Take hand and mechanism together, where they are, and let the force rise. A fault is forgotten then."""
        self._commands.wish(at.ARM)

    def disarm(self) -> None:
        """End the force."""
        self._commands.wish(at.DISARM)

    def clutch(self, held: bool) -> None:
        """While it is held hand and mechanism move by themselves; then they are taken together where they are.

        Raises:
            ModelError: neither True nor False.
        """
        require(held, bool, "clutch takes True or False")
        self._commands.tell(at.CLUTCH, float(held))

    def set(self, *, stiffness: float | None = None, damping: float | None = None) -> None:
        """Set the coupler anew, from the next tick on [N/m], [N s/m].

        Raises:
            ModelError: not positive, or negative damping.
        """
        coupler = replace(
            self._coupler,
            stiffness=self._coupler.stiffness if stiffness is None else stiffness,
            damping=self._coupler.damping if damping is None else damping,
        )
        warn_of(self._hand, coupler)
        self._coupler = coupler
        self._commands.tell(at.STIFFNESS, coupler.stiffness, coupler.damping)

    @property
    def inputs(self) -> Vector:
        """Values of the user's inputs, (inputs,); set them by an array, or some by a dict from names to numbers."""
        return self._commands.inputs

    @inputs.setter
    def inputs(self, values: Any) -> None:
        plan = self._loop.problem.plan
        if plan.samples or plan.expressions:
            raise ModelError(
                "some inputs are given by samples or expressions; leave them out of inputs= of Session to set them"
            )
        wanted = named_vector(values, self._names, self._commands.inputs.tolist(), "input")
        self._commands.tell(at.GIVEN, *wanted.tolist())

    def run(self, seconds: float) -> None:
        """Go on for so long in real time; Ctrl-C ends it early. The force ends within the last 20 ms.

        Raises:
            ModelError: not a positive time, the session is closed or runs already.
            SimulationError: the simulation could not go on; no force is left then.
        """
        self.start(seconds)
        self.wait()

    def start(self, seconds: float) -> None:
        """Begin to go on for so long in real time, in a thread of its own; see ``wait``.

        Raises:
            ModelError: as of ``run``.
        """
        self._prepare(seconds, at.BY_CLOCK)
        self._thread = threading.Thread(target=self._go, name="kane haptic loop", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until what was started is done.

        Raises:
            SimulationError: as of ``run``.
        """
        try:
            while self._thread is not None and self._thread.is_alive():
                self._thread.join(0.1)
        except KeyboardInterrupt:
            self._stop()
        self._thread = None
        self._check()

    def stop(self) -> None:
        """End what was started early; the force ends first."""
        self._stop()
        self._check()

    def rehearse(self, seconds: float) -> None:
        """The same ticks in simulated time, as fast as they go, always alike; of a device that is simulated.

        Raises:
            ModelError: as of ``run``; another device.
            SimulationError: as of ``run``.
        """
        if not isinstance(self._hand, Simulated):
            raise ModelError(f"{type(self._hand).__name__} lives in real time; call run(seconds)")
        self._prepare(seconds, at.IN_STEP)
        self._end = self._loop.run()
        self._check()

    def snapshot(self) -> Snapshot:
        """What the session is at, as of one tick."""
        taken = snapshot_of(self._loop.circuit)
        nq = len(self._loop.problem.layout.coordinates)
        fault = FAULTS[int(taken[3])]
        return Snapshot(
            int(taken[0]),
            float(taken[7]),
            STATUSES[int(taken[2])],
            fault,
            taken[4:7],
            taken[8 : 8 + nq],
            taken[8 + nq :],
        )

    @property
    def report(self) -> Report:
        """Of all ticks so far.

        Raises:
            ModelError: the loop is running.
        """
        self._require_rest()
        found = self._loop.problem.switching.occurrences(self._loop.march, self._mode)
        events = tuple((event.time, event.name, event.cause) for event in found)
        lost = int(self._loop.circuit.counts[at.LOST])
        return report_of(self.log, self._loop.circuit.rules, lost, self._missing, events)

    @property
    def ledger(self) -> Ledger:
        """Where the energy of the mechanism went, exactly; of PassiveMidpoint.

        Raises:
            ModelError: the loop is running, or another integrator takes the steps.
        """
        self._require_rest()
        if self._loop.passive is None:
            raise ModelError("the energy is accounted for exactly with integrator=kane.haptics.PassiveMidpoint() only")
        return ledger_of(self._loop.passive)

    @property
    def log(self) -> Matrix:
        """A row of numbers for each tick, with columns as ``kane.native.haptics.loop_arrays`` names them.

        Raises:
            ModelError: the loop is running.
        """
        self._require_rest()
        return self._loop.log

    @property
    def trajectory(self) -> Trajectory:
        """The motion so far, as ``simulate`` returns one; inputs are the user's, then those of the coupler.

        Raises:
            ModelError: the loop is running, or has not run yet.
        """
        self._require_rest()
        if not self._loop.ticks:
            raise ModelError("the session has not run yet; call run(seconds) first")
        return trajectory_of(self._loop)

    @property
    def states(self) -> Matrix:
        """The states [t, q, u] at the start and after each tick.

        Raises:
            ModelError: the loop is running.
        """
        self._require_rest()
        return self._loop.march.states()

    def save(self, path: Any) -> None:
        """Write the session to a file, from which ``kane.haptics.replay`` runs it again.

        Raises:
            FileError: it cannot be written.
            ModelError: the loop is running; the handle or an input is given by an expression or samples.
        """
        self._require_rest()
        settings = self._first_coupler, self._safety, self._hand.traits
        write_recording(path, recording_of(self._loop, self._start, settings))

    def run_recorded(self, recording: Recording) -> None:
        """The ticks of a recording, at its times and with its commands; for ``replay``, which makes the session for it.

        Raises:
            SimulationError: as of ``run``.
        """
        desk = self._loop.circuit.desk._replace(script=recording.commands, recorded=recording.log)
        self._loop.circuit = self._loop.circuit._replace(desk=desk)
        for ticks in recording.head["lengths"]:
            self._loop.prepare(ticks, at.AS_RECORDED)
            self._end = self._loop.run()
        self._check()

    def _go(self) -> None:
        desk, circuit = self._loop.circuit.desk, self._loop.circuit
        self._missing = promote(
            [desk.log, desk.snapshot, circuit.moving, circuit.port.memory, self._loop.march.store.rows]
        )
        circuit.counts[at.WATCHING] = 1
        watchdog = threading.Thread(target=self._watch, name="kane haptic watchdog", daemon=True)
        watchdog.start()
        try:
            self._end = self._loop.run()
        finally:
            circuit.counts[at.WATCHING] = 0
            watchdog.join()

    def _watch(self) -> None:
        favour_watchdog()
        self._loop.watch()

    def _prepare(self, seconds: float, how: int) -> None:
        if self._closed:
            raise ModelError("the session is closed; make another one")
        self._require_rest()
        ticks = round(number(positive(seconds, "how long a session goes on"), "seconds") / self._loop.period)
        if ticks < 1:
            raise ModelError(f"{seconds:g} s are less than one tick of {self._loop.period:g} s")
        if self._commands.is_stopped:
            self._commands.tell(at.STOP, 0.0)
        self._loop.prepare(ticks, how)

    def _stop(self) -> None:
        if self._thread is not None:
            self._commands.wish(at.DISARM)
            self._commands.tell(at.STOP, 1.0)
            self._thread.join()
            self._thread = None

    def _check(self) -> None:
        if self._end == BROKEN:
            march, status = self._loop.march, int(self._loop.circuit.counts[at.MARCHED])
            if status < 0:
                raise SimulationError(
                    f"the mode of {self._loop.problem.layout.model!r} changes again and again within one tick"
                )
            raise self._loop.problem.failure(march, FAILURES.get(Status(status), Outcome.STUCK))

    def _require_rest(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            raise ModelError("the session is running; wait for it, or stop it, first")


def _giving_back(session: Session, hand: Device, channel: Channel, loop: Loop) -> weakref.finalize[Any, Session]:
    """What gives the device back once: where it is called, or where nobody has the session any more."""
    call = weakref.finalize(session, lambda: hand.end(channel, loop.ticks * loop.period))
    call.atexit = False
    return call
