"""Initial value problems: compiled equations with inputs, events and parameter values."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.codegen.jit.function import ArrayFunction
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.inertia_left import require_inertia
from kane.engine.memory.constraint_codes import KEPT
from kane.engine.memory.loop_arguments import Automaton, Course, Indices, StateEquation, Vector, Watch
from kane.engine.memory.run_codes import ASIDE, EVENTS, GUARDS, PROJECT, RHS, TRANSITION
from kane.engine.memory.views import guard_samples_size, slip_memory_size
from kane.errors import SimulationError
from kane.formulation.matrix_route import has_bodies
from kane.simulation.events.event import Event, compile_events, event_names, watch_for
from kane.simulation.inputs.input_plan import InputPlan, plan_inputs
from kane.simulation.inputs.sampler import SampledLaw, Sampler, compile_laws, nothing_sampled
from kane.simulation.integrator_state import IntegratorState, new_store
from kane.simulation.mode_source import ONE_MODE, ModeSource
from kane.simulation.mode_table import Programs, new_row, with_row
from kane.simulation.projection import UNPROJECTED, Constraints, new_projection
from kane.simulation.results.record import Record
from kane.simulation.state_layout import Layout

if TYPE_CHECKING:
    from kane.dynamics.contacts.contact_functions import ContactFunctions


@dataclass(frozen=True)
class InitialValueProblem:
    """x' = f(t, x) in one mode, with inputs, events and parameter values.

    Attributes:
        dyn: compiled equations.
        layout: names and units of q, u, inputs and parameters.
        parameters: parameter values.
        plan: sources of the inputs.
        events: the user's events.
        rhs: program of f, with input expressions substituted.
        project: program that projects states onto the constraints; None without constraints.
        input_program: program that evaluates all inputs; None if no input is an expression.
        event_program: program of the events' expressions; None without events.
        energy: program of kinetic and potential energy; None for equations without bodies.
        constraints: numerical constraint checks; None without constraints.
        guards: program whose outputs become negative when the mode ends; None if there is only one mode.
        transition: program that computes impulses and the next mode.
        project_step_end: program that projects the ends of steps; None if ``project`` does this.
        contacts: native functions of intermittent constraints; None without them.
        laws: sampled laws.
        key: key of the mode that these programs describe.
        mode_source: Python part of transitions between modes.
    """

    dyn: Dynamics
    layout: Layout
    parameters: Vector
    plan: InputPlan
    events: Sequence[Event]
    rhs: ArrayFunction
    project: ArrayFunction | None
    input_program: ArrayFunction | None
    event_program: ArrayFunction | None
    energy: ArrayFunction | None
    constraints: Constraints | None
    guards: ArrayFunction | None = None
    transition: ArrayFunction | None = None
    project_step_end: ArrayFunction | None = None
    contacts: ContactFunctions | None = None
    laws: tuple[SampledLaw, ...] = ()
    key: int = 0
    mode_source: ModeSource = ONE_MODE

    @classmethod
    def of(cls, dyn: Dynamics, inputs: Any, parameters: Any, events: Sequence[Event]) -> InitialValueProblem:
        """Set up the problem from Dynamics, inputs, parameters and events."""
        layout = Layout.of(dyn.equations)
        values = dyn.equations.parameter_bounds.given(parameters)
        require_inertia(dyn, values)
        plan = plan_inputs(inputs, layout.inputs, layout.input_defaults)
        rhs, input_program, laws = dyn.function("rhs"), None, {}
        project: ArrayFunction | None = dyn.project
        if plan.expressions:
            from kane.simulation.inputs.closed_loop import close_loop, resolve_replacements

            laws = resolve_replacements(dyn.equations, plan.expressions)
            rhs, project, input_program = close_loop(dyn, plan.expressions)
        unknown = [name for i, name in enumerate(layout.inputs) if plan.function is not None or i in plan.functions]
        event_program = compile_events(dyn, events, laws, unknown)
        sampled = compile_laws(dyn, plan, laws, unknown)
        constraints = None if project is None else Constraints(dyn, values)
        energy = dyn.function("energy") if has_bodies(dyn.equations) else None
        own = rhs, project, input_program, event_program, energy
        return cls(dyn, layout, values, plan, tuple(events), *own, constraints, laws=sampled)

    @property
    def threads(self) -> int:
        """Number of threads that the target allows."""
        # Programs of constrained motion do not know the target's limit; that of the energy does.
        return (self.energy or self.rhs).threads

    def initial_state(self, t: float, q: Any, u: Any) -> Vector:
        """Return x = [q, u] at time t from the user's arguments; dependent speeds as in ``with_dependent``.

        Raises:
            ModelError: as ``Layout.initial_state``.
        """
        x = self.named_state(t, q, u)
        self.layout.require_regular(x)
        return x

    def named_state(self, t: float, q: Any, u: Any) -> Vector:
        """Return the same state without the check for singular gimbals."""
        x, nq = self.layout.named_state(q, u), len(self.layout.coordinates)
        x[nq:] = self.with_dependent(t, x[:nq], x[nq:], u, self.parameters)
        return x

    def with_dependent(self, t: float, q: Vector, u: Vector, given: Any, parameters: Vector) -> Vector:
        """Compute the named dependent speeds from the others, unless the user gave one of them; return u, (..., n).

        Args:
            t: time [s].
            q, u: coordinates and speeds, (..., nq) and (..., n).
            given: the user's argument u.
            parameters: values, (..., parameters).
        """
        from kane.codegen.programs.program import Program

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

    def of_values(self, parameters: Vector, constants: Vector) -> InitialValueProblem:
        """Return the same problem with other values of parameters and constant inputs."""
        plan = replace(self.plan, constants=constants)
        constraints = None if self.constraints is None else replace(self.constraints, parameters=parameters)
        return replace(self, parameters=parameters, plan=plan, constraints=constraints)

    def integration(self, course: Course, x: Vector) -> IntegratorState:
        """Return the integrator state at the start of the course, at state x.

        Raises:
            ModelError: samples of an input end before the run, fixed steps do not end at ticks of sampled laws, the
                record does not fit in memory, or x does not satisfy the constraints.
        """
        self.plan.require_cover(course.start, course.until)
        self.mode_source.check(self, course, x)
        rhs, plan, system = self.rhs, self.plan, self._system()
        x = self._projected(system, course.start, x)
        slow = None
        if plan.needs_python:
            from kane.simulation.inputs.python_inputs import PythonInputs

            slow = PythonInputs(rhs, plan, system, len(self.layout.coordinates))
        rows = -(-course.steps // course.every) if course.every else len(course.times)
        notes = len(system.automaton.changed[rhs.n_out + 1 :])
        guards = len(system.automaton.guards.out)
        store = new_store(
            course.start, x, rows + 2, system.projection.notes, notes, guards=guards, kept=self._kept(system)
        )
        tables = (*plan.tables(), nothing_sampled())
        sampler = self._sampler(course, system)
        integration = IntegratorState(
            system, tables, course, watch_for(self.events), store, {self.key: self}, slow, sampler
        )
        integration.clock.time[0], integration.counts.rows[0] = course.start, 1
        integration.go(course)
        return integration

    def _kept(self, system: StateEquation) -> int:
        """Return the number of doubles, besides x, that ``kane.engine.memory`` saves at the start of each step."""
        parts, intermittents = getattr(self.project, "parts", None), 0
        if self.dyn.equations.intermittents:
            from kane.dynamics.contacts.contact_functions import ContactParts

            intermittents = len(parts.equations.intermittents) if isinstance(parts, ContactParts) else 0
        return slip_memory_size(intermittents, len(system.projection.least))

    def _sampler(self, course: Course, system: StateEquation) -> Sampler | None:
        if not self.laws:
            return None
        plan, layout = self.plan, self.layout
        state = len(layout.coordinates), len(layout.speeds)
        given = plan.constants, plan.tables()[0], self.parameters
        return Sampler(self.laws, course.start, state, *given, mode=system.mode, mode_source=self.mode_source)

    @property
    def programs(self) -> Programs:
        """Programs that native loops call."""
        found = {
            RHS: self.rhs,
            PROJECT: self.project_step_end or self.project,
            ASIDE: self.project,
            EVENTS: self.event_program,
        }
        found |= {GUARDS: self.guards, TRANSITION: self.transition}
        return {program: function for program, function in found.items() if function is not None}

    def row(self, at: int) -> tuple[Indices, Vector]:
        """Return the mode's row in the table of native loops, and its constants, to be stored from index ``at`` on."""
        # If the projection selects the independent speeds for rhs, both read the selection from the same constants.
        kept = self.dyn.equations.embedding.choice.in_runs == KEPT
        shared = {RHS, *self.mode_source.shares_stage} if kept else self.mode_source.shares_stage
        return new_row(self.key, self.programs, self.parameters, shared, at)

    def _system(self) -> StateEquation:
        speeds, none = len(self.layout.speeds), np.zeros(0)
        row, stages = self.row(0)
        seen = np.zeros(self.guards.n_out if self.guards else 0)
        n = len(seen) - self.rhs.n_out if self.mode_source.slopes_with_guards else len(seen)
        slope = none if self.plan.needs_python else seen[n:]  # Python inputs are evaluated only with the slopes
        guards = Watch(GUARDS, seen[:n], none, none, none, np.zeros(guard_samples_size(n)))
        return StateEquation(
            mode=row.copy(),
            state=np.zeros(self.rhs.n_state),
            inputs=self.plan.constants.copy(),
            stages=stages,
            headers=stages.view(np.int64),
            work=np.zeros(self.n_work),
            quaternions=np.array(self.layout.quaternions, dtype=np.int64),
            projection=new_projection(PROJECT, self.project, speeds),
            aside=new_projection(ASIDE, self.project, speeds),
            automaton=Automaton(row[None, :], guards, slope, np.zeros(self.transition.n_out if self.transition else 0)),
        )

    def _projected(self, system: StateEquation, t: float, x: Vector) -> Vector:
        if self.project is None or self.constraints is None:
            return x
        state = np.concatenate([[t], x])
        self.constraints.require_satisfied(state)
        return self.mode_source.projected(self, system, state)

    def join(self, integration: IntegratorState) -> None:
        """Add this mode to the run as the newest row of its table, without activating it."""
        integration.problems[self.key] = self
        row, stages = self.row(len(integration.system.stages))
        integration.system = with_row(integration.system, row, stages, self.n_work)

    @property
    def n_work(self) -> int:
        """Length of scratch memory, in doubles, that the programs need."""
        return max(function.n_work for function in self.programs.values())

    def record(self, integration: IntegratorState) -> Record:
        """Return the records in the user's declared coordinates, with the transitions."""
        return self.mode_source.told(integration, self.numbers(integration))

    def numbers(self, integration: IntegratorState) -> Record:
        """Return the records in the coordinates of each mode, with inputs and energies.

        These coordinates are regular; near a singularity of the declared coordinates digits would be lost.
        """
        states, notes, stretches = integration.states(), integration.notes(), integration.stretches()
        looks = [integration.problems[s.key]._look(integration, states[s.rows], notes[s.rows]) for s in stretches]
        given, energy, kept = (np.concatenate(column) for column in zip(*looks, strict=True))
        found = (event_names(self.events), integration.located_events())
        each = [integration.problems[s.key]._modes(states[s.rows], kept[s.rows]) for s in stretches]
        modes = dict.fromkeys(itertools.chain(*each))
        compiled = self.dyn.modes
        slow = tuple(mode for mode in modes if mode not in compiled) if compiled else ()
        return Record(
            self.layout, states, given, energy, self.parameters, found, kept, modes=tuple(modes), numerical=slow
        )

    def _modes(self, states: NDArray[Any], kept: NDArray[Any]) -> tuple[str, ...]:
        """Return the names of the speed selections that the run encountered."""
        return self.constraints.modes(states, kept[:, -1]) if self.constraints else ()

    def _look(
        self, integration: IntegratorState, states: NDArray[Any], notes: NDArray[Any]
    ) -> tuple[NDArray[Any], ...]:
        """Return inputs, energies and constraint residuals at records in this mode."""
        course, times = integration.course, states[:, 0]
        middle = times + course.step / 2 if course.step else np.nextafter(times, course.until)
        given = self.plan.sampled(times, middle)
        if integration.sampler is not None:
            integration.sampler.fill(given, middle)
        if integration.slow is not None:
            given = integration.slow.rows(states, given)
        if self.input_program is not None:
            given = self.input_program(states, given, self.input_program.stage(self.parameters))
        return given, self.energies(states, given), self.kept(states, notes, drifts=integration.drifts)

    def energies(self, states: Array, inputs: Array) -> Array:
        """Return kinetic and potential energy of states [t, q, u], (states, 2) [J]; NaN without bodies."""
        found = np.full((len(states), 2), np.nan)
        if self.energy is not None:
            self.energy(states, inputs[:, : self.energy.n_rest], self.energy.stage(self.parameters), out=found)
        return found

    def kept(self, states: Array, notes: Array, *, drifts: bool = False) -> Array:
        """Return constraint residuals and projection diagnostics at records, see ``Record.constraints``.

        Raises (unless ``drifts``):
            SimulationError: the constraints are violated.
        """
        if self.project is None or self.constraints is None:
            return np.zeros((len(states), 0))
        open_by = np.column_stack(self.constraints.residuals(states).largest)
        for state in () if drifts else states[(open_by > UNPROJECTED).any(axis=1)]:
            worst = self.constraints.worst(state, UNPROJECTED)
            if worst:
                raise SimulationError(
                    f"the constraints of {self.layout.model!r} are violated at t = {state[0]:.9g} s: {worst}; give "
                    "shorter steps (dt, max_step or tolerances), or end the run where the mechanism cannot move further"
                )
        return np.column_stack([open_by, notes])
