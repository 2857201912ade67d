"""Operation counts of compiled modes of contacts, those of the benchmark: ten speeds, six contacts.

What vouches that they are right: tests/unit/test_compiled_contacts.py. Here they are held, so that none grows unseen.
"""

from __future__ import annotations

from functools import cache

import pytest

import kane
from benchmarks.tables.contacts import ten_speeds
from kane.expression.traverse import count
from kane.formulation.contact_mode import ContactMode
from kane.formulation.quantities.responses import Responses
from kane.native.contacts.header import HELD, OPEN, SLIDING

# Multiplications, additions and divisions of slopes, guards, what a state misses, a step, and what is settled.
COUNTS = {
    (OPEN, HELD, OPEN, HELD, OPEN, OPEN): [(594, 475, 11), (666, 536, 11), (65, 56, 0), (419, 329, 11), (394, 312, 11)],
    (SLIDING, SLIDING, OPEN, OPEN, OPEN, OPEN): [
        (485, 422, 13),
        (538, 459, 13),
        (21, 25, 0),
        (219, 185, 7),
        (226, 189, 7),
    ],
}


@cache
def equations():
    return kane.formulate(ten_speeds()).with_candidates


@pytest.mark.parametrize("statuses", COUNTS)
def test_programs_of_a_mode_take_as_many_operations_as_before(statuses):
    mode = ContactMode(equations(), Responses(equations()), statuses)
    programs = mode.accelerations(), mode.guards(), mode.missed(), mode.step(), mode.settled()
    found = [count(quantity.outputs) for quantity in programs]
    assert [(each["mul"], each["add"], each["div"]) for each in found] == COUNTS[statuses]
