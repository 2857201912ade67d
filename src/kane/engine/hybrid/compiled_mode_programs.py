"""Compiled modes of intermittent constraints: native programs that use the constants of the numeric programs.

If the statuses of the constraints are those of a compiled mode, its programs run; otherwise the programs of the module
``programs`` run with the same constants. The program ``change`` is always numeric. A guard that is negative or NaN is
evaluated again by the numeric program, so numeric programs alone decide when a mode ends and which mode follows.

The guards of a compiled mode also check its rounding errors. If digits are lost, the run continues with the numeric
programs until a state is settled. Then the compiled mode is searched for again.

States are settled as in ``settling``, with the factor of M. Newton's method factors M at each of its states.

Memory: CompiledModeBlock and one CompiledModeRow per mode follow HeldResiduals.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.engine.call import call_program, native_inline, native_program, vector_at
from kane.engine.linear.vectors import normalise
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import OPEN, SLIDING
from kane.engine.memory.views import (
    compiled_mode_block_at,
    compiled_mode_row_at,
    compiled_mode_row_size,
    mode_guards_at,
    mode_projected_at,
    mode_residuals_at,
    mode_scratch_at,
    mode_step_at,
    projected_state_at,
)
from kane.engine.project.contact_projection import FACTORED_STEPS
from kane.engine.project.newton import NO_STEP, iterate
from kane.engine.rows.impulses import TOUCHING
from kane.engine.rows.tree_response import AMPLIFIED, INDEPENDENT, response_scratch_of, slip_direction

# Numeric programs, in the order of their addresses in CompiledModeBlock.
RHS, PROJECT, GUARDS, REACTIONS = range(4)
NONE = -1
# Programs of a mode, in the order of their addresses in CompiledModeRow. The last three settle, and their addresses are
# zero where that is left to numbers.
OWN_RHS, OWN_GUARDS, OWN_MISSED, OWN_STEP, OWN_PROJECTED = range(5)
# Measures of lost digits, which follow the slopes in ModeGuards: the largest y^T D^-1 y of a row over its pivot; the
# largest contribution of row forces to v; the largest magnitude in v and in D^-1 z. See formulation/contact_mode.py.
DEPENDENCE, PUSHED, OTHERS, DIGITS = range(4)


class CompiledModeArrays(NamedTuple):
    """What is known of the compiled modes in a call.

    Attributes:
        of: ContactConstants.
        own: CompiledModeBlock.
        row: CompiledModeRow of the mode in force; of no meaning without one.
        given, state, before: see ModeScratch.
        found: ModeGuards.
    """

    of: Any
    own: Any
    row: Any
    given: Any
    found: Any
    state: Any
    before: Any


@native_inline
def compiled_modes_of(constants: Any, work: Any) -> Any:
    """The Ahead of a call."""
    c = contact_constants_of(constants)
    nc, m, n, nq = c.block.constraints, c.head.rows, c.head.speeds, c.head.coordinates
    own = compiled_mode_block_at(constants, c.held.end)
    s = mode_scratch_at(work, response_scratch_of(c, work).end, m, n, nq, nc, own.inputs)
    found = mode_guards_at(work, s.found, m, n, nq, nc)
    return CompiledModeArrays(
        c, own, mode_row(constants, own, max(own.chosen[0], 0), nc), s.given, found, s.state, s.before
    )


@native_inline
def mode_row(constants: Any, own: Any, k: int, nc: int) -> Any:
    """Return the CompiledModeRow of compiled mode k."""
    return compiled_mode_row_at(constants, own.end + k * compiled_mode_row_size(nc), nc)


@native_inline
def _is_mode(row: Any, state: Any) -> bool:
    """Whether the statuses are those of the row."""
    k, nc = 0, state.status.size
    while k < nc and row.statuses[k] == state.status[k]:
        k += 1
    return k == nc


@native_inline
def _is_in_force(c: Any) -> bool:
    """Whether the mode that was chosen is the one in force still."""
    return bool(c.own.chosen[0] != NONE and _is_mode(c.row, c.of.state))


@native_inline
def _numeric(c: Any, which: int, state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    given, place, result = vector_at(inputs, 0, 0), vector_at(constants, 0, 0), vector_at(out, 0, 0)
    call_program(c.own.numeric[which], vector_at(state, 0, 0), given, place, result, vector_at(work, 0, 0))


@native_inline
def _call_own(c: Any, which: int, state: Any, constants: Any, out: Any, work: Any) -> None:
    """Call a program of the mode in force with what ``_give`` has left."""
    place = vector_at(constants, c.row.places[which], 0)
    call_program(c.row.addresses[which], state, c.given, place, out, vector_at(work, 0, 0))


@native_inline
def _give(c: Any, inputs: Any) -> None:
    """Inputs, then the direction of slip of what slides, and begun."""
    at, state = c.own.inputs, c.of.state
    fed = vector_at(inputs, 0, at)
    for i in range(at):
        c.given[i] = fed[i]
    for k in range(state.status.size):
        if c.row.statuses[k] == SLIDING:
            c.given[at], c.given[at + 1] = state.along[k, 0], state.along[k, 1]
            c.given[at + 2] = state.begun[k]
            at += 3


@native_program
def rhs(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """qdot and udot in the mode of the stage."""
    c = compiled_modes_of(constants, work)
    if _is_in_force(c):
        _give(c, inputs)
        _call_own(c, OWN_RHS, vector_at(state, 0, 0), constants, vector_at(out, 0, 0), work)
    else:
        _numeric(c, RHS, state, inputs, constants, out, work)


@native_inline
def _find_forces(c: Any, state: Any, inputs: Any, constants: Any, work: Any) -> bool:
    """Guards, slopes, DIGITS and forces of the mode in force into ``found``; whether there is one and digits are kept.

    Where they are not, it is in force no longer.
    """
    if not _is_in_force(c):
        return False
    _give(c, inputs)
    _call_own(c, OWN_GUARDS, vector_at(state, 0, 0), constants, c.found.whole, work)
    if keeps_digits(c.found.digits, 0, 1):
        return True
    c.own.chosen[0] = NONE
    return False


@native_inline
def keeps_digits(found: Any, at: int, step: int) -> bool:
    """Check whether the rows are independent and no force has lost digits, which happens on very light bodies.

    Args:
        found: outputs with the measures of lost digits.
        at: place of the first measure.
        step: distance from each measure to the next.
    """
    pushed, others = found[at + PUSHED * step], found[at + OTHERS * step]
    return bool(INDEPENDENT * found[at + DEPENDENCE * step] < 1.0 and pushed <= AMPLIFIED * others)


@native_program
def guards(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Two numbers for each candidate, negative where the mode ends, then what ``rhs`` gives; all that is negative is
    found in numbers.
    """
    c = compiled_modes_of(constants, work)
    if _find_forces(c, state, inputs, constants, work):
        first, size = c.found.guards.size, c.found.guards.size + c.found.slopes.size
        result = vector_at(out, 0, size)
        for i in range(size):
            result[i] = c.found.whole[i]
        if goes_on(c.of.table, c.of.state, result[:first]):
            return
    _numeric(c, GUARDS, state, inputs, constants, out, work)


@native_program
def reactions(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """The force of every row in the mode of the stage, as ``kane.engine.hybrid.mode_programs.reactions``."""
    c = compiled_modes_of(constants, work)
    if not _find_forces(c, state, inputs, constants, work):
        _numeric(c, REACTIONS, state, inputs, constants, out, work)
        return
    result = vector_at(out, 0, c.found.forces.size)
    for i in range(result.size):
        result[i] = c.found.forces[i]


@native_inline
def goes_on(table: Any, state: Any, result: Any) -> bool:
    """Turn those guards round that do not count until they have been the other way; whether none is negative then.

    Args:
        table, state: of the candidates.
        result: two numbers for each candidate.
    """
    for k in range(state.status.size):
        timed = table.timed[k] == 1 and state.status[k] == OPEN
        ends = table.ended[k] == 1 and state.status[k] != OPEN
        if table.bilateral[k] == 1 and state.armed[k] == 0:
            if timed or ends:
                result[2 * k] = -result[2 * k] if result[2 * k] < 0.0 else -1.0
            elif state.status[k] == OPEN:
                result[2 * k] = TOUCHING - result[2 * k]
    k = 0
    while k < result.size and result[k] >= 0.0:
        k += 1
    return k == result.size


@native_program
def project(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Project by the compiled mode, else as ``mode_programs.project`` and look for the mode among the compiled ones."""
    c = compiled_modes_of(constants, work)
    if _is_in_force(c):
        _give(c, inputs)
        if _project_in_mode(c, state, constants, out, work):
            return
    _numeric(c, PROJECT, state, inputs, constants, out, work)
    if not _is_in_force(c):
        _select_speeds(c, constants)


@native_inline
def _select_speeds(c: Any, constants: Any) -> None:
    """The compiled mode with the statuses in force, if there is one."""
    c.own.chosen[0] = NONE
    for k in range(c.own.modes):
        if _is_mode(mode_row(constants, c.own, k, c.of.block.constraints), c.of.state):
            c.own.chosen[0] = k


@native_inline
def _project_in_mode(c: Any, state: Any, constants: Any, out: Any, work: Any) -> bool:
    """Settle by the programs of the mode in force; whether it has any, and rows allow it."""
    if c.row.addresses[OWN_PROJECTED] == 0:
        return False
    n, nq, x, found = c.of.head.speeds, c.of.head.coordinates, c.state, c.found.whole
    given = vector_at(state, 0, x.size)
    for i in range(x.size):
        x[i] = given[i]
    normalise(x[1:], c.of.lists.quaternions)
    _call_own(c, OWN_MISSED, x, constants, found, work)
    residuals = mode_residuals_at(found, 0)
    missed, motion = residuals.configuration[0], residuals.motion[0]
    _, _, satisfied = iterate((c, constants, work), missed, FACTORED_STEPS, _take_step, _take_back)
    if not satisfied:
        return False
    _call_own(c, OWN_PROJECTED, x, constants, found, work)
    projected = mode_projected_at(found, 0, n, c.of.block.constraints)
    if not INDEPENDENT * projected.dependence[0] < 1.0:
        return False
    result = projected_state_at(out, 0, n, nq)
    for i in range(nq):
        result.q[i] = x[1 + i]
    for j in range(n):
        result.u[j] = projected.u[j]
    result.configuration[0], result.motion[0] = missed, motion
    result.conditioning[0] = 1.0 / math.sqrt(max(1.0, projected.dependence[0]))
    _turn_slips(c, projected.slips)
    return True


@native_inline
def _take_step(problem: Any, residual: float, taken: int) -> float:
    """Take a Newton step of the compiled mode; return the residual after it, or NO_STEP."""
    c, constants, work = problem
    x, before, found = c.state, c.before, c.found.whole
    step = mode_step_at(found, 0, before.size)
    _call_own(c, OWN_STEP, x, constants, found, work)
    if not INDEPENDENT * step.dependence[0] < 1.0:
        return NO_STEP
    for i in range(before.size):
        before[i], x[1 + i] = x[1 + i], step.q[i]
    normalise(x[1:], c.of.lists.quaternions)
    _call_own(c, OWN_MISSED, x, constants, found, work)
    return float(mode_residuals_at(found, 0).configuration[0])


@native_inline
def _take_back(problem: Any) -> None:
    """Restore the coordinates before the last step."""
    c, _, _ = problem
    for i in range(c.before.size):
        c.state[1 + i] = c.before[i]


@native_inline
def _turn_slips(c: Any, slips: Any) -> None:
    """Directions of slip, from the slips of what slides."""
    state, s = c.of.state, 0
    for k in range(state.status.size):
        if c.row.statuses[k] == SLIDING:
            x, y = slip_direction(state, k, c.of.table.tangents[k], slips[s, 0], slips[s, 1])
            state.along[k, 0], state.along[k, 1] = x, y
            s += 1
