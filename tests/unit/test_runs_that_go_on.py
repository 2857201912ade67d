"""Runs that end just before an impact or begin with one, and runs that go on from the end of another.

Who vouches: free fall; the run that was not interrupted.
"""

import numpy as np
import pytest

import kane

G, KEPT = 10.0, 0.5
FALLS = np.sqrt(2.0 / G)  # from 1 m


@pytest.fixture(scope="module")
def ball():
    m = kane.Model("ball", gravity=(0, -G, 0))
    body = m.body("ball", mass=2.0)
    m.connect(m.ground, body, kane.Prismatic("y", axis="y"))
    m.contact(body.point(), kane.Plane(m.ground.point(), m.ground.y), restitution=KEPT, name="floor")
    return kane.build(kane.formulate(m))


@pytest.mark.parametrize("early", [1e-3, 1e-9, 1e-12, 1e-15, 0.0, -1e-15, -1e-12, -1e-9])
def test_a_run_that_ends_beside_an_impact_leaves_it_to_the_one_that_goes_on_or_has_had_it(ball, early):
    """The impact is in one of both runs, and never in both."""
    first = kane.simulate(ball, until=FALLS - early, q={"y": 1.0})
    second = kane.simulate(ball, start=first.final.time, until=2.0, q=first.final.q, u=first.final.u)
    bounces = [e.time for e in (*first.events, *second.events) if e.cause == "bounces"]
    flights = 2.0 * FALLS * np.cumsum(KEPT ** np.arange(1, 5))
    assert bounces[:5] == pytest.approx([FALLS, *(FALLS + flights)], abs=1e-11)
    assert len(first.events) == (early < -1e-14) or abs(early) < 1e-14
    assert second.modes[-1] == "floor held"


@pytest.mark.parametrize("height", [0.0, 1e-17, -1e-17, 1e-12, -1e-12])
@pytest.mark.parametrize("speed", [-3.0, 0.0, 3.0])
def test_a_run_that_begins_where_it_touches_bounces_rests_or_leaves_at_once(ball, height, speed):
    run = kane.simulate(ball, until=0.1, q={"y": height}, u=[speed])
    causes = [(event.cause, event.time) for event in run.events]
    if speed < 0.0:
        assert causes == [("bounces", 0.0)]
        assert run.events[0].u == pytest.approx([-KEPT * speed], rel=1e-13)
    elif speed > 0.0:
        assert causes == []
    else:
        assert causes[0] == ("imposed", 0.0)
        assert run.modes[-1] == "floor held"


def test_a_motion_that_bounces_slides_and_sticks_goes_on_the_same_from_anywhere():
    m = kane.Model("crate", gravity=(1.0, -G, 0))
    crate, lid = (
        m.body(n, mass=k, inertia=(0.02 * k,) * 3, com=(x, 0, 0)) for n, k, x in (("a", 2, 0), ("b", 0.3, 0.1))
    )
    m.connect(m.ground, crate, kane.Planar(("x", "y", "th")))
    hinge = m.connect(crate, lid, kane.Revolute("q1", axis="z"), at=(-0.1, 0.1, 0))
    floor, rough = kane.Plane(m.ground.point(), m.ground.y), kane.Coulomb(0.5, 0.4)
    for side, x in (("left", -0.1), ("right", 0.1)):
        m.contact(crate.point((x, -0.1, 0)), floor, restitution=0.3, friction=rough, name=side)
    m.stop(hinge, lower=0, upper=1.2, restitution=0.2, name="end")
    m.stick(hinge, static=0.03, kinetic=0.02, name="bearing")
    dyn = kane.build(kane.formulate(m))
    start = {"q": {"y": 0.12, "th": 0.1, "q1": 0.6}, "u": {"x_dot": 1.0, "u1": -2.0}}
    run = kane.simulate(dyn, until=0.6, times=np.linspace(0, 0.6, 61), **start)
    places = [(t, q, u) for t, q, u in zip(run.time, run.q, run.u, strict=True)][1:-1:5]
    places += [(event.time, event.q, event.u) for event in run.events[::10]]
    for t, q, u in places:
        other = kane.simulate(dyn, start=t, until=0.6, q=q, u=u)
        assert other.final.q == pytest.approx(run.final.q, abs=1e-8)
        assert other.final.u == pytest.approx(run.final.u, abs=1e-8)
