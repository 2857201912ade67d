"""Arms from Hartenberg-Denavit tables: placements, against Pinocchio, moving bases, refusals."""

from itertools import product

import numpy as np
import pinocchio as pin
import pytest

import kane

# Both programs sum some hundred products of numbers of order one: 1e4 roundings of 1.1e-16.
ROUNDING = 1e-12
CONVENTIONS = ("modified", "standard", "angeles")


def turn(k, angle):
    c, s = np.cos(angle), np.sin(angle)
    i, j = (k + 1) % 3, (k + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return pin.SE3(R, np.zeros(3))


def slide(k, distance):
    return pin.SE3(np.eye(3), distance * np.eye(3)[k])


def table(sequence, seed):
    """A general arm: no parameter is zero, inertias are full."""
    random = np.random.default_rng(seed)
    rows = []
    for kind in sequence:
        alpha, theta = random.uniform(-3.0, 3.0, 2)
        a, d = random.uniform(0.1, 0.6, 2)
        J = random.normal(size=(3, 3))
        J = J @ J.T
        inertia = np.trace(J) * np.eye(3) - J
        rows.append(
            dict(
                alpha=alpha, a=a, d=d, theta=theta, joint=kind, mass=random.uniform(0.5, 3.0),
                com=random.normal(size=3), inertia=inertia,
            )
        )  # fmt: skip
    return rows


def pinocchio_arm(rows, convention, base=()):
    """The arm from products of elementary transformations, on a base of given joints."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array([0.0, 0.0, -9.81]), np.zeros(3))
    parent, ahead = 0, pin.SE3.Identity()
    for joint in base:
        parent = model.addJoint(parent, joint, pin.SE3.Identity(), f"base{parent}")
    for i, row in enumerate(rows):
        alpha, a, d, theta = (row[k] for k in ("alpha", "a", "d", "theta"))
        axis = np.array([0.0, 0.0, 1.0])
        if convention == "standard":
            before, after = turn(2, theta) * slide(2, d), slide(0, a) * turn(0, alpha)
        else:
            against = convention == "angeles"
            before = turn(0, alpha) * slide(0, a) * turn(2, theta) * slide(2, -d if against else d)
            after = pin.SE3.Identity()
            axis = -axis if against and row["joint"] == "P" else axis
        make = pin.JointModelRevoluteUnaligned if row["joint"] == "R" else pin.JointModelPrismaticUnaligned
        parent = model.addJoint(parent, make(axis), ahead * before, f"q{i + 1}")
        model.appendBodyToJoint(parent, pin.Inertia(row["mass"], row["com"], row["inertia"]), after)
        ahead = after
    return model


def check(sequence, convention, seed):
    rows = table(sequence, seed)
    dyn = kane.build(kane.formulate(kane.from_dh(rows, convention=convention)))
    theirs = pinocchio_arm(rows, convention)
    q, u, udot = np.random.default_rng(seed + 1).normal(size=(3, len(rows)))
    expected = pin.rnea(theirs, theirs.createData(), q, u, udot)
    np.testing.assert_allclose(dyn.inputs_for(q, u, udot), expected, rtol=0, atol=ROUNDING * np.abs(expected).max())
    np.testing.assert_allclose(dyn.inverse(q, u, udot), expected, rtol=0, atol=ROUNDING * np.abs(expected).max())


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("sequence", ["".join(s) for n in (1, 2, 3) for s in product("RP", repeat=n)])
def test_short_arms_of_every_sequence_have_pinocchios_inverse_dynamics(sequence, convention):
    check(sequence, convention, 7)


@pytest.mark.parametrize("sequence", ["".join(s) for s in product("RP", repeat=4)])
def test_arms_of_four_joints_of_every_sequence_have_pinocchios_inverse_dynamics(sequence):
    check(sequence, CONVENTIONS[int(np.sum([c == "R" for c in sequence])) % 3], 8)


@pytest.mark.parametrize("n", range(5, 13))
def test_longer_random_arms_have_pinocchios_inverse_dynamics(n):
    sequence = "".join(np.random.default_rng(n).choice(["R", "P"], n))
    check(sequence, CONVENTIONS[n % 3], n)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_an_arm_on_a_moving_base_has_pinocchios_inverse_dynamics(convention):
    rows = table("RPRP", 3)
    model = kane.Model("moving")
    t = model.time
    carriage = model.body("carriage", mass=0.0)
    platform = model.body("platform", mass=3.0)
    model.connect(model.ground, carriage, kane.Prismatic(0.3 * kane.sin(2.0 * t), axis="x"))
    model.connect(carriage, platform, kane.Revolute(0.5 * t * t, axis="y"))
    assert kane.from_dh(rows, convention=convention, parent=platform) is model
    dyn = kane.build(kane.formulate(model))
    theirs = pinocchio_arm(rows, convention, (pin.JointModelPX(), pin.JointModelRY()))
    q, u, udot = np.random.default_rng(5).normal(size=(3, 4))
    at = 0.7
    base = np.array([0.3 * np.sin(2 * at), 0.5 * at * at])
    rate = np.array([0.6 * np.cos(2 * at), at])
    change = np.array([-1.2 * np.sin(2 * at), 1.0])
    state = (np.concatenate(pair) for pair in ((base, q), (rate, u), (change, udot)))
    expected = pin.rnea(theirs, theirs.createData(), *state)[2:]
    np.testing.assert_allclose(dyn.inputs_for(q, u, udot, at), expected, rtol=0, atol=ROUNDING * np.abs(expected).max())


def test_a_convention_of_ones_own_may_be_given():
    """Frames as in the modified convention, angles in degrees: the name of a convention is short for such an object."""

    class InDegrees(kane.DHConvention):
        name = "degrees"

        def placement(self, alpha, a, d, theta, *, prismatic):
            radians = np.radians((alpha, theta))
            return kane.ModifiedDH().placement(radians[0], a, d, radians[1], prismatic=prismatic)

    rows = table("RPR", 2)
    in_degrees = [row | {k: np.degrees(row[k]) for k in ("alpha", "theta")} for row in rows]
    given = [(rows, "modified"), (rows, kane.ModifiedDH()), (in_degrees, InDegrees())]
    q, u, udot = np.random.default_rng(1).normal(size=(3, 3))
    named, object_, own = (
        kane.build(kane.formulate(kane.from_dh(t, convention=c))).inverse(q, u, udot) for t, c in given
    )
    np.testing.assert_array_equal(named, object_)
    np.testing.assert_allclose(named, own, rtol=0, atol=ROUNDING * np.abs(named).max())


def test_rows_may_be_given_as_links():
    row = table("R", 2)[0]
    model = kane.from_dh([kane.DHLink(**row)], convention="standard")
    assert model.bodies[1].mass == row["mass"]


def test_angles_that_are_multiples_of_ninety_degrees_cost_no_operations():
    flat = dict(alpha=np.pi, a=0.0, d=0.0, theta=-np.pi / 2, mass=1.0, inertia=(1.0, 2.0, 2.5))
    count = kane.formulate(kane.from_dh([flat, flat], convention="modified")).count()
    # Both turn about the vertical through their mass centres: tau2 = Izz (q2'' - q1''), no sine of anything.
    assert count["inverse"]["trig"] == 0


def test_two_arms_may_stand_on_one_body():
    model = kane.Model("two")
    torso = model.body("torso", mass=5.0, inertia=(1.0, 1.0, 1.0))
    model.connect(model.ground, torso, kane.Revolute("yaw"))
    for side in ("left_", "right_"):
        kane.from_dh(table("RP", 1), convention="modified", parent=torso, prefix=side)
    eqs = kane.formulate(model)
    assert [q.name for q in eqs.q] == ["yaw", "left_q1", "left_q2", "right_q1", "right_q2"]
    assert [i.name for i in eqs.inputs] == ["left_tau1", "left_tau2", "right_tau1", "right_tau2"]


GOOD = dict(alpha=0.0, a=0.1, d=0.0, theta=0.0, mass=1.0)


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([GOOD], dict(convention="craig"), '"modified", "standard", "angeles"'),
        ([], dict(convention="modified"), "no rows"),
        ([3], dict(convention="modified"), "row 1"),
        ([GOOD, {**GOOD, "joint": "S"}], dict(convention="modified"), 'row 2 .* give "R"'),
        ([{**GOOD, "alfa": 1.0}], dict(convention="modified"), "did you mean alpha"),
        ([{"alpha": 0.0, "a": 1.0}], dict(convention="modified"), "lacks d, theta"),
        ([{**GOOD, "b": 1.0}], dict(convention="angeles"), "both b and d"),
        ([{**GOOD, "alpha": float("nan")}], dict(convention="modified"), "alpha in row 1"),
        ([{**GOOD, "a": 10**400}], dict(convention="modified"), "a in row 1"),
        ([{**GOOD, "a": "1"}], dict(convention="modified"), "a in row 1"),
        ([{**GOOD, "mass": -1.0}], dict(convention="modified"), "link1"),
        ([{**GOOD, "inertia": (1.0, 5.0, 1.0)}], dict(convention="modified"), "link1"),
        ([GOOD], dict(convention="modified", parent=1), "mounted on a body"),
    ],
)
def test_a_table_that_means_nothing_is_refused(rows, options, words):
    with pytest.raises(kane.ModelError, match=words):
        kane.from_dh(rows, **options)


def test_a_convention_must_be_named():
    with pytest.raises(TypeError, match="convention"):
        kane.from_dh([GOOD])


def test_a_bad_table_leaves_the_model_that_it_should_be_added_to_alone():
    model = kane.Model("host")
    foot = model.body("foot", mass=1.0)
    with pytest.raises(kane.ModelError):
        kane.from_dh([GOOD, {**GOOD, "mass": -1.0}], convention="modified", parent=foot)
    with pytest.raises(kane.ModelError, match="own gravity"):
        kane.from_dh([GOOD], convention="modified", parent=foot, gravity=(0, 0, 0))
    assert len(model.bodies) == 2
    assert not model.inputs
