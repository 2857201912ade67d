"""Stops and contacts of loops that a joint closes, beside the same loops closed by points that coincide.

The joint has a massless frame M, welded to the body at its end; points have nothing of the kind, and vouch for it.
"""

import math

import numpy as np
import pytest

import kane
from kane.model.constraints.welded import welded_pose

TURNED = kane.Rotation.about("z", 0.3)


def plane(joined, to_ground):
    """Three bars and the ground: closed between two bars, by a frame that is turned, or on the ground."""
    m = kane.Model("bars", gravity=(0, -9.81, 0))
    N, mass = m.ground, m.parameter("mass", 1.0)
    a, b, c = (m.body(name, mass=mass, inertia=(0.1, 0.11, 0.12, 0.01, 0, 0), com=(0.2, 0.1, 0.05)) for name in "abc")
    crank = m.connect(N, a, kane.Revolute("q1", axis="z"))
    m.connect(a, b, kane.Revolute("q2", axis="z"), at=(0.5, 0, 0))
    if to_ground:
        m.connect(b, c, kane.Revolute("q3", axis="z"), at=(0.8, 0, 0))
        ends = c, (0.6, 0, 0), N, (1.0, 0, 0)
    else:
        m.connect(N, c, kane.Revolute("q3", axis="z"), at=(1.0, 0, 0))
        ends = b, (0.8, 0, 0), c, (0.6, 0, 0)
    close(m, ends, kane.Revolute("q4", axis="z"), [N.x, N.y] if joined == "points" else None)
    m.stop(crank, lower=0.8, upper=1.4, restitution=0.5)
    if not to_ground:
        floor = kane.Plane(N.point((0, -0.1, 0)), N.y)
        m.contact(b.point((0.4, 0.1, 0)), floor, friction=kane.Coulomb(0.3), name="floor")
    start = {"q1": 1.0, "q2": -1.0, "q3": -1.5 if to_ground else 1.5}
    return m, {"q": start, "u": {"u1": 2.0}, "fixed": ["q1", "u1"]}


def space(joined):
    """Two arms and a rod with a ball at either end, one of which closes the loop."""
    m = kane.Model("rssr", gravity=(0, 0, -9.81))
    left = m.body("left", mass=1.0, inertia=(0.1, 0.1, 0.02), com=(0, 0, 0.3))
    right = m.body("right", mass=2.0, inertia=(0.2, 0.2, 0.04), com=(0, 0, 0.4))
    rod = m.body("rod", mass=0.5, inertia=(0.02, 0.1, 0.1), com=(0.6, 0, 0))
    arm = m.connect(m.ground, left, kane.Revolute("q1", axis="y"))
    m.connect(m.ground, right, kane.Revolute("b", axis="x"), at=(1.2, 0.1, 0))
    m.connect(left, rod, kane.Spherical("ball"), at=(0, 0, 0.8))
    along = [m.ground.x, m.ground.y, m.ground.z] if joined == "points" else None
    close(m, (rod, (1.2, 0, 0), right, (0, 0, 0.8)), kane.Spherical("end"), along)
    m.stop(arm, lower=-0.5, upper=0.5, restitution=0.5)
    return m, {"q": {"q1": 0.1}, "u": {"u1": 1.0}, "fixed": ["u1"]}


def engine(joined):
    """A crank, a rod, and a piston that has mass alone, as what only slides needs no more."""
    m = kane.Model("engine", gravity=(0, -9.81, 0))
    crank = m.body("crank", mass=1.0, inertia=(0.01,) * 3, com=(0.1, 0, 0))
    rod, piston = m.body("rod", mass=0.5, inertia=(0.01,) * 3, com=(0.2, 0, 0)), m.body("piston", mass=0.3)
    turn = m.connect(m.ground, crank, kane.Revolute("q1", axis="z"))
    m.connect(crank, rod, kane.Revolute("q2", axis="z"), at=(0.2, 0, 0))
    m.connect(m.ground, piston, kane.Prismatic("s", axis="x"))
    along = [m.ground.x, m.ground.y] if joined == "points" else None
    close(m, (rod, (0.5, 0, 0), piston, (0.1, 0, 0)), kane.Revolute("q4", axis="z"), along)
    m.stop(turn, lower=-0.5, upper=1.2, restitution=0.5)
    return m, {"q": {"q1": 0.5, "q2": -0.9, "s": 0.5}, "u": {"u1": 3.0}, "fixed": ["q1", "u1"]}


def close(m, ends, joint, along):
    parent, at, child, child_at = ends
    if along:
        m.constrain(kane.Coincidence(parent.point(at), child.point(child_at), along=along))
    else:
        m.close(parent, child, joint, at=at, child_at=child_at, child_orientation=TURNED)


LOOPS = [
    pytest.param(lambda joined: plane(joined, to_ground=True), id="on the ground"),
    pytest.param(lambda joined: plane(joined, to_ground=False), id="on a bar", marks=pytest.mark.slow),
    pytest.param(engine, id="on a piston"),
    pytest.param(space, id="in space", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_closed_by_a_joint_meets_stops_as_one_closed_by_points_does(loop):
    m, guess = loop("joint")
    dyn = kane.build(kane.formulate(m))
    start = kane.assemble(dyn, **guess)
    # Errors of steps of 1e-11 over some hundred of them, made larger by bounces.
    how = {"until": 1.2, "integrator": kane.RK8(rtol=1e-11)}
    run = kane.simulate(dyn, q=start.q, u=start.u, **how)
    other = kane.build(kane.formulate(loop("points")[0]))
    nq, n = len(other.equations.q), len(other.equations.u)
    expected = kane.simulate(other, q=start.q[:nq], u=start.u[:n], **how)
    assert len(run.events) >= 2
    np.testing.assert_allclose(run.q[:, :nq], expected.q, rtol=0, atol=1e-7)
    told, wanted = ([(e.name, e.cause) for e in events] for events in (run.events, expected.events))
    assert told == wanted
    for mine, theirs in zip(run.events, expected.events, strict=True):
        assert mine.time == pytest.approx(theirs.time, abs=1e-7)
        assert mine.energy_lost == pytest.approx(theirs.energy_lost, rel=1e-6, abs=1e-9)


@pytest.mark.slow
def test_compiled_modes_sensitivities_and_locks_take_loops_closed_by_joints():
    m, guess = plane("joint", to_ground=True)
    dyn = kane.build(kane.formulate(m))
    start = kane.assemble(dyn, **guess)
    how = {"until": 0.6, "q": start.q, "u": start.u}
    run = kane.simulate(dyn, **how)
    fast = kane.simulate(kane.compile_modes(dyn, run.modes), **how)
    assert np.abs(fast.q[-1] - run.q[-1]).max() < 1e-9
    by = kane.sensitivities(run, wrt=["mass"]).final["mass"]
    ends = [kane.simulate(dyn, parameters={"mass": 1.0 + h}, **how).final for h in (1e-4, -1e-4)]
    slopes = np.concatenate([ends[0].q - ends[1].q, ends[0].u - ends[1].u]) / 2e-4
    np.testing.assert_allclose(by, slopes, rtol=1e-5, atol=1e-6)  # of differences over 2e-4
    stepper = kane.Stepper(dyn, q=start.q, u=start.u)
    stepper.impose(m.connections[0].qdot, name="lock").wait()
    stepper.step(1e-3)
    assert np.abs(stepper.u).max() < 1e-12  # one freedom was left


def test_the_pose_of_a_weld_is_read_off_its_rows_also_behind_a_file(tmp_path):
    turned = kane.Rotation.about("x", 0.4) @ kane.Rotation.about("y", math.pi / 2) @ TURNED
    m = kane.Model("welded")
    a, b = (m.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in "ab")
    for body, name in ((a, "q1"), (b, "q2")):
        m.connect(m.ground, body, kane.Spherical(name))
    m.close(a, b, kane.Spherical("q3"), at=(1, 0, 0), child_at=(0.1, 0.2, 0.3), child_orientation=turned)
    kane.save_model(m, tmp_path / "welded.json")
    for model in (m, kane.load_model(tmp_path / "welded.json")):
        (cut,) = model.cuts
        found = welded_pose(model.constraints[0].rows, cut.child)
        assert model.bodies[found.body].name == "b"
        assert found.at == (0.1, 0.2, 0.3)
        np.testing.assert_allclose(found.orientation.as_numpy(), turned.as_numpy(), rtol=0, atol=1e-15)
