"""Exported equations of models with constraints, quaternions, inputs and parameters, run and compared with kane."""

from __future__ import annotations

import re
import shutil
import subprocess

import jax
import numpy as np
import pytest
from oracles.node import run_script
from oracles.numbers import State, evaluated
from oracles.programs import loaded

import kane
from kane.library import four_bar, rolling_coin, spacecraft_tree, whipple_bicycle

# Sums of products of like size in one order, with sines good to 2 units, and a system of equations solved.
ROUNDING = 1e-11


def near(model, **start):
    """Equations whose dependent speeds are chosen near an assembled state."""
    return kane.formulate(model, near=kane.assemble(kane.build(kane.formulate(model)), **start))


def tethered():
    """A ball joint on a slide, its tip on a rod to the ground: a quaternion, a constraint, an input and a parameter."""
    m = kane.Model("tethered")
    length = m.parameter("L", 0.5)
    cart = m.body("cart", mass=2.0, inertia=(0.1, 0.1, 0.1))
    rod = m.body("rod", mass=1.0, inertia=(0.02, 0.03, 0.01), com=(0, 0, -length / 2))
    slide = m.connect("ground", cart, kane.Prismatic("s", axis="x"))
    m.connect(cart, rod, kane.Spherical("ball"))
    m.load(kane.Motor(slide, m.input("push", 0.75)))
    m.constrain(kane.Distance(rod.point((0, 0, -length)), m.ground.point((0.6, 0, 0)), 0.7))
    return m


def chosen_by_name():
    m = four_bar()
    m.speeds(dependent=["u2", "u3"])
    return kane.formulate(m)


EQUATIONS = {
    "four-bar near a state": lambda: near(four_bar(), q={"q1": 0.5}),
    "four-bar by name": chosen_by_name,
    "ball on a tether": lambda: near(tethered(), q={"s": 0.1}),
    "bicycle": lambda: near(whipple_bicycle()),
    "coin": lambda: kane.formulate(rolling_coin()),
    "spacecraft": lambda: kane.formulate(spacecraft_tree()),
}


@pytest.fixture(scope="module", params=EQUATIONS)
def equations(request):
    return EQUATIONS[request.param]()


def example(equations, folder):
    """The state of the exported C example, and the accelerations that it prints."""
    kane.export(equations, folder, kane.CSource(), quantities=["forward"])
    compiler = shutil.which("cc")
    assert compiler, "this test needs a C compiler; install one (apt-get install gcc)"
    sources = [path.name for path in folder.glob("*.c")]
    subprocess.run([compiler, *sources, "-lm", "-o", "example"], cwd=folder, check=True)
    text = subprocess.run([folder / "example"], capture_output=True, text=True, check=True).stdout
    (line,) = re.findall(r"double start\[\] = \{(.*)\}", (folder / "main.c").read_text())
    t, *state, _ = map(float, line.split(", "))
    assert t == 0.0
    q, u = np.split(np.array(state), [len(equations.q)])
    return q, u, np.array([float(row.partition(" = ")[2]) for row in text.splitlines()[1:]])


def test_the_c_example_starts_on_the_constraints_and_prints_the_accelerations_there(equations, tmp_path):
    q, u, udot = example(equations, tmp_path)
    dyn = kane.build(equations)
    inputs = [equations.defaults[x.name] for x in equations.inputs]
    state = State(q, u, np.zeros(len(u)), np.array(inputs))
    assert np.abs(evaluated(equations, "configuration", state)).max(initial=0.0) < 1e-12
    motion = evaluated(equations, "constraints", state)[len(equations.constraints) * len(u) :]
    assert np.abs(motion).max(initial=0.0) < 1e-12
    expected = dyn.forward(q, u, inputs)
    assert np.isfinite(udot).all()
    np.testing.assert_allclose(udot, expected, rtol=0.0, atol=ROUNDING * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("make", [EQUATIONS["four-bar near a state"], chosen_by_name])
def test_the_loop_of_the_four_bar_example_is_closed_by_plane_geometry(make, tmp_path):
    (q1, q2, q3), *_ = example(make(), tmp_path)
    ends = 0.3 * np.exp(1j * q1) + 0.9 * np.exp(1j * (q1 + q2)), 1.0 + 0.7 * np.exp(1j * q3)
    assert abs(ends[0] - ends[1]) < 1e-12


def test_the_example_of_a_prescribed_motion_has_the_speeds_that_it_demands(tmp_path):
    m = kane.Model("wiper")
    arm, blade = (m.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in ("arm", "blade"))
    turn = m.connect("ground", arm, kane.Revolute("q1", axis="y"))
    m.connect(arm, blade, kane.Revolute("q2", axis="y"), at=(0, 0, -1), child_at=(0, 0, 0.5))
    m.constrain(kane.Prescribed(turn, 0.2 + kane.sin(3.0 * m.time)))
    m.speeds(dependent=["u1"])
    q, u, _ = example(kane.formulate(m), tmp_path)
    assert q[0] == pytest.approx(0.2, abs=1e-12)
    assert u[0] == pytest.approx(3.0, abs=1e-12)


def test_every_language_has_the_numbers_of_kane(equations, tmp_path):
    jax.config.update("jax_enable_x64", True)
    dyn = kane.build(equations)
    q, u, _ = example(equations, tmp_path / "c")
    inputs = [equations.defaults[x.name] for x in equations.inputs]
    expected = dyn.forward(q, u, inputs)
    state = [0.0, *q, *u]
    text = kane.export(equations, tmp_path, kane.JavaScriptSource(), quantities=["forward"])[0].read_text()
    found = run_script(f"""{text.partition("export {")[0]}
const stage = new Float64Array(forward.stages), out = new Float64Array(forward.outputs.length);
forward.stage(forward.defaults, stage);
forward.main({[*map(float, state)]}, {[*map(float, inputs)]}, stage, out);
give(out);
""")
    for exporter in (kane.NumPySource(), kane.JAXSource()):
        (path,) = kane.export(equations, tmp_path, exporter, quantities=["forward"])
        found.append(loaded(path.read_text())["forward"](np.array(state), np.array(inputs)))
    for values in found:
        np.testing.assert_allclose(values, expected, rtol=0.0, atol=ROUNDING * max(1.0, np.abs(expected).max()))


EXPORTERS = [kane.CSource, kane.NumPySource, kane.JAXSource, kane.JavaScriptSource, kane.LaTeXDocument, kane.Listing]


def crate():
    """A box over a floor, and a lid with a stop whose name would end a comment."""
    m = kane.Model("crate")
    body, lid = m.body("crate", mass=2.0, inertia=(0.1, 0.1, 0.1)), m.body("lid", mass=0.3, inertia=(0.01, 0.01, 0.01))
    m.connect("ground", body, kane.Free("base"))
    hinge = m.connect(body, lid, kane.Revolute("q1", axis="y"))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(kane.Box(0.2, 0.2, 0.1, body.point()), floor, name="box on floor")
    m.stop(hinge, lower=0.0, upper=1.2, name="end */ of travel")
    return kane.formulate(m)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_contacts_are_left_out_on_demand_alone_and_every_file_says_so_in_its_first_lines(exporter, tmp_path):
    eqs = crate()
    with pytest.raises(kane.ModelError, match=r"box on floor, end \*/ of travel; without_contacts=True"):
        kane.export(eqs, tmp_path / "new", exporter())
    assert not (tmp_path / "new").exists()
    paths = kane.export(eqs, tmp_path, exporter(), quantities=["forward"], without_contacts=True)
    for path in paths:
        head = " ".join(path.read_text().splitlines()[:3])
        assert re.match(r"(/\*|#|//|%) Without contacts: these intermittent constraints are left out", head), path
        assert "box on floor, end __ of travel." in re.sub(r" (\*/ /\*|#|//|%)", "", head), path
    if exporter is kane.CSource:
        subprocess.run(["cc", "-c", "crate.c", "main.c"], cwd=tmp_path, check=True)
    if exporter is kane.NumPySource:
        kinematic = np.r_[0.0, eqs.neutral, np.zeros(len(eqs.u))]
        fall = loaded(paths[0].read_text())["forward"](kinematic)
        np.testing.assert_allclose(np.linalg.norm(fall), 9.81, rtol=1e-12)  # nothing but the weight acts
    if exporter is kane.LaTeXDocument:
        assert r"are left out: $\mathrm{box\ on\ floor}$" in paths[0].read_text()


def test_files_of_models_without_contacts_have_no_such_lines_and_the_option_is_true_or_false(tmp_path):
    eqs = kane.formulate(rolling_coin())
    (path,) = kane.export(eqs, tmp_path, kane.NumPySource(), quantities=["energy"], without_contacts=True)
    assert path.read_text().startswith('"""')
    with pytest.raises(kane.ModelError, match="without_contacts= is True or False, not 1"):
        kane.export(eqs, tmp_path, kane.NumPySource(), without_contacts=1)
