"""Exported files: C that CMake builds, NumPy and JAX modules, a LaTeX document, a listing."""

from __future__ import annotations

import re
import shutil
import subprocess

import jax
import numpy as np
import pytest
from oracles.numbers import evaluated, random_state
from oracles.programs import loaded

import kane
from kane.errors import ModelError
from kane.exporters.exporter import Exporter
from kane.formulation.quantities.programs import quantity
from kane.library import n_link_pendulum, spacecraft_tree, stanford_arm

QUANTITIES = ("forward", "inverse", "mass_matrix", "energy", "jacobian tool")
# Sums of products of like size, added in the same order, with sines good to 2 units and products fused by the compiler.
ROUNDING = 1e-12


def arm():
    """A slide on a turntable with a spherical wrist: parameters, inputs, a frame, and names that need care."""
    m = kane.Model("arm no. 1", gravity=(0, 0, -9.81))
    length = m.parameter("L1", 0.4)
    a = m.body("A", mass=3.0, inertia=(0.1, 0.2, 0.15), com=(length / 2, 0.1, 0))
    b = m.body("B&%_#", mass=1.5, inertia=(0.02, 0.03, 0.01))
    c = m.body("C", mass=0.5, inertia=(0.01, 0.01, 0.02), com=(0, 0, 0.1))
    turn = m.connect(m.ground, a, kane.Revolute("q1", axis="z"), orientation=kane.Rotation.about("x", 0.3))
    slide = m.connect(a, b, kane.Prismatic("lambda", axis="x"), at=(length, 0, 0))
    m.connect(b, c, kane.Spherical("wrist"))
    m.load(kane.Motor(turn, m.input("tau", 0.25)))
    m.load(kane.Motor(slide, m.input("force")))
    m.load(kane.Spring(slide, 30.0, rest=m.parameter("rest", 0.1)))
    m.frame("tool", c, at=(0, 0, 0.2))
    return m


@pytest.fixture(scope="module")
def equations():
    return kane.formulate(arm())


@pytest.fixture(scope="module")
def state(equations):
    return random_state(equations, np.random.default_rng(7))


def rest_of(equations, name, state):
    """The leaves that a quantity reads besides t, q and u, with their values."""
    values = dict(zip((*equations.inputs, *equations.udot), (*state.inputs, *state.udot), strict=True))
    return [values.get(leaf, 0.1 * i) for i, leaf in enumerate(quantity(equations, name).rest)]


def built(folder):
    """Configure and build a folder with CMake; returns the path of the example."""
    assert shutil.which("cmake"), "this test needs cmake; install it (apt-get install cmake)"
    for command in (["cmake", "-S", folder, "-B", folder / "build"], ["cmake", "--build", folder / "build"]):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "warning" not in done.stderr
    (example,) = (folder / "build").glob("kane_*_example")
    return example


def printed(example, *numbers):
    """What the example prints: quantity to names and values."""
    done = subprocess.run([example, *map(repr, map(float, numbers))], capture_output=True, text=True, check=True)
    found: dict = {}
    last: dict = {}
    for line in done.stdout.splitlines():
        if line.startswith("  "):
            name, _, value = line.strip().partition(" = ")
            last[name] = float(value)
        else:
            last = found.setdefault(line, {})
    return found


def test_c_is_a_project_that_cmake_builds_and_whose_example_prints_the_right_numbers(equations, state, tmp_path):
    paths = kane.export(equations, tmp_path / "c", kane.CSource(), quantities=QUANTITIES)
    assert {p.name for p in paths} == {"arm_no__1.c", "arm_no__1.h", "main.c", "CMakeLists.txt"}
    example = built(tmp_path / "c")
    for name in QUANTITIES:
        rest = rest_of(equations, name, state)
        found = printed(example, state.t, *state.q, *state.u, *rest)[name]
        assert list(found) == [re.sub(r"[&%#]", "_", n) for n in quantity(equations, name).names]
        expected = evaluated(equations, name, state, rest)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(list(found.values()), expected, rtol=0, atol=ROUNDING * scale)


def test_the_example_starts_from_the_neutral_position_and_the_default_inputs(equations, tmp_path):
    kane.export(equations, tmp_path, kane.CSource(), quantities=["forward"])
    still = kane.build(equations).forward(equations.neutral, np.zeros(len(equations.u)), [0.25, 0.0])
    np.testing.assert_allclose(list(printed(built(tmp_path))["forward"].values()), still, rtol=ROUNDING, atol=ROUNDING)


def test_a_model_without_parameters_named_main_is_built_too(tmp_path):
    m = kane.Model("main")
    m.connect(m.ground, m.body("A", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("q1"))
    kane.export(kane.formulate(m), tmp_path, kane.CSource())
    assert printed(built(tmp_path), 0.0, 0.0, 2.0)["kinematics"] == {"q1'": 2.0}


@pytest.mark.parametrize("exporter", [kane.NumPySource(), kane.JAXSource()])
def test_python_modules_have_the_right_numbers_for_batches(equations, state, tmp_path, exporter):
    if isinstance(exporter, kane.JAXSource):
        jax.config.update("jax_enable_x64", True)
    (path,) = kane.export(equations, tmp_path, exporter, quantities=QUANTITIES)
    module = loaded(path.read_text())
    for name in QUANTITIES:
        rest = rest_of(equations, name, state)
        numbers = np.array([state.t, *state.q, *state.u])
        found = module[name.replace(" ", "_")](np.stack([numbers, numbers]), np.array(rest))
        expected = evaluated(equations, name, state, rest)
        np.testing.assert_allclose(found, [expected] * 2, rtol=0, atol=ROUNDING * np.abs(expected).max())


def test_a_listing_holds_every_quantity_once(equations, tmp_path):
    (path,) = kane.export(equations, tmp_path, kane.Listing(), quantities=["bias", "energy", "bias"])
    text = path.read_text()
    assert text.count("bias\n----\n" + equations.listing("bias")) == 1
    assert equations.listing("energy") in text


def checked_latex(path):
    """Braces and environments match; and latex compiles it, where there is one."""
    text = path.read_text()
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    for word in set(re.findall(r"\\begin{(\w+)}", text)):
        assert text.count(rf"\begin{{{word}}}") == text.count(rf"\end{{{word}}}")
    if shutil.which("pdflatex"):
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", path.name]
        done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:]
        assert path.with_suffix(".pdf").read_bytes()[:4] == b"%PDF"
    return text


def test_the_latex_document_tells_the_whole_derivation(equations, tmp_path):
    (path,) = kane.export(equations, tmp_path, kane.LaTeXDocument())
    text = checked_latex(path)
    for words in ("Model", "Coordinates", "Partial velocities", "Kinematical", "mass matrix", "free of acc", "Input"):
        assert f"{words}" in text
    assert r"\mathrm{B\&\%\_\#}" in text
    assert r"\mathrm{w\_NA}_{u_{1}} \cdot \hat{\mathrm{A}}_{z} &= 1" in text
    assert "L_{1}" in text


def test_the_latex_document_names_the_rates_that_are_speeds(tmp_path):
    m = kane.Model("pendulum")
    m.connect(
        "ground", m.body("rod", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("theta", axis="y"), child_at=(0, 0, 1)
    )
    (path,) = kane.export(kane.formulate(m), tmp_path, kane.LaTeXDocument(), quantities=["rhs"])
    text = checked_latex(path)
    assert r"These rates are generalized speeds: $\dot{\theta}$." in text
    assert r"\ddot{\theta} &= " in text
    assert r"\dot{\theta} &= \dot{\theta}" not in text


@pytest.mark.parametrize("make", [stanford_arm, spacecraft_tree, lambda: n_link_pendulum(12)])
def test_reference_models_become_documents(make, tmp_path):
    equations = kane.formulate(make())
    (path,) = kane.export(equations, tmp_path, kane.LaTeXDocument())
    assert ("Partial velocities" in checked_latex(path)) == (len(equations.u) <= 8)


def test_where_loads_are_not_linear_in_the_inputs_the_document_shows_the_accelerations(tmp_path):
    m = kane.Model("stops")
    joint = m.connect(m.ground, m.body("A", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("q1"))
    m.load(kane.Motor(joint, kane.minimum(m.input("tau"), 2.0)))
    (path,) = kane.export(kane.formulate(m), tmp_path, kane.LaTeXDocument())
    assert r"\min" in checked_latex(path)


def test_what_is_no_exporter_or_quantity_is_refused_and_nothing_is_written(equations, tmp_path):
    for arguments, words in (
        ((equations, tmp_path / "x", "c"), "is not an exporter; give one such as kane.CSource"),
        ((arm(), tmp_path / "x", kane.CSource()), "export takes Equations"),
    ):
        with pytest.raises(ModelError, match=words):
            kane.export(*arguments)
    with pytest.raises(ModelError, match="there is no program 'froward'; did you mean forward"):
        kane.export(equations, tmp_path / "x", kane.CSource(), quantities=["froward"])
    with pytest.raises(ModelError, match="give a list of names"):
        kane.export(equations, tmp_path / "x", kane.CSource(), quantities="forward")
    assert not (tmp_path / "x").exists()


def test_an_exporter_of_ones_own_is_one_class(equations, tmp_path):
    class Counts(Exporter):
        def files(self, equations, quantities):
            return {"counts.txt": f"{equations.name} {','.join(quantities)}"}

    (path,) = kane.export(equations, tmp_path, Counts())
    assert path.read_text() == "arm no. 1 forward,inverse,kinematics"
