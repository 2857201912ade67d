"""The certificate of models whose constraints come and go: it holds for every kind, and fails for what is wrong."""

from dataclasses import replace

import numpy as np
import pytest

import kane
from kane.analysis.certificate.contact_claims import OF_CONTACTS, ContactRuns
from kane.simulation.modes.contact_records import ContactRecords

IMPULSES, LOSSES, ENERGY, LAWS, STEPS = OF_CONTACTS


def crate():
    """In the plane: two corners with friction, a lid with stops, dry friction, a spring, a motor and a switch."""
    m = kane.Model("crate", gravity=(0, -9.81, 0))
    crate, lid = (
        m.body("crate", mass=2, inertia=(0.02,) * 3),
        m.body("lid", mass=0.3, inertia=(1e-3,) * 3, com=(0.1, 0, 0)),
    )
    m.connect(m.ground, crate, kane.Planar(("x", "y", "th")))
    hinge = m.connect(crate, lid, kane.Revolute("q1", axis="z"), at=(-0.1, 0.1, 0))
    floor, friction = kane.Plane(m.ground.point(), m.ground.y), kane.Coulomb(static=0.5, kinetic=0.4)
    for side, x in (("left", -0.1), ("right", 0.1)):
        m.contact(crate.point((x, -0.1, 0)), floor, restitution=0.3, friction=friction, name=side)
    m.stop(hinge, lower=0, upper=1.2, restitution=0.2)
    m.stick(hinge, static=0.03, kinetic=0.02)
    m.switch(hinge.qdot, on=m.time - 0.5, off=m.time - 0.7, name="brake")
    m.load(kane.Motor(hinge, m.input("tau")))
    m.load(kane.Spring(hinge, 0.3))
    return m


def ball():
    """In space, with spin."""
    m = kane.Model("ball", gravity=(0, -9.81, 0))
    body = m.body("ball", mass=1, inertia=(0.1, 0.2, 0.15), com=(0.02, 0, 0))
    m.connect(m.ground, body, kane.Free())
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(kane.Sphere(body.point(), 0.1), floor, restitution=0.6, friction=kane.Coulomb(0.3), name="floor")
    return m


def crank():
    """A closed loop with a stop."""
    m = kane.library.slider_crank()
    m.stop(next(c for c in m.connections if c.name == "q3"), lower=0.3, restitution=0.6, name="stop")
    return m


def catch():
    """A latch that holds, in speeds of choice."""
    m = kane.Model("catch", gravity=(0, -9.81, 0))
    one, two = (m.body(name, mass=1, inertia=(0.1,) * 3, com=(0.3, 0, 0)) for name in ("one", "two"))
    shoulder = m.connect(m.ground, one, kane.Revolute("q1", axis="z"))
    elbow = m.connect(one, two, kane.Revolute("q2", axis="z"), at=(0.5, 0, 0))
    m.latch(elbow.q + 0.1, name="catch")
    m.speeds(w1=shoulder.qdot, w2=shoulder.qdot + elbow.qdot)
    return m


# Where slip in space comes to its end, as the ball's does, friction turns round in a millisecond: it was 11.5 there,
# where parts of equal length were looked at.
@pytest.mark.parametrize(
    ("model", "energy"), [pytest.param(crate, 10.0, marks=pytest.mark.slow), (ball, 13.0), (crank, 13.0), (catch, 13.0)]
)
def test_every_kind_of_what_comes_and_goes_has_its_certificate(model, energy):
    found = {finding.claim: finding for finding in kane.certify(model())}
    assert all(finding.holds for finding in found.values()), found
    assert found[IMPULSES].digits > 12.0
    assert found[LOSSES].digits > 12.0
    assert found[ENERGY].digits > energy
    assert found[LAWS].digits > 10.0
    if model is catch:
        assert "in the joints' own speeds only" in found[STEPS].remark
    else:
        assert found[STEPS].digits > 10.0
    assert "transitions in 4 runs of 1 s" in found[IMPULSES].remark
    assert "J of work" in found[ENERGY].remark


WRONG = {
    "impulses": ({"impulses"}, {IMPULSES}),
    "losses": ({"energy_lost"}, {LOSSES, ENERGY}),
    "forces": ({"reactions"}, {ENERGY, LAWS}),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_in_the_fifth_digit_is_found_by_the_claims_that_it_concerns(monkeypatch, kind):
    """Impulses, losses and forces that are said to be more than they are."""
    (words, broken), log = WRONG[kind], ContactRecords.log

    def exaggerated(self, *args):
        contact_log = log(self, *args)
        return replace(contact_log, **{word: getattr(contact_log, word) * (1.0 + 1e-5) for word in words})

    monkeypatch.setattr(ContactRecords, "log", exaggerated)
    assert {finding.claim for finding in kane.certify(crate(), states=2) if not finding.holds} == broken


def test_contacts_that_pull_and_friction_beyond_its_bounds_are_found(monkeypatch):
    log = ContactRecords.log

    def turned(self, *args):
        contact_log = log(self, *args)
        return replace(contact_log, reactions=-contact_log.reactions)

    monkeypatch.setattr(ContactRecords, "log", turned)
    found = {finding.claim: finding for finding in kane.certify(ball(), states=2)}
    assert found[LAWS].digits < 1.0
    assert found[STEPS].digits < 1.0
    assert found[ENERGY].digits < 4.0


def test_a_model_of_which_nothing_comes_into_force_says_so():
    m = kane.Model("far", gravity=(0, 0, 0))
    joint = m.connect(m.ground, m.body("mass", mass=1.0), kane.Prismatic("x", axis="x"))
    m.stop(joint, upper=1000.0)
    found = {finding.claim: finding for finding in kane.certify(m)}
    assert found[IMPULSES].digits is found[LAWS].digits is found[LOSSES].digits is found[STEPS].digits is None
    assert found[LAWS].remark == "no constraint was active: 0 transitions in 4 runs of 1 s"
    assert found[IMPULSES].remark == "no impulse acted: 0 transitions in 4 runs of 1 s"


def test_motion_that_is_prescribed_in_time_leaves_the_claims_of_energy_out():
    m = kane.Model("belt", gravity=(0, -9.81, 0))
    belt, body = m.body("belt", mass=0.0), m.body("mass", mass=1.0, inertia=(0.1,) * 3)
    m.connect(m.ground, belt, kane.Prismatic(0.2 * m.time, axis="x"), name="drive")
    m.connect(m.ground, body, kane.Planar(("x", "y", "th")))
    m.contact(body.point(), kane.Plane(belt.point(), belt.y), friction=kane.Coulomb(0.5, 0.3), name="belt")
    found = {finding.claim: finding for finding in kane.certify(m)}
    assert all("prescribed in time" in found[claim].remark for claim in (LOSSES, ENERGY))
    assert found[IMPULSES].digits > 12.0
    assert found[LAWS].holds


# A box on a face has its second angle at 0 or 90 deg. With seed 0 two runs began there, took 9 s, and were off by 9
# digits; with seed 2 one comes there.
@pytest.mark.parametrize(("seed", "ended"), [pytest.param(0, False, marks=pytest.mark.slow), (2, True)])
def test_runs_of_a_certificate_keep_away_from_singular_angles(seed, ended):
    m = kane.Model("box on a gimbal", gravity=(0, 0, -9.81))
    carriages = [m.body(axis, mass=0.0) for axis in "xyz"]
    body = m.body("box", mass=1.0, inertia=(0.1,) * 3)
    for parent, child in zip([m.ground, *carriages], carriages, strict=False):
        m.connect(parent, child, kane.Prismatic(child.name, axis=child.name))
    m.connect(carriages[-1], body, kane.Gimbal(("a1", "a2", "a3"), "zyx"), name="gimbal")
    floor, friction = kane.Plane(m.ground.point(), m.ground.z), kane.Coulomb(0.5, 0.4)
    m.contact(kane.Box(0.2, 0.2, 0.2, body.point()), floor, restitution=0.3, friction=friction)
    found = {finding.claim: finding for finding in kane.certify(m, seed=seed)}
    assert all(finding.holds for finding in found.values()), found
    near = "1 ended early: the angles of 'gimbal' approach their singularity"
    assert (near in found[IMPULSES].remark) == ended


def test_rows_without_force_do_no_work_where_they_do_not_exist(monkeypatch):
    """The row that joins the nearest points of two capsules has no direction while the capsules are parallel."""
    forces = ContactRuns.forces

    def undirected(self, run):
        terms, found = forces(self, run)
        permanent = terms.motion.shape[1] - found.shape[1]
        terms.motion[:, permanent:][found == 0.0] = np.nan
        return terms, found

    monkeypatch.setattr(ContactRuns, "forces", undirected)
    found = {finding.claim: finding for finding in kane.certify(ball(), states=2)}
    assert found[ENERGY].digits > 13.0
