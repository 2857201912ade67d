"""Tanner & Kyriakopoulos 2001: the mobile manipulator of Table I, its equations, motions and margins.

The paper prints no numbers of a motion; ERRATA has the readings of Table I. Initial values of Figs. 3-5 are ours,
chosen so that what the text says of each figure happens. Who vouches: the printed Eqs. (4) and (5); multipliers and the
paper's own route (base reaction revealed, balance of the platform) for the forces, which the library gets from the
momentum of the whole; static limits by hand; conservation of energy.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import kane
from kane import ModelError
from kane.expression.interpret import interpret
from kane.library import lock_steering, mobile_manipulator, platform_wheels, tanner_speeds
from kane.library.mobile_manipulator import ArmLink, DriveWheel, Platform

G, R, L, B = 9.81, 0.15, 0.6, 0.3  # free fall; wheel radius, wheelbase, half the track and the rear axle's distance
WHEEL, CARRIAGE, ARM_BASE, LINKS = 2.0, 46.0, 5.0, (10.0, 5.0)
WEIGHT = (CARRIAGE + ARM_BASE + sum(LINKS)) * G
CONTACTS = np.array([(0.3, 0.0), (-0.3, 0.3), (-0.3, -0.3)])
FREE = ("roll0", "u4", "u5", "u6")
# A thousand operations on forces of 650 N: 1e3 roundings of 1e-16 of that, and one digit to spare.
FORCE = 1e-9
FIGURES = {
    "Fig. 3": dict(u={"roll0": 1.0 / R}),
    "Fig. 4": dict(u={"u5": 2.0}),
    "Fig. 5": dict(q={"phi": 0.5}, u={"roll0": 1.0 / R}),
}


def built(model):
    equations = kane.formulate(model)
    bodies = {b.name: b for b in model.bodies}
    wheels = platform_wheels(model)
    carriage = [bodies["platform"], *(w.turn.child for w in wheels)]
    return SimpleNamespace(
        model=model, eqs=equations, dyn=kane.build(equations), wheels=wheels, carriage=carriage, bodies=bodies
    )


@pytest.fixture(scope="module")
def table_one():
    m = built(mobile_manipulator())
    m.forces, m.tip = kane.wheel_forces(m.eqs, m.wheels), kane.tip_over(m.eqs, m.wheels, m.carriage)
    return m


@pytest.fixture(scope="module")
def locked():
    model = mobile_manipulator()
    lock_steering(model)
    m = built(model)
    m.forces, m.tip = kane.wheel_forces(m.eqs, m.wheels), kane.tip_over(m.eqs, m.wheels, m.carriage)
    return m


def state(m, q=None, u=None):
    """The consistent state with given coordinates and independent speeds."""
    fixed = [x.name for x in m.eqs.q] + [x.name for i, x in enumerate(m.eqs.u) if i in m.eqs.embedding.independent]
    found = kane.assemble(m.dyn, q=q or {}, u=u or {}, fixed=fixed)
    return found.q, found.u


def driven(m, case, until=6.0, **options):
    q, u = state(m, **case)
    return kane.simulate(m.dyn, until=until, q=q, u=u, integrator=kane.RK8(rtol=1e-11, atol=1e-11), **options)


def random_state(m, seed):
    random = np.random.default_rng(seed)
    q = dict(zip([x.name for x in m.eqs.q], random.uniform(-1.2, 1.2, len(m.eqs.q)), strict=True))
    return *state(m, q, dict(zip(FREE, random.normal(size=4), strict=True))), random.normal(size=len(m.eqs.inputs))


def at(m, outputs, q, u, inputs=None):
    """Expressions at one state, by the interpreter."""
    inputs = np.zeros(len(m.eqs.inputs)) if inputs is None else inputs
    leaves = (m.eqs.t, *m.eqs.q, *m.eqs.u, *m.eqs.inputs)
    values = interpret(list(outputs.values()), dict(zip(leaves, (0.0, *q, *u, *inputs), strict=True)))
    return dict(zip(outputs, map(float, values), strict=True))


def named(leaves, values):
    """Values by the names of their leaves."""
    return dict(zip([x.name for x in leaves], values, strict=True))


def forces_of(m):
    """All of m.forces in one dict: "Nw0", "Xw0", "Yw1 + w2", ..."""
    kinds = {"N": m.forces.load, "X": m.forces.traction, "Y": m.forces.lateral}
    return {f"{kind}{name}": x for kind, found in kinds.items() for name, x in found.items()}


def heading(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def left(angle):
    return np.array([-np.sin(angle), np.cos(angle)])


def test_the_coordinates_are_the_paper_s_and_the_independent_speeds_fail_nowhere(table_one):
    eqs = table_one.eqs
    assert [x.name for x in eqs.q] == ["x", "y", "theta", "phi", "q1", "q2", "turn0", "turn1", "turn2"]
    assert [eqs.u[i].name for i in eqs.embedding.independent] == ["u4", "u5", "u6", "roll0"]
    assert eqs.embedding.fails_where == () == eqs.system.fails_where


@pytest.mark.parametrize("wheels", [3, 4, *(pytest.param(n, marks=pytest.mark.slow) for n in (5, 6))])
def test_no_wheel_slips_or_skids(wheels):
    """The velocity of every wheel's centre, from the platform's alone, is r roll along the wheel's heading."""
    m = built(mobile_manipulator(1, wheels))
    random = np.random.default_rng(wheels)
    steering = {c.child: c for c in m.model.connections if c.name.startswith("steering")}
    for _ in range(3):
        phi, forward = random.uniform(-0.6, 0.6), random.uniform(0.5, 2.0)
        _, u = state(m, {"phi": phi, "theta": random.uniform(-3, 3)}, {"roll0": forward / R, "u4": random.normal()})
        v = named(m.eqs.u, u)
        for w in m.wheels:
            held = steering.get(w.turn.parent)
            x, y = (held or w.turn).p_PF[:2]
            centre = np.array([v["u1"] - y * v["u3"], v["u2"] + x * v["u3"]])
            # One division by the distance to the centre of turning: 1e2 roundings.
            assert np.linalg.norm(centre) == pytest.approx(R * v[w.name.replace("w", "roll")], rel=1e-13)
            heading = 0.0 if held is None else kane.evaluate(held.q, {"phi": phi})
            assert np.arctan2(centre[1], centre[0]) == pytest.approx(heading, abs=1e-13)


def test_rows_that_the_steering_linkage_makes_redundant_are_found():
    """w rows of no slip and two of no skid are independent, however many wheels there are."""
    for wheels in (3, 4, 5, 6):
        eqs = kane.formulate(mobile_manipulator(2, wheels))
        assert len(eqs.constraints) - len(eqs.embedding.redundant) == wheels + 2
        assert len(eqs.embedding.independent) == 4


@pytest.mark.parametrize("seed", range(3))
def test_the_paper_s_speeds_obey_equations_4_and_5_and_give_the_same_motion(table_one, seed):
    """Eqs. (4), (5) as printed but for Z2 = -cos (ERRATA); all constraints embedded in numbers at the state."""
    model = mobile_manipulator()
    tanner_speeds(model)
    theirs = kane.build(kane.formulate(model))
    q, u, inputs = random_state(table_one, seed)
    qdot = table_one.dyn.kinematics(q, u)
    _, _, theta, phi = q[:4]
    Zo = 0.3 * np.cos(phi)
    given = {"u1": qdot[0] / Zo, "u2": qdot[1] / Zo, **named(table_one.eqs.u[2:], u[2:])}
    v = np.array([given[x.name] for x in theirs.equations.u])
    Z1, Z2 = np.sin(phi + theta), -np.cos(phi + theta)
    assert v[2] == pytest.approx(Z1 * v[0] + Z2 * v[1], abs=1e-13)
    for j, (x, y) in enumerate(CONTACTS):
        angle = phi if j == 0 else 0.0
        Z1j = y * np.cos(angle) - x * np.sin(angle)
        Z3j, Z4j = Zo * np.cos(angle + theta) - Z1j * Z1, Zo * np.sin(angle + theta) - Z1j * Z2
        assert given[f"roll{j}"] == pytest.approx((Z3j * v[0] + Z4j * v[1]) / R, abs=1e-12)
    # Two embeddings, one of them by QR: rounding of a mass matrix with a condition of 1e4.
    np.testing.assert_allclose(
        theirs.forward(q, v, inputs)[2:], table_one.dyn.forward(q, u, inputs)[2:], rtol=1e-9, atol=1e-9
    )


def test_the_explicit_route_gives_the_same_accelerations(table_one):
    other = kane.build(kane.explicit(table_one.model))
    for seed in range(3):
        q, u, inputs = random_state(table_one, seed)
        found, expected = (d.forward(q, u, inputs) for d in (other, table_one.dyn))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("case", FIGURES)
def test_kinetic_energy_is_constant_with_the_steering_locked(locked, case):
    """Nothing does work: all motion is level. 1e-11 of tolerance over some thousand steps."""
    run = driven(locked, FIGURES[case])
    energy = np.asarray(run.energy)
    assert np.ptp(energy) < 1e-8 * (energy[0] + 1.0)
    assert np.abs(run["u4"]).max() < 1e-12
    moved = np.ptp(run.q[:, :3], axis=0).max()
    assert moved > 0.01  # of figure 4 too, whose platform the arm drives to and fro


def test_kinetic_energy_is_constant_with_the_steering_free(table_one):
    run = driven(table_one, dict(q={"phi": 0.3, "q1": 0.5}, u={"roll0": 5.0, "u5": 1.0, "u4": 0.2}))
    energy = np.asarray(run.energy)
    assert np.ptp(energy) < 1e-8 * energy[0]
    assert np.ptp(run["phi"]) > 0.1


def test_figure_3_straight_motion_needs_no_friction_and_does_not_tip(locked):
    run = driven(locked, FIGURES["Fig. 3"])
    forces, tip = locked.forces.along(run, friction=0.7), locked.tip.along(run)
    np.testing.assert_allclose(run["x"], run.time, atol=1e-9)
    for name in ("traction w0", "traction w1", "traction w2", "lateral w0", "lateral w1 + w2"):
        assert np.abs(forces[name].to_numpy()).max() < FORCE
    assert tip["measure"].min() > 0.0
    assert np.ptp(tip["measure"].to_numpy()) < FORCE


def test_figure_4_the_arm_tips_the_platform_where_the_text_says(locked):
    """Near pi/2 and 3 pi/2 of the first link, and never near 0 and pi; the platform moves to and fro."""
    run = driven(locked, FIGURES["Fig. 4"])
    tipping = locked.tip.along(run)["measure"].to_numpy() < 0.0
    q1 = run["q1"]
    assert np.abs(np.sin(q1[tipping])).min() > np.sin(np.radians(25.0))
    for side in (1.0, -1.0):
        assert tipping[side * np.sin(q1) > 0.9].any()
    assert np.abs(np.diff(np.sign(run["u1"][1:]))).sum() >= 4.0


def test_figure_5_on_a_left_turn_the_arm_swings_out_and_risks_tipping_to_the_right(locked):
    run = driven(locked, FIGURES["Fig. 5"])
    tip = locked.tip.along(run)
    speed = R * run["roll0"]
    assert np.ptp(speed) > 0.1  # the arm's swing changes the speed of the platform
    bad = tip["measure"].to_numpy() < 0.0
    assert bad.any()
    assert not bad.all()
    over_the_right = np.sin(run["q1"]) < 0.0
    assert over_the_right[bad].all()


@pytest.mark.parametrize(("q1", "q2"), [(0.0, 0.0), (0.7, -0.4), (2.0, 1.0), (np.pi, 0.0), (-1.5, 0.3)])
def test_at_rest_loads_are_those_of_the_levers(table_one, q1, q2):
    """Three loads carry the weights at their places in the plane: a 3 x 3 system by hand."""
    arm = [(0.25 * np.cos(q1), 0.25 * np.sin(q1))]
    arm.append((1.05 * np.cos(q1) + 0.4 * np.cos(q1 + q2), 1.05 * np.sin(q1) + 0.4 * np.sin(q1 + q2)))
    places = np.array([(0.0, 0.0), *CONTACTS, (0.0, 0.0), *arm])
    masses = np.array([40.0, WHEEL, WHEEL, WHEEL, ARM_BASE, *LINKS])
    needed = G * np.array([masses.sum(), masses @ places[:, 0], masses @ places[:, 1]])
    expected = np.linalg.solve(np.vstack([np.ones(3), CONTACTS.T]), needed)
    q, u = state(table_one, {"q1": q1, "q2": q2, "theta": 0.8, "x": 3.0})
    found = at(table_one, forces_of(table_one), q, u)
    np.testing.assert_allclose([found[f"Nw{j}"] for j in range(3)], expected, atol=FORCE)
    assert abs(found["Yw0"]) + abs(found["Yw1 + w2"]) < FORCE


@pytest.mark.parametrize(("q1", "q2"), [(0.0, 0.0), (1.2, -0.4), (-2.0, 0.8)])
def test_at_rest_force_angles_are_those_of_the_printed_formula(table_one, q1, q2):
    """sign((l x f*) . a) arccos(f* . l) with the weights and their moments, all vectors by hand."""
    q, u = state(table_one, {"q1": q1, "q2": q2, "theta": -0.6, "y": 2.0})
    found = at(table_one, {**table_one.tip.angles, "resultant": table_one.tip.resultant}, q, u)
    masses = np.array([40.0, WHEEL, WHEEL, WHEEL, ARM_BASE, *LINKS])
    arm = np.exp(1j * q1) * 0.25, np.exp(1j * q1) * (1.05 + 0.4 * np.exp(1j * q2))
    places = np.array([(0.0, 0.0), *CONTACTS, (0.0, 0.0), *((z.real, z.imag) for z in arm)])
    p_c = np.append(masses[:4] @ places[:4] / CARRIAGE, R)
    f = np.array([0.0, 0.0, -WEIGHT])
    n = sum(np.cross([*(p - p_c[:2]), 0.0], [0.0, 0.0, -mass * G]) for p, mass in zip(places, masses, strict=True))
    corners = np.column_stack([CONTACTS, np.zeros(3)])
    for i, j in ((0, 1), (1, 2), (2, 0)):
        a = (corners[j] - corners[i]) / np.linalg.norm(corners[j] - corners[i])
        l = (np.eye(3) - np.outer(a, a)) @ (corners[j] - p_c)
        size = np.linalg.norm(l)
        pressed = f - a * (a @ f) + np.cross(l / size, a * (a @ n)) / size
        pressed /= np.linalg.norm(pressed)
        expected = np.sign(np.cross(l / size, pressed) @ a) * np.arccos(pressed @ l / size)
        # arccos near 1 loses half the digits, here only some: cos(theta) is below 0.999.
        assert found[f"w{i} - w{j}"] == pytest.approx(expected, abs=1e-12)
    assert found["resultant"] == pytest.approx(WEIGHT, rel=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_tractions_and_lateral_forces_are_the_multipliers_of_the_rolling_rows(table_one, seed):
    """By auxiliary speeds on the rows: w0's along the axes of the platform; the two rear lateral ones as one."""
    m = table_one
    q, u, inputs = random_state(m, seed)
    rows = ("rolling of w0 along x", "rolling of w0 along y", "no slip of w1", "no slip of w2")
    revealed = kane.reveal_reactions(m.eqs, *rows).forward
    found = at(m, {**forces_of(m), **revealed}, q, u, inputs)
    w0 = np.array([found[name] for name in rows[:2]])
    expected = [w0 @ heading(q[3]), found[rows[2]], found[rows[3]], w0 @ left(q[3])]
    got = [found[name] for name in ("Xw0", "Xw1", "Xw2", "Yw0")]
    np.testing.assert_allclose(got, expected, rtol=0, atol=FORCE)


def test_the_rear_lateral_forces_are_determinate_only_in_their_sum(table_one):
    """What auxiliary speeds on both rear rows say, in words and in number."""
    m = table_one
    rows = ("no skid of w1", "no skid of w2")
    revealed = kane.reveal_reactions(m.eqs, *rows)
    assert revealed.indeterminate == rows
    assert revealed.determinate_sums == ({rows[0]: 1.0, rows[1]: 1.0},)
    q, u, inputs = random_state(m, 11)
    total = revealed.summed(rear=revealed.determinate_sums[0]).forward
    found = at(m, {**forces_of(m), **total}, q, u, inputs)
    assert found["Yw1 + w2"] == pytest.approx(found["rear"], abs=FORCE)


@pytest.mark.parametrize("seed", range(4))
def test_contact_forces_balance_platform_and_wheels_against_the_revealed_base_reaction(table_one, seed):
    """The paper's route, Eqs. (6e)-(6g) and (9): R = sum m (g - a) over platform and wheels + the base's force."""
    m = table_one
    q, u, inputs = random_state(m, seed)
    base = kane.reveal_reactions(m.eqs, "base").forward
    f = at(m, {**base, **forces_of(m)}, q, u, inputs)
    udot = named(m.eqs.u, m.dyn.forward(q, u, inputs))
    v = named(m.eqs.u, u)
    centre = np.array([udot["u1"] - v["u3"] * v["u2"], udot["u2"] + v["u3"] * v["u1"], 0.0])
    F, T = -40.0 * centre, np.array([0.0, 0.0, -3.02 * udot["u3"]])  # along the platform's axes, about its mass centre
    moment = WHEEL * R**2 / 4.0
    for j, (x, y) in enumerate(CONTACTS):
        steered = j == 0
        a = centre + udot["u3"] * np.array([-y, x, 0.0]) - v["u3"] ** 2 * np.array([x, y, 0.0])
        F, T = F - WHEEL * a, T - WHEEL * np.cross([x, y, 0.0], a)
        angle, turning = q[3] * steered, v["u3"] + v["u4"] * steered
        axle, forward = np.array([*left(angle), 0.0]), np.array([*heading(angle), 0.0])
        # H = 2 I roll axle + I turning z, and the axle turns: d(axle)/dt = -turning forward, seen in N.
        T -= 2.0 * moment * (udot[f"roll{j}"] * axle - v[f"roll{j}"] * turning * forward)
        T[2] -= moment * (udot["u3"] + udot["u4"] * steered)
        T -= np.cross([x, y, 0.0], [0.0, 0.0, WHEEL * G])
    F = F + np.array([0.0, 0.0, -CARRIAGE * G]) - [f["base Fx"], f["base Fy"], f["base Fz"]]
    T = T - [f["base Tx"], f["base Ty"], f["base Tz"]]
    pushed, turned = np.zeros(3), np.zeros(3)
    for j, (x, y) in enumerate(CONTACTS):
        angle = q[3] * (j == 0)
        lateral = f["Yw0"] if j == 0 else f["Yw1 + w2"] / 2.0  # on one line: any share has the same moment
        force = np.array([*(f[f"Xw{j}"] * heading(angle) + lateral * left(angle)), f[f"Nw{j}"]])
        pushed, turned = pushed + force, turned + np.cross([x, y, -R], force)
    np.testing.assert_allclose(pushed, -F, rtol=0, atol=FORCE)
    np.testing.assert_allclose(turned, -T, rtol=0, atol=FORCE)


def test_the_sum_of_contact_forces_is_the_rate_of_momentum_along_a_run(locked):
    """Central differences of recorded momentum; their error is h^2 / 6 times a third derivative of some 1e3 N / s^2."""
    run = driven(locked, FIGURES["Fig. 5"], until=2.0, times=np.linspace(0.0, 2.0, 2001))
    f, h = locked.forces.along(run, friction=0.7), run.time[1] - run.time[0]
    P = locked.dyn.momentum(run.q, run.u).linear[:, :2]
    front, rear = run["theta"] + run["phi"], run["theta"]
    X, Y = f["traction w0"].to_numpy(), f["lateral w0"].to_numpy()
    total = X * heading(front) + Y * left(front)
    X, Y = (f["traction w1"] + f["traction w2"]).to_numpy(), f["lateral w1 + w2"].to_numpy()
    total = (total + X * heading(rear) + Y * left(rear)).T
    np.testing.assert_allclose(total[1:-1], (P[2:] - P[:-2]) / (2.0 * h), atol=1e3 * h * h)


def test_forces_along_a_run_are_the_same_with_constraints_embedded_in_numbers(table_one):
    """The paper's speeds, whose embedding is chosen at each state; events cannot know of it."""
    model = mobile_manipulator()
    tanner_speeds(model)
    m = built(model)
    forces, tip = kane.wheel_forces(m.eqs, m.wheels), kane.tip_over(m.eqs, m.wheels, m.carriage)
    case = dict(q={"phi": 0.4, "theta": 1.4}, u={"roll0": 5.0, "u5": 1.0})
    run = driven(table_one, case, until=1.0, times=np.linspace(0.0, 1.0, 11))
    start = kane.assemble(m.dyn, q=run.q[0], u={"roll0": 5.0, "u5": 1.0}, fixed=[*named(m.eqs.q, run.q[0]), *FREE])
    options = dict(times=run.time, integrator=kane.RK8(rtol=1e-11, atol=1e-11))
    other = kane.simulate(m.dyn, until=1.0, q=start.q, u=start.u, **options)
    expected, found = (f.along(r, friction=0.7) for f, r in ((table_one.forces, run), (forces, other)))
    for name in expected:
        # Two runs to 1e-11 a step, forces of 1e3 N.
        np.testing.assert_allclose(found[name], expected[name], atol=1e-6)
    np.testing.assert_allclose(tip.along(other)["measure"], table_one.tip.along(run)["measure"], atol=1e-6)
    with pytest.raises(ModelError, match="acceleration"):
        kane.simulate(m.dyn, until=1.0, q=start.q, u=start.u, events=[kane.Event(forces.load["w0"])])


@pytest.mark.parametrize("seed", range(3))
def test_the_mirrored_state_has_mirrored_forces(table_one, seed):
    """y -> -y: left and right change places, angles and lateral forces their signs."""
    m = table_one
    q, u, inputs = random_state(m, seed)
    names = [x.name for x in m.eqs.q]
    mirror = {name: (1.0 if name in ("x", "turn0", "turn1", "turn2") else -1.0) for name in names}
    swapped = {"turn1": "turn2", "turn2": "turn1"}
    there = dict(zip(names, q, strict=True))
    q_m = {name: mirror[name] * there[swapped.get(name, name)] for name in names}
    value = named(m.eqs.u, u)
    u_m = {name: value[name] * (1.0 if name == "roll0" else -1.0) for name in FREE}
    effort = named(m.eqs.inputs, inputs)
    even = ("drive0", "drive1", "drive2", "Fx", "Fz", "Ty")
    effort_m = {k: (x if k in even else -x) for k, x in effort.items()}
    effort_m["drive1"], effort_m["drive2"] = effort["drive2"], effort["drive1"]
    outputs = {**forces_of(m), "measure": m.tip.measure}
    here, other = at(m, outputs, q, u, inputs), at(m, outputs, *state(m, q_m, u_m), list(effort_m.values()))
    for a, b in (("w0", "w0"), ("w1", "w2"), ("w2", "w1")):
        assert here[f"N{a}"] == pytest.approx(other[f"N{b}"], abs=FORCE)
        assert here[f"X{a}"] == pytest.approx(other[f"X{b}"], abs=FORCE)
    for name in ("Yw0", "Yw1 + w2"):
        assert here[name] == pytest.approx(-other[name], abs=FORCE)
    assert here["measure"] == pytest.approx(other["measure"], abs=FORCE)


def test_an_axis_tips_exactly_where_the_wheel_opposite_to_it_lifts_off(locked):
    """Force-angle measure and wheel load, two derivations of one thing: theta < 0 about an axis, N < 0 opposite it."""
    run = driven(locked, FIGURES["Fig. 4"])
    forces, tip = locked.forces.along(run, friction=0.7), locked.tip.along(run)
    lifted = 0
    for axis, opposite in (("w0 - w1", "w2"), ("w1 - w2", "w0"), ("w2 - w0", "w1")):
        N = forces[f"load {opposite}"].to_numpy()
        np.testing.assert_array_equal(np.sign(tip[f"angle {axis}"]), np.sign(N))
        lifted += (N < 0.0).any()
    assert lifted == 2


@pytest.mark.parametrize("stop", [True, False])
def test_a_wheel_that_lifts_off_is_reported_and_the_user_chooses_to_stop(locked, stop):
    events = [
        kane.Event(N, direction=-1, terminal=stop, name=f"{name} lifts off") for name, N in locked.forces.load.items()
    ]
    run = driven(locked, FIGURES["Fig. 4"], events=events)
    first = run.events[0]
    load = {name: float(at(locked, locked.forces.load, first.q, first.u)[name]) for name in ("w1", "w2")}
    assert min(abs(x) for x in load.values()) < 1e-6  # found to the last bits of time, at some 1e3 N/s
    assert (run.time[-1] < 5.9) == stop
    assert (len(run.events) == 1) == stop


def test_skid_margins_say_whether_friction_cones_can_hold_the_forces(table_one):
    """With one wheel the margin vanishes with that of the cone, Eq. (9); at eta = sqrt(X^2 + Y^2) / N."""
    m = table_one
    q, u, inputs = random_state(m, 7)
    f = at(m, {**forces_of(m), "rear": m.forces.skid_margins(0.5)["w1 + w2"]}, q, u, inputs)
    eta = np.hypot(f["Xw0"], f["Yw0"]) / f["Nw0"]
    assert f["Nw0"] > 0.0
    for friction, sign in ((0.99 * eta, -1.0), (1.01 * eta, 1.0)):
        margins = {"skid": m.forces.skid_margins(friction)["w0"], "cone": m.forces.cone_margins(friction)["w0"]}
        assert [np.sign(x) for x in at(m, margins, q, u, inputs).values()] == [sign, sign]
    held = sum(np.sqrt(max((0.5 * max(f[f"N{w}"], 0.0)) ** 2 - f[f"X{w}"] ** 2, 0.0)) for w in ("w1", "w2"))
    assert f["rear"] == pytest.approx(held - abs(f["Yw1 + w2"]), abs=FORCE)
    assert list(m.forces.slip_margins(0.5)) == ["w0", "w1", "w2"]


def test_a_wheel_that_carries_nothing_holds_nothing(table_one):
    """At rest with the arm over the left rear wheel the right one would have to pull: its cone is not counted."""
    q, u = state(table_one, {"q1": 1.0})
    f = at(table_one, {**forces_of(table_one), "rear": table_one.forces.skid_margins(0.5)["w1 + w2"]}, q, u)
    assert f["Nw2"] < -1.0
    assert f["rear"] == pytest.approx(0.5 * f["Nw1"], abs=FORCE)


def test_the_steering_can_be_locked_before_and_after_the_paper_s_speeds_are_chosen():
    found = []
    for choices in ((lock_steering, tanner_speeds), (tanner_speeds, lock_steering)):
        model = mobile_manipulator()
        for choose in choices:
            choose(model)
        dyn = kane.build(kane.formulate(model))
        start = kane.assemble(dyn, q={"phi": 0.3}, u={"roll0": 5.0}, fixed=["phi", "roll0", "theta"])
        found.append(dyn.forward(start.q, start.u, np.ones(len(dyn.equations.inputs))))
    assert abs(found[0][3]) < 1e-12
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def test_four_wheels_tip_but_their_loads_are_indeterminate():
    m = built(mobile_manipulator(1, 4))
    with pytest.raises(ModelError, match=r"w0, w1, w2, w3 .* indeterminate"):
        kane.wheel_forces(m.eqs, m.wheels)
    tip = kane.tip_over(m.eqs, m.wheels, m.carriage)
    assert len(tip.angles) == 4
    q, u = state(m, {"phi": 0.3, "q1": 1.0}, {"roll0": 3.0})
    assert at(m, {"measure": tip.measure}, q, u)["measure"] > 0.0


BAD = {
    "no links": (dict(links=0), "links must be"),
    "two wheels": (dict(wheels=2), "wheels must be"),
    "links of another kind": (dict(links=["a"]), "links must be"),
    "radii": (dict(wheels=[DriveWheel(0.3, 0.0), DriveWheel(-0.3, 0.3), DriveWheel(-0.3, -0.3, radius=0.2)]), "radii"),
    "w0 at the back": (
        dict(wheels=[DriveWheel(-0.3, 0.0), DriveWheel(-0.3, 0.3), DriveWheel(0.3, -0.3)]),
        "fixed axle",
    ),
    "mass": (dict(platform=Platform(mass=-1.0)), "mass"),
    "inertia": (dict(links=[ArmLink(1.0, (1.0, 0.1, 0.1), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))]), "inertia"),
}


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD)
def test_vehicles_that_cannot_be_are_refused(given, message):
    with pytest.raises(ModelError, match=message):
        mobile_manipulator(**given)


def test_margins_refuse_what_is_no_vehicle(table_one, locked):
    with pytest.raises(ModelError, match=r"not a kane\.Wheel of"):
        kane.wheel_forces(table_one.eqs, locked.wheels)
    with pytest.raises(ModelError, match=r"not a kane\.Wheel of"):
        kane.tip_over(table_one.eqs, ["w0"], table_one.carriage)
    with pytest.raises(ModelError, match="carriage"):
        kane.tip_over(table_one.eqs, table_one.wheels, [])
    with pytest.raises(ModelError, match="is not a body of"):
        kane.tip_over(table_one.eqs, table_one.wheels, locked.carriage)
    with pytest.raises(ModelError, match="span no polygon"):
        kane.tip_over(table_one.eqs, table_one.wheels[:2], table_one.carriage)
    with pytest.raises(ModelError, match="give a model from mobile_manipulator"):
        lock_steering(kane.library.chain(1))
    with pytest.raises(ModelError, match="Revolute"):
        kane.Wheel(table_one.model.connections[0], 0.1)


def test_margins_refuse_a_tilted_axle_a_raised_wheel_and_a_motor_on_the_ground():
    def vehicle(*, tilt=0.0, raised=0.0, motor=False, places=CONTACTS):
        m = kane.Model("cart", gravity=(0.0, 0.0, -G))
        v = m.body("v", mass=1.0, inertia=(1.0, 1.0, 1.0))
        on_ground = m.connect(m.ground, v, kane.Planar(("x", "y", "a")), at=(0.0, 0.0, R))
        if motor:
            m.load(kane.Motor(on_ground["a"], m.input("T")))
        wheels = []
        for j, (x, y) in enumerate(places):
            w = m.body(f"w{j}", mass=1.0, inertia=(0.01, 0.02, 0.01))
            at_v, R_vF = (x, y, raised * (j == 2)), kane.Rotation.about("x", tilt * (j == 1))
            wheels.append(kane.Wheel(m.connect(v, w, kane.Revolute(f"t{j}", axis="y"), at=at_v, orientation=R_vF), R))
        return kane.formulate(m), wheels

    with pytest.raises(ModelError, match="axle of wheel 'w1' is not level"):
        kane.wheel_forces(*vehicle(tilt=0.1))
    with pytest.raises(ModelError, match=r"wheel 'w2' touches the ground 0\.01 m above"):
        kane.wheel_forces(*vehicle(raised=0.01))
    with pytest.raises(ModelError, match="three wheels touch the ground on one line"):
        kane.wheel_forces(*vehicle(places=[(0.3, 0.1), (0.0, 0.0), (0.0, 0.0)]))
    with pytest.raises(ModelError, match="a load acts along joint"):
        kane.tip_over(*vehicle(motor=True), carriage=[])
