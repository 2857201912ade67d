"""Changes of the contact mode in a run, from the records of its contact log, and the pieces of one mode between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kane.analysis.sensitivities.contact_motions import ContactMotions, SlidingSlopes, StaticBound
from kane.analysis.sensitivities.impacts import STRIKES, SimultaneousImpacts, Strike
from kane.analysis.sensitivities.row_equations import Friction
from kane.analysis.sensitivities.saltation import BeginOfSlip, Saltation
from kane.analysis.sensitivities.slow_slip import graded
from kane.analysis.sensitivities.step_check import require_same_steps
from kane.analysis.sensitivities.variations import Array, Leg, ModeSlopes, steps_between
from kane.deferred import NamedTuple
from kane.dynamics.compiled_modes import statuses_in_words
from kane.errors import ModelError
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.simulation.integrators.explicit import Explicit
from kane.simulation.results.contact_log import ContactLog, TransitionRecord

# Kinds of transitions between sticking and sliding.
FRICTION_KINDS = ("slips", "sticks", "reverses")
# Normal speed of contacts closed from the start after projection, relative to the largest speed.
AT_THE_START = 1e-12
# Transition between modes, with its derivative.
Jump = Saltation | SimultaneousImpacts


class StatusChange(NamedTuple):
    """Simultaneous records that are differentiated as one: an impact with its consequences, or friction of one kind.

    Attributes:
        records: the first one is the cause.
        before: statuses of the intermittent constraints before the change.
    """

    records: list[TransitionRecord]
    before: NDArray[np.int8]

    @property
    def t(self) -> float:
        """Time [s]."""
        return self.records[0].time

    @property
    def kind(self) -> str:
        """Kind of the cause."""
        return self.records[0].kind

    @property
    def after(self) -> NDArray[np.int8]:
        """Statuses after the change."""
        return self.records[-1].statuses

    @property
    def states(self) -> tuple[Array, Array]:
        """States x = [q, u] before and after."""
        q = self.records[0].q
        return np.concatenate([q, self.records[0].u_before]), np.concatenate([q, self.records[-1].u])

    def of_kind(self, *kinds: str) -> list[int]:
        """Return the constraints that change in one of these ways."""
        return [record.cause for record in self.records if record.kind in kinds]


def mode_changes(log: ContactLog, start: float) -> tuple[NDArray[np.int8], list[StatusChange]]:
    """Return the statuses at the start of a run, and the changes after it.

    Records at the start that leave the speeds unchanged belong to the first mode.
    """
    first, found = log.statuses[0], list[StatusChange]()
    for record in log.records:
        jump = np.abs(record.u - record.u_before).max()
        if not found and record.time == start and jump <= AT_THE_START * np.abs(record.u).max(initial=1.0):
            first = record.statuses
        elif found and record.time == found[-1].t and _belongs(record, found[-1].kind):
            found[-1].records.append(record)
        else:
            found.append(StatusChange([record], found[-1].after if found else first))
    return first, found


def _belongs(record: TransitionRecord, kind: str) -> bool:
    """Check whether a record at the time of a change of this kind is part of it."""
    return kind in STRIKES or (kind in FRICTION_KINDS and record.kind == kind)


def pieces_of(
    motions: ContactMotions, method: Explicit, states: Array, log: ContactLog | None
) -> tuple[list[Leg], list[Jump]]:
    """Cut a run into pieces of one contact mode, with the transitions between them.

    Args:
        motions: motions of the model.
        method: integrator of the steps.
        states: [t, x] at the ends of all steps, (1 + steps, 1 + nx).
        log: contact log of the run; None without intermittent constraints.

    Raises:
        ModelError: the derived equations do not reproduce the steps, or a transition has no derivative.
    """
    if log is None:
        whole = Leg(motions.motion(np.zeros(0, np.int8)), states[:, 0], states[:, 1:])
        require_same_steps(whole, method, "")
        return [whole], []
    first, changes = mode_changes(log, states[0, 0])
    both = [[np.concatenate([[change.t], x]) for x in change.states] for change in changes]
    begins, ends = [states[0], *(after for _, after in both)], [*(before for before, _ in both), states[-1]]
    modes = [first, *(change.after for change in changes)]
    parts = zip(map(motions.motion, modes), begins, ends, strict=True)
    pieces = [_piece(motion, states, begin, end) for motion, begin, end in parts]
    legs = list(_graded(motions, method, changes, pieces))  # raises for slips that are too stiff for their steps
    for mode, piece in zip(modes, pieces, strict=True):
        require_same_steps(piece, method, f", with {statuses_in_words(mode.tolist(), log.intermittents)}")
    jumps: list[Jump] = []
    for k, own in enumerate(legs):
        if k:
            jumps.append(_jump(motions, changes[k - 1], (legs[k - 1][-1].motion, own[0].motion)))
        jumps += (Saltation(a.motion, b.motion, float(b.t[0]), b.x[0], b.x[0], "slip") for a, b in pairwise(own))
    return [leg for own in legs for leg in own], jumps


def _piece(motion: ModeSlopes, states: Array, begin: Array, end: Array) -> Leg:
    """Return the steps from one state [t, x] to another."""
    whole = steps_between(states, begin, end) if begin[0] != end[0] else begin[None]
    t, x = whole[:, 0], whole[:, 1:]
    return Leg(motion.directed(t, x) if isinstance(motion, SlidingSlopes) else motion, t, x)


def _graded(
    motions: ContactMotions, method: Explicit, changes: Sequence[StatusChange], pieces: Sequence[Leg]
) -> Iterator[list[Leg]]:
    """Yield each piece, with short steps where a slip in space begins or ends; in two parts if it begins."""

    def slow(change: StatusChange | None, kind: str) -> list[IntermittentEquations]:
        causes = [] if change is None else [motions.intermittents[k] for k in change.of_kind(kind)]
        return [c for c in causes if len(c.tangents) == 2]

    for piece, opening, closing in zip(pieces, (None, *changes), (*changes, None), strict=True):
        begin, end, parts = slow(opening, "slips"), slow(closing, "sticks"), [piece]
        if begin:
            whole = graded(piece, method, begin, begins=True)
            half = int(np.argmin(np.abs(whole.t - 0.5 * (whole.t[0] + whole.t[-1]))))
            parts = [Leg(whole.motion, whole.t[: half + 1], whole.x[: half + 1])]
            parts.append(Leg(piece.motion, whole.t[half:], whole.x[half:]))
        if end:
            parts[-1] = graded(parts[-1], method, end, begins=False)
        yield parts


def _jump(motions: ContactMotions, change: StatusChange, both: tuple[ModeSlopes, ModeSlopes]) -> Jump:
    """Return a change as a transition between two motions."""
    if change.kind in FRICTION_KINDS:
        return _of_friction(motions, change, both)
    first = Strike(motions.intermittents[change.records[0].cause], change.kind)
    strikes = [Strike(motions.intermittents[r.cause], r.kind) for r in change.records if r.kind in STRIKES]
    together = [guard for other in strikes[1:] if (guard := other.guard) is not None]
    closed = motions.closed(change.after, first.c)
    jump = first.saltation(both, (change.t, *change.states), closed, together)
    if len(strikes) < 2 or (jump.lawful and jump.always_together):
        return jump
    changed = np.flatnonzero(np.array(change.before) != change.after)
    if not set(changed.tolist()) <= set(change.of_kind(*STRIKES)):  # something else changes with the impacts
        return jump
    return SimultaneousImpacts(strikes, motions, change.before, change.after, change.t, *change.states)


def _of_friction(motions: ContactMotions, change: StatusChange, both: tuple[ModeSlopes, ModeSlopes]) -> Saltation:
    """Return a change between sticking and sliding, of one contact or of several contacts of a body together."""
    causes = [motions.intermittents[record.cause] for record in change.records]
    c, kind, t, (x, x_after) = causes[0], change.kind, change.t, change.states
    if kind == "slips" and motions.plan.jumps(t):
        return Saltation(*both, t, x, x_after, c.name)
    if any(len(other.tangents) != len(c.tangents) for other in causes):
        raise ModelError(
            f"{c.name!r} {kind} at t = {t:.9g} s together with another contact, one of the two in a plane and "
            "one in space. This change has no derivative in kane: end the run before that time"
        )
    if kind == "slips":
        bounds = tuple(StaticBound(other.normal, other.tangents, other.numbers.static) for other in causes)
        return BeginOfSlip(*both, t, x, x_after, c.name, bounds=bounds)
    if len(c.tangents) == 1:
        return Saltation(*both, t, x, x_after, c.name, c.tangents[0].motion)
    if kind == "reverses":
        raise ModelError(
            f"{c.name!r} reverses at t = {t:.9g} s in space, where a slip turns and does not pass through rest but "
            "by rounding; give the run smaller tolerances, and where static friction is hardly above kinetic, more "
            "of it"
        )
    rows = Strike(c, kind).rows(motions.closed(change.after, c), c.tangents)
    frictions, directions = list[Friction](), np.zeros((0, 2))
    if isinstance(both[1], SlidingSlopes):  # contacts that go on sliding
        pairs = zip(both[1].frictions, both[1].slips(np.array([t]), x_after[None])[0], strict=True)
        kept = [(friction, v / np.linalg.norm(v)) for friction, v in pairs if friction.normal is not None]
        rows += [(friction.normal, 0.0) for friction, _ in kept if friction.normal is not None]
        frictions, directions = [friction for friction, _ in kept], np.array([v for _, v in kept]).reshape(-1, 2)
    return Saltation(*both, t, x_after, x_after, c.name, None, rows, (frictions, directions))
