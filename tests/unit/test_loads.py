"""Every load through one suite: its generalized forces are those of its forces, by J^T f with Jacobians and poses."""

import math
from inspect import isabstract
from types import SimpleNamespace

import numpy as np
import pytest

import kane
from kane import (
    Damper,
    Force,
    Free,
    Model,
    ModelError,
    Motor,
    PointDamper,
    PointSpring,
    Prismatic,
    Revolute,
    Rotation,
    Spring,
    Torque,
    Weld,
)
from kane.deferred import exports
from kane.expression.interpret import interpret
from kane.formulation.quantities.energy import energy
from kane.model import loads
from kane.model.loads.load import Load

SKEW = Rotation.euler("zxz", 0.3, -0.8, 1.1)
PARAMETERS, INPUTS = {"k": 1.7, "d": 0.4}, {"F": 2.3}
POINT = (0.1, -0.2, 0.3)
# Generalized forces of order 10 by two routes of some hundred operations each.
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


def machine():
    """A tree with every kind of place that a load can act on: welded, turning, sliding, geared, free."""
    m = Model("machine", gravity=(0.3, -9.81, 1.2))
    k, d, F = m.parameter("k", PARAMETERS["k"]), m.parameter("d", PARAMETERS["d"]), m.input("F", INPUTS["F"])
    inertia = (0.2, 0.3, 0.25, 0.01, -0.02, 0.03)
    base, A, B, C, D, G = (
        m.body(n, mass=1.0 + i, inertia=inertia, com=(0.1, 0.2, 0.3)) for i, n in enumerate("PABCDG")
    )
    m.connect(m.ground, base, Weld(), at=(0.3, 0.1, -0.2), orientation=SKEW)
    turn = m.connect(base, A, Revolute("q1", axis="y"), at=(0.1, 0.0, 0.4), child_orientation=SKEW)
    slide = m.connect(A, B, Prismatic("q2", axis=(1.0, 0.5, 0.0)), child_at=(0.2, 0.0, 0.1))
    m.connect(m.ground, C, Free("free"))
    m.connect(B, D, Weld(), at=(0.0, 0.4, 0.0), orientation=SKEW)
    gear = m.connect(B, G, Revolute(2 * turn.q + 0.3 * slide.q + 0.1, axis="x"), at=(0.5, 0.0, 0.0), name="gear")
    return SimpleNamespace(
        m=m, k=k, d=d, F=F, ground=m.ground, P=base, A=A, B=B, C=C, D=D, G=G, turn=turn, slide=slide, gear=gear
    )


class State:
    """One state of the machine without loads: what its poses and Jacobians say."""

    def __init__(self, dynamics, t, seed):
        random = np.random.default_rng(seed)
        self.dynamics, self.t = dynamics, t
        self.q, self.u = random.normal(size=len(dynamics.equations.q)), random.normal(size=len(dynamics.equations.u))
        self.q[2:6] /= np.linalg.norm(self.q[2:6])
        self.poses = dynamics.poses(self.q)
        self.q1, self.q2 = self.q[:2]
        self.u1, self.u2 = self.u[:2]

    def R(self, body):
        return np.eye(3) if body == "ground" else self.poses[body].orientation

    def angular(self, body):
        return self.dynamics.jacobian(body, self.q).angular

    def linear(self, body, at=(0.0, 0.0, 0.0)):
        return self.dynamics.jacobian(body, self.q, at=at).linear

    def along(self, k):
        """The generalized force of a unit effort along q_k."""
        return np.eye(len(self.u))[k]

    def position(self, body, at):
        return self.poses[body].position + self.R(body) @ at

    def values(self, equations):
        leaves = (equations.t, *equations.q, *equations.u, *equations.parameters, *equations.inputs)
        numbers = (self.t, *self.q, *self.u, *PARAMETERS.values(), *INPUTS.values())
        return dict(zip(leaves, numbers, strict=True))


@pytest.fixture(scope="module")
def bare():
    return kane.build(kane.formulate(machine().m))


@pytest.fixture(scope="module")
def states(bare):
    return [State(bare, t, seed) for t, seed in ((0.0, 1), (0.7, 2))]


def loaded(load):
    """The machine with one load more, formulated; ``load`` makes it from the machine."""
    x = machine()
    x.m.load(load(x))
    return kane.formulate(x.m)


def interpreted(expressions, equations, state):
    return np.array(interpret(list(expressions), state.values(equations)))


def generalized_force(load, bare, state):
    """What a load takes from the bias (inputs at zero) and brings through the input matrix."""
    equations = loaded(load)
    bias = interpreted(equations.bias, equations, state) - bare.bias(state.q, state.u, state.t, parameters=PARAMETERS)
    through_inputs = [interpreted(row, equations, state) @ list(INPUTS.values()) for row in equations.input_matrix]
    return np.array(through_inputs) - bias


f = np.array([1.0, -2.0, 0.5])
OTHER = (-0.3, 0.4, 0.2)


def stretched(state):
    """Length of the line from POINT of B to OTHER of C, and the generalized force of a unit tension along it."""
    p = state.position("C", OTHER) - state.position("B", POINT)
    L = np.linalg.norm(p)
    return L, p / L @ (state.linear("B", POINT) - state.linear("C", OTHER))


# Each load, and the generalized forces that it must have.
EXAMPLES = {
    "motor": (lambda x: Motor(x.turn, 3.0), lambda s: 3.0 * s.along(0)),
    "motor by an input": (lambda x: Motor(x.slide, x.F), lambda s: 2.3 * s.along(1)),
    "motor at a gear": (lambda x: Motor(x.gear, 3.0), lambda s: 3.0 * (2 * s.along(0) + 0.3 * s.along(1))),
    "spring": (lambda x: Spring(x.slide, x.k, rest=0.2), lambda s: -1.7 * (s.q2 - 0.2) * s.along(1)),
    "spring at a gear": (
        lambda x: Spring(x.gear, 5.0),
        lambda s: -5.0 * (2 * s.q1 + 0.3 * s.q2 + 0.1) * (2 * s.along(0) + 0.3 * s.along(1)),
    ),
    "damper": (lambda x: Damper(x.turn, x.d), lambda s: -0.4 * s.u1 * s.along(0)),
    "damper at a gear": (
        lambda x: Damper(x.gear, 5.0),
        lambda s: -5.0 * (2 * s.u1 + 0.3 * s.u2) * (2 * s.along(0) + 0.3 * s.along(1)),
    ),
    "force": (lambda x: Force(x.B.point(POINT), f), lambda s: f @ s.linear("B", POINT)),
    "force by an input": (
        lambda x: Force(x.B.point(POINT), (0.0, x.F, x.k * x.F)),
        lambda s: np.array([0.0, 2.3, 1.7 * 2.3]) @ s.linear("B", POINT),
    ),
    "force on the ground": (lambda x: Force(x.ground.point(POINT), f), lambda s: 0.0 * s.u),
    "force on a body welded to the ground": (lambda x: Force(x.P.point(POINT), f), lambda s: 0.0 * s.u),
    "force on a welded body": (lambda x: Force(x.D.point(POINT), f), lambda s: f @ s.linear("D", POINT)),
    "force on a free body": (lambda x: Force(x.C.point(POINT), f), lambda s: f @ s.linear("C", POINT)),
    "force that follows its body": (
        lambda x: Force(x.D.point(POINT), f, expressed_in=x.D),
        lambda s: (s.R("D") @ f) @ s.linear("D", POINT),
    ),
    "force measured in a body on another branch": (
        lambda x: Force(x.G.point(POINT), f, expressed_in=x.C),
        lambda s: (s.R("C") @ f) @ s.linear("G", POINT),
    ),
    "force measured in a body welded to the ground": (
        lambda x: Force(x.C.point(POINT), f, expressed_in=x.P),
        lambda s: (s.R("P") @ f) @ s.linear("C", POINT),
    ),
    "force with reaction": (
        lambda x: Force(x.G.point(POINT), f, expressed_in=x.A, reaction=x.C.point((0.0, 1.0, 0.0))),
        lambda s: (s.R("A") @ f) @ (s.linear("G", POINT) - s.linear("C", (0.0, 1.0, 0.0))),
    ),
    "force at a point that moves in its body": (
        lambda x: Force(x.B.point((x.slide.q, 0.0, 0.0)), f),
        lambda s: f @ s.linear("B", (s.q2, 0.0, 0.0)),
    ),
    "torque": (lambda x: Torque(x.A, f), lambda s: f @ s.angular("A")),
    "torque on a welded body": (
        lambda x: Torque(x.D, f, expressed_in=x.D),
        lambda s: (s.R("D") @ f) @ s.angular("D"),
    ),
    "torque with reaction": (
        lambda x: Torque(x.G, f, expressed_in=x.P, reaction=x.C),
        lambda s: (s.R("P") @ f) @ (s.angular("G") - s.angular("C")),
    ),
}
EXAMPLES |= {
    "spring between points": (
        lambda x: PointSpring(x.B.point(POINT), x.C.point(OTHER), x.k, 0.3),
        lambda s: 1.7 * (stretched(s)[0] - 0.3) * stretched(s)[1],
    ),
    "spring to a point of the ground": (
        lambda x: PointSpring(x.ground.point(POINT), x.D.point(OTHER), 2.0),
        lambda s: 2.0 * (np.array(POINT) - s.position("D", OTHER)) @ s.linear("D", OTHER),
    ),
    "damper between points": (
        lambda x: PointDamper(x.B.point(POINT), x.C.point(OTHER), x.d),
        lambda s: 0.4 * -(stretched(s)[1] @ s.u) * stretched(s)[1],
    ),
}
every_load = pytest.mark.parametrize(("load", "expected"), EXAMPLES.values(), ids=EXAMPLES.keys())


def test_every_exported_load_is_in_this_suite():
    exported = {x for x in exports(loads) if isinstance(x, type) and issubclass(x, Load) and not isabstract(x)}
    assert {type(load(machine())) for load, _ in EXAMPLES.values()} == exported


@every_load
def test_a_load_has_the_generalized_forces_of_its_forces(load, expected, bare, states):
    for state in states:
        np.testing.assert_allclose(generalized_force(load, bare, state), expected(state), **TOLERANCE)


@every_load
def test_inverse_takes_a_load_into_account_as_the_bias_does(load, expected, states):
    equations = loaded(load)
    accelerations = dict.fromkeys(equations.udot, 0.0)
    for state in states:
        inverse = np.array(interpret(equations.inverse, state.values(equations) | accelerations))
        np.testing.assert_allclose(inverse, interpreted(equations.bias, equations, state), **TOLERANCE)


@every_load
def test_forward_dynamics_feel_a_load(load, expected, bare, states):
    equations = loaded(load)
    for state in states:
        udot = interpreted(equations.forward, equations, state)
        needed = bare.inverse(state.q, state.u, udot, state.t)
        # Masses and accelerations of order 100 through a solution of 8 equations of condition number below 1e3.
        np.testing.assert_allclose(needed, expected(state), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "load"),
    [(name, load) for name, (load, _) in EXAMPLES.items() if "spring" in name],
    ids=lambda x: x if isinstance(x, str) else "load",
)
def test_a_spring_pulls_down_its_potential(name, load, bare, states):
    equations = loaded(load)
    _, potential = equations.baked_in(energy(equations.system, equations.applied.potential))
    step = 1e-5
    for state in states:
        force = generalized_force(load, bare, state)
        for k in (0, 1):
            stretched = []
            for sign in (1, -1):
                state.q[k] += sign * step
                own = bare.energy(state.q, state.u).potential
                stretched.append(float(interpreted([potential], equations, state)[0] - own))
                state.q[k] -= sign * step
            # Third derivatives of order 10 or none: truncation 1e-9 at most; round-off is 1e-16 * 100 / 1e-5.
            assert force[k] == pytest.approx((stretched[1] - stretched[0]) / (2 * step), abs=2e-8)


def test_a_damper_takes_energy_out_at_the_rate_c_times_speed_squared(bare, states):
    for state in states:
        power = generalized_force(lambda x: Damper(x.turn, 0.4), bare, state) @ state.u
        assert power == pytest.approx(-0.4 * state.u1**2, rel=1e-12)


def test_a_force_with_reaction_between_two_points_of_one_body_does_nothing(bare, states):
    for state in states:
        force = generalized_force(lambda x: Force(x.B.point(POINT), f, reaction=x.B.point(POINT)), bare, state)
        np.testing.assert_allclose(force, 0.0, atol=1e-13)


def test_loads_add(bare, states):
    pair = machine()
    first, second = EXAMPLES["force with reaction"], EXAMPLES["motor at a gear"]
    for load, _ in (first, second):
        pair.m.load(load(pair))
    equations = kane.formulate(pair.m)
    for state in states:
        total = bare.bias(state.q, state.u) - interpreted(equations.bias, equations, state)
        np.testing.assert_allclose(total, first[1](state) + second[1](state), **TOLERANCE)


def measured(body, at, quantity):
    """The vector that a measure stands for, from poses and Jacobians."""
    if quantity == "position":
        return lambda s: s.position(body, at)
    if quantity == "velocity":
        return lambda s: s.linear(body, at) @ s.u
    return lambda s: s.angular(body) @ s.u


@pytest.mark.parametrize("body", ["A", "C", "D", "G", "P"])
@pytest.mark.parametrize("along", ["ground", "B", "C", "P"])
@pytest.mark.parametrize("quantity", ["position", "velocity", "angular_velocity"])
def test_a_controller_reads_measures(quantity, body, along, bare, states):
    def load(x):
        place = getattr(x, body)
        vector = place.angular_velocity if quantity == "angular_velocity" else getattr(place.point(POINT), quantity)
        return Motor(x.slide, vector.dot(getattr(x, along).direction((0.5, 1.0, -2.0))))

    vector = measured(body, np.array(POINT), quantity)
    for state in states:
        expected = vector(state) @ (state.R(along) @ [0.5, 1.0, -2.0])
        found = generalized_force(load, bare, state)[1]
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-13)  # as TOLERANCE


def test_a_controller_reads_coordinates_rates_time_parameters_and_inputs(bare, states):
    def load(x):
        w = x.free.qdot if hasattr(x, "free") else x.turn.qdot
        effort = -x.k * x.turn.q - 2.0 * w + kane.sin(3.0 * x.m.time) + x.gear.qdot * x.gear.q + x.d * x.F
        return Motor(x.turn, effort)

    for s in states:
        gear, gear_rate = 2 * s.q1 + 0.3 * s.q2 + 0.1, 2 * s.u1 + 0.3 * s.u2
        expected = -1.7 * s.q1 - 2.0 * s.u1 + math.sin(3.0 * s.t) + gear_rate * gear + 0.4 * 2.3
        np.testing.assert_allclose(generalized_force(load, bare, s), expected * s.along(0), **TOLERANCE)


def test_a_controller_reads_the_quaternion_of_a_free_body_and_its_rate(bare, states):
    def load(x):
        free = next(c for c in x.m.connections if c.name == "free")
        return Motor(x.turn, free.q[0] + 10.0 * free.qdot[1] + 100.0 * free.qdot[5])

    for s in states:
        rates = bare.kinematics(s.q, s.u)
        expected = s.q[2] + 10.0 * rates[3] + 100.0 * rates[7]
        assert generalized_force(load, bare, s)[0] == pytest.approx(expected, rel=1e-12)


BAD = {
    "motor on a body": (
        lambda x: Motor(x.A, 1.0),
        r"a Motor acts on a joint, which Model.connect returns, not on Body\('A'\)",
    ),
    "spring on nothing": (
        lambda x: Spring(None, 1.0),
        r"a Spring acts on a joint, which Model.connect returns, not on None",
    ),
    "damper by name": (
        lambda x: Damper("q1", 1.0),
        r"a Damper acts on a joint, which Model.connect returns, not on 'q1'",
    ),
    "motor at six freedoms": (
        lambda x: Motor(next(c for c in x.m.connections if c.name == "free"), 1.0),
        r"a Motor acts along one coordinate, but joint 'free' is Free; give one of its coordinates, .*Torque",
    ),
    "damper at a weld": (
        lambda x: Damper(x.m.connections[0], 1.0),
        r"a Damper acts along one coordinate, but joint 'ground_P' is Weld",
    ),
    "effort in words": (
        lambda x: Motor(x.turn, "much"),
        r"the effort of the Motor at joint 'q1' must be a number or an expr",
    ),
    "effort NaN": (
        lambda x: Motor(x.turn, math.nan),
        r"the effort of the Motor at joint 'q1' is nan; give a finite number",
    ),
    "stiffness infinite": (
        lambda x: Spring(x.turn, math.inf),
        r"the stiffness of the Spring at joint 'q1' is inf; give a fin",
    ),
    "rest missing": (lambda x: Spring(x.turn, 1.0, None), r"the rest of the Spring at joint 'q1' must be a number"),
    "coefficient is a list": (
        lambda x: Damper(x.turn, [1]),
        r"the coefficient of the Damper at joint 'q1' must be a number",
    ),
    "foreign effort": (
        lambda x: Motor(x.turn, machine().F),
        r"the effort of the Motor at joint 'q1' uses the expression F of ano",
    ),
    "spring between bodies": (
        lambda x: PointSpring(x.A, x.B, 1.0),
        r"a PointSpring takes points such as body\.point.*not Body\('A'\)",
    ),
    "spring within a body": (
        lambda x: PointSpring(x.A.point(POINT), x.A.point(OTHER), 1.0),
        r"a PointSpring does nothing: both of its points are fixed in body 'A'; give two bodies",
    ),
    "damper to another model": (
        lambda x: PointDamper(x.A.point(POINT), machine().B.point(OTHER), 1.0),
        r"a PointDamper joins body 'A' and body 'B' of another model",
    ),
    "stiffness of a line in words": (
        lambda x: PointSpring(x.A.point(POINT), x.B.point(OTHER), "stiff"),
        r"the stiffness of a PointSpring must be a number",
    ),
    "coefficient of a line NaN": (
        lambda x: PointDamper(x.A.point(POINT), x.B.point(OTHER), math.nan),
        r"the coefficient of a PointDamper is nan",
    ),
    "foreign joint": (
        lambda x: Motor(machine().turn, 1.0),
        r"joint 'q1' belongs to another model, 'machine'; build everything",
    ),
    "foreign point": (lambda x: Force(machine().A.point(), f), r"body 'A' belongs to another model"),
    "foreign reaction": (
        lambda x: Force(x.A.point(), f, reaction=machine().A.point()),
        r"body 'A' belongs to another model",
    ),
    "foreign frame": (lambda x: Force(x.A.point(), f, expressed_in=machine().B), r"body 'B' belongs to another model"),
    "force at a body": (
        lambda x: Force(x.A, f),
        r"a Force acts at a point such as body.point\(\(0, 0, 0.1\)\), not at Body\('A'\)",
    ),
    "force at nothing": (lambda x: Force(None, f), r"a Force acts at a point such as .*, not at None"),
    "reaction at a body": (
        lambda x: Force(x.A.point(), f, reaction=x.B),
        r"a Force acts at a point .*, not at Body\('B'\)",
    ),
    "force in a word's frame": (
        lambda x: Force(x.A.point(), f, expressed_in="A"),
        r"a Force is expressed in the frame of a body, not of 'A'",
    ),
    "two components": (
        lambda x: Force(x.A.point(), (1, 2)),
        r"a force on body 'A' must be three numbers or expressions; got 2",
    ),
    "no components": (
        lambda x: Force(x.A.point(), 5),
        r"a force on body 'A' must be three numbers or expressions, not 5",
    ),
    "a direction": (
        lambda x: Force(x.A.point(), x.A.direction((0, 3, 0))),
        r"give a force on body 'A' as three measure numbers, not as A.direction\(\(0, 3, 0\)\): \(0, 3, 0\), "
        r"in the frame of 'A'",
    ),
    "a number times a direction": (
        lambda x: Force(x.A.point(), 5 * x.A.x),
        r"A.x times 5 is not a direction; .* a force or a torque as three measure numbers: \(x, y, z\), "
        r"expressed_in=A",
    ),
    "NaN component": (
        lambda x: Force(x.A.point(), (1, 2, math.nan)),
        r"a force on body 'A' is nan; give a finite number",
    ),
    "torque on a point": (
        lambda x: Torque(x.A.point(), f),
        r"a Torque acts on bodies and is expressed in the frame of one, not",
    ),
    "torque on nothing": (lambda x: Torque(None, f), r"a Torque acts on bodies"),
    "torque of two": (
        lambda x: Torque(x.A, (1, 2)),
        r"a torque on body 'A' must be three numbers or expressions; got 2",
    ),
    "no load": (lambda x: 5, r"5 is not a load; give one such as kane.Motor\(joint, effort\)"),
    "a class": (lambda x: Motor, r"is not a load; give one such as"),
}


@pytest.mark.parametrize(("load", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_load_is_refused_where_it_is_declared(load, message):
    x = machine()
    with pytest.raises(ModelError, match=message):
        x.m.load(load(x))
    assert x.m.loads == []


def test_a_load_on_an_acceleration_is_refused_by_its_name():
    x = machine()
    udot = kane.formulate(machine().m).udot  # leaves of another model: refused at once
    with pytest.raises(ModelError, match="of another model"):
        x.m.load(Motor(x.turn, udot[0]))
    own = kane.formulate(x.m).udot[0]
    x.m.load(Motor(x.turn, own))
    with pytest.raises(ModelError, match=r"a load depends on the acceleration 'u1', which has no value in these equa"):
        kane.formulate(x.m)


def test_loads_act_along_one_coordinate_of_a_joint_that_has_several():
    """A cross with two angles against the same two revolute joints with a massless body between: an equal motion."""

    def loaded(m, first, second):
        m.load(kane.Motor(first, m.input("tau1")))
        m.load(kane.Spring(second, 2.0, 0.3))
        m.load(kane.Damper(second, 0.7))
        return kane.build(kane.formulate(m))

    def tip(m):
        return m.body("tip", mass=1.5, inertia=(0.2, 0.3, 0.4), com=(0.1, 0.2, 0.3))

    one, two = Model(), Model()
    cross = one.connect(one.ground, tip(one), kane.Universal(("q1", "q2"), axis1="x", axis2="y"))
    middle = two.body("middle", mass=0.0)
    first = two.connect(two.ground, middle, Revolute("q1", axis="x"))
    second = two.connect(middle, tip(two), Revolute("q2", axis="y"))
    a, b = loaded(one, cross["q1"], cross["q2"]), loaded(two, first, second)
    state = [0.4, -0.2], [1.1, 0.6], [0.9]
    # The same physics in two ways; both to round-off of terms of order ten.
    np.testing.assert_allclose(a.forward(*state), b.forward(*state), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(a.energy(*state[:2]), b.energy(*state[:2]), rtol=1e-12, atol=1e-13)
    assert kane.certify(one).holds


def test_a_coordinate_whose_rate_is_no_speed_takes_no_motor():
    m = Model()
    ball = m.connect(m.ground, m.body("B", mass=1.0, inertia=(1.0, 1.0, 1.0)), kane.Spherical("ball"))
    with pytest.raises(ModelError, match=r"a Motor acts along a coordinate whose rate is a speed; .*'ball'.*Torque"):
        m.load(kane.Motor(ball["ball_qw"], 1.0))
    with pytest.raises(ModelError, match=r"joint 'ball' has no coordinate 'q7'"):
        ball["q7"]
