"""Intermittent constraints together with charts: native programs over the same constants.

The guards of the charts precede the guards of the constraints. A negative guard of a chart changes the charts only.
Statuses, directions of slip and armed flags belong to bodies and do not depend on the angles. They are copied into the
constants of the next charts (``kane.simulation.modes.charted_contact_switching``).

The ChartBlock, 64-bit integers, precedes the constants of the first program of the ConstraintHeader.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import call_at, native_inline, native_program, vector_at
from kane.engine.hybrid.transition import report_mode
from kane.engine.memory.constraint_codes import CONSTRAINTS
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import ADOPTED, NONE, NOTHING
from kane.engine.memory.views import (
    ChartBlock,
    chart_block_at,
    chart_block_size,
    constraint_header_at,
    transition_at,
)

# Programs of the charts, in the order of their addresses: their guards, and the state in the next charts.
CHART_GUARDS, NEXT_CHARTS = range(2)


@native_inline
def _charts_of(constants: Any) -> ChartBlock:
    """Return the ChartBlock of the constants."""
    return chart_block_at(constants, constraint_header_at(constants, 0).places[CONSTRAINTS] - chart_block_size())


@native_program
def guards(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute the guard of each chart, then the outputs of the guards of the constraints."""
    c = _charts_of(constants)
    call_at(c.addresses[CHART_GUARDS], state, inputs, constants, c.places[CHART_GUARDS], out, work)
    call_at(c.guards, state, inputs, constants, 0, vector_at(out, c.charts, 0), work)


@native_program
def transition(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Change charts if a guard of a chart is negative; else compute the transition of the constraints."""
    c = _charts_of(constants)
    chart_guards = vector_at(out, 0, c.charts)
    call_at(c.addresses[CHART_GUARDS], state, inputs, constants, c.places[CHART_GUARDS], out, work)
    ended = False
    for guard in chart_guards:
        ended = ended or guard < 0.0
    contacts = contact_constants_of(constants)
    head = contacts.head
    result = transition_at(out, 0, contacts.block.constraints, head.rows, head.speeds, head.coordinates)
    if not ended:
        call_at(c.transition, state, inputs, constants, 0, out, work)
        if result.status[0] == ADOPTED:
            result.status[0] = c.key
        return
    call_at(c.addresses[NEXT_CHARTS], state, inputs, constants, c.places[NEXT_CHARTS], out, work)
    result.cause[0], result.kind[0], result.energy_lost[0] = NONE, NOTHING, 0.0
    for row in range(result.impulses.size):
        result.impulses[row] = 0.0
    report_mode(contacts, result)
