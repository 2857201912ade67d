"""``kane.compile_modes``: Dynamics with separately compiled equations for individual modes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import combinations, product
from math import comb, prod
from typing import Any

from kane.dynamics.compiled_modes import DEPENDENT_SUFFIX, FREE_MODE, CompiledModes, statuses_of
from kane.dynamics.contacts.contact_functions import contact_functions
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.constraint_codes import KEPT
from kane.engine.memory.contact_codes import OPEN, SLIDING, STICKING
from kane.errors import ModelError, shown
from kane.expression.number_arguments import require, words
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.constraints.near_state import read_near
from kane.formulation.equations import Equations
from kane.formulation.projection_step import ProjectedSelection
from kane.model.named_vector import index_of_name
from kane.model.speed_choice import Near

# Argument value that requests all modes, and the largest number of modes that it may mean.
ALL_MODES, MAX_COMPILED_MODES = "all", 100


def compile_modes(dyn: Dynamics, modes: Sequence[str] | None = None, *, near: Any = None) -> Dynamics:
    """Return the same system with separately compiled equations for given modes.

    In a closed loop no speed selection is regular everywhere, so that dependent speeds are selected numerically at each
    state. A mode of a closed loop is one speed selection. For each given mode, u_d = D u_i + e, M~ = R^T M R, udot and
    the projection onto the constraints are derived symbolically. Runs use these programs as long as the numerical
    embedding would keep the selection.

    With intermittent constraints, a mode is the set of active constraints and their status: "left held, right sliding".
    For each mode udot, the forces in its guards, and the projection onto its rows are derived symbolically. One mode
    covers all slip directions, which are arguments of its programs. The end of a mode and the next mode are found
    numerically. Modes that leave no freedom, or whose rows are redundant in every state, are not compiled.

    A run continues numerically in all other modes, and where the compiled expressions would lose digits (small
    divisors; forces on bodies that are much lighter than the rest). ``print(run)`` names the uncompiled modes.

    Results equal those of ``dyn`` up to rounding, several times as fast. Single calls, such as ``fast.forward``,
    still select speeds numerically at each state.

    Args:
        dyn: returned by ``kane.build``.
        modes: names as in ``run.modes``, for example "u2, u3 dependent" or "left held, right sliding". "all" means
            every possible mode, at most 100. None (default) compiles the modes that runs encounter, in a background
            thread, while the runs continue numerically. A run looks for newly compiled modes every 50 ms; the next run,
            or the next step of a ``Stepper``, starts with them. The last digits of results then depend on timing.
            ``simulate_many`` uses the modes that are compiled when it starts. If there are none, it compiles at its end
            the modes that it encountered (for closed loops, those at ``times``).
        near: a state that satisfies the constraints, as for ``kane.formulate``; needed if some constraint equations are
            redundant, because the state decides which of them are omitted. Not allowed with intermittent constraints.

    Raises:
        ModelError: the constraints are not embedded numerically, or are nonlinear in the speeds.
        ModelError: a mode name is unknown, or the constraints do not determine the speeds of a mode.
        ModelError: no mode can be compiled, "all" means too many modes, or the equations do not fit in memory.
        CompileError: code could not be generated, for example for lack of memory.

    Warns:
        A mode that a run encounters cannot be compiled; the run continues numerically.

    Source: Gillespie 2003, section 4, on hybrid state machines; Eqs. 4-5, 43-46.
    """
    require(dyn, Dynamics, "compile_modes needs Dynamics, as kane.build(equations) returns")
    eqs = dyn.equations
    _require_several(eqs)
    if eqs.intermittents:
        _require_no_state(eqs, near)
        return _of_contacts(dyn, modes)
    at = None if near is None else Near(read_near(eqs.model, near).q, ())
    if modes is None:
        dependent: Sequence[tuple[str, ...]] = ()
    else:
        dependent = _choices(dyn, at) if modes == ALL_MODES else [_dependent(mode, eqs) for mode in _given(modes, eqs)]
    fast = Dynamics(eqs, dyn.compile, CompiledModes(tuple(dict.fromkeys(dependent)), at, met=modes is None))
    with _in_memory(eqs, len(dependent)):
        fast.function("rhs")  # compiles all modes
    return fast


def _choices(dyn: Dynamics, near: Near | None) -> list[tuple[str, ...]]:
    """Return the dependent speeds of every selection that the constraints determine."""
    eqs, names = dyn.equations, [leaf.name for leaf in dyn.equations.u]
    rank = len(eqs.constraints)
    if near is not None:
        rank = len(names) - len(dyn.independent([near.q[leaf.name] for leaf in eqs.q]))
    _require_few(eqs, comb(len(names), rank))
    found = []
    # Where loops are not closed, redundant rows may have the rank n, which leaves no independent speed.
    for dependent in combinations(names, rank) if rank < len(names) else ():
        with suppress(ModelError):
            ProjectedSelection(eqs, dependent, near).consequences()
            found.append(dependent)
    if not found:
        raise ModelError(
            f"no {rank} speeds of {eqs.name!r} are determined by its constraints, some of which are redundant "
            "or vanish; give near= a state that satisfies them, as kane.assemble(dyn, ...) returns"
        )
    return found


def _require_few(eqs: Equations, count: int) -> None:
    if count > MAX_COMPILED_MODES:
        raise ModelError(
            f"{eqs.name!r} has {count} modes, but at most {MAX_COMPILED_MODES} are compiled in advance; give run.modes "
            "of a run, or omit modes= to compile the modes that runs encounter"
        )


def _given(modes: Any, eqs: Equations) -> Sequence[str]:
    found = words(modes, "modes", "modes")
    if not found:
        raise ModelError(f"modes= names no mode of {eqs.name!r}; give run.modes of a run")
    return found


@contextmanager
def _in_memory(eqs: Equations, count: int) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise ModelError(
            f"the equations of {count} modes of {eqs.name!r} do not fit in memory; give fewer, such as "
            "run.modes of a run: all others are embedded numerically"
        ) from None


def _of_contacts(dyn: Dynamics, modes: Any) -> Dynamics:
    """Compile modes of intermittent constraints; see ``compile_modes``."""
    eqs = dyn.equations
    if modes is None:
        statuses: Sequence[tuple[int, ...]] = ()
    else:
        statuses = _all(eqs) if modes == ALL_MODES else [read_statuses(mode, eqs) for mode in _given(modes, eqs)]
    names = tuple(c.name for c in eqs.intermittents)
    fast = Dynamics(eqs, dyn.compile, CompiledModes((), None, tuple(dict.fromkeys(statuses)), names, met=modes is None))
    with _in_memory(eqs, len(statuses)):
        functions = contact_functions(fast)  # compiles all modes
    assert functions is not None
    if statuses and not functions.parts.modes.statuses:
        raise ModelError(
            f"in each of these modes of {eqs.name!r} the active rows leave no freedom or are redundant: they "
            "cannot be compiled; simulate the model without compile_modes"
        )
    return fast


def _all(eqs: Equations) -> list[tuple[int, ...]]:
    """Return every combination of constraint statuses."""
    each = [
        (OPEN, STICKING)[c.normal is None and c.constraint.on is None :] + ((SLIDING,) if _slides(c) else ())
        for c in eqs.intermittents
    ]
    _require_few(eqs, prod(map(len, each)))
    return list(product(*each))


def read_statuses(mode: Any, eqs: Equations) -> tuple[int, ...]:
    """Return the statuses of the intermittent constraints that the name of a mode means.

    Raises:
        ModelError: no mode has this name; the message lists the names.
    """
    slides = {c.name: _slides(c) for c in eqs.intermittents}
    found = statuses_of(mode, list(slides)) if isinstance(mode, str) else None
    if found is None or any(status == SLIDING and not slides[name] for name, status in zip(slides, found, strict=True)):
        known = [f"'{name} held'" + f" or '{name} sliding'" * may for name, may in slides.items()]
        raise ModelError(
            f"{shown(mode)} is no mode of {eqs.name!r}: write {FREE_MODE!r}, or the active constraints, each once, "
            f"separated by commas: {', '.join(known)}"
        )
    return found


def _slides(c: IntermittentEquations) -> bool:
    """Check whether a constraint can slide: it has friction and tangents."""
    return bool(c.tangents) and c.constraint.friction is not None


def _require_no_state(eqs: Equations, near: Any) -> None:
    if near is not None:
        raise ModelError(
            "near= selects which redundant constraint equations of a closed loop are omitted, but "
            f"{eqs.name!r} has intermittent constraints, of which none are omitted; leave near= out"
        )


def _require_several(eqs: Equations) -> None:
    if not eqs.intermittents and eqs.embedding.choice.in_runs != KEPT:
        raise ModelError(
            f"{eqs.name!r} has one mode, which is compiled already ({eqs.notes_on_embedding}); simulate it as it is"
        )
    for row in eqs.constraints:
        if not row.linear:
            raise ModelError(
                f"the constraint {row.name!r} of {eqs.name!r} is nonlinear in the speeds: dependent speeds have no "
                "expressions, so that its modes cannot be compiled; simulate the model without compile_modes"
            )


def _dependent(mode: str, eqs: Equations) -> tuple[str, ...]:
    """Return the dependent speeds of a mode, in the order of u."""
    names = [leaf.name for leaf in eqs.u]
    found = mode.removesuffix(DEPENDENT_SUFFIX)
    if found == mode:
        example = ", ".join(names[-2:]) + DEPENDENT_SUFFIX
        raise ModelError(f"{shown(mode)} is no mode of {eqs.name!r}; modes are such as {example!r}")
    places = [index_of_name(name.strip(), names, "speed") for name in found.split(",")]
    return tuple(names[j] for j in sorted(set(places)))
