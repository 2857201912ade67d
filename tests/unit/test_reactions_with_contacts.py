"""Reactions of joints while contacts are in force, and forces of what begins to slip.

Who vouches: Newton's and Euler's equations of one body, from differences of recorded speeds; joints that transmit
nothing; the same mechanism with permanent constraints in place of the contacts.
"""

import numpy as np
import pytest

import kane

G, MASS, STEP = 9.81, 0.3, 1e-5


@pytest.fixture(scope="module")
def crate():
    """A crate with a lid that has a stop and sticks; it falls askew, bounces, slides and comes to rest."""
    m = kane.Model("crate", gravity=(1.0, -G, 0))
    crate = m.body("crate", mass=2, inertia=(0.02,) * 3)
    lid = m.body("lid", mass=MASS, inertia=(1e-3,) * 3, com=(0.1, 0, 0))
    m.connect(m.ground, crate, kane.Planar(("x", "y", "th")), name="base")
    hinge = m.connect(crate, lid, kane.Revolute("q1", axis="z"), at=(-0.1, 0.1, 0))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for side, x in (("left", -0.1), ("right", 0.1)):
        corner, rough = crate.point((x, -0.1, 0)), kane.Coulomb(0.5, 0.4)
        m.contact(corner, floor, restitution=0.3, friction=rough, name=side)
    m.stop(hinge, lower=0, upper=1.2, restitution=0.2, name="end")
    m.stick(hinge, static=0.03, kinetic=0.02, name="bearing")
    return kane.build(kane.formulate(m))


@pytest.fixture(scope="module")
def fallen(crate):
    start = {"q": {"y": 0.12, "th": 0.1, "q1": 0.6}, "u": {"x_dot": 1.0, "u1": -2.0}}
    return kane.simulate(crate, until=0.45, times=np.arange(0.0, 0.45, STEP), **start)


def smooth(run):
    """The records that are not beside a change."""
    changes = np.array([event.time for event in run.events])
    far = np.abs(run.time[:, None] - changes).min(axis=1) > 3 * STEP
    far[[0, -1]] = False
    return far


def test_a_hinge_holds_a_lid_as_newton_and_euler_say_while_all_else_bounces_slides_and_sticks(crate, fallen):
    revealed = kane.RevealedReactions(crate, kane.reveal_reactions(crate.equations, "q1"))
    found = np.asarray(revealed(fallen))
    angle, turning = fallen["th"] + fallen["q1"], fallen["th_dot"] + fallen["u1"]
    cos, sin = np.cos(fallen["th"]), np.sin(fallen["th"])
    arm = np.array([-0.1 * cos - 0.1 * sin, -0.1 * sin + 0.1 * cos])
    along = np.array([np.cos(angle), np.sin(angle)])
    v = np.array([fallen["x_dot"] - fallen["th_dot"] * arm[1], fallen["y_dot"] + fallen["th_dot"] * arm[0]])
    v += 0.1 * turning * np.array([-along[1], along[0]])
    force = MASS * (np.gradient(v, STEP, axis=1) - np.array([[1.0], [-G]]))
    moment = 1e-3 * np.gradient(turning, STEP) + 0.1 * (along[0] * force[1] - along[1] * force[0])
    there = np.array([along[0] * force[0] + along[1] * force[1], along[0] * force[1] - along[1] * force[0]])
    ok = smooth(fallen)
    assert ok.mean() > 0.9
    assert np.abs(force[:, ok]).max() > 0.9 * MASS * G
    np.testing.assert_allclose(found[ok][:, [0, 1]], there[:, ok].T, atol=1e-7)
    np.testing.assert_allclose(found[ok][:, 5], moment[ok], atol=1e-8)


def test_a_joint_that_allows_all_motions_transmits_nothing_and_routes_agree(crate, fallen):
    for route in (None, kane.OrthogonalComplement(), kane.Multipliers()):
        revealed = kane.RevealedReactions(crate, kane.reveal_reactions(crate.equations, "base"), route=route)
        assert np.abs(np.asarray(revealed(fallen))).max() < 1e-9 * np.abs(fallen.reactions["left"]).max()


def linkage(declare):
    """A four-bar, whose loop is a permanent constraint, and what ``declare`` adds."""
    m = kane.library.four_bar()
    declare(m, next(c for c in m.connections if c.name == "q1"))
    return kane.build(kane.formulate(m))


def test_beside_permanent_constraints_reactions_are_those_with_a_lock_for_what_was_imposed():
    start = kane.assemble(linkage(lambda m, crank: None), q={"q1": 0.5}, u={"u1": 7.0}, fixed=["q1", "u1"])
    switched = linkage(lambda m, crank: m.switch(crank.qdot, on=m.time - 0.1, name="brake"))
    locked = linkage(lambda m, crank: m.constrain(kane.Prescribed(crank, m.parameter("stop", 0.5)), name="brake"))
    run = kane.simulate(switched, until=0.2, q=start.q, u=start.u)
    loop = switched.equations.model.constraints[0].name
    places = (loop, "q1", "q2")
    found = kane.RevealedReactions(switched, kane.reveal_reactions(switched.equations, *places))(run)[-1]
    revealed = kane.RevealedReactions(locked, kane.reveal_reactions(locked.equations, *places, "brake"))
    # What a lock exerts is a load on the joint that is locked: a force of the switch, of the constraint another.
    *expected, effort = revealed(run.q[-1], run.u[-1], run.inputs[-1], parameters={"stop": run.q[-1, 0]})
    assert run.reactions["brake"][-1, 0] == pytest.approx(effort, rel=1e-9)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_friction_of_what_begins_to_slip_is_there_at_once():
    m = kane.Model("block", gravity=(6.0, -8.0, 0))
    block = m.body("block", mass=2.0, inertia=(0.1,) * 3)
    m.connect(m.ground, block, kane.Planar(("x", "y", "th")))
    m.constrain(m.connections[0]["th"].q)
    m.contact(block.point(), kane.Plane(m.ground.point(), m.ground.y), friction=kane.Coulomb(0.5, 0.4), name="floor")
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.1)
    np.testing.assert_allclose(run.reactions["floor"], np.tile([16.0, -6.4], (len(run.time), 1)), rtol=1e-12)


def test_forces_that_are_no_forces_of_contacts_are_refused(crate):
    revealed = kane.RevealedReactions(crate, kane.reveal_reactions(crate.equations, "q1"))
    q, u = np.zeros(4), np.zeros(4)
    with pytest.raises(kane.ModelError, match="no contact, stop, stick, latch or switch 'lef'"):
        revealed(q, u, contacts={"lef": [1.0, 0.0]})
    with pytest.raises(kane.ModelError, match="one number for each row: normal, "):
        revealed(q, u, contacts={"left": [1.0]})
    with pytest.raises(kane.ModelError, match="contacts= is a dict from names to forces"):
        revealed(q, u, contacts=[1.0, 0.0])
    held = revealed(q, u, contacts={"left": [2.0, 0.0]}) - revealed(q, u)
    assert np.abs(held).max() > 0.1
