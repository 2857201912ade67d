"""Views of the constants and of the scratch memory of models with constraints."""

from __future__ import annotations

from typing import Any

from kane.deferred import NamedTuple
from kane.engine.call import native_inline
from kane.engine.memory.views import (
    ConstraintHeader,
    ConstraintLists,
    ConstraintScratch,
    ContactBlock,
    ContactScratch,
    ContactState,
    ContactTable,
    HeldResiduals,
    constraint_header_at,
    constraint_lists_at,
    constraint_scratch_at,
    contact_block_at,
    contact_scratch_at,
    contact_state_at,
    contact_table_at,
    held_residuals_at,
)


@native_inline
def lists_of(constants: Any, head: ConstraintHeader) -> ConstraintLists:
    """Return the ConstraintLists that follow a ConstraintHeader."""
    return constraint_lists_at(constants, head.end, head.speeds, head.residuals, head.quaternions)


@native_inline
def scratch_of(head: ConstraintHeader, work: Any) -> ConstraintScratch:
    """Return the ConstraintScratch of a model with this header."""
    p, fronts, own = head.residuals, head.fronts, head.own_speeds
    return constraint_scratch_at(work, head.work, head.rows, head.speeds, head.coordinates, p, fronts, own)


class ContactConstants(NamedTuple):
    """Views of the constants of a model with intermittent constraints.

    Attributes:
        head, lists: sizes, programs and lists of the constraints.
        block, table: sizes, programs and constants of the intermittent constraints.
        state, held: statuses and held residuals, which change during a run.
    """

    head: ConstraintHeader
    lists: ConstraintLists
    block: ContactBlock
    table: ContactTable
    state: ContactState
    held: HeldResiduals


@native_inline
def contact_constants_of(constants: Any) -> ContactConstants:
    """Return the ContactConstants of constants, which are a pointer or an array."""
    head = constraint_header_at(constants, 0)
    lists = lists_of(constants, head)
    block = contact_block_at(constants, lists.end)
    table = contact_table_at(constants, block.end, block.constraints)
    state = contact_state_at(constants, table.end, block.constraints)
    return ContactConstants(head, lists, block, table, state, held_residuals_at(constants, state.end, block.closings))


@native_inline
def contact_scratch_of(head: ConstraintHeader, constraints: int, work: Any) -> ContactScratch:
    """Return the ContactScratch of a model with this header and number of intermittent constraints."""
    return contact_scratch_at(work, scratch_of(head, work).end, head.rows, head.speeds, constraints)
