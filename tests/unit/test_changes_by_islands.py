"""Changes by the factor of M, island by island, beside the same changes with all rows embedded, and each island alone.

The embedding is asked by the Python that native code is written in, told that the factor does not serve: other numbers
all the way, from impulses to the speeds on the rows of the new mode.
"""

from contextlib import ExitStack

import numpy as np
import pytest
from oracles.contact_machine import ContactMachine, broken
from oracles.interpreted import call_compiled, views
from oracles.source_mutants import everywhere

import kane
from kane.engine import call
from kane.engine.hybrid import momentum
from kane.engine.hybrid.transition import transition
from kane.engine.memory.contact_codes import ADOPTED, SLIDING, STICKING

G, HEIGHT = 9.81, 0.05
CORNERS = [(x, y, -HEIGHT) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]


def boxes(frictions, *, held=False):
    """Boxes on four corners each; where it is asked for, a switch takes the first one's velocity along y away."""
    m = kane.Model("boxes", gravity=(0, 0, -G))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    for k, mu in enumerate(frictions):
        box = m.body(f"b{k}", mass=2.0, inertia=(0.02, 0.02, 0.04))
        m.connect(m.ground, box, kane.Free(f"f{k}"))
        for i, corner in enumerate(CORNERS):
            m.contact(box.point(corner), floor, restitution=0.4, friction=kane.Coulomb(mu), name=f"c{k}{i}")
        if held and k == 0:
            m.switch(box.point().velocity.dot(m.ground.y), on=m.time + 1, name="held")
    machine = ContactMachine(m)
    q = np.zeros(machine.nq)
    q[list(machine.equations.quaternions)] = 1.0
    names = [coordinate.name for coordinate in machine.equations.q]
    q[[names.index(f"f{k}_z") for k in range(len(frictions))]] = HEIGHT
    return machine, q


def thrown(machine, rng):
    """Speeds by lot; some boxes strike the floor with several corners, some only slide, and one rests."""
    u = rng.normal(size=(machine.n // 6, 6)) * 0.3
    rest = rng.integers(len(u))
    slide = (rest + 1) % len(u)
    u[rest], u[slide, [2, 3, 4]] = 0.0, 0.0
    machine.fresh()
    for box, status in ((slide, SLIDING), (rest, STICKING)):
        of = [k for k, c in enumerate(machine.intermittents) if c.name.startswith(f"c{box}")]
        machine.status[of] = status
    return u.ravel()


def interpreted(machine, q, u, *, embedded):
    """A change as it is written in Python, and how often rows were embedded for impulses; with them always, or not."""
    function, count = machine.functions.transition, []
    state, out, work = np.array([0.0, *q, *u]), np.zeros(function.n_out), np.zeros(function.n_work)
    pointers = [x.__array_interface__["data"][0] for x in (state, np.zeros(1), machine.stage, out, work)]
    project = momentum.project_momentum

    def counted(*given):
        count.append(given)
        return project(*given)

    with ExitStack() as stack:
        for context in (views(), everywhere(call.call_program, call_compiled), everywhere(project, counted)):
            stack.enter_context(context)
        for quick in (momentum.respond_by_tree, momentum.project_speeds_by_response) if embedded else ():
            stack.enter_context(everywhere(quick, lambda *given: False))
        stack.enter_context(np.errstate(all="ignore"))
        transition.function(*pointers)
    return machine.changed(out), len(count)


@pytest.mark.parametrize("held", [False, True])
def test_changes_by_the_factor_of_the_mass_matrix_are_those_with_all_rows_embedded(held):
    """Where a row holds both ways impulses are embedded in any case, but not what puts speeds on the rows."""
    machine, q = boxes([0.3, 0.4, 0.5], held=held)
    rng, struck, open_faces = np.random.default_rng(0), 0, 0
    for _ in range(4):
        u = thrown(machine, rng)
        start = machine.stage.copy()
        found = machine.transition(q, u)
        along, modes = machine.along.copy(), list(machine.status)
        machine.stage[:] = start
        expected, _ = interpreted(machine, q, u, embedded=True)
        assert found.status == expected.status == ADOPTED
        assert found.statuses == expected.statuses == modes
        # Speeds of 1 m/s, impulses of some N s, and what redundant rows make of rounding.
        assert found.u == pytest.approx(expected.u, abs=1e-12)
        # Impulses of the corners of one face are open. Both ways search for the least norm and stop at bounds of
        # friction: one face of the twelve here ends 3.4e-3 N s apart. The sums over each face are determinate.
        assert found.impulses == pytest.approx(expected.impulses, abs=5e-3)
        apart = (found.impulses - expected.impulses)[-36:].reshape(3, 4, 3)
        assert np.abs(apart.sum(axis=1)).max() < 1e-12
        open_faces += int((np.abs(apart).max(axis=(1, 2)) > 1e-12).sum())
        assert found.energy_lost == pytest.approx(expected.energy_lost, abs=1e-12)
        assert along == pytest.approx(machine.along, abs=1e-9)  # slips of 1e-3 m/s and more
        struck += found.energy_lost > 1e-3
    assert struck == 4
    assert open_faces <= 1


def test_changes_of_boxes_embed_nothing():
    """The work of a change grows with what is tied; embedding is of all rows at once."""
    machine, q = boxes([0.3, 0.4])
    rng = np.random.default_rng(1)
    for _ in range(2):
        u = thrown(machine, rng)
        found, embedded = interpreted(machine, q, u, embedded=False)
        assert (found.status, embedded) == (ADOPTED, 0)


def test_changes_of_boxes_side_by_side_are_those_of_each_alone():
    """Each alone has 6 speeds and other programs: all columns in its records, and no islands."""
    frictions, rng = [0.3, 0.4, 0.5], np.random.default_rng(2)
    together, places = boxes(frictions)
    each = [boxes([mu]) for mu in frictions]
    for _ in range(5):
        u = thrown(together, rng)
        statuses, along = together.status.copy(), together.along.copy()
        found = together.transition(places, u)
        assert broken(together, places, u, found, 0.0) == []
        for k, (alone, q) in enumerate(each):
            own, rows = slice(4 * k, 4 * k + 4), slice(12 * k, 12 * k + 12)
            alone.fresh()
            alone.status[:], alone.along[:] = statuses[own], along[own]
            expected = alone.transition(q, u[6 * k : 6 * k + 6])
            assert found.statuses[own] == expected.statuses
            assert found.u[6 * k : 6 * k + 6] == pytest.approx(expected.u, abs=1e-13)
            assert found.impulses[rows] == pytest.approx(expected.impulses, abs=1e-12)
