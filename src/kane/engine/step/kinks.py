"""Fixed steps over a kink of a held gap, which are taken again shorter.

A row that is held turns as the bodies move, and a step of an accurate method turns the velocities along with it. Where
a gap has a kink, its row jumps. A step over the kink ends with velocities of the old row, and projecting them onto the
new one is an impact that no event tells of. Contacts that open or close near the kink are then never seen: projected
states have no negative gap. Error control makes these steps shorter. Fixed steps have no estimate of their error. For
them the residual of the rows at the raw end of the step measures the missed part of the turn.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.memory.run_codes import PROJECT
from kane.engine.memory.run_memory import clock_of, counts_of, mode_of, notes_of
from kane.engine.memory.views import constraint_header_at
from kane.engine.step.slip_directions import recall
from kane.engine.step.state_equation import look_aside
from kane.engine.step.zeno import shortest_cut

# Residuals of velocities up to this are no impact: slip begins there [m/s].
STILL = 1e-9
# A step may miss TURN^(order + 1) / 24 of the velocities that a row is the sum of. Midpoint misses phi^3 / 24 where the
# row turns by phi, RK4 phi^5 / 120, Gauss4 phi^5 / 4320. Turns of 0.2, 0.3 and 0.6 rad are allowed, and half of them at
# least where the sum has one term, the turn itself.
TURN = 0.2


@native_kernel
def misses_turn(system: Any, store: Any, t1: float, order: int) -> bool:
    """Check whether the rows that are held have turned further within a step than its velocities did.

    Settling has noted the residual of the rows at the raw end of the step. It is compared with the sum of the terms of
    the rows, each that of the largest row. The residual of the speeds of the start is no larger than this sum. If it is
    large enough, the terms are not evaluated one by one.

    Args:
        system: a StateEquation; its settling has the notes of the end of the step.
        store: x before, y after the step; z is scratch.
        t1: end of the step.
        order: of the method.
    """
    if system.projection.notes.size == 0 or not notes_of(system.projection).motion[0] > STILL:
        return False
    nq, nx = constraint_header_at(system.headers, mode_of(system).places[PROJECT]).coordinates, store.x.size
    allowed = notes_of(system.projection).motion[0] / (TURN ** float(order + 1) / 24.0)
    if _residual_of(system, store, t1, nq, nx) >= allowed:
        return False
    terms = 0.0
    for i in range(nq, nx):
        terms += _residual_of(system, store, t1, i, i + 1)
    return bool(terms < allowed)


@native_inline
def _residual_of(system: Any, store: Any, t1: float, first: int, last: int) -> float:
    """Return the largest residual of the rows at the end with these speeds of the start, and no others."""
    for i in range(store.x.size):
        store.z[i] = store.x[i] if first <= i < last else 0.0
    for i in range(constraint_header_at(system.headers, mode_of(system).places[PROJECT]).coordinates):
        store.z[i] = store.y[i]
    look_aside(system, t1, store.z)
    return float(notes_of(system.aside).motion[0])


@native_inline
def halve_step(system: Any, course: Any, store: Any, h: float) -> bool:
    """Discard a step of h seconds and set half its length for the next try.

    Returns:
        False if times would not be told apart; the step then stands.
    """
    clock = clock_of(store)
    if not 0.5 * abs(h) > shortest_cut(course, counts_of(store)):
        return False
    clock.cut_step[0] = clock.next_step[0] = 0.5 * h
    counts_of(store).cuts[0] = 0
    recall(system, clock, system.automaton.guards.roots)
    return True


@native_inline
def double_step(course: Any, store: Any, left: float) -> None:
    """After a halved step set twice its length for the next one, until that reaches the grid.

    Args:
        course, store: as for the native loops.
        left: length that is left up to the grid.
    """
    clock, wanted = clock_of(store), 2.0 * clock_of(store).next_step[0]
    if wanted != 0.0:
        within = abs(wanted) < abs(left) - shortest_cut(course, counts_of(store))
        clock.next_step[0] = clock.cut_step[0] = wanted if within else 0.0
