"""Closed loops of the library against other formulations.

Who vouches: Pinocchio's tree with the loops closed by multipliers here; closed forms in minimal coordinates, written
down from the geometry and integrated by scipy; Newton's and Euler's laws of a platform on massless legs.
"""

import numpy as np
import pinocchio as pin
import pytest
from oracles.numbers import State
from oracles.pinocchio_twin import PinocchioTwin
from scipy.integrate import quad, solve_ivp

import kane
from kane import library

ORIGIN = (0.0, 0.0, 0.0)
EXACT = kane.RK5(rtol=1e-10, atol=1e-10)
STANDING = {"platform_z": 1.0} | {f"l{i}": 1.0 for i in range(1, 7)}
PLATFORM = [f"platform_{x}" for x in ("qw", "qx", "qy", "qz", "x", "y", "z")]


def built(model):
    return kane.build(kane.formulate(model))


def meeting(A, a, B, b):
    """Two points that coincide: gap of the velocities, linear in u, and of the accelerations at udot = 0."""
    return lambda twin, s: (linear(twin, s, A, a) - linear(twin, s, B, b), drift(twin, s, A, a) - drift(twin, s, B, b))


def rod(A, a, B, b):
    """Two points at a constant distance: p . v = 0, p . a + v . v = 0."""

    def row(twin, s):
        p = twin.pose(A, s).act(np.array(a)) - twin.pose(B, s).act(np.array(b))
        J, r = meeting(A, a, B, b)(twin, s)
        v = J @ s.u
        return (p @ J)[None, :], np.array([p @ r + v @ v])

    return row


def weld(A, B, b):
    """Body A and a frame at the point b of B."""

    def rows(twin, s):
        J, r = meeting(A, ORIGIN, B, b)(twin, s)
        turn = (twin.jacobian(X, s, np.zeros(3))[:3] for X in (A, B))
        spin = (motion(twin, s, X, ORIGIN)[1] for X in (A, B))
        return np.vstack([J, next(turn) - next(turn)]), np.concatenate([r, next(spin) - next(spin)])

    return rows


def linear(twin, s, body, at):
    return twin.jacobian(body, s, np.array(at))[3:]


def drift(twin, s, body, at):
    return motion(twin, s, body, at)[0]


def motion(twin, s, body, at):
    """Acceleration of a point and angular acceleration of its body at udot = 0, along the axes of N."""
    C, c, rest = twin.motion(s)
    pin.forwardKinematics(twin.model, twin.data, twin.q(s), C @ s.u + c, rest)
    index, place = twin.places[body]
    here = place * pin.SE3(np.eye(3), np.array(at)), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    if index == 0:
        return np.zeros(3), np.zeros(3)
    a = pin.getFrameClassicalAcceleration(twin.model, twin.data, index, *here)
    return a.linear, a.angular


MECHANISMS = {
    "four-bar": (library.four_bar, {"q1": 1.0, "q3": 1.5}, [meeting("coupler", (0.9, 0, 0), "rocker", (0.7, 0, 0))]),
    "slider-crank": (library.slider_crank, {"q3": 0.4}, [meeting("rod", (0.3, 0, 0), "piston", ORIGIN)]),
    "three windows": (
        lambda: library.n_four_bar(3),
        {"a0": 0.3},
        [meeting(f"B{i}", (1.0, 0, 0), f"A{i}", (0, 1.0, 0)) for i in (1, 2, 3)],
    ),
    "Bricard": (library.bricard, {"q1": 0.4}, [weld("q6_M", "bar5", (0, 1.0, 0))]),
    "flyball governor": (
        library.flyball_governor,
        {"q2": 0.9, "q3": 0.9, "q4": 0.4},
        [rod(side, (0, 0, -0.5), "sleeve", (x, 0, 0)) for side, x in (("right", 0.05), ("left", -0.05))],
    ),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_accelerates_as_pinocchios_tree_with_multipliers(name):
    make, guess, closures = MECHANISMS[name]
    model = make()
    dyn = built(model)
    n = len(dyn.equations.u)
    random = np.random.default_rng(3)
    state = kane.assemble(dyn, q=guess, u=random.normal(size=n), fixed=list(guess)[:1])
    inputs = random.normal(size=len(dyn.equations.inputs))
    s = State(state.q, state.u, np.zeros(n), inputs)
    twin = PinocchioTwin(model, dyn.equations)
    rows, remainders = zip(*(closure(twin, s) for closure in closures), strict=True)
    A, r = np.vstack(rows), np.concatenate(remainders)
    np.testing.assert_allclose(A @ state.u, 0.0, atol=1e-11)  # assembled: residuals of metres per second
    _, sizes, V = np.linalg.svd(A)
    N = V[np.count_nonzero(sizes > 1e-9 * sizes[0]) :].T
    least = -np.linalg.pinv(A, rcond=1e-9) @ r
    efforts = np.zeros(n)
    for load, effort in zip(model.loads, inputs, strict=True):  # motors all, in the order of their inputs
        efforts[[u.name for u in dyn.equations.u].index(load.connection.speed_names[0])] += effort
    M, h = twin.mass_matrix(s), twin.bias(s)
    udot = least + N @ np.linalg.solve(N.T @ M @ N, N.T @ (efforts - h - M @ least))
    # Hundreds of operations by two routes, and systems of condition number below 1e3.
    scale = 1.0 + np.abs(udot).max()
    np.testing.assert_allclose(dyn.forward(state.q, state.u, inputs), udot, rtol=0, atol=1e-10 * scale)


def four_bar_energies(q1, a=0.3, b=0.9, c=0.7, d=1.0, mu=2.0, g=9.81):
    """J(q1) of T = J q1'^2 / 2, and V, from the law of cosines: the rods' ends and middles as complex numbers."""
    A = a * np.exp(1j * q1)
    D = d + 0j
    L = abs(D - A)
    at_D = np.arccos((c * c + L * L - b * b) / (2 * c * L))
    B = D + c * (A - D) / L * np.exp(-1j * at_D)
    # Velocities per unit of q1': that of the joint, i A + i w0 (B - A), is that of the rocker's end, i w1 (B - D).
    normals = np.array([[(B - A).real, (D - B).real], [(B - A).imag, (D - B).imag]])
    w = np.linalg.solve(normals, [-A.real, -A.imag])
    middle = 1j * A + 0.5j * w[0] * (B - A)
    J = mu * (a**3 / 3 + b * abs(middle) ** 2 + b**3 * w[0] ** 2 / 12 + c**3 * w[1] ** 2 / 3)
    return J, mu * g * (a * A.imag / 2 + b * (A + B).imag / 2 + c * B.imag / 2)


def time_of_a_turn(energies, start, speed):
    """From the energy alone: dt = sqrt(J / (2 (E - V))) dq over a turn."""
    J, V = energies(start)
    E = 0.5 * J * speed**2 + V

    def slowness(q):
        J, V = energies(q)
        return np.sqrt(J / (2 * (E - V)))

    return quad(slowness, start, start + 2 * np.pi, epsabs=1e-13, epsrel=1e-13, limit=500)[0]


def slider_crank_energies(q1, r=0.1, l=0.3, mc=0.8, mr=0.6, mp=1.2, g=9.81):
    """J(q1) and V: the rod leans by the angle whose sine is r sin q1 / l."""
    lean = np.arcsin(r * np.sin(q1) / l)
    turn = -r * np.cos(q1) / (l * np.cos(lean))  # of the rod, per unit of q1'
    piston = -r * np.sin(q1) + l * np.sin(lean) * turn
    middle = np.hypot(-r * np.sin(q1) + 0.5 * l * np.sin(lean) * turn, 0.5 * r * np.cos(q1))
    J = mc * r * r / 3 + mr * (middle**2 + l * l * turn**2 / 12) + mp * piston**2
    return J, g * (mc + mr) * r * np.sin(q1) / 2


TURNING = {
    "four-bar": (library.four_bar, four_bar_energies, {"q3": 1.5}, 8.0),
    "slider-crank": (library.slider_crank, slider_crank_energies, {"q3": 0.4}, 20.0),
}


@pytest.mark.parametrize("name", TURNING)
def test_a_crank_turns_in_the_time_that_its_energy_says(name):
    make, energies, guess, speed = TURNING[name]
    dyn = built(make())
    state = kane.assemble(dyn, q=guess | {"q1": 1.0}, u={"u1": speed}, fixed=["q1", "u1"])
    until = 10 * time_of_a_turn(energies, 1.0, speed)
    run = kane.simulate(dyn, until=until, q=state.q, u=state.u, integrator=EXACT)
    # Ten turns of a hundred steps, each with an error of 1e-10 of some radians and of 20 rad/s over half a second.
    assert run["q1"][-1] == pytest.approx(1.0 + 20 * np.pi, abs=2e-7)
    assert run["u1"][-1] == pytest.approx(speed, abs=2e-7)
    assert np.abs(run.residuals.configuration_residual).max() < 1e-13


@pytest.mark.slow
def test_a_four_bar_keeps_its_loop_and_its_energy_over_a_thousand_turns_and_seconds():
    dyn = built(library.four_bar())
    state = kane.assemble(dyn, q={"q1": 1.0, "q3": 1.5}, u={"u1": 6.4}, fixed=["q1", "u1"])
    run = kane.simulate(dyn, until=1000.0, q=state.q, u=state.u, integrator=EXACT)
    assert run["q1"][-1] > 1000 * 2 * np.pi
    # The angles grow to 8,600 rad, whose last digit is 2e-12.
    assert run.residuals.configuration_residual.max() < 4e-12
    assert run.residuals.motion_residual.max() < 1e-14 * 8.0
    assert np.abs(run.energy / run.energy[0] - 1.0).max() < 1e-8  # the figure of issue 5


def test_a_crank_and_a_rod_of_one_length_pass_the_place_where_the_piston_may_rest():
    dyn = built(library.slider_crank())
    equal = {"r": 0.2, "l": 0.2, "g": 0.0}
    state = kane.assemble(dyn, q={"q3": 0.4}, u={"u1": 20.0}, fixed=["q1", "u1"], parameters=equal)
    run = kane.simulate(dyn, until=2.0, q=state.q, u=state.u, integrator=EXACT, parameters=equal)
    assert run["q1"][-1] > 4 * np.pi  # four passages
    # The piston goes through, x = 2 r cos q1, where it might as well stay at x = 0 with the rod on the crank.
    np.testing.assert_allclose(run["q3"], 0.4 * np.cos(run["q1"]), rtol=0, atol=1e-12)
    assert np.abs(run.energy / run.energy[0] - 1.0).max() < 1e-8


def row_of_windows(n, until, rtol):
    """A run from the start of the benchmark, and the angle of the pendulum that it is while all rods stay parallel."""
    dyn = built(library.n_four_bar(n))
    u = {f"a{i}_dot": 1.0 for i in range(n + 1)} | {f"b{i}_dot": -1.0 for i in range(1, n + 1)}
    run = kane.simulate(dyn, until=until, u=u, integrator=kane.RK5(rtol=rtol, atol=rtol))
    standing, gravity = (n + 1) / 3 + n, 9.81 * ((n + 1) / 2 + n)
    pendulum = solve_ivp(
        lambda t, x: [x[1], gravity / standing * np.sin(x[0])],
        (0.0, until),
        [0.0, 1.0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
    )
    return dyn, run, pendulum.y[0, -1]


# Of forty windows 1e-8: where they lie flat the derivative has 6 to 8 digits, and whether a run to 1e-10 gets past that
# with so many is a matter of rounding (of 30 to 45 windows two rows in six did not, others with every change of a bit).
@pytest.mark.parametrize(
    ("n", "rtol"), [(1, 1e-10), (2, 1e-10), (5, 1e-10), pytest.param(40, 1e-8, marks=pytest.mark.slow)]
)
def test_windows_pass_the_position_where_their_freedoms_rise_from_one_to_n_plus_one(n, rtol):
    dyn, run, angle = row_of_windows(n, 10.0, rtol)
    lying = np.array([0.5 * np.pi] * (n + 1) + [-0.5 * np.pi] * n)
    state = kane.assemble(dyn, q=lying)
    assert len(dyn.equations.u) - state.rank == n + 1
    assert angle > 10 * np.pi  # ten passages
    rods = run.q[:, : n + 1]
    assert np.ptp(rods, axis=1).max() < 1e-6  # no window leaves the others: angles known to the root of rounding
    # Of rtol a step over some 500 steps, and at each passage what a freedom of no stiffness is off by.
    assert rods[-1] == pytest.approx(angle, abs=1e-5)
    kinetic = dyn.energy(run.q, run.u).kinetic
    assert np.abs(run.energy - run.energy[0]).max() < (2e-8 + 10.0 * rtol) * kinetic.max()


def test_bricards_chain_moves_with_one_redundant_equation_and_its_angles_obey_the_closed_form():
    dyn = built(library.bricard())
    state = kane.assemble(dyn)
    assert (state.rank, len(state.redundant), len(dyn.equations.u)) == (5, 1, 6)
    run = kane.simulate(dyn, until=10.0, q=state.q, u=state.u, integrator=EXACT)
    assert np.ptp(run["q1"]) > 1.0
    places = dyn.poses(run.q)
    corners = [places[f"bar{i}"].position for i in range(1, 6)] + [np.tile([0.0, 0.0, 1.0], (len(run.q), 1))]
    edges = np.array([corners[(i + 1) % 6] - corners[i] for i in range(6)])
    np.testing.assert_allclose(np.linalg.norm(edges, axis=2), 1.0, rtol=0, atol=1e-12)
    c = [np.sum(edges[i] * edges[(i + 1) % 6], axis=1) for i in range(6)]
    for i in (0, 1):  # threefold symmetry
        np.testing.assert_allclose(c[i + 2], c[i], rtol=0, atol=1e-12)
        np.testing.assert_allclose(c[i + 4], c[i], rtol=0, atol=1e-12)
    # The trihedral chain of equal links and right twists bends by A and B in turn: cos A + cos B + cos A cos B = 0.
    np.testing.assert_allclose(c[0] + c[1] + c[0] * c[1], 0.0, atol=1e-12)
    kinetic = dyn.energy(run.q, run.u).kinetic
    assert np.abs(run.energy - run.energy[0]).max() < 1e-8 * kinetic.max()


def governor(until, times):
    """Height s = 1 - cos x of the sleeve under rigid couplers, rods x from straight down; H about the shaft is kept."""
    rod, sleeve, ball, g = 0.3, 3.0, 5.0, 9.81
    across, along = rod * (1.0 + 1e-4) / 12, rod * 1e-4 / 6

    def spin(x):  # moment about the shaft, and its slope
        out, mid = 0.05 + np.sin(x), 0.05 + 0.5 * np.sin(x)
        value = along + sleeve * 0.01 / 6 + 2 * (ball * out**2 + rod * mid**2)
        value += 2 * (across * np.sin(x) ** 2 + along * np.cos(x) ** 2)
        slope = 2 * np.cos(x) * (2 * ball * out + rod * mid) + 4 * (across - along) * np.sin(x) * np.cos(x)
        return value, slope

    H = 2 * np.pi * spin(np.pi / 3)[0]

    def rates(t, y):
        x, v = y
        I, slope = spin(x)
        J = 2 * (ball + rod / 4 + across) + sleeve * np.sin(x) ** 2
        weight = g * np.sin(x) * (2 * ball + rod + sleeve)
        return [v, (0.5 * slope * (H / I) ** 2 - sleeve * np.sin(x) * np.cos(x) * v * v - weight) / J]

    found = solve_ivp(rates, (0.0, until), [np.pi / 3, 0.0], method="DOP853", rtol=1e-12, atol=1e-12, t_eval=times)
    return 1.0 - np.cos(found.y[0])


def test_a_governor_moves_as_its_closed_form_and_with_stiff_couplers_nearly_so():
    start = dict(q={"q2": np.pi / 3, "q3": np.pi / 3, "q4": 0.5}, u={"u1": 2 * np.pi}, times=np.linspace(0, 10, 101))
    rigid = kane.simulate(built(library.flyball_governor()), until=10.0, integrator=EXACT, **start)
    height = governor(10.0, rigid.time)
    assert np.ptp(height) > 0.2
    # Some thousand steps of 1e-10, magnified by a motion whose period depends on its amplitude.
    np.testing.assert_allclose(rigid["q4"], height, rtol=0, atol=1e-7)
    stiff = kane.simulate(built(library.stiff_flyball_governor()), until=10.0, integrator=kane.BDF(), **start)
    # Couplers of 8e5 N/m yield by 2e-4 m under the 150 N they carry.
    np.testing.assert_allclose(stiff["q4"], height, rtol=0, atol=5e-4)
    assert np.abs(stiff["q4"] - height).max() > 1e-6


MASSLESS = {"m1": 0.0, "m2": 0.0, "J1": 0.0, "J2": 0.0}


@pytest.fixture(scope="module")
def stewart():
    """The platform, and a state in which it is off centre, leans, and moves."""
    dyn = built(library.stewart_platform())
    held = dict(zip(PLATFORM, (0.95, 0.2, -0.15, 0.18, 0.1, -0.05, 0.9), strict=True))
    size = np.linalg.norm(list(held.values())[:4])
    guess = STANDING | {k: v / (size if k in PLATFORM[:4] else 1.0) for k, v in held.items()}
    speeds = {f"platform_{x}": v for x, v in zip(("wx", "wy", "wz", "vx", "vy", "vz"), range(1, 7), strict=True)}
    return dyn, kane.assemble(dyn, q=guess, u=speeds, fixed=[*PLATFORM, *speeds])


def legs(dyn, state):
    """Directions of the legs and moments of them about the mass centre, in N, (6, 3) each."""
    poses = dyn.poses(state.q)
    p, heads = poses["platform"].position, [poses[f"upper{i}"].position for i in range(1, 7)]
    e = np.array([h - poses[f"lower{i}"].position for i, h in enumerate(heads, start=1)])
    lengths = np.linalg.norm(e, axis=1)
    np.testing.assert_allclose(lengths, [state.q[dyn_index(dyn, f"l{i}")] for i in range(1, 7)], rtol=1e-11)
    e /= lengths[:, None]
    return e, np.cross(np.array(heads) - p, e)


def dyn_index(dyn, name):
    return [x.name for x in dyn.equations.q].index(name)


def test_a_platform_on_massless_legs_obeys_newton_and_euler(stewart):
    dyn, state = stewart
    thrust = np.array([120.0, 80.0, 150.0, 40.0, 90.0, 110.0])
    udot = dyn.forward(state.q, state.u, thrust, parameters=MASSLESS)[:6]
    e, moments = legs(dyn, state)
    R = dyn.poses(state.q)["platform"].orientation
    I, w, v = np.diag([3.0, 3.0, 6.0]), state.u[:3], state.u[3:6]
    alpha = np.linalg.solve(I, R.T @ (thrust @ moments) - np.cross(w, I @ w))
    a = R.T @ (thrust @ e / 40.0 - [0, 0, 9.81]) - np.cross(w, v)
    # Legs turn at some 10 rad/s: accelerations of 1e3 through 18 equations of condition number 10.
    np.testing.assert_allclose(udot, np.concatenate([alpha, a]), rtol=0, atol=1e-9)


def test_thrusts_that_carry_the_platform_hold_it(stewart):
    dyn, state = stewart
    e, moments = legs(dyn, state)
    wrench = np.vstack([e.T, moments.T])
    thrust = np.linalg.solve(wrench, [0, 0, 40.0 * 9.81, 0, 0, 0])
    held = dyn.forward(state.q, np.zeros(24), thrust, parameters=MASSLESS)
    np.testing.assert_allclose(held, 0.0, atol=1e-9)  # forces of 400 N on 40 kg
