"""Compiled contact modes: native programs that share the constants of the numeric programs.

If the statuses of the intermittent constraints match a compiled mode, its programs run. Otherwise the programs of
``mode_programs`` run with the same constants. The program "transition" is always numeric. A guard that is negative or
NaN is evaluated again by the numeric program, so that numeric programs alone decide when a mode ends.

The guards of a compiled mode also check its rounding errors. If digits are lost, the run continues with the numeric
programs until a state is projected. Then the compiled mode is searched for again.

States are projected as in ``project.contact_projection``, with the factor of M at each state of Newton's method.

Memory: CompiledModeBlock and one CompiledModeRow for each mode follow HeldResiduals.
"""

from __future__ import annotations

import math
from typing import Any

from kane.deferred import NamedTuple
from kane.engine.call import call_at, native_inline, native_program, vector_at
from kane.engine.laws.slip import slip_direction
from kane.engine.linear.vectors import normalise
from kane.engine.memory.constraint_memory import ContactConstants, contact_constants_of
from kane.engine.memory.contact_codes import NONE, OPEN, SLIDING
from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.engine.memory.views import (
    CompiledModeBlock,
    CompiledModeRow,
    ContactState,
    ContactTable,
    ModeGuards,
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
from kane.engine.rows.row_problem import response_scratch_of
from kane.engine.rows.tree_response import AMPLIFIED, INDEPENDENT

# Numeric programs, in the order of their addresses in CompiledModeBlock.
NUMERIC_RHS, NUMERIC_PROJECT, NUMERIC_GUARDS, NUMERIC_REACTIONS = range(4)
# Programs of a mode, in the order of their addresses in CompiledModeRow. The last three project. Their addresses are
# zero if projection is numeric.
COMPILED_RHS, COMPILED_GUARDS, COMPILED_RESIDUALS, COMPILED_STEP, COMPILED_PROJECTION = range(5)
# Measures of lost digits, which follow the slopes in ModeGuards: the largest y^T D^-1 y of a row over its pivot; the
# largest contribution of row forces to v; the largest magnitude in v and in D^-1 z. See formulation/contact_mode.py.
DEPENDENCE, CONTRIBUTION, MAGNITUDE, DIGITS = range(4)


class CompiledModeArrays(NamedTuple):
    """Constants and scratch of the compiled modes in a call.

    Attributes:
        contacts: ContactConstants.
        block: CompiledModeBlock.
        row: CompiledModeRow of the chosen mode; without one its values are meaningless.
        inputs: inputs of the model and slip directions, see ``given`` of ModeScratch.
        outputs: ModeGuards; the other programs of the mode write here too.
        state, before: see ModeScratch.
    """

    contacts: ContactConstants
    block: CompiledModeBlock
    row: CompiledModeRow
    inputs: Vector
    outputs: ModeGuards
    state: Vector
    before: Vector


@native_inline
def compiled_modes_of(constants: Any, work: Any) -> CompiledModeArrays:
    """Return the CompiledModeArrays of a call."""
    c = contact_constants_of(constants)
    nc, m, n, nq = c.block.constraints, c.head.rows, c.head.speeds, c.head.coordinates
    block = compiled_mode_block_at(constants, c.held.end)
    s = mode_scratch_at(work, response_scratch_of(c, work).end, m, n, nq, nc, block.inputs)
    outputs = mode_guards_at(work, s.found, m, n, nq, nc)
    row = _mode_row(constants, block, max(block.chosen[0], 0), nc)
    return CompiledModeArrays(c, block, row, s.given, outputs, s.state, s.before)


@native_inline
def _mode_row(constants: Any, block: CompiledModeBlock, k: int, nc: int) -> CompiledModeRow:
    """Return the CompiledModeRow of compiled mode k."""
    return compiled_mode_row_at(constants, block.end + k * compiled_mode_row_size(nc), nc)


@native_inline
def _has_statuses(row: CompiledModeRow, state: ContactState) -> bool:
    """Check whether a compiled mode has the statuses of a ContactState."""
    k, nc = 0, state.status.size
    while k < nc and row.statuses[k] == state.status[k]:
        k += 1
    return bool(k == nc)


@native_inline
def _is_active(c: CompiledModeArrays) -> bool:
    """Check whether a compiled mode was chosen and still has the present statuses."""
    return bool(c.block.chosen[0] != NONE and _has_statuses(c.row, c.contacts.state))


@native_inline
def _call_numeric(
    c: CompiledModeArrays, which: int, state: Any, inputs: Any, constants: Any, out: Any, work: Any
) -> None:
    """Call a numeric program."""
    call_at(c.block.numeric[which], state, inputs, constants, 0, out, work)


@native_inline
def _call_compiled(c: CompiledModeArrays, which: int, state: Any, constants: Any, out: Any, work: Any) -> None:
    """Call a program of the active mode with the inputs from ``_load_inputs``."""
    call_at(c.row.addresses[which], state, c.inputs, constants, c.row.places[which], out, work)


@native_inline
def _load_inputs(c: CompiledModeArrays, inputs: Any) -> None:
    """Load the inputs, then the direction of slip and the slip threshold of each sliding contact."""
    at, state = c.block.inputs, c.contacts.state
    given = vector_at(inputs, 0, at)
    for i in range(at):
        c.inputs[i] = given[i]
    for k in range(state.status.size):
        if c.row.statuses[k] == SLIDING:
            c.inputs[at], c.inputs[at + 1] = state.along[k, 0], state.along[k, 1]
            c.inputs[at + 2] = state.begun[k]
            at += 3


@native_program
def rhs(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute dq/dt and udot in the present mode."""
    c = compiled_modes_of(constants, work)
    if _is_active(c):
        _load_inputs(c, inputs)
        _call_compiled(c, COMPILED_RHS, state, constants, out, work)
    else:
        _call_numeric(c, NUMERIC_RHS, state, inputs, constants, out, work)


@native_inline
def _find_forces(c: CompiledModeArrays, state: Any, inputs: Any, constants: Any, work: Any) -> bool:
    """Compute the ModeGuards of the active mode.

    Returns:
        Whether a mode is active and keeps its digits. A mode that loses digits becomes inactive.
    """
    if not _is_active(c):
        return False
    _load_inputs(c, inputs)
    _call_compiled(c, COMPILED_GUARDS, state, constants, c.outputs.whole, work)
    if keeps_digits(c.outputs.digits, 0, 1):
        return True
    c.block.chosen[0] = NONE
    return False


@native_inline
def keeps_digits(outputs: Any, at: int, step: int) -> bool:
    """Check whether the rows are independent and no force has lost digits, which happens on very light bodies.

    Args:
        outputs: outputs with the measures of lost digits.
        at: place of the first measure.
        step: distance from each measure to the next.
    """
    contribution, magnitude = outputs[at + CONTRIBUTION * step], outputs[at + MAGNITUDE * step]
    return bool(INDEPENDENT * outputs[at + DEPENDENCE * step] < 1.0 and contribution <= AMPLIFIED * magnitude)


@native_program
def guards(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute two guards of each intermittent constraint, negative if the mode ends, then dq/dt and udot.

    If a guard of the compiled mode is negative or NaN, the numeric program computes all outputs.
    """
    c = compiled_modes_of(constants, work)
    if _find_forces(c, state, inputs, constants, work):
        first, size = c.outputs.guards.size, c.outputs.guards.size + c.outputs.slopes.size
        result = vector_at(out, 0, size)
        for i in range(size):
            result[i] = c.outputs.whole[i]
        if mode_continues(c.contacts.table, c.contacts.state, result[:first]):
            return
    _call_numeric(c, NUMERIC_GUARDS, state, inputs, constants, out, work)


@native_program
def reactions(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute the force of every row in the present mode, as ``mode_programs.reactions``."""
    c = compiled_modes_of(constants, work)
    if not _find_forces(c, state, inputs, constants, work):
        _call_numeric(c, NUMERIC_REACTIONS, state, inputs, constants, out, work)
        return
    result = vector_at(out, 0, c.outputs.forces.size)
    for i in range(result.size):
        result[i] = c.outputs.forces[i]


@native_inline
def mode_continues(table: ContactTable, state: ContactState, result: Any) -> bool:
    """Invert the guards of disarmed constraints, and check whether no guard is negative or NaN.

    The expression of a disarmed constraint does not count before it has had the other sign.

    Args:
        table, state: constants and state of the intermittent constraints.
        result: two guards for each constraint, changed in place.
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
    return bool(k == result.size)


@native_program
def project(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Project a state by the compiled mode; else by ``mode_programs.project``, and search for a compiled mode."""
    c = compiled_modes_of(constants, work)
    if _is_active(c):
        _load_inputs(c, inputs)
        if _project_in_mode(c, state, constants, out, work):
            return
    _call_numeric(c, NUMERIC_PROJECT, state, inputs, constants, out, work)
    if not _is_active(c):
        _choose_mode(c, constants)


@native_inline
def _choose_mode(c: CompiledModeArrays, constants: Any) -> None:
    """Choose the compiled mode with the present statuses, or NONE."""
    c.block.chosen[0] = NONE
    for k in range(c.block.modes):
        if _has_statuses(_mode_row(constants, c.block, k, c.contacts.block.constraints), c.contacts.state):
            c.block.chosen[0] = k


@native_inline
def _project_in_mode(c: CompiledModeArrays, state: Any, constants: Any, out: Any, work: Any) -> bool:
    """Project by the programs of the active mode; return whether it has these programs and its rows are independent."""
    if c.row.addresses[COMPILED_PROJECTION] == 0:
        return False
    n, nq, x, outputs = c.contacts.head.speeds, c.contacts.head.coordinates, c.state, c.outputs.whole
    given = vector_at(state, 0, x.size)
    for i in range(x.size):
        x[i] = given[i]
    normalise(x[1:], c.contacts.lists.quaternions)
    _call_compiled(c, COMPILED_RESIDUALS, x, constants, outputs, work)
    residuals = mode_residuals_at(outputs, 0)
    residual, motion = residuals.configuration[0], residuals.motion[0]
    _, _, satisfied = iterate((c, constants, work), residual, FACTORED_STEPS, _take_step, _take_back)
    if not satisfied:
        return False
    _call_compiled(c, COMPILED_PROJECTION, x, constants, outputs, work)
    projected = mode_projected_at(outputs, 0, n, c.contacts.block.constraints)
    if not INDEPENDENT * projected.dependence[0] < 1.0:
        return False
    result = projected_state_at(out, 0, n, nq)
    for i in range(nq):
        result.q[i] = x[1 + i]
    for j in range(n):
        result.u[j] = projected.u[j]
    result.configuration[0], result.motion[0] = residual, motion
    result.conditioning[0] = 1.0 / math.sqrt(max(1.0, projected.dependence[0]))
    _turn_slips(c, projected.slips)
    return True


@native_inline
def _take_step(problem: Any, residual: float, taken: int) -> float:
    """Take a Newton step of the compiled mode; return the residual after it, or NO_STEP."""
    c, constants, work = problem
    x, before, outputs = c.state, c.before, c.outputs.whole
    step = mode_step_at(outputs, 0, before.size)
    _call_compiled(c, COMPILED_STEP, x, constants, outputs, work)
    if not INDEPENDENT * step.dependence[0] < 1.0:
        return NO_STEP
    for i in range(before.size):
        before[i], x[1 + i] = x[1 + i], step.q[i]
    normalise(x[1:], c.contacts.lists.quaternions)
    _call_compiled(c, COMPILED_RESIDUALS, x, constants, outputs, work)
    return float(mode_residuals_at(outputs, 0).configuration[0])


@native_inline
def _take_back(problem: Any) -> None:
    """Restore the coordinates before the last step."""
    c, _, _ = problem
    for i in range(c.before.size):
        c.state[1 + i] = c.before[i]


@native_inline
def _turn_slips(c: CompiledModeArrays, slips: Matrix) -> None:
    """Set the directions of slip from the slip velocities of the sliding contacts."""
    state, s = c.contacts.state, 0
    for k in range(state.status.size):
        if c.row.statuses[k] == SLIDING:
            x, y = slip_direction(state, k, c.contacts.table.tangents[k], slips[s, 0], slips[s, 1])
            state.along[k, 0], state.along[k, 1] = x, y
            s += 1
