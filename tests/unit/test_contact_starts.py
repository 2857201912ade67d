"""Starts inside of something are refused before anything is compiled, and the call that a message offers works.

Who vouches: the corners of a turned square, and the length of a leg.
"""

import math
import re

import numpy as np
import pytest

import kane
from kane.dynamics.contacts.contact_refusals import refusal
from kane.engine.memory.contact_codes import NO_MODE, STICKING
from kane.engine.memory.views import transition_at, transition_size
from kane.haptics import Coupler, Session, Simulated
from kane.simulation.modes import contact_switching

SIDE, DEEP = 0.1, 0.02
REACH = SIDE * (math.cos(0.3) + math.sin(0.3))
START = {"y": REACH - DEEP, "angle": 0.3}


def crate():
    m = kane.Model("crate", gravity=(0, -10.0, 0))
    body = m.body("crate", mass=2.0, inertia=(0.02,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "angle")))
    box = kane.Box(2 * SIDE, 2 * SIDE, 2 * SIDE, body.point())
    m.contact(box, kane.Plane(m.ground.point(), m.ground.y), name="floor")
    return kane.build(kane.formulate(m)), body.point()


@pytest.fixture
def nothing_compiled(monkeypatch):
    """A crate of which no native functions of contacts can be had."""

    def refused(dyn):
        raise AssertionError("compiled before the start was looked at")

    monkeypatch.setattr(contact_switching, "contact_functions", refused)
    return crate()


@pytest.mark.parametrize(
    "run",
    [
        lambda dyn, point: kane.simulate(dyn, until=1.0, q=START),
        lambda dyn, point: kane.simulate(dyn, until=1.0, q=START, dt=1e-3),
        lambda dyn, point: kane.Stepper(dyn, q=START),
        lambda dyn, point: Session(dyn, Simulated(), Coupler(point, stiffness=50.0), q=START),
        lambda dyn, point: kane.simulate_many(dyn, until=1.0, q={"y": np.array([0.05, 0.06])}),
    ],
)
def test_a_start_inside_is_refused_before_contacts_are_compiled(nothing_compiled, run):
    with pytest.raises(kane.ModelError, match=r"cannot start there: 'floor: [+-]{3}' is violated by 0\.0\d+ m"):
        run(*nothing_compiled)


def test_the_call_that_the_refusal_offers_gives_a_start_that_runs():
    dyn, _ = crate()
    with pytest.raises(kane.ModelError) as refused:
        kane.simulate(dyn, until=0.01, q=START)
    call = re.search(r"state = (kane\.assemble\(.*\)), which", str(refused.value)).group(1)
    assert f"'angle': {0.3}" in call
    state = eval(call, {"kane": kane, "dyn": dyn})
    _, y, angle = state.q
    lowest = y - SIDE * (abs(math.cos(angle)) + abs(math.sin(angle)))
    assert -1e-9 < lowest < 1e-5
    run = kane.simulate(dyn, until=0.01, q=state.q, u=state.u)
    assert run["y"][-1] < y


def test_of_many_starts_one_that_is_outside_runs():
    dyn, _ = crate()
    found = kane.simulate_many(dyn, until=0.01, q={"y": np.array([0.05, 1.0])})
    assert set(found.failures) == {0}
    assert found.q[1, -1, 1] == pytest.approx(1.0 - 5.0 * 0.01**2, abs=1e-12)


def test_a_gap_that_is_no_number_is_said_to_be_none():
    m = kane.Model("root", gravity=(0, -10.0, 0))
    joint = m.connect(m.ground, m.body("B", mass=1.0), kane.Prismatic("y", axis="y"))
    m.latch(kane.sqrt(joint.q - 1.0), name="catch")
    dyn = kane.build(kane.formulate(m))
    with pytest.raises(kane.ModelError, match="the gap of 'catch' is not finite"):
        kane.simulate(dyn, until=1.0, q={"y": 0.5})


def test_a_refusal_names_what_touches_or_is_in_force_and_nothing_else():
    """Of eight corners two are named."""
    dyn, _ = crate()
    equations = dyn.equations.with_intermittent_rows
    nc, m, n, nq = (len(x) for x in (equations.intermittents, equations.constraints, equations.u, equations.q))
    out = np.zeros(transition_size(nc, m, n, nq))
    found = transition_at(out, 0, nc, m, n, nq)
    found.status[0], found.cause[0], found.statuses[2] = NO_MODE, 2, STICKING
    names = [c.name for c in equations.intermittents]
    said = refusal(equations, out, [names[2], names[5]])
    assert [name for name in names if repr(name) in said] == [names[2], names[5]]
