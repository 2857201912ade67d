"""What is simulated: compiled equations with their inputs, events and parameter values."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.dynamics.contacts.contact_functions import ContactParts
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.inertia_left import require_inertia
from kane.errors import SimulationError
from kane.formulation.parameter_bounds import given_parameters
from kane.native.arrays import (
    ASIDE,
    CHANGE,
    CHANGED,
    EVENTS,
    FOUND,
    GUARDS,
    LOOKS,
    RHS,
    SETTLE,
    WANTED,
    Automaton,
    Course,
    Indices,
    StateEquation,
    Vector,
    Watch,
)
from kane.native.header import KEPT
from kane.simulation.accumulation import require_end
from kane.simulation.asked.closed_loop import close_loop, resolved
from kane.simulation.asked.events import Event, compile_events, event_names, watch_for
from kane.simulation.asked.inputs import InputPlan, plan_inputs
from kane.simulation.asked.python_inputs import PythonInputs
from kane.simulation.asked.sampler import SampledLaw, Sampler, compile_laws, nothing_sampled
from kane.simulation.beginning_slip import tolerate
from kane.simulation.failure import chattering, explain
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.layout import Layout
from kane.simulation.march import March, Status, new_store
from kane.simulation.mode_table import Programs, new_row, stage_in_force, with_row
from kane.simulation.nearness import Nearness
from kane.simulation.pace import Pace
from kane.simulation.recorded.record import Record
from kane.simulation.run import Advance, Outcome
from kane.simulation.settling import UNSETTLED, Constraints, new_settling
from kane.simulation.switching import ONE_MODE, Switching

# What no next step or mode is found in may be stepped over, see ``Switching``.
PASSED_OVER = (Status.REFUSED, Status.ENDLESS, Status.STUCK, Status.STALLED, Status.NOT_FINITE)


@dataclass(frozen=True)
class Problem:
    """x' = f(t, x), with all that f depends on.

    Attributes:
        dyn: where everything comes from.
        layout: names and units.
        parameters: values.
        plan: what drives the inputs.
        events: what is looked for.
        rhs: the program of f, expressions put in place of inputs.
        settle: what puts states onto the constraints; None without constraints.
        controls: the program of all inputs, where some are expressions.
        signals: the program of the events, where there are any.
        energy: the program of kinetic and potential energy.
        constraints: in numbers; None without constraints.
        guards: what is negative where the mode ends; None where there is one mode for all states.
        change: what leads to the next mode there.
        settle_end: ``settle`` for the ends of steps, where that is a program of its own.
        laws: those that are sampled.
        key: of the mode that this problem stands for.
        switching: what runs in several modes ask Python for.
    """

    dyn: Dynamics
    layout: Layout
    parameters: Vector
    plan: InputPlan
    events: Sequence[Event]
    rhs: ArrayFunction
    settle: ArrayFunction | None
    controls: ArrayFunction | None
    signals: ArrayFunction | None
    energy: ArrayFunction
    constraints: Constraints | None
    guards: ArrayFunction | None = None
    change: ArrayFunction | None = None
    settle_end: ArrayFunction | None = None
    laws: tuple[SampledLaw, ...] = ()
    key: int = 0
    switching: Switching = ONE_MODE

    @classmethod
    def of(cls, dyn: Dynamics, inputs: Any, parameters: Any, events: Sequence[Event]) -> Problem:
        """The problem that Dynamics, inputs, parameters and events pose."""
        layout = Layout.of(dyn.equations)
        values = given_parameters(dyn.equations, parameters)
        require_inertia(dyn, values)
        plan = plan_inputs(inputs, layout.inputs, layout.input_defaults)
        rhs, controls, laws = dyn.function("rhs"), None, {}
        settle: ArrayFunction | None = dyn.settle
        if plan.expressions:
            laws = resolved(dyn.equations, plan.expressions)
            rhs, settle, controls = close_loop(dyn, plan.expressions)
        unknown = [name for i, name in enumerate(layout.inputs) if plan.function is not None or i in plan.functions]
        signals = compile_events(dyn, events, laws, unknown)
        sampled = compile_laws(dyn, plan, laws, unknown)
        constraints = None if settle is None else Constraints(dyn, values)
        own = rhs, settle, controls, signals, dyn.function("energy")
        return cls(dyn, layout, values, plan, tuple(events), *own, constraints, laws=sampled)

    def initial_state(self, t: float, q: Any, u: Any) -> Vector:
        """x = [q, u] at time t from what the user gave; dependent speeds that are named follow, where none is given.

        Raises:
            ModelError: as of ``Layout.initial_state``.
        """
        x = self.named_state(t, q, u)
        self.layout.require_regular(x)
        return x

    def named_state(self, t: float, q: Any, u: Any) -> Vector:
        """The same, wherever gimbals are singular."""
        x, nq = self.layout.named_state(q, u), len(self.layout.coordinates)
        x[nq:] = self.with_dependent(t, x[:nq], x[nq:], u, self.parameters)
        return x

    def with_dependent(self, t: float, q: Vector, u: Vector, given: Any, parameters: Vector) -> Vector:
        """u, (..., n), with the dependent speeds that are named as they follow from the others, where none was given.

        Args:
            t: time [s].
            q, u: coordinates and speeds, (..., nq) and (..., n).
            given: what the user gave for u.
            parameters: values, (..., parameters).
        """
        eqs = self.dyn.equations
        dependent = [leaf.name for leaf in eqs.embedding.u]
        if not dependent or not (given is None or isinstance(given, Mapping)):
            return u
        if any(name in (given or {}) for name in dependent):
            return u
        state = (eqs.t, *eqs.q, *eqs.u)
        program = Program("speeds", eqs.baked_in(eqs.u), state=state, rest=(), parameters=eqs.parameters)
        function = self.dyn.compile(program)
        states = np.concatenate([np.full((*q.shape[:-1], 1), t), q, u], axis=-1)
        return function(states, np.zeros(0), function.stage(parameters))

    def of_values(self, parameters: Vector, constants: Vector) -> Problem:
        """The same problem with other values of the parameters and of the constant inputs."""
        plan = replace(self.plan, constants=constants)
        constraints = None if self.constraints is None else replace(self.constraints, parameters=parameters)
        return replace(self, parameters=parameters, plan=plan, constraints=constraints)

    def march(self, course: Course, x: Vector) -> March:
        """A march over the course from the state x.

        Raises:
            ModelError: samples of an input end before the run, fixed steps do not end where inputs are sampled, the
                record does not fit in memory, or x does not satisfy the constraints.
        """
        self.plan.require_cover(course.start, course.until)
        self.switching.check(self, course, x)
        rhs, plan, system = self.rhs, self.plan, self._system()
        x = self._settled(system, course.start, x)
        slow = None
        if plan.needs_python:
            slow = PythonInputs(rhs, plan, system, len(self.layout.coordinates))
        rows = -(-course.steps // course.every) if course.every else len(course.times)
        notes = len(system.automaton.changed[rhs.n_out + 1 :])
        guards = len(system.automaton.guards.out)
        store = new_store(
            course.start, x, rows + 2, system.settling.notes, notes, guards=guards, kept=self._kept(system)
        )
        tables = (*plan.tables(), nothing_sampled())
        sampler = self._sampler(course, system)
        march = March(system, tables, course, watch_for(self.events), store, {self.key: self}, slow, sampler)
        march.go(course)
        return march

    def _kept(self, system: StateEquation) -> int:
        """How many numbers ``kane.native.memory`` keeps of a step."""
        parts = getattr(self.settle, "parts", None)
        candidates = len(parts.equations.candidates) if isinstance(parts, ContactParts) else 0
        return 2 * candidates + len(system.settling.least)

    def _sampler(self, course: Course, system: StateEquation) -> Sampler | None:
        if not self.laws:
            return None
        plan, layout = self.plan, self.layout
        state = len(layout.coordinates), len(layout.speeds)
        given = plan.constants, plan.tables()[0], self.parameters
        return Sampler(self.laws, course.start, state, *given, mode=system.mode, switching=self.switching)

    @property
    def programs(self) -> Programs:
        """What native loops call."""
        found = {RHS: self.rhs, SETTLE: self.settle_end or self.settle, ASIDE: self.settle, EVENTS: self.signals}
        found |= {GUARDS: self.guards, CHANGE: self.change}
        return {program: function for program, function in found.items() if function is not None}

    def row(self, at: int) -> tuple[Indices, Vector]:
        """The row of the mode for native loops and its stages, which are to lie from ``at`` on."""
        # Where settling chooses the speeds that rhs integrates, it does so in the stage of both.
        kept = self.dyn.equations.embedding.choice.in_runs == KEPT
        shared = {RHS, *self.switching.shares_stage} if kept else self.switching.shares_stage
        return new_row(self.key, self.programs, self.parameters, shared, at)

    def _system(self) -> StateEquation:
        speeds, none = len(self.layout.speeds), np.zeros(0)
        row, stages = self.row(0)
        seen = np.zeros(self.guards.n_out if self.guards else 0)
        n = len(seen) - self.rhs.n_out if self.switching.slopes_with_guards else len(seen)
        slope = none if self.plan.needs_python else seen[n:]  # inputs are asked for where slopes alone are
        guards = Watch(GUARDS, seen[:n], none, none, none, np.zeros(len(LOOKS) * n))
        return StateEquation(
            mode=row.copy(),
            state=np.zeros(self.rhs.n_state),
            inputs=self.plan.constants.copy(),
            stages=stages,
            headers=stages.view(np.int64),
            work=np.zeros(self.n_work),
            quaternions=np.array(self.layout.quaternions, dtype=np.int64),
            settling=new_settling(SETTLE, self.settle, speeds),
            aside=new_settling(ASIDE, self.settle, speeds),
            automaton=Automaton(row[None, :], guards, slope, np.zeros(self.change.n_out if self.change else 0)),
        )

    def _settled(self, system: StateEquation, t: float, x: Vector) -> Vector:
        if self.settle is None or self.constraints is None:
            return x
        state = np.concatenate([[t], x])
        self.constraints.require_consistent(state)
        return self.switching.settled(self, system, state)

    def advance(self, method: Integrator) -> Advance:
        """The method's ``advance`` for one march, STALLED where it gets nowhere.

        It raises what input functions raised, and where an event happens without end.
        """
        pace: Pace | None = None
        nearness: dict[int, Nearness | None] = {}
        names = event_names(self.events)

        def advance(march: March, steps: int) -> Status:
            nonlocal pace
            status = march_on(march, march.steps_within_plan(steps))
            if status in PASSED_OVER and march.problem.switching.step_over(march, status):
                pace = None
                return Status.GOING
            return status

        def march_on(march: March, steps: int) -> Status:
            nonlocal pace
            clock, counts = march.store.clock, march.store.counts
            before = int(counts[FOUND]), int(counts[CHANGED])
            if pace is None and not method.fixed:
                pace = Pace(march.course, march.time)
            if method.fixed and march.problem.key not in nearness:
                nearness[march.problem.key] = Nearness.of(march.problem)
            march.problem.tolerate(march, method)
            near = nearness.get(march.problem.key)
            if near is not None:
                status = near.advance(method, march, steps)
            else:
                status = method.advance(march, min(steps, pace.left(counts)) if pace else steps)
            for asked in (march.slow, march.sampler):
                if asked is not None:
                    asked.raise_kept()
            if (counts[FOUND], counts[CHANGED]) != before:
                require_end(march, names, before, fixed=method.fixed, status=status)
            if status is Status.UNKNOWN_MODE:
                self._add_mode(march)
                return Status.GOING
            if status is Status.GOING and pace and pace.is_lost(clock, counts, lambda: self.chatters(march)):
                return Status.STALLED
            return status

        return advance

    def tolerate(self, march: March, method: Integrator) -> None:
        """Let friction of the march be that of slip with errors as this method makes them."""
        if self.settle is not None:
            tolerate(self.settle, stage_in_force(march.system, SETTLE, self.settle), method)

    def _add_mode(self, march: March) -> None:
        """Make the mode known that the march is about to enter."""
        self.switching.admit(march, int(march.store.counts[WANTED]))

    def join(self, march: March) -> None:
        """Become the mode of this key in the march: the newest row of its table, not yet in force."""
        march.problems[self.key] = self
        row, stages = self.row(len(march.system.stages))
        march.system = with_row(march.system, row, stages, self.n_work)

    @property
    def n_work(self) -> int:
        """How much scratch the programs need."""
        return max(function.n_work for function in self.programs.values())

    def chatters(self, march: March) -> bool:
        """Whether the march stays at a jump of the accelerations."""
        return chattering(march.problem, march) is not None

    def failure(self, march: March, outcome: Outcome) -> SimulationError:
        """Why the march could not take its next step, or gets nowhere with it."""
        return explain(march.problem, march, outcome)

    def record(self, march: March) -> Record:
        """What was recorded, in the coordinates that the user declared, and what happened to the modes."""
        return self.switching.told(march, self.numbers(march))

    def numbers(self, march: March) -> Record:
        """What was recorded, in the coordinates of each mode, with inputs and energies.

        There these are regular: beside a singularity of those that were declared they would lose digits.
        """
        states, notes, stretches = march.states(), march.notes(), march.stretches()
        looks = [march.problems[s.key]._look(march, states[s.rows], notes[s.rows]) for s in stretches]
        given, energy, kept = (np.concatenate(column) for column in zip(*looks, strict=True))
        found = (event_names(self.events), march.occurrences())
        each = [march.problems[s.key]._modes(states[s.rows], kept[s.rows]) for s in stretches]
        modes = dict.fromkeys(itertools.chain(*each))
        compiled = self.dyn.modes
        slow = tuple(mode for mode in modes if mode not in compiled) if compiled else ()
        return Record(
            self.layout, states, given, energy, self.parameters, found, kept, modes=tuple(modes), in_numbers=slow
        )

    def _modes(self, states: NDArray[Any], kept: NDArray[Any]) -> tuple[str, ...]:
        """The choices of dependent speeds that were met, in words."""
        return self.constraints.modes(states, kept[:, -1]) if self.constraints else ()

    def _look(self, march: March, states: NDArray[Any], notes: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Inputs, energies and how constraints were kept, at records of this mode."""
        course, times = march.course, states[:, 0]
        middle = times + course.step / 2 if course.step else np.nextafter(times, course.until)
        given = self.plan.sampled(times, middle)
        if march.sampler is not None:
            march.sampler.fill(given, middle)
        if march.slow is not None:
            given = march.slow.rows(states, given)
        if self.controls is not None:
            given = self.controls(states, given, self.controls.stage(self.parameters))
        energy = self.energy(states, given[:, : self.energy.n_rest], self.energy.stage(self.parameters))
        return given, energy, self.kept(states, notes)

    def kept(self, states: NDArray[np.float64], notes: NDArray[np.float64]) -> NDArray[np.float64]:
        """How the constraints were kept, see ``Record.constraints``.

        Raises:
            SimulationError: they were not.
        """
        if self.settle is None or self.constraints is None:
            return np.zeros((len(states), 0))
        open_by = np.column_stack(self.constraints.residuals(states).largest)
        for state in states[(open_by > UNSETTLED).any(axis=1)]:
            worst = self.constraints.worst(state, UNSETTLED)
            if worst:
                raise SimulationError(
                    f"the constraints of {self.layout.model!r} are lost at t = {state[0]:.9g} s: {worst}; give shorter "
                    "steps (dt, max_step or tolerances), or end the run where the mechanism cannot move on"
                )
        return np.column_stack([open_by, notes])
