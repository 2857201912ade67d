"""The constants and the scratch memory of models with constraints, as views."""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.engine.call import native_inline
from kane.engine.memory.views import (
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
def lists_of(constants: Any, head: Any) -> Any:
    """Return the ConstraintLists behind a ConstraintHeader."""
    return constraint_lists_at(constants, head.end, head.speeds, head.residuals, head.quaternions)


@native_inline
def scratch_of(head: Any, work: Any) -> Any:
    """Return the ConstraintScratch of a model with this header."""
    p, fronts, own = head.residuals, head.fronts, head.own_speeds
    return constraint_scratch_at(work, head.work, head.rows, head.speeds, head.coordinates, p, fronts, own)


class ContactConstants(NamedTuple):
    """Views of the constants of a model with intermittent constraints.

    Attributes:
        head, lists: ConstraintHeader and ConstraintLists.
        block, table: ContactBlock and ContactTable.
        state, held: ContactState and HeldResiduals, which change in a run.
    """

    head: Any
    lists: Any
    block: Any
    table: Any
    state: Any
    held: Any


@native_inline
def contact_constants_of(constants: Any) -> Any:
    """Return the ContactConstants of a stage, a pointer or an array."""
    head = constraint_header_at(constants, 0)
    lists = lists_of(constants, head)
    block = contact_block_at(constants, lists.end)
    table = contact_table_at(constants, block.end, block.constraints)
    state = contact_state_at(constants, table.end, block.constraints)
    return ContactConstants(head, lists, block, table, state, held_residuals_at(constants, state.end, block.closings))


@native_inline
def contact_scratch_of(head: Any, constraints: Any, work: Any) -> Any:
    """Return the ContactScratch of a model with this header and number of intermittent constraints."""
    return contact_scratch_at(work, scratch_of(head, work).end, head.rows, head.speeds, constraints)
