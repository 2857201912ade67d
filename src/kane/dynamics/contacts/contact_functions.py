"""Native functions of models with intermittent constraints, which call the programs of one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.dynamics.compiled_modes import NO_COMPILED_MODES, CompiledModes, statuses_in_words
from kane.dynamics.contacts.compiled_contacts import CompiledMode, ContactModes
from kane.dynamics.contacts.contact_table import contact_table, sticks
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.embedded.constrained_function import ConstrainedFunction, Parts
from kane.dynamics.embedded.front_plan import FrontPlan
from kane.dynamics.lane_modes import LaneModes
from kane.dynamics.named_programs import NamedPrograms
from kane.engine.hybrid import chart_programs, compiled_mode_programs, mode_programs
from kane.engine.hybrid.moreau_jean import moreau_jean_step
from kane.engine.hybrid.transition import transition
from kane.engine.laws.slip import LEAST_BEGUN
from kane.engine.memory.constants import CONTACT_BLOCK, CONTACT_STATE, HELD_RESIDUALS
from kane.engine.memory.constraint_codes import KEPT
from kane.engine.memory.constraint_memory import contact_constants_of, contact_scratch_of
from kane.engine.memory.contact_codes import (
    ALWAYS,
    CAPACITIES,
    FACTOR,
    FREE,
    GAPS,
    MANY_SPEEDS,
    MOST,
    MOVING,
    OPEN,
    SIGNALS,
    SOLUTIONS,
    STICKING,
    SUBSTITUTION,
)
from kane.engine.memory.fill import NO_MEMORY, filled
from kane.engine.memory.views import (
    ContactState,
    compiled_mode_block_at,
    contact_state_at,
    projected_state_size,
    row_record_size,
    time_step_given_size,
    transition_size,
)
from kane.errors import ModelError
from kane.formulation.constraints.intermittent_rows import read_forces
from kane.formulation.equations import Equations
from kane.formulation.quantities.responses import Responses

if TYPE_CHECKING:
    from kane.codegen.programs.alike import Unscheduled
    from kane.dynamics.contacts.charted_contacts import ChartPrograms


@dataclass(frozen=True)
class ContactParts(Parts):
    """Programs of the equations with the rows of all intermittent constraints, and the sizes that native code reads.

    Attributes:
        gaps: the program "gaps".
        quick: programs of the tree response, by their numbers in the block; empty if only coordinates are projected.
        own_programs: programs of each intermittent constraint, by the array of their addresses and its number.
        shared: number of values that rows share with the factor of M.
        entries: number of entries of the factor L below its diagonal.
        widths: number of columns in the records of the rows of each constraint, and last of the permanent rows.
        modes: compiled modes.
        charts: programs that change charts; None without charts.
    """

    gaps: CompiledFunction
    quick: Mapping[int, CompiledFunction]
    own_programs: Mapping[tuple[str, int], CompiledFunction]
    shared: int
    entries: int
    widths: Sequence[int]
    modes: ContactModes
    charts: ChartPrograms | None = None

    @property
    def called(self) -> tuple[ArrayFunction, ...]:
        charts = self.charts.called if self.charts else ()
        rows = self.own_programs.values()
        return (*self.listed, self.gaps, *self.quick.values(), *rows, *self.modes.programs, *charts)

    def block(self) -> np.ndarray:
        return self._block([0] * len(self.called), 0)

    def header(self, mode: int) -> np.ndarray:
        head = super().header(mode)
        starts = len(head) + np.cumsum([0, *(p.n_stage for p in self.called)])
        nc = len(self.equations.intermittents)
        scratch = contact_scratch_of(contact_constants_of(head).head, nc, NO_MEMORY).end
        block = self._block(starts.tolist(), scratch)
        head[len(head) - len(block) :] = block
        return head

    def _block(self, starts: Sequence[int], scratch: int) -> np.ndarray:
        """Return the regions that follow the lists of the header, int64.

        Args:
            starts: places at which the constants of the called programs begin.
            scratch: place of ResponseScratch in the scratch memory.
        """
        eqs, places = self.equations, iter(starts[len(self.listed) :])
        nc = len(eqs.intermittents)
        addresses, found = np.zeros(SOLUTIONS + 2 * len(CAPACITIES), np.int64), np.zeros((2, nc), np.int64)
        stages = addresses.copy()
        for which, program in {GAPS: self.gaps, **self.quick}.items():
            addresses[which], stages[which] = program.address, next(places)
        programs = {name: found.copy() for name in ("answer", "slide", "moves")}
        for (name, k), program in self.own_programs.items():
            programs[name][:, k] = program.address, next(places)
        columns = {**{k: v[0] for k, v in programs.items()}, **{f"{k}_place": v[1] for k, v in programs.items()}}
        block = filled(
            CONTACT_BLOCK,
            addresses=addresses,
            places=stages,
            constraints=nc,
            permanent=len(eqs.permanent),
            closings=len(eqs.closing) + len(eqs.held),
            in_turn=eqs.model.impacts == "in turn",
            shared=self.shared,
            columns=self.widths[-1],
            room=self.room,
            entries=self.entries,
            inputs=len(eqs.inputs),
            scratch=scratch,
        )
        modes = self.modes.block([next(places) for _ in self.modes.programs])
        parts = [block, contact_table(eqs, self.widths, columns), self._fresh(), modes]
        if self.charts:
            parts.append(self.charts.block([next(places) for _ in self.charts.called], self.modes.expected))
        return np.concatenate(parts)

    def _fresh(self) -> np.ndarray:
        """Return the ContactState and the HeldResiduals at the start of a run, int64."""
        intermittents, closing, held = self.equations.intermittents, self.equations.closing, self.equations.held
        nc = len(intermittents)
        state = filled(
            CONTACT_STATE,
            status=[STICKING if sticks(c) else OPEN for c in intermittents],
            armed=np.ones(nc, np.int64),
            along=np.zeros((nc, 2)),
            begun=np.full(nc, LEAST_BEGUN),
        )
        value = np.concatenate([np.zeros(len(closing)), np.full(len(held), np.nan)])
        return np.concatenate([state, filled(HELD_RESIDUALS, value=value, found=np.zeros(len(value)))])

    @property
    def room(self) -> int:
        """Number of doubles in the records of all rows, or of the rows of the largest solution program."""
        n = len(self.equations.u)
        if n <= MANY_SPEEDS:
            return int(max(MOST, len(self.equations.constraints)) * row_record_size(n))
        rows = [*(len(c.rows) for c in self.equations.intermittents), len(self.equations.permanent)]
        return int(sum(width + count * row_record_size(width) for width, count in zip(self.widths, rows, strict=True)))

    @cached_property
    def state_places(self) -> ContactState:
        """The indices of the ContactState in a stage."""
        c = contact_constants_of(self.expected)
        return contact_state_at(np.arange(len(self.expected)), c.table.end, c.block.constraints)

    def owns(self, stage: np.ndarray) -> bool:
        given, changes = stage.copy(), self.moving
        given[changes] = self.expected.view(np.float64)[changes]
        if self.modes.expected:
            chosen = compiled_mode_block_at(given, changes.stop).chosen
            if not self.modes.knows(int(chosen[0])):
                return False
            chosen[:] = compiled_mode_block_at(self.expected, changes.stop).chosen
        return super().owns(given)

    @property
    def in_lanes(self) -> LaneModes:
        """Programs of the compiled modes for SIMD lanes."""
        return self.modes.in_lanes(self.expected, self.state_places)

    @property
    def moving(self) -> slice:
        """Slice of the constants that depends on the contact mode: ContactState and HeldResiduals."""
        c = contact_constants_of(self.expected)
        return slice(c.table.end, c.held.end)

    def _lists(self) -> tuple[list[int], list[int], list[int]]:
        """See ``Parts``; rows that keep a configuration residual follow the rows of the configuration."""
        order, rows, quaternions = super()._lists()
        held = [] if self.own else [i for i, row in enumerate(self.equations.constraints) if row.integral is not None]
        return order, [*rows, *held], quaternions


@dataclass(frozen=True)
class ContactFunctions:
    """Native functions of one model with intermittent constraints.

    All functions share the same constants. These contain the contact mode, which ``transition`` writes.

    Attributes:
        equations: equations with the rows of all intermittent constraints.
        parts: the programs that the functions call.
        rhs: [qdot, udot] in the active mode.
        project: projection of a state onto the active rows, as ``Dynamics.project``.
        project_step_end: projection at the end of a step of a run; it may read the last slope of the step.
        guards: guards of the charts, then two for each constraint, negative where the mode ends; then the outputs of
            ``rhs``.
        transition: transition to the next mode, with the outputs of the region Transition.
        tree: tree response of the equations.
        modes: modes to be compiled.
        code_of: compiles a program.
    """

    equations: Equations
    parts: ContactParts
    rhs: ConstrainedFunction
    project: ConstrainedFunction
    project_step_end: ConstrainedFunction
    guards: ConstrainedFunction
    transition: ConstrainedFunction
    tree: Responses
    modes: CompiledModes
    code_of: Callable[[Program], CompiledFunction]

    @classmethod
    def of(cls, programs: NamedPrograms, modes: CompiledModes = NO_COMPILED_MODES) -> ContactFunctions:
        """Return the functions of equations with intermittent constraints; modes with expressions are compiled."""
        touching = programs.of("with_intermittent_rows")
        eqs = touching.equations
        made = cls._over(_parts(touching, ContactModes.of(eqs, modes)), Responses(eqs), modes, programs.compile)
        for statuses in modes.statuses:
            with suppress(ModelError):
                made = made.with_mode(statuses)
        return made

    @classmethod
    def _over(
        cls, parts: ContactParts, tree: Responses, modes: CompiledModes, code_of: Callable[[Program], CompiledFunction]
    ) -> ContactFunctions:
        eqs, charts = parts.equations, parts.charts
        n, nq, m, nc = len(eqs.u), len(eqs.q), len(eqs.constraints), len(eqs.intermittents)
        programs = compiled_mode_programs if parts.modes.expected else mode_programs
        ends = compiled_mode_programs.project if parts.modes.expected else mode_programs.project_step_end
        in_charts = (chart_programs.guards, chart_programs.transition)
        guards, transitions = in_charts if charts else (programs.guards, transition)
        numbers = 2 * nc + (charts.near.n_out if charts else 0)
        return cls(
            eqs,
            parts,
            _function("rhs", programs.rhs, parts, nq + n),
            _function("project", programs.project, parts, projected_state_size(n, nq)),
            _function("project", ends, parts, projected_state_size(n, nq)),
            _function("guards", guards, parts, numbers + nq + n),
            _function("transition", transitions, parts, transition_size(nc, m, n, nq)),
            tree,
            modes,
            code_of,
        )

    def with_mode(self, statuses: tuple[int, ...]) -> ContactFunctions:
        """Return the functions with one more compiled mode, given by the statuses of the constraints.

        Raises:
            ModelError: the mode has no expressions.
        """
        from kane.formulation.contact_mode import ContactMode

        mode = ContactMode(self.equations, self.tree, statuses)
        mode.require_independent()
        known = self.parts.modes
        modes = replace(known, modes=(*known.modes, CompiledMode.of(mode, self.code_of)))
        return self._over(replace(self.parts, modes=modes), self.tree, self.modes, self.code_of)

    def in_charts(self, charts: ChartPrograms) -> ContactFunctions:
        """Return the functions for runs that change charts."""
        return self._over(replace(self.parts, charts=charts), self.tree, self.modes, self.code_of)

    @property
    def known(self) -> tuple[tuple[int, ...], ...]:
        """Statuses of the constraints in each compiled mode."""
        return self.parts.modes.statuses

    def words(self, statuses: tuple[int, ...]) -> str:
        """Return the name of a mode, as in ``Trajectory.modes``."""
        return statuses_in_words(statuses, [c.name for c in self.equations.intermittents])

    @cached_property
    def reactions(self) -> ConstrainedFunction:
        """Force of each row in the active mode, in the order of ``equations.constraints``."""
        programs = compiled_mode_programs if self.parts.modes.expected else mode_programs
        return _function("reactions", programs.reactions, self.parts, len(self.equations.constraints))

    @cached_property
    def moreau_jean_step(self) -> ConstrainedFunction:
        """One Moreau-Jean time step from a TimeStepGiven, see ``kane.engine.hybrid.moreau_jean``."""
        code, length = moreau_jean_step, self.transition.n_out
        return MoreauJeanFunction(
            "Moreau-Jean step", code, self.parts, length, mode=KEPT, rest=self.equations.inputs, threads=1
        )


class ContactFunction(ConstrainedFunction):
    """Native function that reads the constants of intermittent constraints."""

    parts: ContactParts

    def scratch(self, head: np.ndarray) -> int:
        return self.parts.modes.scratch(contact_constants_of(head))


class MoreauJeanFunction(ContactFunction):
    """A Moreau-Jean time step, whose argument is a TimeStepGiven."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.n_state = time_step_given_size(self.n_state - 1, len(self.parts.equations.constraints))


def _function(name: str, code: Callable[[], int], parts: ContactParts, length: int) -> ContactFunction:
    return ContactFunction(name, code, parts, length, mode=KEPT, rest=parts.equations.inputs, threads=1)


def contact_functions(dyn: Dynamics) -> ContactFunctions | None:
    """Return the native functions of intermittent constraints, made once; None without such constraints."""
    if not dyn.equations.intermittents:
        return None
    return dyn.derived("contacts", lambda: ContactFunctions.of(dyn.named, dyn.compiled_modes))


def _parts(programs: NamedPrograms, modes: ContactModes, *, projected_only: bool = False) -> ContactParts:
    eqs = programs.equations
    listed = [programs.code("constraints"), programs.code("configuration found")]
    listed += [programs.of("unconstrained").code("kinematics"), programs.code("unconstrained")]
    own = None
    if eqs.system.own is not None:
        inner = programs.of("own")
        length = projected_state_size(len(inner.equations.u), len(inner.equations.q))
        own = _function("project", mode_programs.project, _parts(inner, ContactModes(), projected_only=True), length)
    first = eqs, tuple(listed), own, FrontPlan(0, []), programs.code("gaps")
    if projected_only:
        return ContactParts(*first, {}, {}, 0, 0, [0] * (len(eqs.intermittents) + 1), modes)
    responses = Responses(eqs)
    factor, sizes = programs.code_with_notes("factor", responses.factor, lambda: _sizes(eqs, responses))
    shared, entries, widths = sizes
    others = {which: programs.code(name, make) for which, (name, make) in _quick_programs(eqs, responses).items()}
    own_programs = programs.codes("rows of each constraint", _own_programs(eqs, responses))
    quick = {FACTOR: factor, FREE: programs.of("unconstrained").code("rhs"), **others}
    if read_forces(eqs.intermittents):
        quick[SIGNALS] = programs.code("signals")
    return ContactParts(*first, quick, own_programs, shared, entries, widths, modes)


def _sizes(eqs: Equations, responses: Responses) -> tuple[int, int, list[int]]:
    """``ContactParts.shared``, ``entries`` and ``widths``."""
    widths = [len(responses.columns(rows)) for rows in (*(c.rows for c in eqs.intermittents), eqs.permanent)]
    return len(responses.shared), len(responses.entries), widths


def _quick_programs(eqs: Equations, responses: Responses) -> dict[int, tuple[str, Callable[[], Program]]]:
    """Return the programs of ``ContactParts.quick`` besides the factor: their names, and functions that derive them."""
    m, permanent = len(eqs.constraints), eqs.permanent
    found: dict[int, tuple[str, Callable[[], Program]]] = {SUBSTITUTION: ("substitution", responses.substitution)}
    if permanent:
        held, velocities = "permanent rows", "velocities of permanent rows"
        found[ALWAYS] = held, lambda: responses.held(held, permanent).program
        found[MOVING] = velocities, lambda: responses.velocities(velocities, permanent).program
    if len(eqs.u) <= MANY_SPEEDS:
        below = (0, *CAPACITIES)
        for k, capacity in enumerate(CAPACITIES):
            if below[k] < m:
                for slides in (False, True):
                    make = partial(responses.solution, capacity, slides=slides)
                    found[SOLUTIONS + 2 * k + slides] = f"solution {capacity} {slides}", make
    return found


def _own_programs(eqs: Equations, responses: Responses) -> dict[tuple[str, int], tuple[str, Callable[[], Unscheduled]]]:
    """Return the programs of ``ContactParts.own_programs``: their names, and functions that derive their outputs."""
    found = {}
    for k, c in enumerate(eqs.intermittents):
        found["answer", k] = _derived(responses.held, f"rows of {c.name}", c.rows)
        found["moves", k] = _derived(responses.velocities, f"velocities of {c.name}", c.rows)
        if c.constraint.friction is not None and c.tangents:
            found["slide", k] = _derived(responses.sliding, f"friction of {c.name}", c)
    return found


def _derived(derive: Callable[[str, Any], Unscheduled], name: str, of: Any) -> tuple[str, Callable[[], Unscheduled]]:
    return name, partial(derive, name, of)
