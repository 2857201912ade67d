"""The model: what it refuses, in which words, and that nothing is left half-done; names and order of coordinates."""

import math
from fractions import Fraction

import numpy as np
import pytest

import kane
from kane import Free, Model, ModelError, Motor, Prismatic, Revolute, Rotation, Spherical, Weld


def snapshot(m):
    """Everything that a model has been told."""
    places = [(b.name, b.mass, b.com, b.inertia) for b in m.bodies]
    joints = [(c.name, c.coordinate_names, c.speed_names, c.parent, c.child) for c in m.connections]
    tables = dict(m.parameters), dict(m.inputs), list(m.loads), dict(m.frames), m.gravity
    return places, joints, tables, [c.name for c in m.ordered_connections]


def small():
    """Ground, A and B on two joints, C loose; a parameter, an input, a frame."""
    m = Model("small")
    m.parameter("L", 0.5)
    m.input("tau")
    A, B, _ = (m.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0)) for name in "ABC")
    m.connect(m.ground, A, Revolute("q1"))
    m.connect(A, B, Prismatic("q2"))
    m.frame("tool", B)
    return m


def body(m, name):
    return next(b for b in m.bodies if b.name == name)


def q(m, k=0):
    return m.connections[k].q


OTHER = Model("other")
OTHER_L = OTHER.parameter("L2", 1.0)
OTHER_BODY = OTHER.body("X", mass=1.0)

BODIES = {
    "negative mass": ({"mass": -1.0}, r"the mass of body 'N' is -1.0 kg; it must be finite and not negative"),
    "infinite mass": ({"mass": math.inf}, r"the mass of body 'N' is inf; give a finite number"),
    "NaN mass": ({"mass": math.nan}, r"the mass of body 'N' is nan; give a finite number"),
    "enormous mass": ({"mass": 10**400}, r"the mass of body 'N' is inf; give a finite number"),
    "mass in words": (
        {"mass": "1 kg"},
        r"the mass of body 'N' must be a number or an expression of this model, not '1 kg'",
    ),
    "true mass": ({"mass": True}, r"the mass of body 'N' must be a number or an expression of this model, not True"),
    "complex mass": ({"mass": 1j}, r"the mass of body 'N' must be a number"),
    "mass of another model": ({"mass": OTHER_L}, r"the mass of body 'N' uses the expression L2 of another model"),
    "negative inertia": (
        {"mass": 1, "inertia": (1, 1, -1)},
        r"the inertia of body 'N' is not physically consistent: a principal moment of inertia is negative; .* valid",
    ),
    "no triangle": (
        {"mass": 1, "inertia": (1, 1, 3)},
        r"the inertia of body 'N' is not physically consistent: the largest principal moment exceeds the sum of the "
        r"other two \(triangle inequality\); its principal moments are \(1, 1, 3\). The nearest valid inertia is",
    ),
    "no triangle hidden by products": (
        {"mass": 1, "inertia": (1, 1, 1, 0.9, 0, 0)},
        r"body 'N' .* \(triangle inequality\)",
    ),
    "NaN inertia": (
        {"mass": 1, "inertia": (1, math.nan, 1)},
        r"the inertia of body 'N'\[1\] is nan; give a finite number",
    ),
    "two moments": (
        {"mass": 1, "inertia": (1, 1)},
        r"the inertia of body 'N' is \(1, 1\); give 3 principal moments, 6 ",
    ),
    "one moment": ({"mass": 1, "inertia": 2.0}, r"the inertia of body 'N' is 2.0; give 3 principal moments"),
    "skew inertia": (
        {"mass": 1, "inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]},
        r"the inertia of body 'N' is not symmetric: entry \(0, 1\) is 0.1 and entry \(1, 0\) is 0",
    ),
    "inertia of another model": (
        {"mass": 1, "inertia": (OTHER_L,) * 3},
        r"the inertia of body 'N' uses the expression L2 of anoth",
    ),
    "com of two": (
        {"mass": 1, "com": (0, 1)},
        r"the mass centre of body 'N' must be three numbers or expressions; got 2",
    ),
    "com a number": ({"mass": 1, "com": 3}, r"the mass centre of body 'N' must be three numbers or expressions, not 3"),
    "com infinite": (
        {"mass": 1, "com": (0, 0, -math.inf)},
        r"the mass centre of body 'N' is -inf; give a finite number",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), BODIES.values(), ids=BODIES.keys())
def test_a_body_that_cannot_be_is_refused_and_leaves_no_trace(arguments, message):
    m = small()
    before = snapshot(m)
    with pytest.raises(ModelError, match=message):
        m.body("N", **arguments)
    assert snapshot(m) == before


@pytest.mark.parametrize("name", ["A", "ground", "tool"])
def test_the_name_of_a_body_or_frame_is_taken_once(name):
    m = small()
    before = snapshot(m)
    with pytest.raises(ModelError, match=f"there is already a body or frame named '{name}'; give another name"):
        m.body(name, mass=1.0)
    with pytest.raises(ModelError, match=f"there is already a body or frame named '{name}'; give another name"):
        m.frame(name, m.ground)
    assert snapshot(m) == before


@pytest.mark.parametrize("name", ["", " A", "A\n", None, 5, [], {}, b"A"])
def test_what_is_no_name_is_refused_everywhere(name):
    m = small()
    before = snapshot(m)
    attempts = (
        lambda: m.body(name, mass=1.0),
        lambda: m.frame(name, m.ground),
        lambda: m.parameter(name, 1.0),
        lambda: m.input(name),
    )
    for attempt in attempts:
        with pytest.raises(ModelError, match=r"is not a name; give a non-empty word without spaces around it"):
            attempt()
    assert snapshot(m) == before


@pytest.mark.parametrize("name", ["L", "tau", "q1", "u2", "t"])
def test_the_name_of_a_symbol_is_taken_once(name):
    m = small()
    before = snapshot(m)
    message = f"the name '{name}' is already taken by time, a parameter, input, coordinate or speed of this model"
    attempts = (
        lambda: m.parameter(name, 1.0),
        lambda: m.input(name),
        lambda: m.connect(m.ground, body(m, "C"), Revolute(name), name="other"),
    )
    for attempt in attempts:
        with pytest.raises(ModelError, match=message):
            attempt()
    assert snapshot(m) == before


def test_the_speed_of_a_new_coordinate_must_be_free_too():
    m = small()
    m.input("u7")
    with pytest.raises(ModelError, match="the name 'u7' is already taken"):
        m.connect(m.ground, body(m, "C"), Revolute("q7"))


@pytest.mark.parametrize(
    ("default", "message"),
    [
        (math.nan, r"the default of 'p' is nan; give a finite number"),
        (math.inf, r"the default of 'p' is inf; give a finite number"),
        ("5", r"the default of 'p' must be a number or an expression of this model, not '5'"),
        (None, r"the default of 'p' must be a number"),
        (OTHER_L, r"the default of 'p' uses the expression L2 of another model"),
    ],
)
def test_a_default_must_be_a_number(default, message):
    m = small()
    before = snapshot(m)
    for declare in (m.parameter, m.input):
        with pytest.raises(ModelError, match=message):
            declare("p", default)
    with pytest.raises(ModelError, match=r"the default of 'p' must be a number, not the expression q1"):
        m.parameter("p", q(m))
    assert snapshot(m) == before


def test_numbers_of_any_kind_are_numbers():
    m = Model(gravity=np.array([0, 0, -10]))
    made = m.body("A", mass=np.float32(2), inertia=np.eye(3), com=[Fraction(1, 2), np.int64(1), 0])
    assert (made.mass, made.com) == (2.0, (0.5, 1.0, 0.0))
    assert m.gravity == (0.0, 0.0, -10.0)


@pytest.mark.parametrize(
    ("gravity", "message"),
    [
        (-9.81, r"gravity must be three numbers or expressions, not -9.81"),
        ((0, -9.81), r"gravity must be three numbers or expressions; got 2"),
        ((0, 0, math.nan), r"gravity is nan; give a finite number"),
        ("xyz", r"gravity must be a number or an expression of this model, not 'x'"),
        ((0, 0, OTHER_L), r"gravity uses the expression L2 of another model"),
    ],
)
def test_gravity_is_three_finite_numbers(gravity, message):
    with pytest.raises(ModelError, match=message):
        Model(gravity=gravity)
    m = small()
    with pytest.raises(ModelError, match=message):
        m.gravity = gravity
    assert m.gravity == (0.0, 0.0, -9.81)


CONNECTIONS = {
    "no body": (lambda m: m.connect("grund", body(m, "C"), Weld()), r"no body 'grund'; did you mean ground\?"),
    "no child": (lambda m: m.connect(m.ground, None, Weld()), r"None is not a body of model 'small'"),
    "foreign body": (lambda m: m.connect(m.ground, OTHER_BODY, Weld()), r"body 'X' belongs to model 'other'; build"),
    "foreign parent": (
        lambda m: m.connect(OTHER.ground, body(m, "C"), Weld()),
        r"body 'ground' belongs to model 'other'; build",
    ),
    "ground as child": (
        lambda m: m.connect(body(m, "A"), m.ground, Weld()),
        r"the ground cannot be a child; swap parent and child",
    ),
    "second parent": (
        lambda m: m.connect(body(m, "A"), body(m, "B"), Revolute("q3")),
        r"body 'B' already hangs on 'A'; a second joint would close a loop: use Model.close",
    ),
    "loop": (
        lambda m: closed(m),
        r"connecting 'D' to 'E' would make a loop of joints; joints form a tree that starts at the gr",
    ),
    "itself": (
        lambda m: m.connect(body(m, "C"), body(m, "C"), Weld()),
        r"connecting 'C' to 'C' would make a loop of joints",
    ),
    "no joint": (
        lambda m: m.connect(m.ground, body(m, "C"), "revolute"),
        r"'revolute' is not a joint; give one such as kane.Rev",
    ),
    "joint class": (
        lambda m: m.connect(m.ground, body(m, "C"), Weld),
        r"class .*Weld'> is not a joint; give one such as",
    ),
    "joint name taken": (
        lambda m: m.connect(m.ground, body(m, "C"), Weld(), name="q1"),
        r"there is already a joint named 'q1'; give another name=",
    ),
    "joint name empty": (
        lambda m: m.connect(m.ground, body(m, "C"), Weld(), name=""),
        r"'' is not a name; give a non-empty word",
    ),
    "joint name a number": (lambda m: m.connect(m.ground, body(m, "C"), Weld(), name=3), r"3 is not a name"),
    "at of two": (
        lambda m: m.connect(m.ground, body(m, "C"), Weld(), at=(1, 2)),
        r"the position of joint 'ground_C' on 'ground' must be three numbers or expressions; got 2",
    ),
    "at NaN": (
        lambda m: m.connect(m.ground, body(m, "C"), Revolute("q9"), child_at=(0, 0, math.nan)),
        r"the position of joint 'q9' on 'C' is nan; give a finite number",
    ),
    "at of another model": (
        lambda m: m.connect(m.ground, body(m, "C"), Revolute("q9"), at=(0, 0, OTHER_L)),
        r"the position of joint 'q9' on 'ground' uses the expression L2 of another model",
    ),
    "at moving": (
        lambda m: m.connect(m.ground, body(m, "C"), Revolute("q9"), at=(0, 0, 2 * q(m))),
        r"the position of joint 'q9' on 'ground' depends on q1; it may depend on parameters only. For motion",
    ),
    "at in time": (
        lambda m: m.connect(m.ground, body(m, "C"), Revolute("q9"), at=(0, 0, kane.sin(m.time))),
        r"the position of joint 'q9' on 'ground' depends on t; it may depend on parameters only",
    ),
    "orientation of three numbers": (
        lambda m: m.connect(m.ground, body(m, "C"), Revolute("q9"), orientation=(0, 0, 1)),
        r"the orientation of joint 'q9' on 'ground' is \(0, 0, 1\); give a kane.Rotation, a matrix of 3 x 3 or",
    ),
    "orientation of another model": (
        lambda m: m.connect(m.ground, body(m, "C"), Revolute("q9"), child_orientation=Rotation.about("x", OTHER_L)),
        r"the orientation of joint 'q9' on 'C' uses the expression .* of another model",
    ),
    "orientation moving": (
        lambda m: m.connect(m.ground, body(m, "C"), Revolute("q9"), orientation=Rotation.about("x", q(m))),
        r"the orientation of joint 'q9' on 'ground' depends on q1; it may depend on parameters only",
    ),
    "coordinate of another model": (
        lambda m: m.connect(m.ground, body(m, "C"), Revolute(2 * OTHER_L)),
        r"the coordinate of joint 'ground_C' is the expression .* of another model",
    ),
    "coordinate in speeds": (
        lambda m: m.connect(m.ground, body(m, "C"), Revolute(m.connections[0].qdot), name="cam"),
        r"the coordinate of joint 'cam' depends on q1'; a coordinate expression may use coord",
    ),
    "coordinate by an input": (
        lambda m: m.connect(m.ground, body(m, "C"), Revolute(2 * m.input("steer")), name="cam"),
        r"the coordinate of joint 'cam' depends on steer; a coordinate expression may use",
    ),
    "ball by an expression": (
        lambda m: m.connect(m.ground, body(m, "C"), Spherical(2 * q(m)), name="ball"),
        r"the coordinate of joint 'ball' is .*; give a name$",
    ),
}


def closed(m):
    D, E = m.body("D", mass=1.0), m.body("E", mass=1.0)
    m.connect(D, E, Weld())
    m.connect(E, D, Weld())


@pytest.mark.parametrize(("connect", "message"), CONNECTIONS.values(), ids=CONNECTIONS.keys())
def test_a_connection_that_cannot_be_is_refused_and_leaves_no_joint(connect, message):
    m = small()
    before = snapshot(m)[1]
    with pytest.raises(ModelError, match=message):
        connect(m)
    made = [c for c in snapshot(m)[1] if c[0] != "D_E"]  # what the loop needs before it can be closed
    assert made == before
    assert body(m, "C") not in {c.child for c in m.connections}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"mass": lambda m: m.time},
            r"the mass, mass centre or inertia of body 'N' depends on t; it may depend on parameters only",
        ),
        ({"mass": lambda m: 1 + q(m)}, r"the mass, mass centre or inertia of body 'N' depends on q1"),
        ({"mass": lambda m: 1.0, "com": lambda m: (0, 0, m.connections[0].qdot)}, r"body 'N' depends on q1"),
        (
            {"mass": lambda m: 1.0, "inertia": lambda m: (1, 1, m.input("i"))},
            r"body 'N' depends on i; it may depend on par",
        ),
    ],
)
def test_what_describes_a_body_may_not_move(arguments, message):
    m = small()
    with pytest.raises(ModelError, match=message):
        m.body("N", **{name: value(m) for name, value in arguments.items()})
    assert "N" not in {b.name for b in m.bodies}


def test_gravity_may_depend_on_parameters_but_not_on_the_motion():
    m = small()
    g = m.parameter("g", 9.81)
    m.gravity = (0, 0, -g)
    with pytest.raises(ModelError, match=r"gravity depends on q1; it may depend on parameters only"):
        m.gravity = (0, 0, q(m))
    assert m.gravity[2] is -g


FRAMES = {
    "nowhere": (lambda m: m.frame("f", None), r"None is not a body of model 'small'; give one from"),
    "name of nothing": (lambda m: m.frame("f", "Z"), r"there is no body 'Z'; known are ground"),
    "foreign body": (
        lambda m: m.frame("f", OTHER_BODY),
        r"body .X. belongs to model .other.; build",
    ),
    "two numbers": (
        lambda m: m.frame("f", m.ground, at=(1, 2)),
        r"the position of frame 'f' must be three numbers .* got 2",
    ),
    "angles": (
        lambda m: m.frame("f", m.ground, orientation=[0, 0, 1]),
        r"the orientation of frame 'f' is \[0, 0, 1\]; give a kane.Rotation",
    ),
    "moving": (lambda m: m.frame("f", m.ground, at=(q(m), 0, 0)), r"the position of frame 'f' depends on q1"),
}


@pytest.mark.parametrize(("frame", "message"), FRAMES.values(), ids=FRAMES.keys())
def test_a_frame_that_cannot_be_is_refused(frame, message):
    m = small()
    before = snapshot(m)
    with pytest.raises(ModelError, match=message):
        frame(m)
    assert snapshot(m) == before


MEASURES = {
    "point of two": (
        lambda m: body(m, "A").point((0, 1)),
        r"the position of a point of body 'A' must be three numbers .* got 2",
    ),
    "point NaN": (lambda m: body(m, "A").point((0, 1, math.nan)), r"the position of a point of body 'A' is nan"),
    "direction of words": (
        lambda m: body(m, "A").direction("x"),
        r"a direction of body 'A' must be three numbers .* got 1",
    ),
    "foreign direction": (
        lambda m: body(m, "A").point().velocity.dot(OTHER_BODY.x),
        r"body 'X' belongs to another model than body 'A'",
    ),
    "velocity less position": (
        lambda m: body(m, "A").point().velocity - body(m, "B").point().position,
        r"a velocity; subtract a vector of the same kind, not B.point\(\).position, a position",
    ),
    "velocity less a number": (
        lambda m: body(m, "A").point().velocity - 1,
        "a velocity; subtract a vector of the same kind, not 1",
    ),
    "dot a tuple": (
        lambda m: body(m, "A").angular_velocity.dot((1, 0, 0)),
        r"dot\(\) takes a direction such as body.x, not \(1, 0, 0\)",
    ),
}


@pytest.mark.parametrize(("make", "message"), MEASURES.values(), ids=MEASURES.keys())
def test_a_measure_that_means_nothing_is_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make(small())


def test_a_difference_of_velocities_has_the_difference_of_their_measure_numbers():
    m = small()
    P, Q, A = body(m, "A").point((0, 0, 1)), body(m, "B").point(), body(m, "A")
    assert (P.velocity - Q.velocity).dot(A.x) is P.velocity.dot(A.x) - Q.velocity.dot(A.x)
    assert repr(P.velocity - Q.velocity) == "(A.point((0, 0, 1)).velocity - B.point().velocity)"


def test_equal_measures_are_one_leaf():
    A = body(small(), "A")
    assert A.point((0, 0, 1)).velocity.dot(A.x) is A.point((0, 0, 1)).velocity.dot(A.direction((1, 0, 0)))
    assert A.point((0, 0, 1)).velocity.dot(A.x) is not A.point((0, 0, 1)).position.dot(A.x)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("q3",), r"there is no coordinate 'q3'; known are q1, q2"),
        (("base",), r"there is no coordinate 'base'; known are q1, q2"),
        ((5,), r"there is no coordinate 5; known are q1, q2"),
        (([],), r"there is no coordinate \[\]"),
        (("q1", "q1"), r"a coordinate is named twice in \('q1', 'q1'\); name each once"),
        (("u1",), r"there is no coordinate 'u1'"),
    ],
)
def test_an_order_of_unknown_coordinates_is_refused(names, message):
    m = small()
    m.coordinates("q2", "q1")
    with pytest.raises(ModelError, match=message):
        m.coordinates(*names)
    assert [c.name for c in m.ordered_connections] == ["q2", "q1"]


def test_a_mistyped_coordinate_is_guessed():
    m = Model()
    m.connect(m.ground, m.body("A", mass=1.0, inertia=(1.0, 1.0, 1.0)), Revolute("shoulder"))
    with pytest.raises(ModelError, match=r"there is no coordinate 'sholder'; did you mean shoulder\?"):
        m.coordinates("sholder")


def test_coordinates_not_named_in_the_order_keep_theirs_last():
    m = small()
    m.connect(m.ground, body(m, "C"), Revolute("q3"))
    m.coordinates("q3")
    assert [c.name for c in m.ordered_connections] == ["q3", "q1", "q2"]


def test_a_free_joint_names_its_coordinates_after_itself():
    m = Model()
    base = m.body("hull", mass=1.0, inertia=(1.0, 1.0, 1.0))
    c = m.connect(m.ground, base, Free())
    assert c.name == "base"
    assert c.coordinate_names == ("base_qw", "base_qx", "base_qy", "base_qz", "base_x", "base_y", "base_z")
    assert c.speed_names == ("base_wx", "base_wy", "base_wz", "base_vx", "base_vy", "base_vz")
    assert tuple(x.name for x in c.q) == c.coordinate_names
    assert len(c.qdot) == 7


def test_a_joint_is_named_by_its_coordinate_or_by_its_bodies():
    m = small()
    weld = m.connect(body(m, "B"), body(m, "C"), Weld())
    assert [c.name for c in m.connections] == ["q1", "q2", "B_C"]
    assert (weld.q, weld.qdot) == ((), ())
    assert repr(weld) == "Connection('B_C': 'B' -> 'C', Weld)"


def test_an_unconnected_body_is_named_by_formulate():
    with pytest.raises(
        ModelError, match=r"these bodies are not connected to the ground: C; connect each to a parent or the ground"
    ):
        kane.formulate(small())


def test_bodies_that_hang_on_a_loose_body_are_all_named():
    m = small()
    m.connect(body(m, "C"), m.body("D", mass=1.0), Revolute("q3"))
    with pytest.raises(ModelError, match=r"these bodies are not connected to the ground: C, D;"):
        kane.formulate(m)


@pytest.mark.parametrize("joint", [Revolute("q3"), Prismatic("q3"), Spherical("s"), Free("f")])
def test_a_joint_that_moves_nothing_heavy_is_named_by_formulate(joint):
    m = small()
    m.connect(body(m, "B"), body(m, "C"), Weld())
    m.connect(m.ground, m.body("D", mass=0.0), joint)
    m.connect(body(m, "D"), m.body("E", mass=0.0), Weld())
    with pytest.raises(ModelError, match=r"joint '.*' moves no mass or inertia, only 'D' and the bodies beyond it"):
        kane.formulate(m)


def test_a_massless_link_may_carry_a_heavy_one():
    m = Model()
    light, heavy = m.body("light", mass=0.0), m.body("heavy", mass=1.0, inertia=(1.0, 1.0, 1.0))
    m.connect(m.ground, light, Revolute("q1", axis="x"))
    m.connect(light, heavy, Revolute("q2", axis="y"))
    assert [x.name for x in kane.formulate(m).u] == ["u1", "u2"]


@pytest.mark.parametrize(
    ("joint", "body"),
    [
        (Revolute("q1"), {"mass": 1.0}),
        (Revolute("q1"), {"mass": 1.0, "com": (0.0, 0.0, 0.5)}),
        (Prismatic("q1"), {"mass": 0.0, "inertia": (1.0, 1.0, 1.0)}),
        (Spherical("ball"), {"mass": 1.0}),
        (Free("free"), {"mass": 1.0}),
    ],
    ids=["a point turned", "a point on the axis", "no mass to slide", "a point turned at will", "a free point"],
)
def test_a_joint_that_meets_no_inertia_is_refused_when_accelerations_are_asked_for(joint, body):
    m = Model()
    m.connect(m.ground, m.body("bead", **body), joint)
    with pytest.raises(ModelError, match=r"without moving any inertia; give inertia to the bodies beyond"):
        _ = kane.formulate(m).forward


def test_formulate_refuses_what_is_no_model():
    for wrong in (None, "ur5.urdf", 5):
        with pytest.raises(ModelError, match=r"formulate takes a kane.Model, not "):
            kane.formulate(wrong)


def test_a_load_refused_is_not_kept():
    m = small()
    with pytest.raises(ModelError):
        m.load(Motor(m.connections[0], math.nan))
    assert m.loads == []
