"""assemble: closed loops against trigonometry, consistent speeds against velocities, Frobenius against textbooks."""

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.linalg import qr

import kane
from kane.analysis.assembly.assemble import _best_rows

CRANK, COUPLER, ROCKER, GROUND = 0.3, 1.0, 0.8, 1.0
# Newton ends at rounding of sums of a few numbers of order one.
ROUNDING = 1e-13


def four_bar(crank=CRANK, coupler=COUPLER, rocker=ROCKER, ground=GROUND, joint=kane.Revolute):
    """Grashof's: in the plane of x and z, its crank turns all the way round."""
    m = kane.Model("four-bar")
    A, B, C = (m.body(name, mass=1.0, inertia=(0.01, 0.02, 0.01)) for name in "ABC")
    m.connect(m.ground, A, kane.Revolute("q1", axis="y"))
    m.connect(A, B, kane.Revolute("q2", axis="y"), at=(crank, 0, 0))
    m.connect(m.ground, C, kane.Revolute("q3", axis="y"), at=(ground, 0, 0))
    m.close(B, C, joint("q4", axis="y"), at=(coupler, 0, 0), child_at=(rocker, 0, 0))
    return m


def ends(q):
    """The tip of the coupler, seen from the crank and from the rocker; a positive angle about y turns x towards -z."""
    a, b, c = q[0], q[0] + q[1], q[2]
    along = (CRANK * math.cos(a) + COUPLER * math.cos(b), -CRANK * math.sin(a) - COUPLER * math.sin(b))
    return along, (GROUND + ROCKER * math.cos(c), -ROCKER * math.sin(c))


@pytest.fixture(scope="module")
def linkage():
    return kane.build(kane.formulate(four_bar()))


@pytest.mark.parametrize("angle", np.linspace(0.0, 6.0, 7))
def test_a_four_bar_closes_at_every_angle_of_its_crank(linkage, angle):
    found = kane.assemble(linkage, q={"q1": angle}, fixed=["q1"])
    assert found.q[0] == angle
    first, second = ends(found.q)
    assert first == pytest.approx(second, abs=ROUNDING)
    # Turned the same way, and not by half a turn against each other: the equations vanish there too.
    q1, q2, q3, q4 = found.q
    assert math.remainder(q1 + q2 + q4 - q3, 2 * math.pi) == pytest.approx(0.0, abs=ROUNDING)
    assert (found.rank, found.redundant, found.free) == (3, (), ("q1", "u1"))
    assert found.residual < ROUNDING


def test_a_guess_near_a_half_turn_is_left(linkage):
    # All equations hold here but for the joint, which is turned by half a turn.
    good = kane.assemble(linkage, q={"q1": 1.0}, fixed=["q1"]).q
    found = kane.assemble(linkage, q=good + math.pi * np.eye(4)[3], fixed=["q1", "q2", "q3"])
    assert found.tries > 1
    assert math.remainder(found.q[3] - good[3], 2 * math.pi) == pytest.approx(0.0, abs=ROUNDING)


def test_the_speeds_are_those_of_the_assembled_loop(linkage):
    found = kane.assemble(linkage, q={"q1": 1.0}, u={"u1": 2.0}, fixed=["q1", "u1"])
    h = 1e-6
    later = kane.assemble(linkage, q=found.q + h * found.u, fixed=["q1"])
    assert found.u[0] == 2.0
    # The path curves by about u^2 h^2.
    assert later.q == pytest.approx(found.q + h * found.u, abs=1e-10)


def test_the_least_change_of_speeds_is_orthogonal_to_the_motion(linkage):
    start = kane.assemble(linkage, q={"q1": 1.0}, u={"u1": 1.0}, fixed=["q1", "u1"])
    guess = np.array([0.3, -0.2, 0.5, 0.1])
    found = kane.assemble(linkage, q=start.q, u=guess)
    assert (found.u - guess) @ start.u == pytest.approx(0.0, abs=ROUNDING)


def test_a_spatial_loop_of_planar_joints_names_no_redundant_equations_that_vanish(linkage):
    # What vanishes whatever the motion is dropped by formulate: 3 of 6 are left.
    assert len(linkage.equations.constraints) == 3


def test_a_loop_closed_twice_is_redundant_and_says_so():
    m = four_bar()
    B, C = m.bodies[2], m.bodies[3]
    m.constrain(kane.Coincidence(B.point((COUPLER, 0, 0)), C.point((ROCKER, 0, 0))), name="pin")
    found = kane.assemble(kane.formulate(m), q={"q1": 1.0}, fixed=["q1"])
    assert found.rank == 3
    assert found.redundant
    assert all(name.startswith("pin") for name in found.redundant)


def test_a_quaternion_is_assembled_in_its_tangent_space():
    m = kane.Model("rod on two strings")
    rod = m.body("rod", mass=1.0, inertia=(0.1, 0.2, 0.3))
    m.connect(m.ground, rod, kane.Free("rod"))
    for x in (-1.0, 1.0):
        m.constrain(kane.Distance(m.ground.point((x, 0, 0)), rod.point((x, 0, 0)), 1.5), name=f"string at {x:.0f}")
    dyn = kane.build(kane.formulate(m))
    found = kane.assemble(dyn, q={"rod_x": 0.3, "rod_z": -1.0, "rod_y": 0.4}, u={"rod_wz": 1.0})
    pose = dyn.poses(found.q)["rod"]
    for x in (-1.0, 1.0):
        tip = pose.position + pose.orientation @ (x, 0, 0)
        assert np.linalg.norm(tip - (x, 0, 0)) == pytest.approx(1.5, abs=ROUNDING)
    assert np.linalg.norm(found.q[:4]) == pytest.approx(1.0, abs=ROUNDING)
    assert len(found.free) == 8  # four coordinates and four speeds


def test_parameters_and_time_are_in_force():
    m = kane.Model("crane")
    bob = m.body("bob", mass=1.0)
    m.connect(m.ground, bob, kane.CustomJoint(("x", "z"), position=lambda x, z: (x, 0.0, z), units=("m", "m")))
    L = m.parameter("L", 1.0)
    m.constrain(kane.Distance(m.ground.point((0, 0, 0)), bob.point((0, 0, 0)), L + 0.5 * m.time))
    dyn = kane.build(kane.formulate(m))
    found = kane.assemble(dyn, q=[0.6, -0.8], t=2.0, parameters={"L": 3.0})
    assert np.hypot(*found.q) == pytest.approx(4.0, abs=ROUNDING)
    assert found.u @ found.q / 4.0 == pytest.approx(0.5, abs=ROUNDING)  # the rope is paid out


# Bad input ------------------------------------------------------------------------------------------------------------


def test_a_loop_that_cannot_close_is_an_error_that_names_its_worst_constraint():
    equations = kane.formulate(four_bar(ground=5.0))
    with pytest.raises(kane.ModelError, match=r"does not close: .*'closure of q4: x' 2\.9 open; check lengths"):
        kane.assemble(equations)  # 0.3 + 1.0 + 0.8 reach 2.9 m short of 5


def test_holding_too_much_is_told_from_a_loop_that_cannot_close(linkage):
    with pytest.raises(kane.ModelError, match="does not close with q1, q3 held at these values"):
        kane.assemble(linkage, q={"q1": 1.0, "q3": 0.0}, fixed=["q1", "q3"])
    with pytest.raises(kane.ModelError, match="with u1, u3 held"):
        kane.assemble(linkage, q={"q1": 1.0}, u={"u1": 1.0}, fixed=["q1", "u1", "u3"])


def test_motion_constraints_that_contradict_at_a_state_are_an_error_by_name():
    m = kane.Model("slider")
    block = m.body("block", mass=1.0)
    joint = m.connect(m.ground, block, kane.Planar("p", axis="z"))
    x, y, angle = m.rate("p_x"), m.rate("p_y"), joint["p_angle"].q
    m.constrain(x - 1.0, name="belt")
    m.constrain(kane.cos(angle) * x + kane.sin(angle) * y - 2.0, name="other belt")
    equations = kane.formulate(m)
    assert kane.assemble(equations, q={"p_angle": 1.0}).rank == 2
    with pytest.raises(kane.ModelError, match="'belt', 'other belt' contradict"):
        kane.assemble(equations)  # where the belts run the same way


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fixed": ["q5"]}, "no coordinate or speed 'q5'"),
        ({"fixed": "q1"}, r"give a list of names"),
        ({"q": {"angle": 1.0}}, "no coordinate 'angle'"),
        ({"u": {"q1": 1.0}}, "no speed 'q1'"),
        ({"parameters": {"L": 1.0}}, "no parameter 'L'"),
    ],
)
def test_unknown_names_are_errors(linkage, arguments, message):
    with pytest.raises(kane.ModelError, match=message):
        kane.assemble(linkage, **arguments)


def test_a_part_of_a_quaternion_cannot_be_held():
    m = kane.Model("body")
    m.connect(m.ground, m.body("B", mass=1.0, inertia=(1, 1, 1)), kane.Free("b"))
    m.constrain(m.rate("b_x"))
    with pytest.raises(kane.ModelError, match="a part of the quaternion"):
        kane.assemble(kane.formulate(m), fixed=["b_qx"])


def test_only_equations_and_dynamics_can_be_assembled():
    with pytest.raises(kane.ModelError, match="assemble takes Equations or Dynamics"):
        kane.assemble(four_bar())


# Integrability --------------------------------------------------------------------------------------------------------


def planar(*constraints):
    """A body in the plane under motion constraints made from x', y', angle' and the angle."""
    m = kane.Model("plate")
    joint = m.connect(m.ground, m.body("plate", mass=1.0, inertia=(1, 1, 1)), kane.Planar("p", axis="z"))
    rates = [m.rate(name) for name in ("p_x", "p_y", "p_angle")]
    for k, constraint in enumerate(constraints):
        m.constrain(constraint(*rates, joint["p_angle"].q, m.time), name=f"c{k + 1}")
    return kane.assemble(kane.formulate(m), t=0.0).integrable


def edge(x, y, w, angle, t):
    return -kane.sin(angle) * x + kane.cos(angle) * y


def across(x, y, w, angle, t):
    return kane.cos(angle) * x + kane.sin(angle) * y


def test_a_knife_edge_is_not_integrable():
    assert planar(edge) == ()


def test_rolling_along_a_line_is_integrable():
    assert planar(lambda x, y, w, angle, t: x - 0.3 * w) == ("c1",)


def test_two_edges_across_each_other_hold_the_point_and_are_integrable():
    assert planar(edge, across) == ("c1", "c2")


def test_an_edge_that_may_not_turn_is_integrable():
    assert planar(edge, lambda x, y, w, angle, t: w) == ("c1", "c2")


def test_of_an_edge_and_a_line_neither_is_when_the_body_may_turn():
    # x' = 0 is integrable by itself; y' cos(angle) = 0 is then y' = 0.
    assert planar(edge, lambda x, y, w, angle, t: x) == ("c1", "c2")


def test_a_prescribed_rate_is_integrable_and_a_drift_along_a_turning_direction_is_not():
    assert planar(lambda x, y, w, angle, t: x - kane.sin(t)) == ("c1",)
    assert planar(lambda x, y, w, angle, t: x - kane.sin(angle)) == ()


def test_what_takes_brackets_of_brackets_is_found():
    # Engel's system in the plane of a car and its steering: two fields reach everything in two rounds, so that neither
    # the front nor the rear wheel's constraint is integrable.
    m = kane.Model("car")
    car, wheel = m.body("car", mass=1.0, inertia=(1, 1, 1)), m.body("wheel", mass=0.1, inertia=(1, 1, 1))
    m.connect(m.ground, car, kane.Planar("p", axis="z"))
    m.connect(car, wheel, kane.Revolute("steer", axis="z"), at=(1.0, 0, 0))
    m.constrain(car.point((0, 0, 0)).velocity.dot(car.y), name="rear")
    m.constrain(wheel.point((0, 0, 0)).velocity.dot(wheel.y), name="front")
    assert kane.assemble(kane.formulate(m), t=0.0).integrable == ()


def test_a_disk_that_rolls_on_a_plane_does_not_integrate():
    m = kane.Model("coin")
    coin = m.body("coin", mass=1.0, inertia=(1, 2, 1))
    m.connect(m.ground, coin, kane.Free("c"))
    disk = kane.Disk(coin.point((0, 0, 0)), coin.y, 0.3)
    m.constrain(kane.Rolling(disk, kane.Plane(m.ground.point((0, 0, 0)), m.ground.z)))
    found = kane.assemble(kane.formulate(m), q={"c_z": 0.4})
    assert (found.rank, found.integrable) == (3, ())
    assert found.q[-1] == pytest.approx(0.3, abs=ROUNDING)


def test_what_assemble_derives_is_kept_with_the_dynamics():
    """A second assembly, from elsewhere, makes no node and compiles nothing; it finds what the first would there."""
    compiled = []

    class Counting(kane.LLVM):
        def compile(self, program):
            compiled.append(program.name)
            return super().compile(program)

    equations = kane.formulate(kane.library.whipple_bicycle())
    dyn = kane.build(equations, target=Counting())
    kane.assemble(dyn, q={"roll": 0.1})
    before = len(equations.t.arena), len(compiled)
    found = kane.assemble(dyn, q={"roll": 0.2, "steer": 0.1}, u={"rear_dot": -8.0})
    assert (len(equations.t.arena), len(compiled)) == before
    afresh = kane.assemble(kane.build(equations), q={"roll": 0.2, "steer": 0.1}, u={"rear_dot": -8.0})
    assert found.q.tolist() == afresh.q.tolist()
    assert found.u.tolist() == afresh.u.tolist()
    assert (found.integrable, found.free) == (afresh.integrable, afresh.free)


def test_whether_constraints_are_integrable_is_asked_again_for_other_parameters():
    """A knife edge that turns k times as fast as the body; with k = 0 it keeps its direction, and y stays."""
    m = kane.Model("plate")
    k = m.parameter("k", 1.0)
    joint = m.connect(m.ground, m.body("plate", mass=1.0, inertia=(1, 1, 1)), kane.Planar("p", axis="z"))
    m.constrain(edge(m.rate("p_x"), m.rate("p_y"), None, k * joint["p_angle"].q, None), name="edge")
    dyn = kane.build(kane.formulate(m))
    for value, names in ((1.0, ()), (0.0, ("edge",)), (1.0, ())):
        assert kane.assemble(dyn, parameters={"k": value}).integrable == names


def test_an_assembly_prints_as_a_table(linkage):
    text = str(kane.assemble(linkage, q={"q1": 1.0}, u={"u1": 2.0}, fixed=["q1", "u1"]))
    assert text.splitlines()[0].split() == ["q1", "1", "rad", "independent"]
    assert "rank 3, residual" in text


@pytest.mark.parametrize(("n", "k"), [(3, 1), (6, 6), (9, 4), (20, 7), (4, 0)])
def test_the_rows_that_determine_the_others_are_those_of_pivoted_orthogonalisation(n, k):
    """Who vouches: LAPACK's QR with column pivoting, where no two rows are as long but for rounding."""
    random = np.random.default_rng(n + k)
    basis, preference = random.normal(size=(n, k)), 10.0 * random.random(n)
    expected = qr(((1.0 + preference)[:, None] * basis).T, mode="r", pivoting=True)[1][:k] if k else []
    assert _best_rows(basis, preference) == sorted(int(i) for i in expected)


def test_a_constrained_simulation_imports_no_scipy():
    """It takes as long to import as half of kane."""
    code = (
        "import sys, kane; dyn = kane.build(kane.formulate(kane.library.four_bar())); start = kane.assemble(dyn); "
        "kane.simulate(dyn, until=0.1, q=start.q, u=start.u); assert 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
