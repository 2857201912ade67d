"""Formulate: a snapshot, in the order asked for; gears, cams, moving bases, welds against closed forms; substitute."""

import math
from itertools import chain

import numpy as np
import pytest

import kane
from kane import Damper, Force, Free, Model, ModelError, Motor, Prismatic, Revolute, Rotation, Spring, Weld
from kane.expression.interpret import interpret
from kane.library import n_link_pendulum, random_tree

# Closed forms of a few operations with values of order 1 to 10.
TOLERANCE = {"rtol": 1e-13, "atol": 1e-13}


def value(expressions, equations, *, q=(), u=(), udot=(), inputs=None, t=0.0, **parameters):
    """Expressions at a state, by the interpreter; inputs and parameters have their defaults unless given."""
    numbers = {**equations.defaults, **parameters}
    values = {x: numbers[x.name] for x in (*equations.parameters, *equations.inputs)}
    values |= dict(zip(equations.inputs, inputs or (), strict=bool(inputs)))
    values |= dict(zip(equations.q, q, strict=True)) | dict(zip(equations.u, u, strict=len(u) > 0))
    values |= dict(zip(equations.udot, udot, strict=len(udot) > 0)) | {equations.t: t}
    return np.array(interpret(list(expressions), values), dtype=float)


def matrix(equations, **at):
    n = len(equations.u)
    return value([x for row in equations.mass_matrix for x in row], equations, **at).reshape(n, n)


def names(leaves):
    return [leaf.name for leaf in leaves]


def wheel(m, name, inertia, joint, parent=None, **pose):
    body = m.body(name, mass=1.0, inertia=(inertia, inertia, inertia))
    return m.connect(parent or m.ground, body, joint, name=f"{name} joint", **pose)


def test_equations_are_a_snapshot_of_the_model():
    m = n_link_pendulum(1)
    before = kane.formulate(m)
    state = {"q": (0.1, 0.7), "u": (0.3, -2.0)}
    seen = names(before.q), names(before.u), names(before.parameters), names(before.inputs), dict(before.defaults)
    bias, forward = value(before.bias, before, **state), value(before.forward, before, inputs=[2.0], **state)
    body = m.body("late", mass=5.0, inertia=(1.0, 1.0, 1.0))
    late = m.connect(m.bodies[2], body, Revolute("q9"))
    m.load(Motor(m.connections[0], 100.0))
    m.load(Motor(late, m.input("late torque")))
    m.parameter("late parameter", 1.0)
    m.coordinates("q9", "q2")
    m.gravity = (0.0, 0.0, 0.0)
    m.frame("tip", body)
    assert (
        names(before.q),
        names(before.u),
        names(before.parameters),
        names(before.inputs),
        dict(before.defaults),
    ) == seen
    assert (before.bodies, dict(before.frames)) == (("ground", "cart", "link1"), {})
    np.testing.assert_array_equal(value(before.bias, before, **state), bias)
    np.testing.assert_array_equal(value(before.forward, before, inputs=[2.0], **state), forward)
    after = kane.formulate(m)
    assert names(after.q) == ["q9", "q2", "q1"]


def test_equations_derived_late_do_not_see_what_was_declared_since():
    m, fresh = n_link_pendulum(1), kane.formulate(n_link_pendulum(1))
    before = kane.formulate(m)  # nothing derived yet
    m.load(Motor(m.connections[0], 100.0))
    m.connect(m.bodies[2], m.body("late", mass=5.0, inertia=(1.0, 1.0, 1.0)), Revolute("q9"))
    m.gravity = (1.0, 1.0, 1.0)
    state = {"q": (0.1, 0.7), "u": (0.3, -2.0)}
    np.testing.assert_array_equal(value(before.bias, before, **state), value(fresh.bias, fresh, **state))
    np.testing.assert_array_equal(matrix(before, **state), matrix(fresh, **state))


def test_q_and_u_stand_in_the_order_of_coordinates():
    def tree():
        m = random_tree(3, 4)
        return m, [c.coordinate_names for c in m.connections], [c.speed_names for c in m.connections]

    m, coordinates, speeds = tree()
    assert names(kane.formulate(m).q) == list(chain.from_iterable(coordinates))
    m.coordinates(*(block[0] for block in coordinates[::-1]))
    turned = kane.formulate(m)
    assert names(turned.q) == list(chain.from_iterable(coordinates[::-1]))
    assert names(turned.u) == names(turned.udot) == list(chain.from_iterable(speeds[::-1]))
    assert len(turned.coordinate_units) == len(turned.neutral) == len(turned.q)
    plain = kane.formulate(tree()[0])
    random = np.random.default_rng(0)
    q, u = random.normal(size=len(plain.q)), random.normal(size=len(plain.u))
    by_name = dict(zip(names([*plain.q, *plain.u]), (*q, *u), strict=True))
    state = {"q": [by_name[n] for n in names(turned.q)], "u": [by_name[n] for n in names(turned.u)]}
    found = dict(zip(names(turned.u), value(turned.forward, turned, **state), strict=True))
    expected = dict(zip(names(plain.u), value(plain.forward, plain, q=q, u=u), strict=True))
    assert found == pytest.approx(expected, rel=1e-9)  # condition number of the mass matrix below 1e5


@pytest.mark.parametrize("n", [3.0, -2.0, 0.25])
def test_a_gear_train_has_the_reflected_inertia_of_its_second_wheel(n):
    m = Model()
    first = wheel(m, "first", 0.3, Revolute("q1"))
    second = wheel(m, "second", 0.05, Revolute(n * first.q + 0.1), at=(1.0, 0.0, 0.0))
    m.load(Motor(second, m.input("tau")))
    eqs = kane.formulate(m)
    assert names(eqs.u) == ["u1"]
    np.testing.assert_allclose(matrix(eqs, q=[0.4]), [[0.3 + n**2 * 0.05]], **TOLERANCE)
    np.testing.assert_allclose(value(eqs.bias, eqs, q=[0.4], u=[2.0]), 0.0, atol=1e-13)
    np.testing.assert_allclose(value(eqs.input_matrix[0], eqs, q=[0.4]), [n], **TOLERANCE)
    np.testing.assert_allclose(
        value(eqs.forward, eqs, q=[0.4], u=[2.0], inputs=[1.5]), [1.5 * n / (0.3 + n**2 * 0.05)], **TOLERANCE
    )


def test_a_geared_rotor_carried_by_the_link_it_drives_turns_with_it():
    m = Model()
    arm = wheel(m, "arm", 0.3, Revolute("q1"))
    wheel(m, "rotor", 0.05, Revolute(10 * arm.q), parent=arm.child)
    eqs = kane.formulate(m)
    np.testing.assert_allclose(matrix(eqs, q=[0.4]), [[0.3 + 11.0**2 * 0.05]], **TOLERANCE)


def test_a_differential_couples_both_of_its_inputs():
    m = Model()
    a, b = wheel(m, "a", 0.3, Revolute("q1")), wheel(m, "b", 0.4, Revolute("q2"))
    wheel(m, "cage", 0.05, Revolute(0.5 * (a.q + b.q)))
    quarter = 0.05 / 4
    expected = [[0.3 + quarter, quarter], [quarter, 0.4 + quarter]]
    eqs = kane.formulate(m)
    np.testing.assert_allclose(matrix(eqs, q=[0.1, 0.2]), expected, **TOLERANCE)
    forward = value(eqs.forward, eqs, q=[0.1, 0.2], u=[1.0, 2.0])
    np.testing.assert_allclose(forward, 0.0, atol=1e-13)


def test_a_cam_has_the_inertia_and_velocity_terms_of_its_slope():
    I, mass, r, g = 0.3, 1.0, 0.2, 9.81
    m = Model(gravity=(0.0, 0.0, -g))
    cam = wheel(m, "cam", I, Revolute("q1", axis="x"))
    tappet = wheel(m, "tappet", 0.5, Prismatic(r * kane.sin(cam.q), axis="z"))
    m.load(Spring(tappet, 7.0, rest=0.05))
    m.load(Damper(tappet, 0.6))
    eqs = kane.formulate(m)
    q, u = 0.7, -1.3
    slope, curvature = r * math.cos(q), -r * math.sin(q)
    np.testing.assert_allclose(matrix(eqs, q=[q]), [[I + mass * slope**2]], **TOLERANCE)
    lift = mass * g + 7.0 * (r * math.sin(q) - 0.05) + 0.6 * slope * u
    expected = mass * slope * curvature * u**2 + slope * lift
    np.testing.assert_allclose(value(eqs.bias, eqs, q=[q], u=[u]), [expected], **TOLERANCE)


def test_a_pendulum_feels_its_base_shaken_in_time():
    l, a, w, g = 0.8, 0.1, 5.0, 9.81
    m = Model(gravity=(0.0, -g, 0.0))
    base = m.body("base", mass=3.0)
    bob = m.body("bob", mass=2.0, com=(0.0, -l, 0.0))
    m.connect(m.ground, base, Prismatic(a * kane.sin(w * m.time), axis="x"))
    m.connect(base, bob, Revolute("q1", axis="z"))
    eqs = kane.formulate(m)
    q, u, t = 0.4, 1.1, 0.3
    acceleration = -a * w**2 * math.sin(w * t)
    expected = 2.0 * l * math.cos(q) * acceleration + 2.0 * g * l * math.sin(q)
    np.testing.assert_allclose(matrix(eqs, q=[q]), [[2.0 * l**2]], **TOLERANCE)
    np.testing.assert_allclose(value(eqs.bias, eqs, q=[q], u=[u], t=t), [expected], **TOLERANCE)
    speed = value(eqs.kinematics, eqs, q=[q], u=[u])
    np.testing.assert_allclose(speed, [u], **TOLERANCE)


def test_a_bead_feels_its_rod_turned_ever_faster():
    mass, h, alpha = 2.0, 0.3, 1.7
    m = Model(gravity=(0.0, 0.0, 0.0))
    rod, bead = m.body("rod", mass=1.0, inertia=(1.0, 1.0, 1.0)), m.body("bead", mass=mass)
    m.connect(m.ground, rod, Revolute(0.5 * alpha * m.time * m.time, axis="z"))
    m.connect(rod, bead, Prismatic("r", axis="x"), at=(0.0, h, 0.0))
    eqs = kane.formulate(m)
    t, r = 1.2, 0.5
    # r'' - r w^2 - h alpha = 0 along the rod, with w = alpha t.
    expected = mass * (-r * (alpha * t) ** 2 - h * alpha)
    np.testing.assert_allclose(value(eqs.bias, eqs, q=[r], u=[0.9], t=t), [expected], **TOLERANCE)


def test_a_model_moved_in_time_alone_has_no_speeds():
    m = Model()
    wheel(m, "wheel", 1.0, Revolute(3.0 * m.time))
    eqs = kane.formulate(m)
    assert (eqs.q, eqs.u, eqs.forward, eqs.inverse, eqs.mass_matrix) == ((), (), (), (), ())
    assert kane.build(eqs).energy([], [], 0.5).kinetic == pytest.approx(4.5, rel=1e-15)


def pose(seed):
    random = np.random.default_rng(seed)
    return random.normal(size=3), Rotation.quaternion(*random.normal(size=4))


def test_welded_bodies_are_one_body():
    bodies = [
        (1.3, np.array([0.1, 0.2, -0.3]), np.diag([1.0, 2.0, 1.5])),
        (0.7, np.array([-0.2, 0.4, 0.1]), np.diag([0.3, 0.2, 0.4])),
    ]
    p, R = pose(1)
    q_pose, q_R = pose(2)

    def swung(model, body):
        model.connect(model.ground, body, Free("free"), at=q_pose.tolist(), orientation=q_R)

    two = Model(gravity=(1.0, 2.0, 3.0))
    A, B = (two.body(n, mass=x, com=c.tolist(), inertia=I) for n, (x, c, I) in zip("AB", bodies, strict=True))
    swung(two, A)
    at, turned = pose(3)
    # M on the child: B's frame is at p, R of A when the weld's frames coincide.
    R_AB = R.as_numpy() @ turned.as_numpy().T
    p_AB = p - R_AB @ at
    two.connect(A, B, Weld(), at=p.tolist(), orientation=R, child_at=at.tolist(), child_orientation=turned)

    (m1, c1, I1), (m2, c2, I2) = bodies
    c2_A = p_AB + R_AB @ c2
    com = (m1 * c1 + m2 * c2_A) / (m1 + m2)

    def about(mass, r):
        return mass * (r @ r * np.eye(3) - np.outer(r, r))

    inertia = I1 + about(m1, c1 - com) + R_AB @ I2 @ R_AB.T + about(m2, c2_A - com)
    one = Model(gravity=(1.0, 2.0, 3.0))
    swung(one, one.body("AB", mass=m1 + m2, com=com.tolist(), inertia=inertia))
    both = [kane.formulate(x) for x in (two, one)]
    random = np.random.default_rng(4)
    q, u = random.normal(size=7), random.normal(size=6)
    q[:4] /= np.linalg.norm(q[:4])
    forward = [value(e.forward, e, q=q, u=u) for e in both]
    bias = [value(e.bias, e, q=q, u=u) for e in both]
    # Two routes to one inertia, and a solution of condition number below 100.
    np.testing.assert_allclose(forward[0], forward[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(bias[0], bias[1], **TOLERANCE)
    np.testing.assert_allclose(matrix(both[0], q=q), matrix(both[1], q=q), **TOLERANCE)


def two_links(m, *, length, mass, slope):
    """A pendulum of two links whose numbers may be parameters or literals."""
    A = m.body("A", mass=1.0, inertia=(0.1, 0.2, 0.3))
    B = m.body("B", mass=mass, inertia=(0.2, 0.2, mass / 10), com=(length / 2, 0.0, 0.0))
    m.connect(m.ground, A, Revolute("q1", axis="x"), orientation=Rotation.about("y", slope))
    m.connect(A, B, Revolute("q2"), at=(length, 0.0, 0.1), child_at=(0.0, length, 0.0))
    return kane.formulate(m)


def test_parameters_at_run_time_are_as_good_as_literals():
    m = Model()
    L, M, slope = (m.parameter(name, 9.0) for name in ("L", "M", "slope"))
    symbols = two_links(m, length=L, mass=M, slope=slope)
    literals = two_links(Model(), length=0.7, mass=2.5, slope=0.3)
    given = {"L": 0.7, "M": 2.5, "slope": 0.3}
    state = {"q": (0.3, -0.8), "u": (1.0, 2.0)}
    for word in ("bias", "forward"):
        found = value(getattr(symbols, word), symbols, **state, **given)
        # Some hundred operations and a 2 x 2 solution: 1e-11 is far above their round-off.
        np.testing.assert_allclose(found, value(getattr(literals, word), literals, **state), rtol=1e-11)
    baked = kane.substitute(symbols, **given)
    assert baked.parameters == ()
    np.testing.assert_allclose(
        value(baked.forward, baked, **state), value(literals.forward, literals, **state), rtol=1e-11
    )
    # Some hundred operations and a 2 x 2 solution: 1e-11 is far above their round-off.


def driven(law):
    """A wheel with a motor whose effort is made of an input, a parameter and the joint."""
    m = Model()
    joint = wheel(m, "wheel", 0.5, Revolute("q1"))
    tau, p = m.input("tau", 0.5), m.parameter("p", 2.0)
    m.load(Motor(joint, law(tau, p, joint)))
    return m, joint


def test_substituting_a_parameter_takes_it_from_the_list():
    m, _ = driven(lambda tau, p, joint: p * tau)
    eqs = kane.formulate(m)
    baked = kane.substitute(eqs, p=7)
    assert (names(baked.parameters), names(eqs.parameters)) == ([], ["p"])
    assert names(baked.inputs) == ["tau"]
    np.testing.assert_allclose(value(baked.input_matrix[0], baked, q=[0.0]), [7.0])
    np.testing.assert_allclose(value(eqs.input_matrix[0], eqs, q=[0.0]), [2.0])


def test_substituting_an_input_by_a_controller_moves_its_force_to_the_bias():
    m, joint = driven(lambda tau, p, joint: p * tau)
    eqs = kane.formulate(m)
    closed = kane.substitute(eqs, tau=-3.0 * joint.q - 0.4 * joint.qdot + kane.sin(m.time))
    assert (names(closed.inputs), names(closed.parameters)) == ([], ["p"])
    effort = 2.0 * (-3.0 * 0.2 - 0.4 * 1.5 + math.sin(0.7))
    state = {"q": [0.2], "u": [1.5], "t": 0.7}
    np.testing.assert_allclose(value(closed.bias, closed, **state), [-effort], **TOLERANCE)
    np.testing.assert_allclose(value(closed.forward, closed, **state), [effort / 0.5], **TOLERANCE)
    assert closed.input_matrix == ((),)


def test_substituting_an_input_by_a_measure_resolves_it():
    m, joint = driven(lambda tau, p, joint: tau)
    eqs = kane.formulate(m)
    closed = kane.substitute(eqs, tau=joint.child.point((0.0, 2.0, 0.0)).velocity.dot(joint.child.x))
    np.testing.assert_allclose(value(closed.bias, closed, q=[0.3], u=[1.5]), [3.0], **TOLERANCE)  # v_x = -2 u


def test_substitutions_compose():
    m, _ = driven(lambda tau, p, joint: p * tau)
    eqs = kane.formulate(m)
    both = kane.substitute(kane.substitute(eqs, tau=3.0), p=5.0)
    np.testing.assert_allclose(value(both.forward, both, q=[0.0], u=[0.0]), [30.0], **TOLERANCE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda e, m, o: {"pp": 1.0}, r"there is no parameter or input 'pp'; "),
        (lambda e, m, o: {"q1": 1.0}, r"there is no parameter or input 'q1'; known are p, tau"),
        (lambda e, m, o: {"p": math.nan}, r"nan is not finite; give a finite number"),
        (lambda e, m, o: {"tau": math.inf}, r"inf is not finite; give a finite number"),
        (lambda e, m, o: {"p": "x"}, r"'x' is neither a number nor an expression of this model"),
        (lambda e, m, o: {"p": None}, r"None is neither a number nor an expression of this model"),
        (lambda e, m, o: {"p": e.q[0]}, r"the parameter 'p' of 'model' can only be replaced by a number, not q1"),
        (lambda e, m, o: {"p": m.time}, r"the parameter 'p' of 'model' can only be replaced by a number, not t"),
        (lambda e, m, o: {"tau": 2 * o}, r"which belongs to another model"),
        (lambda e, m, o: {"tau": e.udot[0]}, r"a load depends on the acceleration 'u1', which has no value"),
    ],
)
def test_a_substitution_that_means_nothing_is_refused(make, message):
    m, _ = driven(lambda tau, p, joint: p * tau)
    eqs = kane.formulate(m)
    with pytest.raises(ModelError, match=message):
        kane.substitute(eqs, **make(eqs, m, Model().parameter("o", 1.0)))


def test_substitute_refuses_what_is_not_equations():
    with pytest.raises(ModelError, match=r"substitute takes Equations, which kane.formulate\(model\) returns, not "):
        kane.substitute(Model(), p=1.0)


def test_an_input_that_acts_nonlinearly_moves_the_model_but_has_no_input_matrix():
    m, _ = driven(lambda tau, p, joint: p * tau * kane.absolute(tau))
    eqs = kane.formulate(m)
    np.testing.assert_allclose(value(eqs.forward, eqs, q=[0.0], u=[0.0], inputs=[-3.0]), [-36.0], **TOLERANCE)
    with pytest.raises(
        ModelError, match=r"a load is not linear in the inputs .*; forward dynamics and simulation are avail"
    ):
        _ = eqs.input_matrix


def test_an_input_that_multiplies_the_state_is_linear():
    m, _ = driven(lambda tau, p, joint: tau * joint.q + 1.0)
    eqs = kane.formulate(m)
    np.testing.assert_allclose(value(eqs.input_matrix[0], eqs, q=[0.3]), [0.3], **TOLERANCE)
    np.testing.assert_allclose(value(eqs.bias, eqs, q=[0.3], u=[0.0]), [-1.0], **TOLERANCE)


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_inverse_is_mass_matrix_times_acceleration_plus_bias_and_undoes_forward(seed):
    eqs = kane.formulate(random_tree(seed, 4))
    random = np.random.default_rng(seed)
    q, u, udot = (random.normal(size=len(x)) for x in (eqs.q, eqs.u, eqs.udot))
    for start in eqs.quaternions:
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    inverse = value(eqs.inverse, eqs, q=q, u=u, udot=udot)
    bias, M = value(eqs.bias, eqs, q=q, u=u), matrix(eqs, q=q)
    scale = np.abs(inverse).max()
    np.testing.assert_allclose(M @ udot + bias, inverse, rtol=0, atol=1e-12 * scale)  # a few hundred operations
    forces = random.normal(size=len(eqs.inputs))
    B = value([x for row in eqs.input_matrix for x in row], eqs, q=q).reshape(len(eqs.u), len(eqs.inputs))
    moved = value(eqs.forward, eqs, q=q, u=u, inputs=forces.tolist())
    residual = value(eqs.inverse, eqs, q=q, u=u, udot=moved) - B @ forces
    assert np.abs(residual).max() < 1e-10 * scale  # amplified by a condition number below 1e4


def test_a_force_on_a_mimic_joint_is_felt_by_the_joint_that_it_mimics():
    m = Model(gravity=(0.0, 0.0, 0.0))
    first = wheel(m, "first", 0.3, Revolute("q1"))
    second = wheel(m, "second", 0.05, Revolute(2 * first.q), at=(1.0, 0.0, 0.0))
    m.load(Force(second.child.point((0.0, 1.0, 0.0)), (-4.0, 0.0, 0.0), expressed_in=second.child))
    eqs = kane.formulate(m)
    np.testing.assert_allclose(value(eqs.bias, eqs, q=[0.3], u=[0.0]), [-8.0], **TOLERANCE)


def test_a_load_without_value_at_zero_input_is_named_where_the_bias_is_wanted():
    m = Model()
    hinge = m.connect(m.ground, m.body("B", mass=1.0, inertia=(1.0, 1.0, 1.0)), Revolute("q1"))
    m.load(kane.Motor(hinge, 1 / m.input("tau")))
    eqs = kane.formulate(m)
    with pytest.raises(ModelError, match=r"a load has no value where the inputs are zero .* forward dynamics"):
        eqs.bias  # noqa: B018
    assert kane.build(eqs).forward([0.0], [0.0], [2.0])[0] == 0.5


def test_substitute_refuses_what_is_of_another_model_and_names_the_symbol():
    m, other = Model(), Model()
    m.connect(m.ground, m.body("B", mass=m.parameter("m", 1.0), com=(1.0, 0.0, 0.0)), Revolute("q1"))
    eqs = kane.formulate(m)
    with pytest.raises(ModelError, match=r"'m' cannot be replaced by .*another model"):
        kane.substitute(eqs, m=other.parameter("k", 1.0))
    with pytest.raises(ModelError, match=r"'m' cannot be replaced by nan: .* not finite"):
        kane.substitute(eqs, m=float("nan"))


def test_equations_and_reactions_print_as_one_line():
    model = kane.Model("swing")
    body = model.body("bar", mass=1.0, inertia=(1.0, 1.0, 1.0))
    joint = model.connect(model.ground, body, kane.Revolute("q1", axis="x"))
    model.constrain(joint.q - model.time, name="drive")
    equations = kane.formulate(model)
    assert repr(equations) == "<Equations of 'swing': 1 coordinate, 1 speed, 1 constraint; recursive route>"
    assert repr(kane.reveal_reactions(equations, "drive")) == "<Reactions of 'swing': drive>"
