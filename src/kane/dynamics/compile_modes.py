"""compile_modes: Dynamics whose modes have equations of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import combinations, product
from math import comb, prod
from typing import Any

from kane.dynamics.ahead import DEPENDENT, FREE, AheadOfTime, statuses_of
from kane.dynamics.contacts.contact_functions import contact_functions
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression.arguments import require, words
from kane.formulation.constraints.candidates import CandidateEquations
from kane.formulation.constraints.near_state import read_near
from kane.formulation.equations import Equations
from kane.formulation.settling import SettledChoice
from kane.model.named_vector import position
from kane.model.speed_choice import Near
from kane.native.contacts.header import HELD, OPEN, SLIDING
from kane.native.header import KEPT

# All modes, in a word, and how many these may be.
ALL, MOST = "all", 100


def compile_modes(dyn: Dynamics, modes: Sequence[str] | None = None, *, near: Any = None) -> Dynamics:
    """The same system, with compiled equations of their own for modes that are known ahead.

    A closed loop has no choice of dependent speeds that is good everywhere: it is made at each state, in numbers. A
    mode is one such choice. For each mode given here u_d = D u_i + e, M~ and udot are derived as expressions, and what
    puts a state onto the constraints likewise. Runs call these as long as the numeric embedding would keep the choice,
    and leave it where that would.

    Where constraints come and go, a mode says which are in force, and how: "left held, right sliding". For each mode
    udot, the forces that its guards watch, and what puts a state onto its rows are derived as expressions; the
    direction of slip is read by them, and is no mode of its own. When a mode ends, and what follows it, is found in
    numbers, as ever. Modes whose rows leave nothing free, or repeat each other in every state, are left to numbers.

    In other modes, and where the expressions would lose digits (a divisor that is small; forces on what is very light
    beside the rest), a run goes on in numbers; ``print(run)`` names modes that were met and are not compiled.

    Results are those of ``dyn`` but for rounding, several times as fast. Calls that stand alone, such as
    ``fast.forward``, choose at each state, in numbers, as before.

    Args:
        dyn: what ``kane.build`` returned.
        modes: as ``run.modes`` has them, "u2, u3 dependent" or "left held, right sliding": those that a run of ``dyn``
            has met, or others. "all" is all that there are, where these are no more than 100; and None, as it is
            unless given, has a thread compile those that runs meet, while they go on in numbers: a run takes up what is
            there every 50 ms, and the next run, or the next step of a ``Stepper``, begins with it. When that is, and so
            the last digits of results, then depends on the clock. ``simulate_many`` takes what is there when it begins,
            and where that is none has what it met compiled when it is done (of choices, what it met at ``times``).
        near: a state that satisfies the constraints, as ``kane.formulate`` takes it; needed where some constraint
            equations imply the others, of which it says which are left out. Nothing is left out, and none is taken,
            where constraints come and go.

    Raises:
        ModelError: the model's constraints are not embedded in numbers, or some are not linear in the speeds; a name
            is that of no mode; the constraints do not determine the speeds of a mode, or none of the modes can be
            compiled; there are too many in all, or the equations do not fit in memory.
        CompileError: there may be no memory for the code.

    Warns:
        A mode that is met cannot be compiled: it goes on in numbers.

    Source: Gillespie 2003, section 4, on hybrid state machines; Eqs. 4-5, 43-46.
    """
    require(dyn, Dynamics, "compile_modes needs Dynamics, as kane.build(equations) makes them")
    eqs = dyn.equations
    _require_several(eqs)
    if eqs.candidates:
        _require_no_state(eqs, near)
        return _of_contacts(dyn, modes)
    at = None if near is None else Near(read_near(eqs.model, near).q, ())
    if modes is None:
        dependent: Sequence[tuple[str, ...]] = ()
    else:
        dependent = _choices(dyn, at) if modes == ALL else [_dependent(mode, eqs) for mode in _given(modes, eqs)]
    fast = Dynamics(eqs, dyn.compile, AheadOfTime(tuple(dict.fromkeys(dependent)), at, met=modes is None))
    with _in_memory(eqs, len(dependent)):
        fast.function("rhs")  # compiles them all
    return fast


def _choices(dyn: Dynamics, near: Near | None) -> list[tuple[str, ...]]:
    """The dependent speeds of all choices that the constraints determine."""
    eqs, names = dyn.equations, [leaf.name for leaf in dyn.equations.u]
    rank = len(eqs.constraints)
    if near is not None:
        rank = len(names) - len(dyn.independent([near.q[leaf.name] for leaf in eqs.q]))
    _require_few(eqs, comb(len(names), rank))
    found = []
    # Rows of which some follow from the others may hold every speed where the configuration does not close the loops.
    for dependent in combinations(names, rank) if rank < len(names) else ():
        with suppress(ModelError):
            SettledChoice(eqs, dependent, near).consequences()
            found.append(dependent)
    if not found:
        raise ModelError(
            f"no {rank} speeds of {eqs.name!r} are determined by its constraints, some of which follow from the others "
            "or say nothing; give near= a state on them, as kane.assemble(dyn, ...) finds it"
        )
    return found


def _require_few(eqs: Equations, count: int) -> None:
    if count > MOST:
        raise ModelError(
            f"{eqs.name!r} has {count} modes, and no more than {MOST} are compiled ahead; give those that a run has "
            "met (run.modes), or leave modes out to have them compiled as runs meet them"
        )


def _given(modes: Any, eqs: Equations) -> Sequence[str]:
    found = words(modes, "modes", "modes")
    if not found:
        raise ModelError(f"no mode of {eqs.name!r} is given to compile; give run.modes of a run that has met some")
    return found


@contextmanager
def _in_memory(eqs: Equations, count: int) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise ModelError(
            f"the equations of {count} modes of {eqs.name!r} do not fit in memory; give fewer, such as those that "
            "a run has met (run.modes): others are embedded in numbers"
        ) from None


def _of_contacts(dyn: Dynamics, modes: Any) -> Dynamics:
    """``compile_modes`` of constraints that come and go."""
    eqs = dyn.equations
    if modes is None:
        statuses: Sequence[tuple[int, ...]] = ()
    else:
        statuses = _all(eqs) if modes == ALL else [_statuses(mode, eqs) for mode in _given(modes, eqs)]
    names = tuple(c.name for c in eqs.candidates)
    fast = Dynamics(eqs, dyn.compile, AheadOfTime((), None, tuple(dict.fromkeys(statuses)), names, met=modes is None))
    with _in_memory(eqs, len(statuses)):
        functions = contact_functions(fast)  # compiles them all
    assert functions is not None
    if statuses and not functions.parts.modes.statuses:
        raise ModelError(
            f"the rows in force in each of these modes of {eqs.name!r} leave nothing free, or repeat each other: such "
            "modes are embedded in numbers; simulate it as it is"
        )
    return fast


def _all(eqs: Equations) -> list[tuple[int, ...]]:
    """The statuses of candidates in all modes that can be thought of."""
    each = [
        (OPEN, HELD)[c.normal is None and c.candidate.on is None :] + ((SLIDING,) if _slides(c) else ())
        for c in eqs.candidates
    ]
    _require_few(eqs, prod(map(len, each)))
    return list(product(*each))


def _statuses(mode: str, eqs: Equations) -> tuple[int, ...]:
    """The statuses of candidates in a mode."""
    slides = {c.name: _slides(c) for c in eqs.candidates}
    found = statuses_of(mode, list(slides))
    if found is None or any(status == SLIDING and not slides[name] for name, status in zip(slides, found, strict=True)):
        known = [f"'{name} held'" + f" or '{name} sliding'" * may for name, may in slides.items()]
        raise ModelError(
            f"{shown(mode)} is no mode of {eqs.name!r}: write {FREE!r}, or what is in force, each once, with commas in "
            f"between: {', '.join(known)}"
        )
    return found


def _slides(c: CandidateEquations) -> bool:
    """Whether it may be in force and slide: it has friction, and a way along which."""
    return bool(c.tangents) and c.candidate.friction is not None


def _require_no_state(eqs: Equations, near: Any) -> None:
    if near is not None:
        raise ModelError(
            f"near= says which constraint equations of a closed loop are left out, and of {eqs.name!r}, whose "
            "constraints come and go, none is; leave near out"
        )


def _require_several(eqs: Equations) -> None:
    if not eqs.candidates and eqs.embedding.choice.in_runs != KEPT:
        raise ModelError(
            f"{eqs.name!r} has one mode, which is compiled already ({eqs.notes_on_embedding}); simulate it as it is"
        )
    for row in eqs.constraints:
        if not row.linear:
            raise ModelError(
                f"the constraint {row.name!r} of {eqs.name!r} is not linear in the speeds: dependent speeds have no "
                "expressions, and its modes cannot be compiled; simulate it as it is, in numbers"
            )


def _dependent(mode: str, eqs: Equations) -> tuple[str, ...]:
    """The dependent speeds of a mode, in the order of u."""
    names = [leaf.name for leaf in eqs.u]
    found = mode.removesuffix(DEPENDENT)
    if found == mode:
        example = ", ".join(names[-2:]) + DEPENDENT
        raise ModelError(f"{shown(mode)} is no mode of {eqs.name!r}; modes are such as {example!r}")
    places = [position(name.strip(), names, "speed") for name in found.split(",")]
    return tuple(names[j] for j in sorted(set(places)))
