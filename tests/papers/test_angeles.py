"""Angeles, Ma & Rojas 1988: the paper's algorithm, its two examples and its table of operation counts."""

import numpy as np
import pytest

import kane
from kane.library.angeles_arms import SIX_AXIS, SIX_AXIS_START, STANFORD

# Some hundred products: 1e4 roundings of 1.1e-16 of the largest entry.
ROUNDING = 1e-12
Z = np.array([0.0, 0.0, 1.0])
G = np.array([0.0, 0.0, -9.81])


def close(ours, theirs, tolerance=ROUNDING):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * np.abs(theirs).max())


def frames(rows, q):
    """Q_i and [a_i]_{i-1}, Eqs. (7) and (8)."""
    for (alpha, a, b, kind, *_), x in zip(rows, q, strict=True):
        theta, b = (x, b) if kind == "R" else (0.0, b + x)
        c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        yield np.array([[c, -s, 0.0], [ca * s, ca * c, -sa], [sa * s, sa * c, ca]]), np.array([a, b * sa, -b * ca])


def paper_inverse_dynamics(rows, q, qd, qdd):
    """Eqs. (12)-(20) outwards, (42)-(43) inwards, the prismatic sign as in Eqs. (19), (20) and (22) (ERRATA)."""
    n = len(rows)
    place = list(frames(rows, q))
    w, wd, cdd, rho_before = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    forces, moments, g = [], [], G
    for (Q, a), row, v, acc in zip(place, rows, qd, qdd, strict=True):
        kind, m, rho, I = row[3], row[4], np.array(row[5]), np.diag(row[6])
        arm = a - rho_before
        carried = Q.T @ (cdd + np.cross(wd, arm) + np.cross(w, np.cross(w, arm)))
        w, wd, g = Q.T @ w, Q.T @ wd, Q.T @ g
        if kind == "R":
            wd = wd + np.cross(w, v * Z) + acc * Z
            w = w + v * Z
        cdd = carried + np.cross(wd, rho) + np.cross(w, np.cross(w, rho))
        if kind == "P":
            cdd = cdd - acc * Z - 2.0 * np.cross(w, v * Z)
        forces.append(m * (cdd - g))
        moments.append(I @ wd + np.cross(w, I @ w))
        rho_before = rho
    tau, f, t = np.zeros(n), np.zeros(3), np.zeros(3)
    for i in reversed(range(n)):
        if i + 1 < n:
            Q, a = place[i + 1]
            f, t = Q @ f, Q @ t + np.cross(a, Q @ f)
        t = t + moments[i] + np.cross(rows[i][5], forces[i])
        f = f + forces[i]
        tau[i] = t[2] if rows[i][3] == "R" else -f[2]
    return tau


def random_rows(sequence, seed):
    random = np.random.default_rng(seed)
    for kind in sequence:
        alpha, a, b = random.uniform(-3.0, 3.0), *random.uniform(0.1, 0.6, 2)
        yield alpha, a, b, kind, random.uniform(0.5, 3.0), random.normal(size=3), random.uniform(0.5, 1.0, 3)


def arm(rows):
    keys = ("alpha", "a", "b", "joint", "mass", "com", "inertia")
    model = kane.from_dh([dict(zip(keys, row, strict=True), theta=0.0) for row in rows], convention="angeles")
    return kane.build(kane.formulate(model))


@pytest.mark.parametrize("sequence", ["R", "P", "RP", "PR", "PP", "RRP", "PRPR", "RPRRPR", "RRRRRRR"])
def test_the_papers_algorithm_gives_the_forces_of_general_arms(sequence):
    rows = list(random_rows(sequence, len(sequence)))
    q, qd, qdd = np.random.default_rng(9).normal(size=(3, len(rows)))
    close(arm(rows).inputs_for(q, qd, qdd), paper_inverse_dynamics(rows, q, qd, qdd))


@pytest.mark.parametrize(
    ("make", "rows"), [(kane.library.stanford_arm_dh, STANFORD), (kane.library.six_axis_arm, SIX_AXIS)]
)
def test_the_papers_algorithm_gives_the_forces_of_both_examples(make, rows):
    dyn = kane.build(kane.formulate(make()))
    q, qd, qdd = np.random.default_rng(4).normal(size=(3, 6))
    close(dyn.inputs_for(q, qd, qdd), paper_inverse_dynamics(rows, q, qd, qdd))


# Example 1


def example_1(t, initial, amplitude):
    """theta_i and b3 of Example 1; B = 2 pi / 10 s."""
    B = 2.0 * np.pi / 10.0
    return initial + amplitude * (t - kane.sin(B * t) / B)


ANGLES = {f"q{i}": (0.0, np.pi / 30) for i in (1, 4, 5, 6)} | {"q2": (np.pi / 2, -np.pi / 60), "q3": (0.0, 0.01)}


@pytest.fixture(scope="module")
def stanford():
    dyn = kane.build(kane.formulate(kane.library.stanford_arm_dh()))
    q = {name: (lambda t, given=given: example_1(t, *given)) for name, given in ANGLES.items()}
    return kane.follow(dyn, q=q, times=np.linspace(0.0, 10.0, 101))


def test_the_joint_trajectories_of_example_1_start_and_end_at_rest_where_the_paper_says(stanford):
    end = {f"q{i}": np.pi / 3 for i in (1, 2, 4, 5, 6)} | {"q3": 0.1}
    for name, value in end.items():
        assert stanford[name][0] == pytest.approx(ANGLES[name][0], abs=1e-15)
        assert stanford[name][-1] == pytest.approx(value, abs=1e-14)
    np.testing.assert_allclose(stanford.u[[0, -1]], 0.0, atol=1e-15)
    np.testing.assert_allclose(stanford.udot[[0, 50, -1]], 0.0, atol=1e-15)


def test_example_1_begins_with_the_moment_of_the_weights_on_the_level_slide(stanford):
    """Slide 0, forearm 1 kg at 0.7 m, wrist 0.6 kg at 0.6 + 0.06 m, hand 0.5 kg at 0.6 + 0.2 m from the shoulder."""
    moment = 9.81 * (1.0 * 0.7 + 0.6 * 0.66 + 0.5 * 0.8)
    wrist = 9.81 * (0.6 * 0.06 + 0.5 * 0.2)
    assert abs(stanford["tau2"][0]) == pytest.approx(moment, rel=1e-14)
    assert abs(stanford["tau5"][0]) == pytest.approx(wrist, rel=1e-14)
    np.testing.assert_allclose(stanford.inputs[0, [0, 2, 3, 5]], 0.0, atol=1e-14)


def test_example_1_ends_with_the_slide_carrying_its_weight(stanford):
    """It then leans 60 degrees from the horizontal's normal: the force is half the 6.1 kg's weight."""
    assert abs(stanford["tau3"][-1]) == pytest.approx(0.5 * 9.81 * 6.1, rel=1e-14)


def test_the_stanford_arms_of_both_papers_are_one_but_for_the_inertia_of_the_first_link(stanford):
    """theta_1 = q1, theta_2 = q2 up to sense, b3 = -q6; A2 is 0.02 there and 0.01 kg m^2 here."""
    dyn = kane.build(kane.formulate(kane.library.stanford_arm()))
    # Columns q1, ..., q6 of Kane and Levinson from theta_1, theta_2, b3, theta_4, theta_5, theta_6.
    columns, signs = [0, 1, 3, 4, 5, 2], np.array([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    q, u, udot = (x[:, columns] * signs for x in (stanford.q, stanford.u, stanford.udot))
    theirs = dyn.inputs_for(q, u, udot)
    ours = stanford.inputs[:, columns] * signs
    ours[:, 0] += 0.01 * udot[:, 0]
    close(theirs, ours)


# Example 2


@pytest.fixture(scope="module")
def line():
    """The end effector on a line along Y for one second, orientation held (ERRATA): a quintic from 0 to 0.5 m."""
    dyn = kane.build(kane.formulate(kane.library.six_axis_arm()))
    start = dyn.poses(SIX_AXIS_START)["link6"]
    times = np.linspace(0.0, 1.0, 201)
    y = 0.5 * times**3 * (10.0 - 15.0 * times + 6.0 * times**2)
    path = start.position + np.outer(y, [0.0, 1.0, 0.0])
    q = kane.inverse_kinematics(dyn, "link6", position=path, orientation=start.orientation, q=SIX_AXIS_START)
    return dyn, start, y, kane.follow(dyn, q=q, times=times)


def test_the_printed_initial_position_puts_the_wrist_where_errata_say(line):
    _, start, _, _ = line
    np.testing.assert_allclose(start.position, (1.32455, 0.0, 1.23764), rtol=0, atol=5e-6)  # five decimals


def test_the_end_effector_follows_the_line_without_turning(line):
    dyn, start, y, motion = line
    pose = dyn.poses(motion.q)["link6"]
    path = start.position + np.outer(y, [0.0, 1.0, 0.0])
    np.testing.assert_allclose(pose.position, path, rtol=0, atol=1e-11)  # inverse kinematics to 1e-12
    np.testing.assert_allclose(pose.orientation, np.broadcast_to(start.orientation, (201, 3, 3)), rtol=0, atol=1e-11)


def test_the_joint_rates_along_the_line_are_those_that_the_jacobian_asks_for(line):
    """Splines of fifth degree through samples 5 ms apart: (5 ms)^5 times derivatives of some 1e4 rad/s^6 is 3e-8."""
    dyn, _, _, motion = line
    jacobian = dyn.jacobian("link6", motion.q)
    t = motion.time
    speed = 0.5 * 30.0 * t**2 * (1.0 - t) ** 2
    v = (jacobian.linear @ motion.u[..., None])[..., 0]
    np.testing.assert_allclose(v, np.outer(speed, [0.0, 1.0, 0.0]), rtol=0, atol=1e-6)
    np.testing.assert_allclose((jacobian.angular @ motion.u[..., None])[..., 0], 0.0, rtol=0, atol=1e-6)


def test_the_driving_torques_of_example_2_are_static_at_both_ends_and_do_the_work(line):
    dyn, _, _, motion = line
    # Accelerations of a spline at its ends err by some (5 ms)^4 x 1e5 rad/s^6; the inertia is some 1e3 kg m^2.
    for k in (0, -1):
        np.testing.assert_allclose(motion.inputs[k], dyn.bias(motion.q[k], np.zeros(6)), rtol=0, atol=1e-2)
    work = np.trapezoid((motion.inputs * motion.u).sum(axis=1), motion.time)
    gained = motion["potential_energy"][-1] - motion["potential_energy"][0]
    # The power and its slope vanish at both ends, so that the trapezoidal rule errs by h^4/720 of the change of its
    # third derivative: (5 ms)^4/720 times some 1e5 W/s^3.
    assert work == pytest.approx(gained, abs=1e-6)
    # The hand's mass centre is on the last axis, and it does not turn.
    assert np.abs(motion["tau6"]).max() < 1e-5


# Table 1


def general_arm(n, *, coincident):
    """n revolute joints in general position, no parameter zero; with Z0 = Z1 and O0 = O1 where ``coincident``."""
    products = np.random.default_rng(6).uniform(0.05, 0.1, (n, 3))
    rows = [
        dict(alpha=alpha, a=a, b=b, theta=0.0, joint=kind, mass=mass, com=com, inertia=(*moments, *product))
        for (alpha, a, b, kind, mass, com, moments), product in zip(random_rows("R" * n, 5), products, strict=True)
    ]
    if coincident:
        rows[0].update(alpha=0.0, a=0.0, b=0.0)
    return kane.formulate(kane.from_dh(rows, convention="angeles")).count()["inverse"]


@pytest.mark.parametrize(
    ("coincident", "printed", "reached"), [(False, (521, 435), (378, 316)), (True, (513, 432), (373, 312))]
)
def test_six_axes_take_fewer_operations_than_the_paper_counts(coincident, printed, reached):
    """The second bound is what this library has reached, for it not to be lost."""
    count = general_arm(6, coincident=coincident)
    for word, theirs, before in zip(("mul", "add"), printed, reached, strict=True):
        assert count[word] <= before < theirs


def test_a_joint_takes_fewer_operations_than_the_paper_counts():
    """105 multiplications and 90 additions there; 81 and 69 have been reached."""
    few, many = (general_arm(n, coincident=False) for n in (6, 9))
    assert many["mul"] - few["mul"] <= 3 * 81
    assert many["add"] - few["add"] <= 3 * 69


def test_the_stanford_arm_takes_fewer_operations_than_kane_and_levinson_counted():
    """646 multiplications and 394 additions in Table 1; its zeros and right angles leave a quarter of them."""
    count = kane.formulate(kane.library.stanford_arm_dh()).count()["inverse"]
    assert count["mul"] < 646 / 4
    assert count["add"] < 394 / 3
