"""Linear systems of small motions, vouched for by the published bicycle, by closed forms and by simulated motions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.formulated import built
from scipy.linalg import expm
from scipy.optimize import brentq

import kane
from kane.errors import ModelError

# Meijaard, Papadopoulos, Ruina & Schwab 2007: the benchmark's matrices M, C1, K0, K2 of roll and steer, and Table 2.
# The digits are those that others have typed from the paper: matrices, weave and capsize speed agree in the sources of
# six public repositories, all of Table 2 stands in the tests of D. L. Peterson's gyrostatic bicycle.
M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
# By speed [m/s]: capsize, castering, weave (at rest two real ones in the place of a pair) [1/s].
EIGENVALUES = {
    0.0: (-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393),
    1.0: (-3.13423125066578, -7.11008014637442, 3.52696170990070 + 0.8077402751993j),
    2.0: (-3.07158645641514, -8.67387984831735, 2.68234517512745 + 1.68066296590675j),
    3.0: (-2.63366137253667, -10.35101467245920, 1.70675605663975 + 2.31582447384325j),
    4.0: (-1.42944427361326, -12.15861426576447, 0.41325331521125 + 3.07910818603206j),
    5.0: (-0.32286642900409, -14.07838969279822, -0.77534188219585 + 4.46486771378823j),
    6.0: (-0.00406690076970, -16.0853712309803, -1.52644486584142 + 5.87673060598709j),
    7.0: (0.10268170574766, -18.15788466125262, -2.13875644258362 + 7.19525913329805j),
    8.0: (0.14327879765713, -20.27940894394569, -2.69348683581097 + 8.46037971396931j),
    9.0: (0.15790184030917, -22.43788559040858, -3.21675402252485 + 9.69377351531791j),
    10.0: (0.16105338653172, -24.62459635017404, -3.72016840437287 + 10.90681139476287j),
}
WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837
KEPT = ["roll", "steer", "roll_dot", "steer_dot"]


@pytest.fixture(scope="module")
def bicycle():
    dyn = built(kane.library.whipple_bicycle)

    def at(v):
        speeds = {"x_dot": v, "rear_dot": -v / 0.3, "front_dot": -v / 0.35}
        return kane.linearize(dyn, q={"heave": -0.3}, u=speeds)

    return at


@pytest.mark.parametrize("v", np.linspace(0.0, 10.0, 11))
def test_the_bicycle_has_the_published_matrices(bicycle, v):
    """To the fifteen digits that are printed, less those of solving with M and of rounding v / 0.3."""
    A = bicycle(v).part(KEPT).A
    expected = -np.linalg.solve(M, np.hstack([9.81 * K0 + v**2 * K2, v * C1]))
    np.testing.assert_allclose(A[2:], expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(A[:2], np.hstack([np.zeros((2, 2)), np.eye(2)]), atol=1e-14)


@pytest.mark.parametrize("v", EIGENVALUES)
def test_the_bicycle_has_the_published_eigenvalues(bicycle, v):
    found = bicycle(v).part(KEPT).eigenvalues()
    for value in EIGENVALUES[v]:
        assert np.abs(found - value).min() < 1e-10


def test_the_bicycle_weaves_and_capsizes_where_it_is_known_to(bicycle):
    def oscillating(v):
        values = bicycle(v).part(KEPT).eigenvalues()
        return max(x.real for x in values if x.imag)

    def capsizing(v):
        values = bicycle(v).part(KEPT).eigenvalues()
        return max(x.real for x in values if not x.imag)

    assert brentq(oscillating, 4.0, 5.0, xtol=1e-12) == pytest.approx(WEAVE, abs=1e-10)
    assert brentq(capsizing, 5.5, 6.5, xtol=1e-12) == pytest.approx(CAPSIZE, abs=1e-10)


def test_coordinates_that_nothing_depends_on_are_states_that_drift(bicycle):
    lin = bicycle(5.0)
    assert set(lin.states) == {"x", "y", "yaw", "roll", "steer", "rear", "front", "roll_dot", "steer_dot", "rear_dot"}
    assert np.sum(np.abs(lin.eigenvalues()) < 1e-6) == 6
    assert lin.A[lin.states.index("y"), lin.states.index("yaw")] == pytest.approx(5.0)
    with pytest.raises(ModelError, match="'roll_dot' depends on 'steer', which is left out"):
        lin.part(["roll", "roll_dot", "steer_dot"])


def test_the_root_locus_follows_each_eigenvalue_and_finds_weave_and_capsize(bicycle):
    v = np.linspace(0.0, 10.0, 41)
    locus = kane.root_locus(lambda v: bicycle(v).part(KEPT), v, name="v [m/s]")
    assert locus.crossings() == pytest.approx([WEAVE, CAPSIZE], abs=1e-10)
    for value, found in zip(v, locus.eigenvalues, strict=True):
        np.testing.assert_array_equal(np.sort_complex(found), np.sort_complex(bicycle(value).part(KEPT).eigenvalues()))
    steps = np.abs(np.diff(locus.eigenvalues[4:], axis=0)).max(axis=0)
    assert (steps < 0.8).all()  # 0.25 m/s apart, castering moves by 0.55; behind v = 1 no two eigenvalues meet
    assert len(locus.plot().axes) == 2
    assert "4 eigenvalues over v [m/s] from 0 to 10" in repr(locus)


def test_eigenvalues_are_functions_of_parameters_and_gains():
    """A pendulum: sqrt(g / L). A double integrator under -k (x + 2 x'): damped critically at k = 1."""
    m = kane.Model("pendulum", gravity=(0, -9.81, 0))
    L = m.parameter("L", 1.0)
    m.connect(m.ground, m.body("bob", mass=1.0, com=(0, -L, 0)), kane.Revolute("q1", axis="z"))
    dyn = kane.build(kane.formulate(m))
    lengths = [0.5, 1.0, 2.0]
    locus = kane.root_locus(lambda L: kane.linearize(dyn, parameters={"L": L}), lengths)
    np.testing.assert_allclose(np.abs(locus.eigenvalues[:, 0]), np.sqrt(9.81 / np.array(lengths)), rtol=1e-12)
    A, BK = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 2.0]])
    closed = kane.root_locus(lambda k: A - k * BK, np.linspace(-1.0, 2.0, 7))
    np.testing.assert_allclose(np.abs(closed.eigenvalues[4] + 1.0), 0.0, atol=1e-7)  # a double root: half the digits
    assert closed.crossings(ignoring=0) == pytest.approx([0.0], abs=1e-9)


@pytest.mark.parametrize(
    ("function", "values", "message"),
    [
        (3, [0, 1], "function of a number"),
        (lambda v: np.eye(2), [1.0], "two finite numbers"),
        (lambda v: np.eye(2), [1.0, np.nan], "two finite numbers"),
        (lambda v: np.eye(int(v)), [1, 2], "1 states at 1 and 2 at 2"),
        (lambda v: np.ones((2, 3)), [1, 2], "square matrix"),
        (lambda v: "A", [1, 2], "kane.linearize, or a matrix"),
    ],
)
def test_what_has_no_root_locus_is_refused(function, values, message):
    with pytest.raises(ModelError, match=message):
        kane.root_locus(function, values)


def test_a_mode_that_is_shown_is_the_motion_that_small_ones_make():
    """Of a double pendulum that hangs: after a push along the mode, of 1e-5, the simulated motion is the shown one."""
    dyn = kane.build(kane.formulate(kane.library.n_link_pendulum(2)))
    lin = kane.linearize(dyn, q=kane.trim(dyn, q=[0.3, 0.1, -0.1], fixed=["q1", "F"]).q)
    mode = next(m for m in lin.modes() if m.eigenvalue.imag > 1.0)
    shown = kane.mode_motion(lin, mode, amplitude=1e-5)
    assert np.abs(shown.q - lin.q).max() == pytest.approx(1e-5)
    seen = np.real(np.exp(mode.eigenvalue * shown.time[20]) * mode.shape[:3])
    x = (shown.q[20] - lin.q) @ seen / (seen @ seen) * np.real(mode.shape)
    run = kane.simulate(dyn, until=shown.time[-1], times=shown.time, q=lin.q + x[:3], u=lin.u + x[3:], inputs=[0.0])
    np.testing.assert_allclose(run.q, shown.q, atol=1e-9)


def test_a_mode_of_a_bicycle_keeps_its_wheels_on_the_road_and_is_a_page(bicycle, tmp_path):
    lin = bicycle(5.0).part(KEPT)
    weave = next(m for m in lin.modes() if m.eigenvalue.imag)
    motion = kane.mode_motion(lin, weave, amplitude=0.3)
    dyn = lin.about.dyn
    residuals = dyn.constraint_residuals(motion.q, np.zeros((len(motion.q), len(dyn.equations.u))))
    assert np.abs(residuals.configuration).max() < 1e-9
    names = [leaf.name for leaf in dyn.equations.q]
    roll, steer = motion.q[:, names.index("roll")], motion.q[:, names.index("steer")]
    assert max(np.abs(roll).max(), np.abs(steer).max()) == pytest.approx(0.3, abs=1e-3)  # the constraints are bent
    assert motion.save_html(tmp_path / "weave.html").stat().st_size > 50_000
    with pytest.raises(ModelError, match="not a mode of this system"):
        kane.mode_motion(bicycle(5.0), weave)
    for amplitude in (0.0, 1e308):
        with pytest.raises(ModelError, match="amplitude"):
            kane.mode_motion(lin, weave, amplitude=amplitude)


def spinning_body(spin, axis):
    m = kane.Model("body")
    m.connect(m.ground, m.body("B", mass=1.0, inertia=(2.0, 3.0, 4.0)), kane.Spherical("s"))
    u = np.zeros(3)
    u[axis] = spin
    return kane.linearize(kane.build(kane.formulate(m)), u=u)


def test_a_body_that_spins_about_its_middle_axis_tumbles_at_the_rate_of_euler():
    """lambda = spin sqrt((I2 - I1) (I3 - I2) / (I1 I3)); displacements turn with the body, at the spin."""
    lin, spin = spinning_body(3.0, 1), 3.0
    rate = spin * math.sqrt((3.0 - 2.0) * (4.0 - 3.0) / (2.0 * 4.0))
    expected = [rate, 0, 0, 1j * spin, -1j * spin, -rate]
    np.testing.assert_allclose(np.sort_complex(lin.eigenvalues()), np.sort_complex(expected), atol=1e-7)
    assert lin.states[:3] == ("s_wx dt", "s_wy dt", "s_wz dt")
    assert spinning_body(3.0, 2).eigenvalues().real.max() < 1e-7


def test_small_motions_of_a_double_pendulum_on_a_cart_are_those_of_a_simulation():
    """After a push of 1e-5 the nonlinear motion differs by about the square of that."""
    dyn = kane.build(kane.formulate(kane.library.n_link_pendulum(2)))
    at = kane.trim(dyn, q=[0.3, 0.1, -0.1], fixed=["q1", "F"])
    lin = kane.linearize(dyn, q=at.q, u=at.u)
    x = 1e-5 * np.array([0.0, 1.0, -2.0, 0.5, 1.0, 0.3])
    run = kane.simulate(dyn, until=0.5, q=at.q + x[:3], u=at.u + x[3:], inputs=[0.0])
    expected = expm(0.5 * lin.A) @ x
    found = np.concatenate([run.q[-1] - at.q, run.u[-1]])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_inputs_and_outputs_are_those_of_a_closed_form():
    """A cart of 2 kg pushed by F, watched by a point: y = v + 3 F."""
    m = kane.Model("cart")
    A = m.body("A", mass=2.0, inertia=(1, 1, 1))
    F = m.input("F")
    j = m.connect(m.ground, A, kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(j, F))
    dyn = kane.build(kane.formulate(m))
    lin = kane.linearize(dyn, q=[0.4], u=[2.0], outputs=[A.point().velocity.dot(m.ground.x) + 3 * F])
    for found, expected in ((lin.A, [[0, 1], [0, 0]]), (lin.B, [[0], [0.5]]), (lin.C, [[0, 1]]), (lin.D, [[3]])):
        np.testing.assert_allclose(found, expected, atol=1e-15)
    system = lin.to_scipy()
    np.testing.assert_array_equal(system.B, lin.B)
    assert kane.linearize(dyn).outputs == ("x", "x_dot")
    with pytest.raises(ModelError, match="give a list of expressions"):
        kane.linearize(dyn, outputs=j.q)


def test_python_control_gets_matrices_and_names():
    control = pytest.importorskip("control")
    dyn = kane.build(kane.formulate(kane.library.n_link_pendulum(1)))
    lin = kane.linearize(dyn, q=kane.trim(dyn, fixed=["F"]).q)
    system = lin.to_control()
    assert isinstance(system, control.StateSpace)
    assert tuple(system.state_labels) == lin.states
    np.testing.assert_array_equal(system.A, lin.A)


def test_modes_say_how_they_swing():
    """m x'' + c x' + k x = 0 with zeta = c / (2 sqrt(k m)) = 0.1."""
    m = kane.Model("mass")
    A = m.body("A", mass=2.0, inertia=(1, 1, 1))
    j = m.connect(m.ground, A, kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(j, -200.0 * j.q - 4.0 * j.qdot))
    (mode,) = kane.linearize(kane.build(kane.formulate(m))).modes()
    assert mode.damping == pytest.approx(0.1)
    assert mode.frequency == pytest.approx(10.0 * math.sqrt(1 - 0.01) / (2 * math.pi))
    np.testing.assert_allclose(mode.shape, [1 / mode.eigenvalue, 1.0], rtol=1e-12)


def test_a_state_that_moves_on_is_refused_with_what_is_left():
    dyn = kane.build(kane.formulate(kane.library.n_link_pendulum(1)))
    with pytest.raises(ModelError, match=r"no equilibrium or steady motion of 'pendulum1'.*kane.trim"):
        kane.linearize(dyn, q=[0.0, 0.3])
    assert kane.linearize(dyn, q=[0.0, 0.3], tolerance=math.inf).residual > 1.0
    # Upright and turning, the accelerations vanish and will not stay zero.
    with pytest.raises(ModelError, match="and its second rate"):
        kane.linearize(dyn, u=[0.0, 0.5])


def test_a_trim_whose_inputs_were_left_behind_is_refused_with_the_inputs_that_stood_in_for_them():
    model = kane.library.n_link_pendulum(1)
    lift = model.input("lift", default=0.25)
    model.load(kane.Motor(model.connections[1], lift))
    dyn = kane.build(kane.formulate(model))
    trim = kane.trim(dyn, q=[0.0, 0.3], fixed=["q2"])
    message = r"with inputs at their defaults \(.*lift = 0\.25; after a trim give inputs=trim\.inputs\)"
    with pytest.raises(ModelError, match=message):
        kane.linearize(dyn, q=trim.q, u=trim.u)
    assert kane.linearize(dyn, q=trim.q, u=trim.u, inputs=trim.inputs).residual < 1e-9


@pytest.mark.parametrize("speed", [1e308, 1e150, 1e100])
def test_speeds_whose_squares_are_no_numbers_are_refused(speed, recwarn):
    dyn = kane.build(kane.formulate(kane.library.n_link_pendulum(2)))
    with pytest.raises(ModelError, match=r"no equilibrium|the accelerations of .* are not finite here"):
        kane.linearize(dyn, u=np.full(3, speed))
    with pytest.raises(ModelError, match=r"are not finite|no equilibrium"):
        kane.trim(dyn, u=np.full(3, speed))
    assert not recwarn.list


def test_a_state_off_the_constraints_is_refused():
    dyn = built(kane.library.whipple_bicycle)
    with pytest.raises(ModelError, match=r"does not satisfy the constraints.*kane\.assemble"):
        kane.linearize(dyn, q={"heave": -0.29})


def test_a_governor_keeps_the_motion_that_trim_found():
    """It is unstable, so that what rounding leaves grows by e^(19 t): for a fifth of a second by 50."""
    dyn = kane.build(kane.formulate(kane.library.flyball_governor()))
    at = kane.trim(dyn, u={"u1": 20.0}, fixed=["u1", "q1"])
    run = kane.simulate(dyn, until=0.2, q=at.q, u=at.u, inputs=at.inputs)
    np.testing.assert_allclose(run.q[-1, 1:], at.q[1:], atol=1e-9)
    np.testing.assert_allclose(run.u[-1], at.u, atol=1e-8)
    assert kane.linearize(dyn, q=at.q, u=at.u).eigenvalues()[0].real == pytest.approx(19.4, abs=0.1)
    assert at.u[0] == 20.0


def test_trim_finds_the_input_that_holds_a_pendulum():
    """T = m g L sin q."""
    m = kane.Model("pendulum", gravity=(0, -9.81, 0))
    A = m.body("A", mass=2.0, inertia=(0.1, 0.1, 0.1), com=(0, -0.5, 0))
    j = m.connect(m.ground, A, kane.Revolute("q1", axis="z"))
    m.load(kane.Motor(j, m.input("T")))
    dyn = kane.build(kane.formulate(m))
    at = kane.trim(dyn, q={"q1": 0.7}, fixed=["q1"])
    assert at.inputs[0] == pytest.approx(2.0 * 9.81 * 0.5 * math.sin(0.7), rel=1e-12)
    assert at.q[0] == 0.7
    assert kane.trim(dyn, q={"q1": 0.7}, fixed=["T"]).q[0] == pytest.approx(0.0, abs=1e-9)
    assert "T" in repr(at)


def test_where_there_is_no_trim_the_largest_rest_is_named():
    m = kane.Model("free", gravity=(0, 0, -9.81))
    m.connect(m.ground, m.body("B", mass=1.0, inertia=(0.1, 0.2, 0.3)), kane.Free("base"))
    dyn = kane.build(kane.formulate(m))
    with pytest.raises(ModelError, match=r"the rate of base_v. is 9\.81; start elsewhere"):
        kane.trim(dyn)
    with pytest.raises(ModelError, match="no coordinate, speed or input 'bas_x' can be held"):
        kane.trim(dyn, fixed=["bas_x"])
    with pytest.raises(ModelError, match="takes Dynamics"):
        kane.trim(dyn.equations)


def test_an_equilibrium_inside_a_floor_is_refused_and_what_rests_on_it_is_said_not_to_be_held():
    """Contacts are in none of the equations that trim and linearize solve."""
    m = kane.Model("weight", gravity=(0, -9.81, 0))
    body, height = m.body("b", mass=1.0), m.parameter("height", 0.0)
    slide = m.connect(m.ground, body, kane.Prismatic("y", axis="y"))
    m.contact(body.point(), kane.Plane(m.ground.point((0, height, 0)), m.ground.y), name="floor")
    m.load(kane.Spring(slide, 100.0))
    dyn = kane.build(kane.formulate(m))
    with pytest.raises(kane.ModelError, match=r"0.0981 beyond 'floor': trim solves .* no contact.* is active"):
        kane.trim(dyn)
    with pytest.raises(kane.ModelError, match=r"this state is 0.0981 beyond 'floor': .*kane.assemble moves it out"):
        kane.linearize(dyn, q={"y": -0.0981})
    assert kane.trim(dyn, parameters={"height": -0.2}).q == pytest.approx([-0.0981])
    assert kane.linearize(dyn, q={"y": -0.0981}, parameters={"height": -0.2}).A[1, 0] == pytest.approx(-100.0)
    with pytest.raises(kane.ModelError, match=r"no equilibrium.*intermittent constraints \(floor\) are not active"):
        kane.linearize(dyn)


def test_where_a_floor_would_hold_it_trim_says_that_floors_are_not_in_force():
    m = kane.Model("crate", gravity=(0, 0, -9.81))
    body = m.body("crate", mass=1.0)
    m.connect(m.ground, body, kane.Prismatic("z", axis="z"))
    m.contact(body.point(), kane.Plane(m.ground.point(), m.ground.z), name="floor")
    dyn = kane.build(kane.formulate(m))
    for ask in (kane.trim, kane.linearize):
        with pytest.raises(ModelError, match=r"intermittent constraints \(floor\) are not active.*kane\.Coincidence"):
            ask(dyn)
