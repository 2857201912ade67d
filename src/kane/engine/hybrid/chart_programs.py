"""Constraints that come and go where gimbals change their angles besides, as native programs over the one stage.

Guards are those of the charts, then those of the candidates. A guard of a chart that is negative changes the charts and
nothing else: statuses, directions of slip and what is armed are of bodies, whatever angles these are described by, and
go into the stage of the next charts (``kane.simulation.modes.charted_contacts``).

A block of 64-bit integers lies right before the stage of the first program of the header.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import call_program, native_inline, native_program, vector_at
from kane.engine.memory.constraint_codes import CONSTRAINTS
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import ADOPTED, NONE, NOTHING
from kane.engine.memory.views import chart_block_at, chart_block_size, constraint_header_at, transition_at

# Programs of the charts, in the order of their addresses: their guards, and their change.
NEAR, CARRY = range(2)


@native_inline
def _charts_of(constants: Any) -> Any:
    """Return the ChartBlock of a stage."""
    return chart_block_at(constants, constraint_header_at(constants, 0).places[CONSTRAINTS] - chart_block_size())


@native_inline
def _call(address: int, state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Call a program, from pointers."""
    given, place, result = vector_at(inputs, 0, 0), vector_at(constants, 0, 0), vector_at(out, 0, 0)
    call_program(address, vector_at(state, 0, 0), given, place, result, vector_at(work, 0, 0))


@native_inline
def _call_own(c: Any, which: int, state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Call a program of the charts."""
    given, place, result = vector_at(inputs, 0, 0), vector_at(constants, c.places[which], 0), vector_at(out, 0, 0)
    call_program(c.addresses[which], vector_at(state, 0, 0), given, place, result, vector_at(work, 0, 0))


@native_program
def guards(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """A number for each chart, then what the guards of the candidates give."""
    c = _charts_of(constants)
    _call_own(c, NEAR, state, inputs, constants, out, work)
    given, place, behind = vector_at(inputs, 0, 0), vector_at(constants, 0, 0), vector_at(out, c.charts, 0)
    call_program(c.guards, vector_at(state, 0, 0), given, place, behind, vector_at(work, 0, 0))


@native_program
def change(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Other charts where a guard of theirs is negative, else an excursion; see Transition."""
    c = _charts_of(constants)
    near = vector_at(out, 0, c.charts)
    _call_own(c, NEAR, state, inputs, constants, out, work)
    beside = False
    for guard in near:
        beside = beside or guard < 0.0
    of = contact_constants_of(constants)
    result = transition_at(out, 0, of.block.constraints, of.head.rows, of.head.speeds, of.head.coordinates)
    if not beside:
        _call(c.change, state, inputs, constants, out, work)
        if result.status[0] == ADOPTED:
            result.status[0] = c.key
        return
    _call_own(c, CARRY, state, inputs, constants, out, work)
    result.cause[0], result.kind[0], result.energy_lost[0] = NONE, NOTHING, 0.0
    for row in range(result.impulses.size):
        result.impulses[row] = 0.0
    for k in range(of.block.constraints):
        result.directions[k, 0], result.directions[k, 1] = of.state.along[k, 0], of.state.along[k, 1]
        result.statuses[k] = of.state.status[k]
