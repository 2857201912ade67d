"""Model files in TOML: the same declarations in Python vouch for each table; the line of each fault is checked."""

import copy
import inspect
import re
import tomllib
import typing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import kane
from kane.cli.main import app
from kane.expression.construct import build_spline
from kane.expression.formula import KNOWN_FUNCTIONS, read_formula
from kane.expression.formula_text import Formulas, quoted_name
from kane.expression.spline import PiecewiseCubic
from kane.files.toml_file import TomlFile
from kane.model.toml.toml_reader import model_of_text
from kane.model.toml.toml_values import ValueReader
from kane.model.toml.toml_writer import in_toml, quoted_key

MODELS = [
    name
    for name in kane.library.__all__
    if typing.get_type_hints(getattr(kane.library, name)).get("return") is kane.Model
]


def saved(model, folder):
    """The model after a round trip through a file."""
    kane.save_model(model, folder / "model.toml")
    return kane.load_model(folder / "model.toml")


def accelerations(model):
    """Accelerations in a state that depends on the numbers of coordinates and inputs only."""
    equations = kane.formulate(model)
    random = np.random.default_rng(0)
    inputs = {"inputs": random.normal(size=len(equations.inputs))} if equations.inputs else {}
    return kane.build(equations).forward(
        np.array(equations.neutral), random.normal(size=len(equations.u)), t=0.3, **inputs
    )


@pytest.mark.parametrize("name", MODELS)
def test_models_of_the_library_keep_their_accelerations_to_the_last_bit(name, tmp_path):
    model = getattr(kane.library, name)()
    np.testing.assert_array_equal(accelerations(saved(model, tmp_path)), accelerations(model), strict=True)


TABLE = """
name = "all tables"
gravity = [0, 0, "-g"]
impacts = "in turn"
coordinates = ["q2", "q1"]
notes = ["a note"]

[parameters]
g = 9.81
L = { value = 0.5, unit = "m" }
m = 2.0

[inputs]
tau = 0.25
brake = { value = 1.0, unit = "N m" }

[definitions]
half = "L/2"
tip = "rod.point((0, 0, -L))"

[bodies.rod]
mass = "m"
com = [0, 0, "-half"]
inertia = ["m*L**2/12", "m*L**2/12", 0.001]

[bodies."second rod"]
mass = 1.5
moments = [[0, 0, -0.3], [0.1, 0.1, 0.01]]

[bodies.puck]
mass = 1

[bodies.door]
mass = 3
inertia = [1, 1, 1]

[bodies.ball]
mass = 0.5
inertia = [0.1, 0.1, 0.1]

[bodies.follower]
mass = 1
inertia = [1, 1, 1]

[joints.q1]
type = "Revolute"
axis = "y"
parent = "ground"
child = "rod"
orientation = { axis = "x", angle = 0.3 }

[joints.elbow]
type = "Revolute"
q = "q2"
axis = [0, 1, 0]
parent = "rod"
child = "second rod"
at = [0, 0, "-L"]
child_at = [0, 0.1, 0]

[joints.slide]
type = "Planar"
q = ["x", "y", "turn"]
parent = "ground"
child = "puck"
at = [3, 0, 1]

[joints.hinge]
type = "CustomJoint"
q = "q4"
R_FM = { axis = "z", angle = "q4" }
p_FM = [0, 0, "0.02*q4**2"]
parent = "ground"
child = "door"
at = [5, 0, 0]

[joints.ball]
type = "Gimbal"
q = ["a", "b", "c"]
sequence = "zxz"
speeds = { type = "MeasureNumbers" }
parent = "ground"
child = "ball"
at = [7, 0, 0]
child_orientation = [1, 0, 0, 0]

[joints.follower]
type = "Prismatic"
q = { formula = "0.1*sin(q1)" }
parent = "ground"
child = "follower"
at = [9, 0, 0]

[frames.tool]
body = "second rod"
at = [0, 0, -0.3]
orientation = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]

[constraints.even]
expression = "y' - 0.1*x'"

[constraints."q4 follows"]
type = "Gear"
a = "q4"
b = "turn"
ratio = 2

[contacts.floor]
feature = { type = "Sphere", centre = "puck", radius = 0.1 }
surface = { type = "Plane", point = "ground", normal = "ground.z" }
restitution = { type = "Newton", coefficient = 0.5 }
friction = { static = 0.4, kinetic = 0.3 }

[contacts.point]
feature = "tip"
surface = { type = "Plane", point = "ground.point((0, 0, -2))", normal = "ground.z" }
restitution = 0.25

[stops.elbow]
joint = "q2"
lower = -1
upper = "half + 2"

[sticks.brake]
joint = "elbow"
static = "brake"
kinetic = "brake/2"

[latches.catch]
gap = "2 - x"
holds = ["x'"]
off = "tau - 10"

[switches.clutch]
motion = "q1' - y'"
on = "q1 - 1"
off = "[clutch] - 100"

[speeds]
w = "rod.angular_velocity.dot(rod.y)"
w2 = "elbow_rate"
vx = "x'"
vy = "puck.point().velocity.dot(ground.y)"
wt = "u_turn"
w4 = "q4'"
ball_1 = "ball_wx"
ball_2 = "ball_wy"
ball_3 = "ball_wz"

[[loads]]
type = "Motor"
connection = "q1"
effort = "tau*cos(t) - select(q1 < 0, 1, 2)*q1'"

[[loads]]
type = "Spring"
connection = "turn"
stiffness = 3
rest = 0.1

[[loads]]
type = "Force"
point = "tip"
components = [1, "spline(q1, (0, 1, 2), (0, 1, 4))", 0]
expressed_in = "rod"
reaction = "ground"

[[loads]]
type = "PointDamper"
P = "tip"
Q = "ground.point((1, 0, 0))"
coefficient = "tip.velocity.dot(ground.x)**2 + 1"

[[shapes]]
type = "Box"
x = 0.1
y = 0.1
z = 0.1
centre = "door"
"""


def all_tables():
    """The model of the text above, declared in Python."""
    m = kane.Model("all tables")
    g, L, mass = m.parameter("g", 9.81), m.parameter("L", 0.5, unit="m"), m.parameter("m", 2.0)
    tau, brake = m.input("tau", 0.25), m.input("brake", 1.0, unit="N m")
    m.gravity, m.impacts = (0, 0, -g), "in turn"
    N, half = m.ground, L / 2
    rod = m.body("rod", mass=mass, com=(0, 0, -half), inertia=(mass * L**2 / 12, mass * L**2 / 12, 0.001))
    second = m.body("second rod", mass=1.5, moments=((0, 0, -0.3), (0.1, 0.1, 0.01)))
    puck, door = m.body("puck", mass=1), m.body("door", mass=3, inertia=(1, 1, 1))
    ball = m.body("ball", mass=0.5, inertia=(0.1, 0.1, 0.1))
    follower = m.body("follower", mass=1, inertia=(1, 1, 1))
    a = m.connect(N, rod, kane.Revolute("q1", axis="y"), orientation=kane.Rotation.about("x", 0.3))
    b = m.connect(rod, second, kane.Revolute("q2", axis=(0, 1, 0)), at=(0, 0, -L), child_at=(0, 0.1, 0), name="elbow")
    slide = m.connect(N, puck, kane.Planar(("x", "y", "turn")), at=(3, 0, 1), name="slide")
    hinge = m.connect(
        N,
        door,
        kane.CustomJoint("q4", lambda q: kane.Rotation.about("z", q), lambda q: (0, 0, 0.02 * q**2)),
        at=(5, 0, 0),
        name="hinge",
    )
    gimbal = kane.Gimbal(("a", "b", "c"), sequence="zxz", speeds=kane.MeasureNumbers())
    turning = m.connect(N, ball, gimbal, at=(7, 0, 0), child_orientation=(1, 0, 0, 0), name="ball")
    m.connect(N, follower, kane.Prismatic(0.1 * kane.sin(a.q)), at=(9, 0, 0), name="follower")
    m.frame("tool", second, at=(0, 0, -0.3), orientation=np.eye(3))
    x, y, _ = slide.qdot
    m.constrain(y - 0.1 * x, name="even")
    m.constrain(kane.Gear(hinge, slide["turn"], 2), name="q4 follows")
    floor = kane.Plane(N.point(), N.z)
    m.contact(
        kane.Sphere(puck.point(), 0.1),
        floor,
        restitution=kane.Newton(0.5),
        friction=kane.Coulomb(0.4, 0.3),
        name="floor",
    )
    tip = rod.point((0, 0, -L))
    m.contact(tip, kane.Plane(N.point((0, 0, -2)), N.z), restitution=0.25, name="point")
    m.stop(b, lower=-1, upper=half + 2, name="elbow")
    m.stick(b, static=brake, kinetic=brake / 2, name="brake")
    m.latch(2 - slide.q[0], holds=[x], off=tau - 10, name="catch")
    m.switch(a.qdot - y, on=a.q - 1, off=m.reaction("clutch") - 100, name="clutch")
    m.speeds(
        w=rod.angular_velocity.dot(rod.y),
        w2=b.qdot,
        vx=x,
        vy=puck.point().velocity.dot(N.y),
        wt=slide.speeds[2],
        w4=hinge.qdot,
        **{f"ball_{k}": s for k, s in enumerate(turning.speeds, start=1)},
    )
    m.load(kane.Motor(a, tau * kane.cos(m.time) - kane.select(a.q < 0, 1, 2) * a.qdot))
    m.load(kane.Spring(slide["turn"], 3, 0.1))
    m.load(kane.Force(tip, (1, kane.spline(a.q, (0, 1, 2), (0, 1, 4)), 0), expressed_in=rod, reaction=N.point()))
    m.load(kane.PointDamper(tip, N.point((1, 0, 0)), tip.velocity.dot(N.x) ** 2 + 1))
    m.coordinates("q2", "q1")
    m.notes.append("a note")
    door.shape(kane.Box(0.1, 0.1, 0.1))
    return m


@pytest.fixture
def table(tmp_path):
    """Path of a file with all tables."""
    path = tmp_path / "all.toml"
    path.write_text(TABLE.replace("elbow_rate", "u2").replace("u_turn", "turn_dot"), "utf-8")
    return path


def same(a, b):
    """Assert that two models have the same declarations and accelerations."""
    for word in ("name", "parameters", "inputs", "units", "impacts", "coordinate_order", "notes", "requirements"):
        assert repr(getattr(a, word)) == repr(getattr(b, word)), word
    for word in ("bodies", "connections", "constraints", "intermittents", "frames", "shapes", "loads"):
        assert len(getattr(a, word)) == len(getattr(b, word)), word
    assert [repr(x) for x in a.intermittents] == [repr(x) for x in b.intermittents]
    np.testing.assert_array_equal(accelerations(a), accelerations(b), strict=True)
    assert kane.compare(a, b).same


def test_each_table_declares_what_the_same_words_in_python_declare(table):
    same(kane.load_model(table), all_tables())


def test_a_saved_file_declares_the_same_model_again(tmp_path):
    model = all_tables()
    again = saved(model, tmp_path)
    same(again, model)
    assert kane.compare(model, tmp_path / "model.toml").same
    text = (tmp_path / "model.toml").read_text("utf-8")
    kane.save_model(again, tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text("utf-8") == text


def test_a_saved_file_moves_alike_through_impacts_and_friction(tmp_path):
    model = kane.Model("ball")
    ball = model.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.connect(model.ground, ball, kane.Planar(("x", "z", "turn"), axis="y"))
    sphere = kane.Sphere(ball.point(), model.parameter("r", 0.1))
    floor = kane.Plane(model.ground.point(), model.ground.direction((0.1, 0, 1)))
    model.contact(sphere, floor, restitution=kane.Stronge(0.5), friction=kane.Coulomb(0.4, 0.3))
    runs = [
        kane.simulate(kane.build(kane.formulate(m)), until=1.0, q={"x": 1.0, "z": 0.3})
        for m in (model, saved(model, tmp_path))
    ]
    assert len(runs[0].events) >= 2
    np.testing.assert_array_equal(runs[0].q, runs[1].q, strict=True)


UNARY = (kane.sin, kane.cos, kane.tan, kane.tanh, kane.sqrt, kane.exp, kane.sign, kane.absolute, lambda a: -a)
BINARY = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a**b,
    kane.atan2,
    kane.minimum,
    kane.equal,
)


def graph(choices):
    """An expression of two parameters, from numbers that choose operations and earlier nodes."""
    m = kane.Model("m")
    nodes = [m.parameter("x", 0.7), m.parameter("left/y", -1.3), m.arena.constant(-2.5), m.arena.constant(3.0)]
    for operation, a, b in choices:
        a, b = nodes[a % len(nodes)], nodes[b % len(nodes)]
        try:
            made = UNARY[operation](a) if operation < len(UNARY) else BINARY[operation - len(UNARY)](a, b)
        except kane.ExpressionError:  # a constant without a real value
            continue
        nodes.append(made)
    return m, nodes[-1]


STEPS = st.tuples(st.integers(0, len(UNARY) + len(BINARY) - 1), st.integers(0, 50), st.integers(0, 50))


@given(st.lists(STEPS, max_size=30))
@settings(max_examples=300)
def test_the_formula_of_an_expression_is_read_as_the_same_node(choices):
    m, x = graph(choices)
    formulas = Formulas(lambda leaf: quoted_name(leaf.name), ())
    formulas.add([x])
    names = {name: m.arena.leaf(1, name) for name in m.parameters}
    for name, text in formulas.definitions.items():
        names[name] = read_formula(text, names)
    found = read_formula(formulas(x), names)
    assert (found if isinstance(found, float) else float("nan")) == x.data if x.is_constant else found is x


def test_long_shared_expressions_are_written_once(tmp_path):
    m = kane.Model("long")
    x = m.parameter("x", 0.1)
    for k in range(60):  # 2**60 operations without names
        x = kane.sin(x) * x + k
    m.body("B", mass=1 + x * x)
    m.connect(m.ground, m.bodies[1], kane.Prismatic("q1"))
    again = saved(m, tmp_path)
    assert (tmp_path / "model.toml").stat().st_size < 10_000
    np.testing.assert_array_equal(accelerations(again), accelerations(m))


def faults(text, *edits):
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return text


PENDULUM = """name = "pendulum"

[parameters]
mass = 2.0

[inputs]
tau = 0.0

[definitions]
arm = "1 + 0*mass"

[bodies.rod]
mass = "mass"
com = [0, 0, -1]
inertia = [0.1, 0.1, 0.1]

[bodies.bob]
mass = 1

[joints.q1]
type = "Revolute"
axis = "y"
parent = "ground"
child = "rod"

[joints.q2]
type = "Weld"
parent = "rod"
child = "bob"

[[loads]]
type = "Motor"
connection = "q1"
effort = "tau"

[[loads]]
type = "Force"
point = "bob"
components = [0, 0, "mass*2"]
"""
ELBOW = '[joints.q2]\ntype = "Weld"\n'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass = 2.0", "mass = 2.0.0", "line 4: this is not TOML"),
        ("mass = 2.0", "mass = [1,", "line 4|line 5|not TOML"),
        ("mass = 2.0", 'mass = "two"', "line 4: the default of 'mass' must be a number"),
        ("mass = 2.0", "mass = { value = 2, units = 'kg' }", "line 4: there is no key 'units'; did you mean unit"),
        ("mass = 2.0", "mass = { value = 2, unit = 'kgg' }", "line 4: the unit of 'mass'"),
        ("mass = 2.0", "mass = { unit = 'kg' }", "line 4: 'mass' has no value"),
        ("[parameters]", "[parameter]", "line 3: there is no key 'parameter' in a model file; did you mean parameters"),
        ("[bodies.bob]", "[bodies.rod]", "line 17: this is not TOML: two bodies are called 'rod'"),
        ("[bodies.bob]", "[bodies.ground]", "line 17: there is already a body or frame named 'ground'"),
        ("tau = 0.0", "mass = 0.0", "line 7: the name 'mass' is already taken"),
        ("[joints.q1]", "[joints.mass]", "line 20: the name 'mass' is already taken"),
        ('mass = "mass"', "mas = 1", "line 13: there is no key 'mas' in body 'rod'; did you mean mass"),
        ('mass = "mass"', "mass = true", "line 13: mass must be a number or an expression of this model, not True"),
        ('mass = "mass"', "mass = [1]", "line 13: mass is a number or a formula, not \\[1\\]"),
        ('mass = "mass"', "mass = -1", "line 12: the mass of body 'rod' is -1|line 12: .*-1"),
        ("mass = 1\n", "", "line 17: body 'bob' has no mass; it needs mass"),
        ("com = [0, 0, -1]", "com = [0, 0]", "line 12: .*three numbers or expressions; got 2"),
        ("com = [0, 0, -1]", "com = 3", "line 14: com is 3; give a list"),
        ("com = [0, 0, -1]", 'com = [0, 0, "q1"]', "line 14: .*there is no 'q1'"),
        (
            'type = "Revolute"',
            'type = "Revolut"',
            "line 21: there is no type of joint 'Revolut'; did you mean Revolute",
        ),
        ('type = "Revolute"\n', "", "line 20: joint 'q1' has no type; give one of .*Revolute"),
        ('axis = "y"', 'axis = "q"', "line 20: .*'q'"),
        ('axis = "y"', "axis = { y = 1 }", "line 22: axis is a text"),
        ('parent = "ground"', 'parent = "grund"', "line 23: there is no body 'grund'; did you mean ground"),
        ('parent = "ground"', 'parent = "bob"', "line 26: .*would make a loop of joints"),
        ('child = "rod"', 'child = "bob"', "line 26: body 'bob' already hangs on 'ground'.*use Model.close"),
        ('child = "rod"\n', "", "line 20: joint 'q1' has no child; it needs parent, child"),
        ('type = "Motor"', 'type = "Moter"', "line 32: there is no type 'Moter'; did you mean Motor"),
        ('type = "Motor"\n', "", "line 31: a table of loads has no type; give one of .*Motor"),
        ('connection = "q1"', 'connection = "q3"', "line 33: there is no joint or coordinate 'q3'; known are q1, q2"),
        ('effort = "tau"', "effort = [1]", "line 34: effort is a number or a formula"),
        ('effort = "tau"', 'effort = "rod.x"', "line 34: effort is a number or a formula, not rod.x"),
        ('effort = "tau"', 'efort = "tau"', "line 34: there is no key 'efort' in this Motor; did you mean effort"),
        ('point = "bob"', 'point = "bob.z"', "line 38: point is a point: .*not bob.z"),
        ('point = "bob"', "point = [0, 0, 1]", "line 38: point is a point"),
        ('arm = "1 + 0*mass"', 'arm = "2*arm"', "line 10: the definition arm uses arm; break the circle"),
        ('arm = "1 + 0*mass"', 'mass = "1"', "line 10: the definition 'mass' has the name of"),
        ('arm = "1 + 0*mass"', 'q1 = "1"', "line 10: the definition 'q1' has the name of a body, coordinate"),
        ('arm = "1 + 0*mass"', 'bob = "1"', "line 10: the definition 'bob' has the name of a body"),
        ('arm = "1 + 0*mass"', "arm = '''1 +\n mas'''", "line 10: .*there is no 'mas'; did you mean mass"),
        ("[bodies.bob]", "[body.bob]", "line 17: there is no key 'body' in a model file; did you mean bodies"),
        ("[joints.q1]", "[joint.q1]", "line 20: there is no key 'joint' in a model file; did you mean joints"),
        ("[[loads]]", "[loads]", "line 36: this is not TOML: .*a list of tables has .loads. instead of"),
        ("com = [0, 0, -1]", 'com = ["sqrt(-1)", 0, 0]', r"line 14: com\[0\] is nan; give a finite number"),
        ("com = [0, 0, -1]", 'com = ["mass^2", 0, 0]', r"line 14: .*'\^' is not part of a formula; a power is written"),
        ('effort = "tau"', 'effort = "9**9**9**9"', "line 34: .* has no value: a number in it is too large"),
        ("mass = 2.0", 'mass = "2*tau"', "line 4: the default of 'mass' must be a number, .* under .definitions"),
        (ELBOW, f"[constraints.c]\nexpresion = 'q1'\n{ELBOW}", "line 27: .*'expresion'.*; did you mean expression"),
        ("mass = 2.0", "mass = 2.0\npi = 3", "line 5: 'pi' is reserved in formulas .*; give another name"),
        ("tau = 0.0", "log = 0.0", "line 7: 'log' is reserved in formulas"),
        ('arm = "1 + 0*mass"', 'sin = "1"', "line 10: 'sin' is reserved in formulas"),
        ("[joints.q1]", "[joints.select]", "line 20: 'select' is reserved in formulas"),
        ('name = "pendulum"', "name = 3", "line 1: name is a text, not 3"),
        ('name = "pendulum"', 'name = "a"\ngravity = [0, 0, "tau"]', "line 2: gravity depends on tau"),
        ('name = "pendulum"', 'name = "a"\nimpacts = "never"', "line 2: impacts of 'a' happen"),
        ('name = "pendulum"', 'name = "a"\ncoordinates = ["q7"]', "line 2: there is no coordinate 'q7'"),
        ('name = "pendulum"', 'name = "a"\ndependent_speeds = 3', "line 2: dependent_speeds is a list"),
        ('name = "pendulum"', 'name = "a"\nuntil = 3', "line 2: there is no key 'until' in a model file .*kane sweep"),
        (ELBOW, f'{ELBOW}speeds = {{ type = "AngleRates" }}\n', "line 28: there is no key 'speeds' in this Weld"),
        (ELBOW, f'{ELBOW}orientation = {{ axis = "z" }}\n', "line 28: a turn of a rotation has no angle"),
        (ELBOW, f"{ELBOW}orientation = [[1, 0, 0], [0, 2, 0], [0, 0, 1]]\n", "line 26: .*not orthogonal"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, old, new, message):
    path = tmp_path / "arm.toml"
    path.write_text(faults(PENDULUM, (old, new)), "utf-8")
    with pytest.raises(kane.ImportFileError, match=f"arm.toml, {message}"):
        kane.load_model(path)


def test_the_documentation_lists_functions_and_keys_of_each_type():
    """Signatures of the classes vouch for the keys, the grammar for the functions."""
    page = (Path(__file__).parents[2] / "docs/model_files.md").read_text("utf-8")
    read = ValueReader(TomlFile("", ""), kane.Model("empty"), {})
    for name, kind in {**read.loads, **read.constraints, **read.shapes}.items():
        keys = [(f"`{p.name}`", p.default is p.empty) for p in inspect.signature(kind).parameters.values()]
        assert f"| `{name}` | {', '.join(key if needed else f'[{key}]' for key, needed in keys)} |" in page
    assert all(f"`{name}`" in page.split("The functions are")[1].split(", with")[0] for name in KNOWN_FUNCTIONS)


def test_an_unknown_reaction_in_a_load_is_named(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(faults(PENDULUM, ('effort = "tau"', 'effort = "[flor: normal]"')), "utf-8")
    with pytest.raises(kane.ModelError, match="the reaction 'flor: normal', which no joint or constraint has"):
        kane.formulate(kane.load_model(path))


def test_the_column_of_a_fault_in_a_formula_is_marked(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(faults(PENDULUM, ('"mass*2"', '"2*mas + 1"')), "utf-8")
    with pytest.raises(kane.ImportFileError) as error:
        kane.load_model(path)
    *_, line, mark = str(error.value).splitlines()
    assert line.strip() == 'components = [0, 0, "2*mas + 1"]'
    assert line[mark.index("^") :].startswith("mas +")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name = '\xff'", "arm.toml is not UTF-8"),
        (b"a = " + b"[" * 5000, "not TOML"),
        (b"[loads]\ntype = 'Motor'", r"line 1: loads is an array of tables with the header \[\[loads\]\], not"),
        (b"", "arm.toml is empty; `kane new PATH` writes an example"),
        (b"# no model\n", "arm.toml is empty"),
        (b"bodies = 3", "line 1: bodies is a table by name, not 3"),
        (b"[bodies]\nrod = 3", "line 2: body 'rod' is a table with mass"),
        (b"[joints]\nq1 = 3", "line 2: joint 'q1' is a table"),
        (b"[constraints]\na = 3", "line 2: constraint 'a' is a table"),
        (b"[constraints.a]\nexpression = '1'", "line 1: the constraint 'a' is the number 1.0; give an expression"),
        (b"loads = [3]", "line 1: .*a table with a type"),
        (b"[speeds]\nself = '1'", "line 1: a speed of a model file is not called dependent or self"),
        (b"cuts = ['q1']", "line 1: there is no joint or coordinate 'q1'; there are none here"),
    ],
)
def test_other_faults_of_a_file(tmp_path, content, message):
    path = tmp_path / "arm.toml"
    path.write_bytes(content)
    with pytest.raises(kane.ImportFileError, match=message):
        kane.load_model(path)


def test_names_of_functions_are_refused_in_toml_and_kept_in_json(tmp_path):
    """The formula would be ``log*log(1 + x**2)``, which a reader cannot tell from a product."""
    m = kane.Model("slider")
    factor = m.parameter("log", 0.7)
    j = m.connect(m.ground, m.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(j, factor * kane.log(1 + j.q**2)))
    with pytest.raises(kane.FileError, match=r"'log' is reserved in formulas .*give another name, or save .*json"):
        kane.save_model(m, tmp_path / "slider.toml")
    assert not (tmp_path / "slider.toml").exists()
    kane.save_model(m, tmp_path / "slider.json")
    np.testing.assert_array_equal(accelerations(kane.load_model(tmp_path / "slider.json")), accelerations(m))


def test_names_of_python_cannot_be_reached(tmp_path):
    path = tmp_path / "arm.toml"
    for formula in ("rod.model", "rod.__class__", "rod.point.__globals__", "rod.x.dot.__self__", "rod.x.body"):
        path.write_text(faults(PENDULUM, ('effort = "tau"', f'effort = "{formula}"')), "utf-8")
        with pytest.raises(kane.ImportFileError, match=r"line 34: .*has no part|line 34: .*is missing"):
            kane.load_model(path)


def damaged(content, random):
    """Replace a random value somewhere inside tables and lists."""
    while True:
        keys = list(content) if isinstance(content, dict) else range(len(content))
        key = keys[int(random.integers(len(keys)))]
        inner = content[key]
        if not isinstance(inner, (dict, list)) or not inner or random.uniform() < 0.2:
            values = [
                3,
                -1.5,
                True,
                "",
                "x",
                "rod",
                "q1",
                "rod.z",
                "1 +",
                [],
                [1],
                [[1]],
                ["q1", 2],
                {},
                {"type": "Box"},
            ]
            content[key] = values[int(random.integers(len(values)))]
            return
        content = inner


def test_wrong_values_anywhere_are_errors_of_the_file(table, tmp_path):
    """Every model that is read or refused, none that ends with another error."""
    whole, messages = tomllib.loads(table.read_text("utf-8")), []
    for seed in range(400):
        content = copy.deepcopy(whole)
        damaged(content, np.random.default_rng(seed))
        text = "\n".join(f"{quoted_key(key)} = {in_toml(x)}" for key, x in content.items())
        try:
            model_of_text(TomlFile("damaged.toml", text))
        except kane.ImportFileError as error:
            messages.append(str(error))
    assert len(messages) > 250
    assert all(message.startswith("damaged.toml") for message in messages)


class Wind(kane.Load):
    """A load from outside kane."""

    def effect(self):
        return kane.Effect()


def test_parts_that_the_form_lacks_are_refused_by_name(tmp_path):
    path = tmp_path / "arm.toml"
    m = kane.Model("windy")
    m.load(Wind())
    with pytest.raises(kane.FileError, match=r"load 1 holds .*Wind.* which files cannot contain; use joints, loads"):
        kane.save_model(m, path)
    m = kane.Model("custom")
    B, C = m.body("B", mass=1), m.body("C", mass=1)
    a = m.connect(m.ground, B, kane.Prismatic("q1"))
    m.connect(B, C, kane.CustomJoint(2 * a.q, position=lambda q: (q, 0, 0)))
    with pytest.raises(kane.FileError, match=r"a CustomJoint along an expression.*save the model as \.json"):
        kane.save_model(m, path)
    m = kane.Model("quoted")
    m.load(kane.Torque(m.body("a`b", mass=1), (m.parameter("x`", 1), 0, 0)))
    with pytest.raises(kane.FileError, match="cannot contain the name 'x`'"):
        kane.save_model(m, path)
    m = kane.Model("stepped")
    a = m.connect(m.ground, m.body("B", mass=1), kane.Prismatic("q1"))
    m.load(kane.Motor(a, build_spline(a.q, PiecewiseCubic.steps((0.0, 1.0, 3.0)))))
    with pytest.raises(kane.FileError, match=r"piecewise polynomial .*save the model as \.json"):
        kane.save_model(m, path)
    assert not path.exists()


def call(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments])


def test_the_commands_take_model_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = call("new", "arm.toml")
    assert made.exit_code == 0, made.output
    assert call("check", "arm.toml", "--states", 1).exit_code == 0
    assert call("run", "arm.toml", "--until", 0.1).exit_code == 0
    assert (tmp_path / "out" / "pendulum.nc").exists()
    again = call("new", "arm.toml")
    assert again.exit_code == 1
    assert "'arm.toml' exists" in again.output
    assert "does not end with .toml" in call("new", "arm.json").output
    assert call("new", "chain.toml", "--model", "chain:2").exit_code == 0
    assert len(kane.load_model("chain.toml").bodies) == 3
    assert "cannot be read" in call("check", "missing.toml").output


def test_a_study_names_a_model_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call("new", "arm.toml")
    (tmp_path / "study.toml").write_text(
        'model = "arm.toml"\nuntil = 0.1\n\n[grid]\nmass = [1, 2]\n\n[outputs]\nangle = "q1"\n', "utf-8"
    )
    done = call("sweep", "study.toml", "--store", "a.zarr")
    assert done.exit_code == 0, done.output
    (tmp_path / "arm.toml").write_text("bodies = 3", "utf-8")
    assert (
        "study.toml, line 1: arm.toml, line 1: bodies is a table" in call("sweep", "study.toml", "--store", "b").output
    )
    assert "this is a model file, for kane run" in call("sweep", "arm.toml", "--store", "b").output


def test_the_example_of_the_page_hangs_from_its_rail(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "model_files.md"
    (example,) = re.findall(r"^```toml\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    (tmp_path / "crane.toml").write_text(example, "utf-8")
    dyn = kane.build(kane.formulate(kane.load_model(tmp_path / "crane.toml")))
    # A force D on the trolley gives both masses x'' = D / 100 and swing'' = -x'' / rope, at rest and upright.
    np.testing.assert_allclose(dyn.forward([0, 0], [0, 0], inputs=[50.0]), [0.5, 0.5 / 3.0], rtol=1e-12)
    run = kane.simulate(dyn, until=5.0, inputs={"drive": 400.0})
    assert run.q[:, 0].max() <= 4.0 + 1e-6
    assert run.events


def test_closures_and_classes_of_constraints_are_those_of_python(tmp_path):
    text = """
        name = "loop"
        [bodies.a]
        mass = 1
        inertia = [1, 1, 1]
        [bodies.b]
        mass = 1
        inertia = [1, 1, 1]
        [joints.q1]
        type = "Revolute"
        axis = "y"
        parent = "ground"
        child = "a"
        [joints.q2]
        type = "Revolute"
        axis = "y"
        parent = "a"
        child = "b"
        at = [1, 0, 0]
        [closures.q3]
        type = "Revolute"
        axis = "y"
        parent = "b"
        child = "ground"
        at = [1, 0, 0]
        child_at = [1.5, 0, 0]
        [constraints.rod]
        type = "Distance"
        P = "a"
        Q = "b.point((1, 0, 0))"
        length = 1.5
    """
    (tmp_path / "loop.toml").write_text(text, "utf-8")
    m = kane.Model("loop")
    a, b = (m.body(name, mass=1, inertia=(1, 1, 1)) for name in "ab")
    m.connect(m.ground, a, kane.Revolute("q1", axis="y"))
    m.connect(a, b, kane.Revolute("q2", axis="y"), at=(1, 0, 0))
    m.close(b, m.ground, kane.Revolute("q3", axis="y"), at=(1, 0, 0), child_at=(1.5, 0, 0))
    m.constrain(kane.Distance(a.point(), b.point((1, 0, 0)), 1.5), name="rod")
    read = kane.load_model(tmp_path / "loop.toml")
    assert [c.name for c in read.cuts] == ["q3"]
    same(read, m)
    same(saved(m, tmp_path), m)
