"""Units by unification. The tables are from the papers, by hand; the mutants know which line is wrong."""

import inspect
import random
import re
import runpy
import warnings

import pytest
from oracles.robots import talos

import kane
from kane.model.unit_text import read_unit, unit_text

TABLES = {
    "shopping_cart": {"L1": "m", "mB": "kg", "IB": "kg m^2", "F": "N", "tau": "N m"},
    "wrist": {"M": "kg", "L": "m", "I1": "kg m^2", "G": "m/s^2", "T1": "N m", "F1": "N"},
    "mobile_manipulator": {"steer0": "N m", "drive1": "N m", "tau1": "N m", "Fx": "N", "Tz": "N m"},
    "whipple_bicycle": {},
    "stiff_flyball_governor": {"k": "N/m", "c": "N s/m", "g": "m/s^2", "T": "N m"},
    "stewart_platform": {"rb": "m", "eb": "1", "Ix": "kg m^2", "c1": "m", "F6": "N"},
    "four_bar": {"a": "m", "mu": "kg/m", "g": "m/s^2"},
}


# Members of the library that are feedback laws, starts and substitutions.
NO_MODELS = {
    "lock_steering", "platform_wheels", "tanner_speeds", "stanford_arm_feedback", "n_link_pendulum_to_vertical"
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_parameters_and_inputs_have_the_units_of_the_paper(name):
    found = kane.units(kane.formulate(getattr(kane.library, name)()))
    everything = {**found.parameters, **found.inputs}
    assert {key: everything[key] for key in TABLES[name]} == TABLES[name]
    assert "?" not in everything.values()


@pytest.mark.parametrize(
    ("text", "written"),
    [("N m/rad", "N m"), ("kg*m**2", "kg m^2"), ("J", "N m"), ("N s/m", "N s/m"), ("1", "1"), ("m^1/2", "m^1/2"),
     ("1/s", "1/s"), ("kg/m^3", "kg/m^3"), ("W", "N m/s"), ("V s", "N m/A")],
)  # fmt: skip
def test_units_are_read_and_written(text, written):
    assert unit_text(read_unit(text, "x")) == written
    assert read_unit(written, "x") == read_unit(text, "x")


@pytest.mark.parametrize("text", ["mm", "deg", "Nm", "", "N /", "m^x", "3 m", None, 5])
def test_a_text_that_is_no_si_unit_is_refused(text):
    m = kane.Model("m")
    if text is None:
        m.parameter("L", 0.5, unit=text)  # nothing is declared
        return
    with pytest.raises(kane.ModelError, match=r"the unit of 'L' is .*which is not an SI unit; write one without pref"):
        m.parameter("L", 0.5, unit=text)
    assert "L" not in m.parameters
    m.parameter("L", 0.5, unit="m")


def pendulum(effort, **declared):
    m = kane.Model("pendulum")
    p = {name: m.parameter(name, 0.5, unit=declared.get(name)) for name in ("k", "c", "L", "mass")}
    b = m.body("b", mass=p["mass"], inertia=(0.5, 0.5, 0.5), com=(p["L"], 0, 0))
    j = m.connect("ground", b, kane.Revolute("q1", axis="y"))
    m.load(kane.Motor(j, effort(j.q, j.qdot, p["k"], p["c"])))
    return kane.formulate(m)


def test_the_contradiction_of_the_issue_names_the_term_the_line_and_the_difference():
    with pytest.raises(kane.ModelError) as caught:
        kane.units(pendulum(lambda q, u, k, c: k * q + c * u + k * u))
    line = pendulum.__code__.co_firstlineno + 5
    told = f"the effort of Motor on q1 (test_units.py:{line}): the terms k*q1 + c*q1' and k*q1' differ by s"
    assert str(caught.value).startswith(told)


def test_a_length_and_a_mass_of_equal_value_keep_their_own_units():
    """All parameters are 0.5, and the literals 0.5 of mass, length and inertia are one node."""
    m = kane.Model("literals")
    k = m.parameter("k", 0.5)
    b = m.body("b", mass=0.5, inertia=(0.5, 0.5, 0.5), com=(0.5, 0, 0))
    j = m.connect("ground", b, kane.Prismatic("x"), at=(0, 0, 0.5))
    m.load(kane.Motor(j, -k * (j.q - 0.5) - 0.5 * j.qdot + 0.5))
    assert kane.units(kane.formulate(m))["k"] == "N/m"


def test_masses_are_known_although_accelerations_fix_them_only_up_to_a_factor():
    """The accelerations of a pendulum depend on ratios of masses; a mass is declared in kg, as the energy says."""
    found = kane.units(kane.formulate(kane.library.n_link_pendulum()))
    assert (found["mc"], found["m"], found["l"], found["kinetic"]) == ("kg", "kg", "m", "J")


def test_outputs_have_units():
    found = kane.units(kane.formulate(kane.library.stanford_arm()))
    assert [found[x] for x in ("q1", "u6", "u1'", "u6'", "f_u1", "f_u6")] == [
        "rad", "m/s", "rad/s^2", "m/s^2", "N m", "N"
    ]  # fmt: skip
    assert [found[x] for x in ("M_1_1", "M_6_1", "M_6_6")] == ["kg m^2", "kg m", "kg"]


def test_reactions_have_units():
    found = kane.units(kane.formulate(kane.library.slider_crank()))
    assert set(found.reactions.values()) <= {"N", "N m"}
    assert found.reactions


def test_declared_units_are_shown_as_typed_and_saved(tmp_path):
    m = kane.Model("saved")
    k = m.parameter("k", 2.0, unit="N m/rad")
    b = m.body("b", mass=1.0, inertia=(1, 1, 1))
    m.load(kane.Spring(m.connect("ground", b, kane.Revolute("q1")), k))
    kane.save_model(m, tmp_path / "m.json")
    for model in (m, kane.load_model(tmp_path / "m.json")):
        found = kane.units(kane.formulate(model))
        assert found["k"] == "N m/rad"
        assert "k                N m/rad" in repr(found)


def test_a_declared_unit_that_contradicts_the_use_is_named():
    with pytest.raises(kane.ModelError, match=r"the effort of Motor on q1 .*differ by s"):
        kane.units(pendulum(lambda q, u, k, c: k * q + c * u, k="N m s"))


def test_a_controller_is_checked():
    m = kane.Model("controlled")
    k, T = m.parameter("k", 2.0), m.input("T")
    j = m.connect("ground", m.body("b", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("q1"))
    m.load(kane.Motor(j, T))
    with pytest.raises(kane.ModelError, match=r"the expression of T: the terms .* differ by s"):
        kane.units(kane.substitute(kane.formulate(m), T=k * j.q + k * j.qdot))


def test_an_unknown_quantity_is_refused_with_the_nearest_name():
    with pytest.raises(kane.ModelError, match=r"there is no quantity 'tu'; did you mean tau"):
        kane.units(kane.formulate(kane.library.shopping_cart()))["tu"]


def test_units_take_equations():
    with pytest.raises(kane.ModelError, match="units takes Equations"):
        kane.units(kane.library.wrist())


def test_the_listing_shows_units(tmp_path):
    kane.export(kane.formulate(kane.library.shopping_cart()), tmp_path, kane.Listing())
    (file,) = tmp_path.iterdir()
    assert re.search(r"^ +tau +N m$", file.read_text("utf-8"), re.M)


# Unit of each parameter of the program below, as text.
TRUE_UNITS = {
    "k1": "N m", "k2": "N m", "c1": "N m s", "c2": "N m s", "K": "N/m", "C": "N s/m", "L1": "m", "L2": "m", "r": "m",
    "A": "m^2", "w": "1/s", "T0": "N m", "F0": "N", "v0": "m/s",
}  # fmt: skip
PROGRAM = """
a = m.body("a", mass=1.0, inertia=(1, 1, 1), com=(L1, 0, 0))
b = m.body("b", mass=1.0, inertia=(1, 1, 1), com=(L2, 0, r))
j1 = m.connect("ground", a, kane.Revolute("q1", axis="y"))
j2 = m.connect(a, b, kane.Revolute("q2", axis="y"), at=(L1, 0, 0))
m.load(kane.Spring(j1, k1))
m.load(kane.Damper(j1, c1))
m.load(kane.Motor(j2, k2 * j2.q + c2 * j2.qdot))
m.load(kane.Motor(j1, T0 * kane.sin(w * m.time) - k2 * j1.q))
m.load(kane.PointSpring(a.point((L1, 0, 0)), b.point((L2, 0, r)), K, L2))
m.load(kane.PointDamper(m.ground.point(), b.point((0, 0, r)), C))
m.load(kane.Force(b.point((L2, 0, 0)), (F0 - K * (L1 - r), 0, C * v0)))
m.load(kane.Torque(b, (0, T0 - k1 * j1.q - c1 * j1.qdot, F0 * r)))
m.load(kane.Motor(j2, -k2 * kane.tanh(j2.qdot / w) - K * A))
m.load(kane.Motor(j1, F0 * kane.sqrt(A) + c2 * (j1.qdot - j2.qdot)))
m.load(kane.Force(a.point(), (C * (v0 + L1 * j1.qdot), 0, -K * (L1 + L2 * kane.cos(j2.q)))))
""".strip().split("\n")
FIRST_LOAD = 5


def run_program(lines, *, declared):
    m = kane.Model("mutant")
    known = {x: m.parameter(x, 0.5, unit=unit if declared else None) for x, unit in TRUE_UNITS.items()}
    exec(compile("\n".join(lines), "mutant.py", "exec"), {"m": m, "kane": kane, **known})
    return kane.formulate(m)


def mutants():
    """Every replacement of a parameter in a load by one with another unit, in random order: (line number, line)."""
    found = []
    for k in range(FIRST_LOAD - 1, len(PROGRAM)):
        for place in re.finditer(rf"\b({'|'.join(TRUE_UNITS)})\b", PROGRAM[k]):
            for other, unit in TRUE_UNITS.items():
                if unit != TRUE_UNITS[place[0]]:
                    line = PROGRAM[k]
                    found.append((k, line[: place.start()] + other + line[place.end() :]))
    random.Random(0).shuffle(found)
    return found


def test_mutants_of_loads_are_named_with_the_right_line():
    """Half of them in a program that declares its units, half in one that declares none."""
    named = 0
    for declared, chosen in ((True, mutants()[:50]), (False, mutants()[50:100])):
        found = kane.units(run_program(PROGRAM, declared=declared))
        assert {x: read_unit(found[x], x) for x in TRUE_UNITS} == {x: read_unit(y, x) for x, y in TRUE_UNITS.items()}
        for k, line in chosen:
            try:
                kane.units(run_program([*PROGRAM[:k], line, *PROGRAM[k + 1 :]], declared=declared))
            except kane.ModelError as error:
                culprit = re.search(r"mutant\.py:(\d+)", str(error))
                named += culprit is not None and int(culprit[1]) == k + 1
    assert named >= 95


def makers(path):
    """Functions of an example without required arguments that return a model or its dynamics."""
    names = re.findall(r"^def (\w+)\([^)]*\) -> kane\.(?:Model|Dynamics):", path.read_text("utf-8"), re.M)
    found = runpy.run_path(str(path), run_name="example")
    free = (p for p in names if all(x.default is not x.empty for x in inspect.signature(found[p]).parameters.values()))
    return [found[name] for name in free]


def test_no_example_and_no_library_model_has_a_contradiction(root):
    """The examples were derived and checked in other ways, so that each contradiction would be a false alarm."""
    found = [make() for path in sorted((root / "examples").glob("*.py")) for make in makers(path)]
    equations = [x.equations if isinstance(x, kane.Dynamics) else kane.formulate(x) for x in found]
    assert len(equations) >= 20
    assert "rattleback" in {e.name for e in equations}
    library = [getattr(kane.library, name) for name in kane.library.__all__ if name not in NO_MODELS]
    for each in (*equations, *(kane.formulate(make()) for make in library)):
        assert set(kane.units(each).coordinates.values()) <= {"rad", "m", "1"}


def test_talos_has_units():
    found = kane.units(kane.formulate(talos()))
    assert len(found.speeds) == 38
    assert "?" not in found.outputs.values()


def door(declare):
    """A door with a sliding bolt; ``declare(m, door, bolt, p)`` adds an intermittent constraint."""
    m = kane.Model("door", gravity=(0, 0, 0))
    p = {name: m.parameter(name, value, unit=unit) for name, (value, unit) in DOOR.items()}
    door = m.connect("ground", m.body("leaf", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("angle"))
    bolt = m.connect("ground", m.body("bolt", mass=1.0, inertia=(1, 1, 1)), kane.Prismatic("shift", axis="x"))
    declare(m, door, bolt, p)
    return kane.formulate(m)


DOOR = {
    "reach": (1.5, "m"), "turn": (1.5, "rad"), "slow": (0.1, "rad/s"), "F0": (2.0, "N"), "T0": (1.0, "N m"),
    "mu": (0.5, "1"), "open": (0.1, None),
}  # fmt: skip
# Declarations with a wrong unit: title of the quantity, the difference, and the declaration.
WRONG_LIMITS = {
    "the end of a stop": ("the constraint 'stop of angle: upper'", "m", lambda m, d, b, p: m.stop(d, upper=p["reach"])),
    "the lower end of a stop": ("the constraint 'end: lower'", "m",
                                lambda m, d, b, p: m.stop(b, lower=-p["turn"], name="end")),
    "the gap of a latch": ("the constraint 'latch'", "m", lambda m, d, b, p: m.latch(p["turn"] - b.q)),
    "the motion of a latch": ("the constraint 'latch'", "m",
                              lambda m, d, b, p: m.latch(p["turn"] - d.q, holds=b.qdot - p["slow"])),
    "off= of a latch": ("off= of 'latch'", "s", lambda m, d, b, p: m.latch(p["turn"] - d.q, off=d.qdot - p["turn"])),
    "the motion of a switch": ("the constraint 'switch'", "m",
                               lambda m, d, b, p: m.switch(b.qdot - p["slow"], on=d.q - p["turn"])),
    "on= of a switch": ("on= of 'switch'", "m", lambda m, d, b, p: m.switch(b.qdot, on=d.q - p["reach"])),
    "the reaction in off=": ("off= of 'brake'", "m", lambda m, d, b, p: m.switch(
        d.qdot, on=d.q - p["turn"], off=contact(m, b) - p["T0"], name="brake")),
    "static friction": ("the friction of 'friction of angle'", "m",
                        lambda m, d, b, p: m.stick(d, static=p["F0"], kinetic=0.1)),
    "kinetic friction": ("the friction of 'friction of shift'", "m",
                         lambda m, d, b, p: m.stick(b, static=9.0, kinetic=p["T0"])),
    "Coulomb friction": ("the friction of 'contact of bolt with ground'", "N",
                         lambda m, d, b, p: contact(m, b, friction=kane.Coulomb(p["F0"], p["mu"]))),
    "the restitution of a contact": ("the restitution of 'contact of bolt with ground'", "s",
                                     lambda m, d, b, p: contact(m, b, restitution=p["slow"])),
    "the restitution of a stop": ("the restitution of 'stop of angle: upper'", "s",
                                  lambda m, d, b, p: m.stop(d, upper=1.0, restitution=p["slow"])),
    "the radius of a contact": ("a length of Sphere of body 'bolt'", "s^2/kg",
                                lambda m, d, b, p: contact(m, b, radius=p["F0"])),
}  # fmt: skip


def contact(m, bolt, radius=0.1, **laws):
    ball = kane.Sphere(bolt.child.point(), radius)
    m.contact(ball, kane.Plane(m.ground.point((-9.0, 0, 0)), m.ground.x), **laws)
    return m.reaction("contact of bolt with ground")


@pytest.mark.parametrize("case", WRONG_LIMITS)
def test_limits_of_intermittent_constraints_are_checked(case):
    title, difference, declare = WRONG_LIMITS[case]
    with pytest.raises(kane.ModelError) as caught:
        kane.units(door(declare))
    written = re.escape(title) + r" \(test_units\.py:\d+\): .*differ by "
    assert re.match(written, str(caught.value)), caught.value
    assert f"differ by {unit_text(read_unit(difference, ''))}" in str(caught.value)


def test_limits_with_the_right_units_are_accepted_and_inferred():
    def declare(m, d, b, p):
        m.stop(d, lower=-p["turn"], upper=p["turn"] + 0.1, restitution=p["mu"])
        m.latch(p["reach"] - b.q, holds=d.qdot - p["slow"], off=p["slow"] - d.qdot)
        m.switch(b.qdot, on=b.q - p["open"], off=contact(m, b, friction=kane.Coulomb(p["mu"])) - p["F0"])
        m.stick(d, static=p["T0"])

    assert kane.units(door(declare))["open"] == "m"


def test_a_limit_gives_a_parameter_its_unit():
    """Nothing but the stop, the friction and the switch uses the parameters."""
    m = kane.Model("m")
    end, hold, rest = m.parameter("end", 1.5), m.parameter("hold", 2.0), m.parameter("rest", 0.1)
    j = m.connect("ground", m.body("b", mass=1.0, inertia=(1, 1, 1)), kane.Prismatic("x", axis="x"))
    m.stop(j, upper=end)
    m.stick(j, static=hold)
    m.switch(j.qdot, on=rest - j.qdot)
    found = kane.units(kane.formulate(m))
    assert [found[x] for x in ("end", "hold", "rest")] == ["m", "N", "m/s"]


def test_a_contradiction_quotes_the_declared_unit_and_displays_point_to_it():
    m = kane.Model("damped")
    j = m.connect("ground", m.body("b", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("q1"))
    m.load(kane.Damper(j, m.parameter("c", 0.4, unit="rad")))
    equations = kane.formulate(m)
    with pytest.warns(UserWarning, match=r"units of 'damped' contradict each other, .* kane.units\(equations\)"):
        repr(kane.explain(equations, "u1"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        repr(kane.explain(equations, "u1"))  # told once
    with pytest.raises(kane.ModelError, match=r"c has unit='rad' \(test_units.py:\d+\)"):
        kane.units(equations)
