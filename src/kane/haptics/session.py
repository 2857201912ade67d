"""Session: haptic interaction with a mechanism, in real time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

from kane.display.page import Page
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.engine.realtime.loop_arrays import AS_RECORDED, BY_CLOCK, IN_STEP
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.haptics.coupling.handle import COUPLER_INPUT_NAMES, coupled
from kane.haptics.coupling.passive_midpoint import Ledger, PassiveMidpoint, require_ledger
from kane.haptics.coupling.rigid_coupler import AnyCoupler
from kane.haptics.devices.device import Device
from kane.haptics.devices.simulated import Simulated
from kane.haptics.loop.circuit import rules_of
from kane.haptics.loop.commands import CommandPost
from kane.haptics.loop.loop import Log, Loop, begun_loop, course_of_ticks, giving_back
from kane.haptics.loop.loop_series import LoopSeries, SessionRevision
from kane.haptics.loop.loop_thread import LoopThread, Work
from kane.haptics.loop.report import Report, report_of
from kane.haptics.loop.session_arguments import (
    first_command,
    inputs_by_name,
    method_of,
    prepare_tick_steps,
    require_number_inputs,
    session_problem,
    split_settings,
    ticks_of,
    warn_of,
)
from kane.haptics.loop.snapshot import Coupling, Snapshot, snapshot_of
from kane.haptics.recording.recording import Recording, write_recording
from kane.haptics.recording.session_motion import recording_of, trajectory_of
from kane.haptics.recording.session_page import played
from kane.haptics.safety.force_limits import Safety
from kane.model.constraints import Constraint
from kane.model.named_vector import named_vector
from kane.simulation.exclusive_calls import OneAtATime
from kane.simulation.integrators.explicit import Explicit
from kane.simulation.integrators.implicit import Implicit
from kane.simulation.modes.set_up import set_up
from kane.simulation.results.trajectory import Trajectory


@final
class Session:
    """Mechanism coupled to an operator through a haptic device (impedance display, or admittance display).

    Each tick reads the device, writes the force of the coupler, and takes one step of the mechanism, within which
    intermittent constraints change. A device that measures force gets a position after the step. A native function does
    this in a thread that Python does not block. No force is written before ``arm``. ``disarm``, the end of a run and
    every fault (bad samples, missed ticks, a failed step) end the force within 20 ms, until the next ``arm``.

    Args:
        dyn: result of ``kane.build``; its inputs are numbers, samples, or expressions.
        device: the device.
        coupler: a Coupler; a RigidCoupler, to prescribe the motion; an AdmittanceCoupler, if the device measures force.
        q, u, inputs, parameters: as in ``simulate``.
        integrator: an integrator with fixed steps; RK4() by default. PassiveMidpoint() makes no energy.
        safety: limits of the force; Safety() by default.
        predict: whether each tick is computed before it is due, for the predicted position of the device handle. The
            result is used if the handle arrives there.

    Raises:
        ModelError: an argument is not meaningful, the handle is fixed in the ground, or the device is in use.

    Warns:
        UserWarning: the stiffness of the coupler, or the mass felt by the operator, exceeds the device's limit.
    """

    def __init__(
        self,
        dyn: Dynamics,
        device: Device,
        coupler: AnyCoupler,
        *,
        q: Any = None,
        u: Any = None,
        inputs: Any = None,
        parameters: Any = None,
        integrator: Explicit | Implicit | PassiveMidpoint | None = None,
        safety: Safety | None = None,
        predict: bool = False,
    ) -> None:
        safety = safety or Safety()
        method = method_of(dyn, device, coupler, safety, integrator)
        self._device, self._coupler, self._first_coupler, self._safety = device, coupler, coupler, safety
        held = coupled(dyn, coupler)
        self._names = tuple(leaf.name for leaf in held.dyn.equations.inputs)[: -len(COUPLER_INPUT_NAMES)]
        inputs = inputs_by_name(dyn, self._names, inputs)
        posed = session_problem(held.dyn, inputs, parameters, (q, u))
        problem, x = posed.mode_source.start(posed, 0.0, q, u)
        steps = prepare_tick_steps(method, held, coupler, problem, x)
        self._start, T = x.copy(), device.traits.period
        integration = problem.integration(course_of_ticks(1, T), x)
        first = first_command(coupler, integration.system.inputs[: len(self._names)])
        warn_of(device, coupler, steps)
        made = (held, problem, integration, method, steps), rules_of(device.traits, coupler, safety, predict), first
        self._channel, loop = begun_loop(device, *made, predict=predict)
        self._loops = LoopSeries(loop, coupler, lambda revised: set_up(revised, inputs, parameters, ()), self._start)
        self._beginning, self._closed = OneAtATime("Session", "make a session for each thread"), False
        self._give_back = giving_back(self, device, self._channel, loop)
        self._commands = CommandPost(first, loop.circuit.counts, loop.circuit.messages.slots)
        self._thread = LoopThread(loop, self._commands)

    def __repr__(self) -> str:
        s, model = self.snapshot(), self._loop.problem.layout.model
        return f"Session of {model!r} at t = {s.time:.9g} s, {s.status}{s.fault and ': ' + s.fault}"

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the force and the loop, and release the device."""
        if not self._closed:
            self._closed = True
            if self._thread.is_own:
                self._thread.stop()
                self._give_back()

    def arm(self) -> None:
        """Couple device and mechanism at their current positions, and ramp up the force. This clears a fault.

        Raises:
            ModelError: the session is closed.
        """
        self._require_open()
        self._commands.request("arm")

    def disarm(self) -> None:
        """End the force."""
        self._commands.request("disarm")

    def clutch(self, held: bool) -> None:
        """Decouple device and mechanism while ``held`` is True; then couple them again at their current positions.

        Raises:
            ModelError: ``held`` is neither True nor False, or the session is closed.
        """
        self._require_open()
        require(held, bool, "clutch takes True or False")
        self._commands.tell(clutch=float(held))

    def set(self, **settings: float) -> None:
        """Change settings of the coupler, from the next tick on.

        These are ``stiffness`` [N/m], ``damping`` [N s/m], ``turning_stiffness`` [N m/rad] and ``turning_damping``
        [N m s/rad].

        Raises:
            ModelError: a stiffness is not positive, a damping is negative, a name is unknown, or the session is closed.
        """
        self._require_open()
        coupler = self._coupler.set_to(settings)
        warn_of(self._device, coupler)
        self._coupler = coupler
        self._commands.tell(**split_settings(coupler))

    def impose(self, motion: Expr | Constraint | Sequence[Expr], *, name: str | None = None) -> SessionRevision:
        """Impose a new constraint; a thread formulates its equations while ticks continue without it.

        The first tick after that begins with an impulse that projects the momentum onto the constraint. If constraints
        contradict each other there, the session continues without the new one and warns at the end of the run. The
        limits of the force do not change. ``motion`` and ``name`` are as in ``kane.Stepper.impose``.

        Raises:
            ModelError: the expression has no velocity or belongs to another model, the name is taken, the coupler is
                rigid, another revision comes first, or the session is closed.

        Source: Gillespie 2003, section 4, block 1 of Fig. 2.
        """
        self._require_open()
        return self._loops.impose(motion, name)

    def delete(self, name: str) -> SessionRevision:
        """Delete an imposed constraint, or a contact, stop, stick, latch or switch of the model, as ``impose`` does.

        Raises:
            ModelError: as for ``impose``, the name is unknown, or the constraint is permanent.
        """
        self._require_open()
        return self._loops.delete(name)

    @property
    def _loop(self) -> Loop:
        return self._loops.current

    @property
    def inputs(self) -> Vector:
        """Values of the user's inputs, (inputs,); assign an array, or a dict from some names to numbers."""
        return self._commands.inputs

    @inputs.setter
    def inputs(self, values: Any) -> None:
        self._require_open()
        require_number_inputs(self._loop.problem.plan)
        wanted = named_vector(values, self._names, self._commands.inputs.tolist(), "input")
        self._commands.tell(inputs=wanted.tolist())

    def run(self, seconds: float) -> None:
        """Run in real time for this time [s]; Ctrl-C ends the run early. Force and coupler end in the last 21 ms.

        Raises:
            ModelError: the time is not positive or too short for a force, or the session is closed or running.
            SimulationError: the simulation cannot continue; the force has ended.
        """
        self._run(seconds, BY_CLOCK, self._loop.run_watched)

    def start(self, seconds: float) -> None:
        """Start a run in real time for this time [s], in another thread; see ``wait``.

        Raises:
            ModelError: as in ``run``.
        """
        self._begin(seconds, BY_CLOCK, self._loop.run_watched)

    def wait(self) -> None:
        """Wait until the started run ends.

        Raises:
            SimulationError: as in ``run``.
        """
        self._thread.require_own()
        try:
            self._thread.wait()
        except KeyboardInterrupt:
            self._thread.stop()
        self._check()

    def stop(self) -> None:
        """End the started run early; the force ends first."""
        self._thread.stop()
        self._check()

    def rehearse(self, seconds: float) -> None:
        """Run the ticks of ``run`` in simulated time, as fast as possible and reproducibly; for simulated devices only.

        Raises:
            ModelError: as in ``run``, or the device is not simulated.
            SimulationError: as in ``run``.
        """
        if not isinstance(self._device, Simulated):
            raise ModelError(f"{type(self._device).__name__} needs real time; call run(seconds)")
        self._run(seconds, IN_STEP, lambda: (self._loop.run(), self._thread.missing))

    def snapshot(self) -> Snapshot:
        """Return the state of the session at one tick."""
        return snapshot_of(self._loop)

    @property
    def is_closed(self) -> bool:
        """Whether the session is closed."""
        return self._closed

    @property
    def coupling(self) -> Coupling:
        """Mechanism, parameters, device and coupler of the session."""
        return Coupling(self._loop.coupled.dyn, self._loop.problem.parameters, self._device, self._coupler)

    @property
    def report(self) -> Report:
        """Report on all completed ticks.

        Raises:
            ModelError: the loop is running.
        """
        self._thread.require_rest()
        return report_of(self._loops.whole, self._thread.missing)

    @property
    def ledger(self) -> Ledger:
        """Exact energy balance of the mechanism; for PassiveMidpoint only.

        Raises:
            ModelError: the loop is running, or the integrator is another one.
        """
        self._thread.require_rest()
        return require_ledger(self._loop.passive)

    @property
    def log(self) -> Log:
        """Log with one record per tick, such as ``session.log["force"]``; ``docs/haptics.md`` lists the fields.

        Raises:
            ModelError: the loop is running.
        """
        self._thread.require_rest()
        return self._loop.log

    @property
    def trajectory(self) -> Trajectory:
        """Motion up to now, as returned by ``simulate``; the inputs of the coupler follow the user's inputs.

        Raises:
            ModelError: the loop is running or has not run yet, or constraints were revised; see ``trajectories``.
        """
        self._loops.require_one("single trajectory")
        return self.trajectories[0]

    @property
    def trajectories(self) -> tuple[Trajectory, ...]:
        """Motions up to now between revisions of the constraints, each with its own equations; see ``trajectory``.

        Raises:
            ModelError: the loop is running, or has not run yet.
        """
        self._thread.require_rest()
        if not self._loop.ticks:
            raise ModelError("the session has not run yet; call run(seconds) first")
        return tuple(trajectory_of(loop) for loop in self._loops.whole)

    @property
    def states(self) -> Matrix:
        """States [t, q, u] at the start and after each tick.

        Raises:
            ModelError: the loop is running.
        """
        self._thread.require_rest()
        return self._loops.states

    def save(self, path: Any) -> None:
        """Write the session to a file that ``kane.haptics.replay`` can run again.

        Raises:
            FileError: the file cannot be written.
            ModelError: the loop is running or has not run yet, the handle or an input is an expression or samples, or
                constraints were imposed or deleted.
        """
        self._thread.require_rest()
        settings = self._first_coupler, self._safety, self._device.traits
        write_recording(path, recording_of(self._loops.require_one("file"), self._start, settings))

    def page(self, traces: Any = ()) -> Page:
        """Return a page that plays the session, with coupling forces, energies and the paths of points or bodies.

        Raises:
            ModelError: as for ``trajectory``, or a trace is unknown.
        """
        return played(self.coupling, self.trajectory, self.log, self.snapshot().energies, traces)

    def save_html(self, path: Any, *, traces: Any = ()) -> Path:
        """Write the page of ``page`` as one file that needs no network; an existing file is replaced.

        Raises:
            ModelError: as in ``page``.
            FileError: the file cannot be written.
        """
        return self.page(traces).save(path)

    def run_recorded(self, recording: Recording) -> None:
        """Run the ticks of a recording, at its times and with its commands; ``replay`` calls this.

        Raises:
            SimulationError: as in ``run``.
        """
        self._loop.follow(recording.commands, recording.log)
        for ticks in recording.head["lengths"]:
            self._loop.prepare(ticks, AS_RECORDED)
            self._thread.run_here()
        self._check()

    def _run(self, seconds: float, how: int, work: Work) -> None:
        """Begin and wait; Ctrl-C ends the run, also where it comes before the waiting."""
        try:
            self._begin(seconds, how, work)
            self._thread.wait()
        except KeyboardInterrupt:
            self._thread.stop()
        self._check()

    def _begin(self, seconds: float, how: int, work: Work) -> None:
        with self._beginning:
            self._require_open()
            self._thread.require_rest()
            ticks = ticks_of(seconds, self._loop.circuit.rules, self._commands)
            if self._commands.is_stopped:
                self._commands.tell(stop=0.0)
            self._loops.prepare(ticks, how)
            self._thread.start(work)

    def _check(self) -> None:
        self._loops.warn_of_refusal()
        if self._thread.has_failed:
            raise self._loop.failure(int(self._loop.circuit.counts.step[0]))

    def _require_open(self) -> None:
        if self._closed:
            raise ModelError("the session is closed; make another one")
        self._thread.require_own()
