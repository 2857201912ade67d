"""The native functions of systems whose constraints come and go, over the programs of one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.dynamics.constrained_function import ConstrainedFunction, Parts
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.front_plan import FrontPlan
from kane.formulation.constraints.candidates import CandidateEquations
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import program
from kane.formulation.quantities.responses import Responses
from kane.model.contacts import Coulomb, Newton
from kane.native.blocks import settled_places
from kane.native.contacts import programs as native
from kane.native.contacts.blocks import change_places, quick_places
from kane.native.contacts.excursion import change
from kane.native.contacts.header import (
    ALWAYS,
    ANSWER,
    ARMED,
    BLOCK,
    CANDIDATES,
    CAPACITIES,
    CHANGING,
    CONTRADICTED,
    COULOMB,
    ENDLESS,
    ENERGY_GAINED,
    FACTOR,
    FREE,
    GAPS,
    HELD,
    KINETIC,
    MOST,
    NEWTON,
    NO_MODE,
    NONE,
    NOT_FINITE,
    OPEN,
    OPPOSED,
    PERMANENT,
    POISSON,
    SOLUTIONS,
    STATUS,
    TABLE,
    THRESHOLDS,
    UNBOUNDED,
    block_at,
    changing_at,
)
from kane.native.contacts.quick import REPEATED
from kane.native.header import HEADER, KEPT

# With more speeds the solutions for rows would be longer than what they save is worth.
MANY_SPEEDS = 24


@dataclass(frozen=True)
class ContactParts(Parts):
    """The same programs with the rows of all candidates, and what native code knows of these.

    Attributes:
        gaps: the program "gaps".
        quick: what ``kane.native.contacts.quick`` calls besides, by the place of its address in the block or, for the
            rows of candidate k, BLOCK + k; none where coordinates alone are settled.
    """

    gaps: CompiledFunction
    quick: Mapping[int, CompiledFunction]

    @property
    def called(self) -> tuple[ArrayFunction, ...]:
        return (*self.listed, self.gaps, *self.quick.values())

    @property
    def plan(self) -> FrontPlan:
        """None: rows come and go, and with them what ties columns together."""
        return FrontPlan(0, [])

    def block(self) -> np.ndarray:
        candidates = self.equations.candidates
        first = len(self.equations.constraints) - sum(len(c.rows) for c in candidates)
        block, changing = np.zeros(BLOCK, np.int64), np.zeros((len(candidates), CHANGING), np.int64)
        block[CANDIDATES], block[PERMANENT] = len(candidates), first
        changing[:, STATUS] = [HELD if sticks(c) else OPEN for c in candidates]
        changing[:, ARMED] = 1
        return np.concatenate([block, self._table(first).ravel(), changing.ravel()])

    def header(self, mode: int) -> np.ndarray:
        head = super().header(mode)
        starts = len(head) + np.cumsum([0, *(p.n_stage for p in self.called)])
        first = len(self.listed)
        for k, (place, found) in enumerate({GAPS: self.gaps, **self.quick}.items()):
            at = block_at(head) + (place if place < BLOCK else BLOCK + ANSWER + TABLE * (place - BLOCK))
            head[at : at + 2] = found.address, starts[first + k]
        return head

    def _table(self, first: int) -> np.ndarray:
        """The row of the table for each candidate, whose rows begin at ``first``."""
        rows = []
        for c in self.equations.candidates:
            tangent = first + (c.normal is not None)
            law = NEWTON if isinstance(c.candidate.restitution, Newton) else POISSON
            of = c.candidate
            rows.append(
                [
                    NONE if c.normal is None else first,
                    tangent,
                    len(c.tangents),
                    bounds_of(c),
                    law,
                    of.bilateral,
                    of.on is not None,
                    of.off is not None,
                    0,  # the program of its rows, see ``header``
                    0,
                ]
            )
            first += len(c.rows)
        return np.array(rows, np.int64).reshape(-1, TABLE)

    def owns(self, stage: np.ndarray) -> bool:
        given = stage.copy()
        given[self.changing] = self.expected.view(np.float64)[self.changing]
        return super().owns(given)

    @cached_property
    def changing(self) -> slice:
        """The places in a stage of what changes in a run."""
        nc = len(self.equations.candidates)
        start = int(changing_at(self.expected[:HEADER], nc))
        return slice(start, start + CHANGING * nc)


def sticks(c: CandidateEquations) -> bool:
    """Whether a candidate is closed unless friction slips."""
    return bounds_of(c) == THRESHOLDS


def bounds_of(c: CandidateEquations) -> int:
    """What bounds the tangents, as the table numbers it."""
    friction = c.candidate.friction
    if friction is None:
        return UNBOUNDED
    return COULOMB if isinstance(friction, Coulomb) else THRESHOLDS


@dataclass(frozen=True)
class ContactFunctions:
    """Native functions of one model whose constraints come and go, over one stage.

    The stage that any of them makes serves all: the mode is in it, where ``change`` writes it.

    Attributes:
        equations: with the rows of all candidates.
        parts: the programs called.
        rhs: [qdot, udot] in the mode of the stage.
        settle: the state on the rows in force, as ``Dynamics.settle``.
        guards: two numbers for each candidate, negative where the mode ends.
        change: an excursion, see ``kane.native.contacts.blocks.ChangePlaces``.
    """

    equations: Equations
    parts: ContactParts
    rhs: ConstrainedFunction
    settle: ConstrainedFunction
    guards: ConstrainedFunction
    change: ConstrainedFunction

    @classmethod
    def of(cls, equations: Equations, code_of: Callable[[Program], CompiledFunction]) -> ContactFunctions:
        """The functions of equations that have candidates."""
        eqs = equations.with_candidates
        parts = _parts(eqs, code_of)
        n, nq, m, nc = len(eqs.u), len(eqs.q), len(eqs.constraints), len(eqs.candidates)
        return cls(
            eqs,
            parts,
            _function("rhs", native.rhs, parts, nq + n),
            _function("settle", native.settle, parts, settled_places(n, nq).end),
            _function("guards", native.guards, parts, 2 * nc),
            _function("change", change, parts, change_places(nc, m, n, nq).end),
        )

    @cached_property
    def reactions(self) -> ConstrainedFunction:
        """The force of each row in the mode of the stage, in the order of ``equations.constraints``."""
        return _function("reactions", native.reactions, self.parts, len(self.equations.constraints))

    @property
    def changing(self) -> slice:
        """The places in the stage of what changes in a run: statuses, directions of slip, what counts as a change."""
        return self.parts.changing


class ContactFunction(ConstrainedFunction):
    """A function over the stage of candidates."""

    parts: ContactParts

    def scratch(self, head: np.ndarray) -> int:
        return int(quick_places(head, len(self.parts.equations.candidates)).end)


def _function(name: str, code: Callable[[], int], parts: ContactParts, length: int) -> ContactFunction:
    return ContactFunction(name, code, parts, length, mode=KEPT, rest=parts.equations.inputs, threads=1)


def contact_functions(dyn: Dynamics) -> ContactFunctions | None:
    """The functions of Dynamics whose model has constraints that come and go, made once; None without any."""
    if not dyn.equations.candidates:
        return None
    return dyn.derived("contacts", lambda: ContactFunctions.of(dyn.equations, dyn.compile))


def _parts(
    eqs: Equations, code_of: Callable[[Program], CompiledFunction], *, settled_only: bool = False
) -> ContactParts:
    programs = [program(eqs, "constraints"), program(eqs, "configuration")]
    programs += [program(eqs.unconstrained, "kinematics"), program(eqs, "unconstrained")]
    own = None
    if eqs.system.own is not None:
        inner = eqs.own
        length = settled_places(len(inner.u), len(inner.q)).end
        own = _function("settle", native.settle, _parts(inner, code_of, settled_only=True), length)
    quick = {} if settled_only else {place: code_of(p) for place, p in _quick_programs(eqs).items()}
    return ContactParts(eqs, tuple(code_of(p) for p in programs), own, gaps=code_of(program(eqs, "gaps")), quick=quick)


def _quick_programs(eqs: Equations) -> dict[int, Program]:
    """What ``ContactParts.quick`` is made of."""
    responses, m = Responses(eqs), len(eqs.constraints)
    permanent = eqs.constraints[: m - sum(len(c.rows) for c in eqs.candidates)]
    found = {FACTOR: responses.factor(), FREE: program(eqs.unconstrained, "rhs")}
    if permanent:
        found[ALWAYS] = responses.rows("permanent rows", permanent, 0.0)
    if len(eqs.u) <= MANY_SPEEDS:
        below = (0, *CAPACITIES)
        for k, capacity in enumerate(CAPACITIES):
            if below[k] < m:
                for slides in (False, True):
                    code = responses.solution(capacity, MOST, REPEATED, slides=slides)
                    found[SOLUTIONS + 4 * k + 2 * slides] = code
    for k, c in enumerate(eqs.candidates):
        found[BLOCK + k] = responses.rows(f"rows of {c.name}", c.rows, c.numbers[KINETIC])
    return found


def refusal(equations: Equations, out: np.ndarray) -> str:
    """Why a change found no mode to go on in, from what "change" gave for equations with the rows of all candidates."""
    rows = equations.constraints
    at = change_places(len(equations.candidates), len(rows), len(equations.u), len(equations.q))
    names = [repr(c.name) for c in equations.candidates]
    touching, status = ", ".join(names), int(out[at.status])
    cause = int(out[at.cause])
    who = names[cause] if cause >= 0 else touching
    if status == OPPOSED:
        left = np.abs(out[at.impulses : at.impulses + len(rows)])
        shares = [(row.name, x) for row, x in zip(rows, left, strict=True) if x > OPPOSING * left.max()]
        who = ", ".join(f"{name!r} (off by {x:.6g})" for name, x in shares)
    in_force = out[at.statuses : at.end] != OPEN
    both_ways = [c.candidate.bilateral and k != cause for k, c in enumerate(equations.candidates)]
    held = [name for name, on, both in zip(names, in_force, both_ways, strict=True) if on and both]
    holding = ", ".join([*(repr(c.name) for c in equations.model.constraints), *held])
    return REFUSALS[status].format(who=who, touching=touching, holding=f", {holding}" if holding else "")


# Rows that are off by less than this share of the worst are not named beside it.
OPPOSING = 0.1
REFUSALS = {
    NO_MODE: (
        "no mode was found in which what is closed pushes and what sticks holds, last looked at was {who}, among "
        "{touching}; friction of this size has no solution with rigid bodies there: less friction has"
    ),
    ENERGY_GAINED: (
        "the impact of {who} with Newton's restitution and friction would make energy (Kane's paradox); give the "
        "restitution as a number or kane.Poisson, which does not"
    ),
    ENDLESS: (
        "impacts that meet in one instant do not come to an end, the last one was of {who}; give some of the contacts "
        "less restitution"
    ),
    CONTRADICTED: (
        "{who} contradicts other constraints that hold both ways{holding}: no forces keep them together; take one of "
        "them out"
    ),
    OPPOSED: (
        "constraints that are in force at once there contradict each other, no speeds keep all of {who}; delete one "
        "before the other is imposed"
    ),
    NOT_FINITE: "the change that {who} causes ends in a state that is not finite",
}
