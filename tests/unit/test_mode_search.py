"""The mode after a change with several contacts undecided at once: what flips do not find, all laws together do.

Links that lie on a floor are pulled by forces by lot, so that each contact may lift, stick or slip. Accelerations
are compared with those of all modes gone through in the plane, and asked for the laws in space.
"""

import numpy as np
import pytest
from oracles.contact_machine import ContactMachine, broken
from oracles.contact_reactions import Contacts, by_enumeration
from oracles.interpreted import call_compiled, views
from oracles.source_mutants import everywhere

import kane
from kane.engine import call
from kane.engine.hybrid import mode_search as search
from kane.engine.hybrid.transition import transition

G = 9.81


def links(count, *, spatial, static=0.4, kinetic=0.4):
    """Links end to end on a floor, a contact below each and one below the last end; a force by input on each."""
    m, parent = kane.Model("links", gravity=(0, -G, 0)), None
    floor = kane.Plane(m.ground.point(), m.ground.y)
    friction = kane.Coulomb(static=static, kinetic=kinetic)
    for k in range(count):
        link = m.body(f"b{k}", mass=1.0 + 0.2 * k, inertia=(0.01, 0.02, 0.015))
        if parent is None:
            m.connect(m.ground, link, kane.Free("f") if spatial else kane.Planar(("x", "y", "th")))
        else:
            joint = kane.Spherical(f"s{k}") if spatial else kane.Revolute(f"q{k}", axis="z")
            m.connect(parent, link, joint, at=(0.2, 0, 0), child_at=(-0.2, 0, 0))
        m.load(kane.Force(link.point((0.05, 0, 0)), tuple(m.input(f"{axis}{k}") for axis in "xyz")))
        m.contact(link.point((-0.15, 0, 0.02 * (-1) ** k)), floor, friction=friction, name=f"c{k}")
        parent = link
    m.contact(parent.point((0.15, 0, -0.02)), floor, friction=friction, name="end")
    machine = ContactMachine(m)
    q = np.zeros(machine.nq)
    q[list(machine.equations.quaternions)] = 1.0
    return machine, q


def pulled(machine, rng):
    """Forces by lot on the links: up and down, along and across."""
    machine.fresh()
    machine.inputs[:] = rng.normal(size=machine.inputs.size) * np.tile([8.0, 20.0, 8.0], machine.inputs.size // 3)


@pytest.fixture
def no_flips(monkeypatch):
    """Changes as they are written in Python, in which nothing is flipped: ``transition`` called at a state and mode."""
    monkeypatch.setattr(search, "FLIPS", 0)

    def change(machine, q, u):
        function = machine.functions.transition
        state, out, work = np.array([0.0, *q, *u]), np.zeros(function.n_out), np.zeros(function.n_work)
        rest = np.append(machine.inputs, 0.0)
        pointers = [x.__array_interface__["data"][0] for x in (state, rest, machine.stage, out, work)]
        with views(), everywhere(call.call_program, call_compiled), np.errstate(all="ignore"):
            transition.function(*pointers)
        return machine.changed(out)

    return change


def solutions(machine, q):
    """Accelerations of all modes in which the laws hold, at rest."""
    T = machine.terms(q, np.zeros(machine.n))
    J = T.A @ np.linalg.inv(T.M)
    contacts = Contacts(J @ T.A.T, T.remainder - J @ T.h, np.full(len(machine.rows), 0.4), 1)
    return [np.linalg.solve(T.M, T.A.T @ f - T.h) for f in by_enumeration(contacts)]


def test_all_laws_at_once_find_in_the_plane_what_going_through_all_modes_does(no_flips):
    machine, q = links(2, spatial=False)
    rng, at_rest, modes = np.random.default_rng(1), np.zeros(machine.n), set()
    for _ in range(25):
        pulled(machine, rng)
        assert no_flips(machine, q, at_rest).status == 0
        modes.add(tuple(machine.status))
        found = machine.call("rhs", q, at_rest)[machine.nq :]
        assert min(np.abs(found - other).max() for other in solutions(machine, q)) < 1e-9 * (1.0 + np.abs(found).max())
    assert len(modes) > 5


@pytest.mark.parametrize(("spatial", "static"), [(False, 0.5), (True, 0.4), (True, 0.5)])
def test_all_laws_at_once_find_modes_in_which_the_laws_hold(no_flips, spatial, static):
    machine, q = links(3, spatial=spatial, static=static)
    rng, at_rest, modes = np.random.default_rng(2), np.zeros(machine.n), set()
    for _ in range(6):
        pulled(machine, rng)
        found = no_flips(machine, q, at_rest)
        assert found.status == 0
        assert broken(machine, q, at_rest, found, 0.0) == []
        modes.add(tuple(machine.status))
    assert len(modes) > 2


@pytest.mark.parametrize("spatial", [False, True], ids=["plane", "space"])
def test_changes_of_many_contacts_at_once_end_where_the_laws_hold(spatial):
    machine, q = links(5, spatial=spatial, static=0.5)
    rng, at_rest = np.random.default_rng(3), np.zeros(machine.n)
    for _ in range(30):
        pulled(machine, rng)
        found = machine.transition(q, at_rest)
        assert found.status == 0
        assert broken(machine, q, at_rest, found, 0.0) == []


def test_the_next_mode_is_the_same_bits_again():
    machine, q = links(4, spatial=True)
    pulled(machine, np.random.default_rng(4))
    start = machine.stage.copy()
    first = machine.transition(q, np.zeros(machine.n))
    stage = machine.stage.copy()
    machine.stage[:] = start
    again = machine.transition(q, np.zeros(machine.n))
    assert first.statuses == again.statuses
    assert stage.tobytes() == machine.stage.tobytes()
