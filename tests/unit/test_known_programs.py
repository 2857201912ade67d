"""Programs that a process finds by the digest of their model, without a derivation."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kane
from kane import library
from kane.codegen.emit import llvm
from kane.codegen.jit import compiler
from kane.dynamics.contacts.contact_functions import contact_functions
from kane.dynamics.named_programs import NamedPrograms
from kane.formulation import digest
from kane.formulation.digest import equations_digest
from kane.formulation.equations import Equations
from kane.machine import sources
from kane.machine.object_cache import ENTRY


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """A cache of its own, for sources that count as unchanged even if somebody is working on them."""
    monkeypatch.setenv("KANE_CACHE", "on")
    monkeypatch.setenv("KANE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kane, "_STARTED", np.inf)
    return tmp_path / "cache"


@pytest.fixture
def emitted(monkeypatch):
    """A list that grows by the name of every program that is emitted."""
    names = []
    emit = llvm.emit_llvm
    monkeypatch.setattr(
        llvm, "emit_llvm", lambda program, **options: names.append(program.name) or emit(program, **options)
    )
    monkeypatch.setattr(sources, "LIBRARIES", (*sources.LIBRARIES, __file__))
    return names


def arm():
    return kane.formulate(library.stanford_arm())


def linkage():
    return kane.formulate(library.four_bar())


def box():
    m = kane.Model("box")
    body = m.body("box", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, body, kane.Free("box"))
    plane = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(kane.Box(0.2, 0.2, 0.1, body.point()), plane, friction=kane.Coulomb(0.3), name="table")
    return kane.formulate(m)


def gimbal():
    m = kane.Model("gimbal")
    m.connect(m.ground, m.body("top", mass=1.0, inertia=(0.1, 0.2, 0.3), com=(0, 0, 0.1)), kane.Gimbal("top"))
    return kane.formulate(m)


def start_of(dyn):
    """A state to start from, found by what a build compiles."""
    if dyn.equations.intermittents:
        return {"q": {"box_z": 0.06}}
    if dyn.project is None:
        return {"q": np.linspace(0.1, 0.4, len(dyn.equations.q))}
    eqs, project = dyn.equations, dyn.project
    near = [0.0, *np.linspace(0.5, 1.0, len(eqs.q)), *np.zeros(len(eqs.u))]
    for _ in range(20):
        near[1 : 1 + len(eqs.q)] = project(near, np.zeros(len(eqs.inputs)), project.stage(dyn.parameters))[: len(eqs.q)]
    return {"q": near[1 : 1 + len(eqs.q)]}


MODELS = {"arm": arm, "linkage": linkage, "box": box, "gimbal": gimbal}


@pytest.mark.parametrize("name", MODELS)
def test_build_compiles_all_that_a_run_needs(emitted, name):
    dyn = kane.build(MODELS[name]())
    start = start_of(dyn)
    emitted.clear()
    kane.simulate(dyn, until=0.2, **start)
    assert emitted == []


def test_another_process_derives_and_emits_nothing_and_gives_the_same_bits():
    """Both processes take all models: starting one for each would take most of the time."""
    script = """
import sys
sys.path[:0] = sys.argv[1:3]
import test_known_programs as t
import kane
from kane.codegen.emit import llvm
from kane.codegen.jit import compiler
from kane.formulation.quantities import programs
from kane.formulation.quantities.responses import Responses
kane._STARTED = float("inf")
models = {name: make() for name, make in t.MODELS.items()}
if sys.argv[3] == "second":
    t.sources.LIBRARIES = ("",)
    def refuse(*args, **options):
        raise AssertionError("derived or emitted again")
    llvm.emit_llvm = programs.factor = programs.Program = Responses.factor = refuse
for name, eqs in models.items():
    dyn = kane.build(eqs)
    start = t.start_of(dyn)
    found = kane.simulate(dyn, until=0.2, **start)
    print(name, found.q.tobytes().hex(), found.u.tobytes().hex(), found.energy.tobytes().hex())
"""
    here, outputs = os.path.dirname(__file__), []
    for word in ("first", "second"):
        command = [sys.executable, "-c", script, here, str(Path(here).parent), word]
        outputs.append(subprocess.run(command, capture_output=True, text=True, timeout=300))
        assert outputs[-1].returncode == 0, outputs[-1].stderr
    first, second = (output.stdout.splitlines() for output in outputs)
    assert [line.split()[0] for line in first] == list(MODELS)
    assert first == second


def known(equations):
    """The key of a program."""
    found = NamedPrograms(equations, kane.LLVM().compile).key("rhs")
    assert found is not None
    return found


def pendulum(**changes):
    given = {"mass": 1.0, "length": 0.7, "gravity": (0, 0, -9.81), "damping": 0.1, "name": "pendulum", "default": 2.0}
    given |= changes
    m = kane.Model(given["name"], gravity=given["gravity"])
    k = m.parameter("k", given["default"])
    tau = m.input("tau", 0.0)
    last = m.ground
    for i in range(2):
        link = m.body(f"link{i}", mass=given["mass"], inertia=(0.1, 0.1, 0.1))
        joint = m.connect(last, link, kane.Revolute(f"q{i}", axis="y"), child_at=(0, 0, given["length"]))
        m.load(kane.Damper(joint, given["damping"]))
        m.load(kane.Motor(joint, tau - k * joint.q))
        last = link
    return m


VARIANTS = {
    "a model field": lambda: kane.formulate(pendulum(mass=1.5)),
    "a length": lambda: kane.formulate(pendulum(length=np.nextafter(0.7, 1.0))),
    "gravity": lambda: kane.formulate(pendulum(gravity=(0, 0, -9.8))),
    "a load": lambda: kane.formulate(pendulum(damping=0.2)),
    "a name": lambda: kane.formulate(pendulum(name="other")),
    "a default": lambda: kane.formulate(pendulum(default=3.0)),
    "near": lambda: kane.formulate(pendulum(), near=[0.1, 0.2]),
    "explicit": lambda: kane.explicit(kane.formulate(pendulum())),
    "substitute": lambda: kane.substitute(kane.formulate(pendulum()), k=2.0),
    "another number": lambda: kane.substitute(kane.formulate(pendulum()), k=2.5),
    "a controller": lambda: controlled(),
    "constrain": lambda: constrained(),
}


def controlled():
    eqs = kane.formulate(pendulum())
    return kane.substitute(eqs, tau=-3.0 * eqs.u[0])


def constrained():
    eqs = kane.formulate(pendulum())
    return kane.constrain(eqs, eqs.q[0] - eqs.q[1])


def test_each_ingredient_of_the_equations_changes_the_digest():
    found = {word: known(make()) for word, make in VARIANTS.items()}
    found["unchanged"] = known(kane.formulate(pendulum()))
    assert len(set(found.values())) == len(found)
    assert known(kane.formulate(pendulum())) == found["unchanged"]


@pytest.mark.parametrize("package", ["expression", "geometry", "model", "formulation", "codegen"])
def test_a_source_of_each_package_changes_the_digest(package, tmp_path, monkeypatch):
    for each in sources.PACKAGES:
        (tmp_path / each).mkdir()
        (tmp_path / each / "a.py").write_text("x = 1\n")
    before = sources.digest_of(str(tmp_path), sources.PACKAGES)
    (tmp_path / package / "a.py").write_text("x = 2\n")
    sources.digest_of.cache_clear()
    assert sources.digest_of(str(tmp_path), sources.PACKAGES) != before
    eqs = kane.formulate(pendulum())
    found = known(eqs)
    monkeypatch.setattr(digest, "sources_digest", lambda: "others")
    assert known(eqs) != found


def test_sources_import_no_other_package_that_could_change_a_program():
    """Errors, progress, files, pictures and the form of data classes change no number."""
    apart = {"array_types", "calls", "deferred", "display", "errors", "files", "progress"}
    found = set()
    for package in sources.PACKAGES:
        for path in (Path(sources.PACKAGE_FOLDER) / package).rglob("*.py"):
            found |= set(re.findall(r"^ *(?:from|import) kane\.(\w+)\S* ", path.read_text("utf-8") + " ", re.MULTILINE))
    assert found <= {*sources.PACKAGES, *apart}


def test_sources_that_changed_in_the_life_of_a_process_have_no_digest(monkeypatch):
    monkeypatch.setattr(kane, "_STARTED", os.stat(sources.__file__).st_ctime - 1.0)
    assert equations_digest(kane.formulate(pendulum())) is None


def test_replaced_functions_have_no_digest(monkeypatch):
    eqs = kane.formulate(pendulum())
    assert equations_digest(eqs) is not None
    monkeypatch.setattr("kane.formulation.recursive.recursive_route.RecursiveRoute.mass", property(lambda self: {}))
    monkeypatch.setattr("kane.formulation.quantities.programs.factor", lambda outputs: outputs)
    assert equations_digest(eqs) is None


class Hinge(kane.Revolute):
    """A joint of the user's."""


def test_equations_of_members_from_outside_kane_have_no_digest():
    for joint in (Hinge("q", axis="y"), kane.CustomJoint("q", lambda q: kane.Rotation.about("y", q))):
        m = kane.Model("own")
        m.connect(m.ground, m.body("b", mass=1.0, inertia=(1, 1, 1)), joint)
        eqs = kane.formulate(m)
        assert equations_digest(eqs) is None
        assert kane.build(eqs).forward([0.1], [0.0]).shape == (1,)


def test_equations_of_a_part_have_no_digest():
    eqs = linkage()
    assert isinstance(eqs, Equations)
    assert equations_digest(eqs.unconstrained) is None


def test_another_target_is_another_key(emitted, monkeypatch):
    eqs = arm()
    kane.build(eqs)
    count = len(emitted)
    kane.build(arm())
    assert len(emitted) == count
    monkeypatch.setattr(compiler.llvm, "get_host_cpu_name", lambda: "generic")
    kane.build(arm())
    assert len(emitted) == 2 * count


@pytest.mark.parametrize("place", [0.0, 0.4, 0.9, 0.999])
def test_damaged_entries_are_replaced(folder, emitted, place):
    expected = kane.build(arm()).forward(np.full(6, 0.3), np.full(6, 0.2), np.zeros(6))
    good = {path: path.read_bytes() for path in folder.glob(f"*{ENTRY}")}
    for path, content in good.items():
        bad = bytearray(content)
        at = int(place * len(bad))
        bad[at : at + 8] = bytes(b ^ 0xFF for b in bad[at : at + 8])
        path.write_bytes(bad)
    emitted.clear()
    found = kane.build(arm()).forward(np.full(6, 0.3), np.full(6, 0.2), np.zeros(6))
    assert set(emitted) == {"rhs", "energy", "forward"}
    assert np.array_equal(found, expected)
    assert {path: path.read_bytes() for path in folder.glob(f"*{ENTRY}")} == good


def test_code_whose_object_is_gone_is_compiled_again(folder, emitted):
    kane.build(arm())
    for path in folder.glob(f"*{ENTRY}"):
        if b'"named"' not in path.read_bytes()[:4000]:
            path.unlink()
    emitted.clear()
    kane.build(arm())
    assert emitted == ["rhs", "energy"]


def test_postponed_derivations_give_the_nodes_and_bits_of_a_process_without_a_cache(monkeypatch):
    """Expressions that are made after a build, programs in lanes, and further quantities."""
    runs = []
    for cache in ("off", "on", "on"):
        monkeypatch.setenv("KANE_CACHE", cache)
        eqs = arm()
        dyn = kane.build(eqs, programs=["inverse"])
        own = eqs.q[0] * kane.sin(eqs.q[1]) + eqs.u[2]
        program = kane.codegen.programs.program.Program(
            "own", [own], state=(eqs.t, *eqs.q, *eqs.u), rest=(), parameters=eqs.parameters
        )
        value = dyn.evaluate(dyn.compile(program), np.full(6, 0.3), np.full(6, 0.2))
        lanes = dyn.function("rhs").lanes()
        assert lanes is None or lanes.width > 1
        nodes = [(n.op, [a.id for a in n.args]) for n in eqs.system.arena.nodes]
        runs.append((nodes, value.tobytes(), dyn.momentum(np.full(6, 0.3), np.full(6, 0.2)).linear.tobytes()))
    assert runs[0] == runs[1] == runs[2]


def test_named_programs_are_built_and_unknown_ones_refused(emitted):
    dyn = kane.build(arm(), programs=["inverse", "poses"])
    assert {"inverse", "poses"} <= set(emitted)
    emitted.clear()
    dyn.poses(np.zeros(6))
    assert emitted == []
    with pytest.raises(kane.ModelError, match="there is no program 'invers'; did you mean inverse"):
        kane.build(arm(), programs=["invers"])
    with pytest.raises(kane.ModelError, match="give a list of programs"):
        kane.build(arm(), programs="inverse")


def test_contacts_have_the_same_sizes_from_the_cache():
    first, second = (contact_functions(kane.build(box())).parts for _ in range(2))
    assert (first.shared, first.entries, list(first.widths)) == (second.shared, second.entries, list(second.widths))
    assert first.shared > 0
