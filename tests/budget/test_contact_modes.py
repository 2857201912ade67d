"""Operation counts of the programs of contacts, those of the benchmark: ten speeds, six contacts.

What vouches that they are right: tests/unit/test_contact_programs.py of those of any mode, test_compiled_contacts.py of
those of one. Here they are held, so that none grows unseen.
"""

from __future__ import annotations

from functools import cache

import pytest

import kane
from benchmarks.tables.contacts import ten_speeds
from kane.codegen.programs.alike import find_alike
from kane.dynamics.contacts.contact_functions import _own_programs
from kane.engine.memory.contact_codes import OPEN, SLIDING, STICKING
from kane.expression.traverse import count_operations
from kane.formulation.contact_mode import ContactMode
from kane.formulation.quantities.responses import Responses

# Multiplications, additions and divisions of slopes, guards, what a state misses, a step, and what is settled.
COUNTS = {
    (OPEN, STICKING, OPEN, STICKING, OPEN, OPEN): [
        (572, 471, 11),
        (644, 532, 11),
        (83, 78, 0),
        (419, 329, 11),
        (394, 312, 11),
    ],
    (SLIDING, SLIDING, OPEN, OPEN, OPEN, OPEN): [
        (481, 440, 13),
        (538, 481, 13),
        (20, 23, 0),
        (219, 185, 7),
        (235, 206, 7),
    ],
}


@cache
def equations():
    return kane.formulate(ten_speeds()).with_intermittent_rows


@pytest.mark.parametrize("statuses", COUNTS)
def test_programs_of_a_mode_take_as_many_operations_as_before(statuses):
    mode = ContactMode(equations(), Responses(equations()), statuses)
    programs = mode.accelerations(), mode.guards(), mode.missed(), mode.step(), mode.projected()
    found = [count_operations(quantity.outputs) for quantity in programs]
    assert [(each["mul"], each["add"], each["div"]) for each in found] == COUNTS[statuses]


def test_programs_of_any_mode_take_as_many_operations_as_before():
    """The factor of M; of a contact of the trunk and of one of a limb the rows held, the normal row with friction, and
    the velocities; the solution for six rows.
    """
    eqs = kane.formulate(ten_speeds()).with_intermittent_rows  # nodes made by others may come in another order
    responses, (trunk, limb) = Responses(eqs), eqs.intermittents[1:4:2]
    programs = [responses.factor()]
    for c in (trunk, limb):
        rows = [responses.held("held", c.rows), responses.sliding("slides", c), responses.velocities("v", c.rows)]
        programs += [one.program for one in rows]
    programs.append(responses.solution(6, slides=False))
    assert [len(p.instructions) for p in programs] == [464, 227, 226, 108, 312, 308, 144, 684]


@pytest.mark.parametrize("count", [2, 5])
def test_boxes_of_any_number_and_size_have_the_programs_of_one(count):
    """Rows, velocities and friction of eight corners; some that differ in few signs are shared."""
    m = kane.Model("boxes", gravity=(0, 0, -9.81))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    for k in range(count):
        body = m.body(f"b{k}", mass=1.0 + k, inertia=(0.1, 0.17, 0.23 + 0.01 * k))
        m.connect(m.ground, body, kane.Free(f"f{k}"))
        box = kane.Box(0.2 + 0.11 * k, 0.3, 0.43)  # equal numbers would share products
        m.contact(body.shape(box), floor, friction=kane.Coulomb(0.37 + 0.1 * k), name=f"c{k}")
    eqs = kane.formulate(m).with_intermittent_rows
    programs = find_alike([make() for _, make in _own_programs(eqs, Responses(eqs)).values()])
    assert len(programs) == 24 * count
    assert len({one.group for one in programs}) == 22


def test_features_of_two_boxes_have_one_program_for_each_pair_of_axes():
    """Four corners of each box and four edges for each of nine pairs of axes: 44 features of 11 kinds.

    The order of equal terms in a sum divides two of the 33 kinds of programs.
    """
    m = kane.Model("two boxes", gravity=(0, 0, -9.81))
    shapes = []
    for k in range(2):
        body = m.body(f"b{k}", mass=1.0 + k, inertia=(0.1, 0.17, 0.23 + 0.01 * k))
        m.connect(m.ground, body, kane.Free(f"f{k}"))
        shapes.append(body.shape(kane.Box(0.2 + 0.11 * k, 0.31 + 0.11 * k, 0.43 + 0.13 * k)))
    m.contact(shapes[1], shapes[0], friction=kane.Coulomb(0.37), name="pair")
    eqs = kane.formulate(m).with_intermittent_rows
    programs = find_alike([make() for _, make in _own_programs(eqs, Responses(eqs)).values()])
    assert len(programs) == 3 * 44
    assert len({one.group for one in programs}) == 35
