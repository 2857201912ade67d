"""Fixed steps within which active rows turn too far; they are repeated with shorter lengths.

An active row turns as the bodies move, and an accurate step turns the velocities with it. If a gap has a kink, its row
jumps. A step over the kink ends with velocities of the old row, whose projection onto the new row acts as an impact
without an event. Contacts that open or close near the kink then remain unnoticed, because projected states have no
negative gap. Error control shortens these steps. Fixed steps have no error estimate; the residual of the rows at the
unprojected end of the step measures the missed part of the turn.
"""

from __future__ import annotations

from kane.engine.call import native_inline, native_kernel
from kane.engine.memory.loop_arguments import Course, StateEquation, Store
from kane.engine.memory.run_codes import PROJECT
from kane.engine.memory.run_memory import clock_of, counts_of, mode_of, notes_of
from kane.engine.memory.views import constraint_header_at
from kane.engine.step.slip_directions import restore_directions
from kane.engine.step.state_equation import project_probe
from kane.engine.step.zeno import shortest_step

# Largest residual of a velocity that counts as no impact; slip begins there [m/s].
NO_IMPACT = 1e-9
# A step may miss TURN^(order + 1) / 24 of the sum of the terms of a row. Midpoint misses phi^3 / 24 if the row turns by
# phi, RK4 phi^5 / 120, Gauss4 phi^5 / 4320. This allows turns of 0.2, 0.3 and 0.6 rad, and half of them if the sum
# consists of a single term, the turn itself.
TURN = 0.2


@native_kernel
def turns_too_far(system: StateEquation, store: Store, t1: float, order: int) -> bool:
    """Check whether the active rows have turned further within a step than its velocities.

    The projection has noted the residual of the rows at the unprojected end of the step. It is compared with the sum of
    the terms of the rows, each of them that of the largest row. The residual of the speeds at the start is at most this
    sum. If it is large enough, the single terms are not evaluated.

    Args:
        system: StateEquation; its projection has the notes of the end of the step.
        store: x before, y after the step; z is scratch.
        t1: end of the step [s].
        order: order of the method.
    """
    if system.projection.notes.size == 0 or not notes_of(system.projection).motion[0] > NO_IMPACT:
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
def _residual_of(system: StateEquation, store: Store, t1: float, first: int, last: int) -> float:
    """Return the largest residual of the rows at the end with a range of the speeds at the start, the others zero."""
    for i in range(store.x.size):
        store.z[i] = store.x[i] if first <= i < last else 0.0
    for i in range(constraint_header_at(system.headers, mode_of(system).places[PROJECT]).coordinates):
        store.z[i] = store.y[i]
    project_probe(system, t1, store.z)
    return float(notes_of(system.aside).motion[0])


@native_inline
def halve_step(system: StateEquation, course: Course, store: Store, h: float) -> bool:
    """Discard a step of h seconds and set half its length for the next try.

    Returns:
        False if the time would not change; the step is then accepted.
    """
    clock = clock_of(store)
    if not 0.5 * abs(h) > shortest_step(course, counts_of(store)):
        return False
    clock.cut_step[0] = clock.next_step[0] = 0.5 * h
    counts_of(store).cuts[0] = 0
    restore_directions(system, clock, system.automaton.guards.roots)
    return True


@native_inline
def double_step(course: Course, store: Store, left: float) -> None:
    """Double the length of the step after a halved one, until it reaches the grid.

    Args:
        course, store: as for the native loops.
        left: length up to the grid [s].
    """
    clock, wanted = clock_of(store), 2.0 * clock_of(store).next_step[0]
    if wanted != 0.0:
        within = abs(wanted) < abs(left) - shortest_step(course, counts_of(store))
        clock.next_step[0] = clock.cut_step[0] = wanted if within else 0.0
