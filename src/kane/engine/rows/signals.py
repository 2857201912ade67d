"""Signals: the expressions ``on`` and ``off`` of constraints that depend on the forces of rows.

In: the state, the inputs, and the forces of all rows in the contact mode [N, N m]. Out: ``on`` and ``off`` of GapTerms.
The program "gaps" evaluates these expressions at forces of zero, because it precedes the accelerations.

Source: Gillespie 2003, section 4.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel, vector_at
from kane.engine.memory.contact_codes import SIGNALS
from kane.engine.rows.contact_arrays import Contacts, contacts_of
from kane.engine.rows.embedding import Arrays
from kane.engine.rows.mode_dynamics import move_by_embedding, move_by_response
from kane.engine.rows.row_problem import RowProblem, row_problem_of
from kane.engine.rows.tree_response import call_block, find_active_rows


@native_inline
def find_signals(c: Contacts, k: RowProblem, acts: bool, state: Any, inputs: Any, constants: Any, work: Any) -> None:
    """Evaluate ``on`` and ``off`` with the forces of the rows, if one of them depends on these.

    Args:
        c: Contacts with GapTerms, and with the forces of all rows if ``acts``.
        k: RowProblem of the call.
        acts: whether rows are active or friction slides; otherwise all forces are zero.
        state, inputs, constants, work: of the call.
    """
    if k.block.addresses[SIGNALS] != 0:
        _call_signals(acts, state, inputs, constants, work)


@native_kernel
def _call_signals(acts: bool, state: Any, inputs: Any, constants: Any, work: Any) -> None:
    """Call the program of signals, which reads the forces of all rows, then the inputs."""
    c, k = contacts_of(constants, work), row_problem_of(constants, work)
    m, given = c.forces.size, vector_at(inputs, 0, k.block.inputs)
    for row in range(m):
        k.signals[row] = c.forces[row] if acts else 0.0
    for i in range(given.size):
        k.signals[m + i] = given[i]
    # The outputs are all of ``on``, then all of ``off``, as in GapTerms.
    call_block(k, SIGNALS, vector_at(state, 0, 0), k.signals, c.gaps.on, constants, work)


@native_kernel
def find_signals_of_mode(c: Contacts, a: Arrays, inputs: Any, constants: Any, work: Any) -> None:
    """Evaluate ``on`` and ``off`` with the forces of the present mode at the state of the arrays, as guards do."""
    k = row_problem_of(constants, work)
    if k.block.addresses[SIGNALS] == 0:
        return
    active = find_active_rows(k)
    acts = active.rows > 0 or active.rubs
    if acts and not move_by_response(c, k, active, a.state, inputs, constants, work):
        move_by_embedding(c, a, inputs, constants, work)
    find_signals(c, k, acts, a.state, inputs, constants, work)
