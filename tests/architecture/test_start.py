"""Modules that a process imports: the time of a start, without a clock."""

import os
import subprocess
import sys

import pytest

ARM = """
m = kane.Model("arm", gravity=(0, 0, -9.81))
upper, lower = (m.body(name, mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1)) for name in ("upper", "lower"))
m.connect(m.ground, upper, kane.Revolute("q1", axis="y"))
m.connect(upper, lower, kane.Revolute("q2", axis="y"), at=(0, 0, -1))
kane.simulate(kane.build(kane.formulate(m)), until=0.01).q
"""
BOX = """
m = kane.Model("box", gravity=(0, 0, -9.81))
box = m.body("box", mass=1.0, inertia=(0.1, 0.1, 0.1))
m.connect(m.ground, box, kane.Free("b"))
m.contact(kane.Box(0.2, 0.2, 0.2, box.point()), kane.Plane(m.ground.point(), m.ground.z), restitution=0.3)
kane.simulate(kane.build(kane.formulate(m)), until=0.01, q={"b_z": 0.3}).q
"""
NAMES = "kane.Model, kane.formulate, kane.build, kane.simulate"
# Modules of kane at the first use of NAMES; 185 were loaded when this was written.
MOST_MODULES = 190
# Packages that take long to import, and that no run needs.
HEAVY = {"scipy", "xarray", "matplotlib", "numba", "sympy", "typer", "rich", "trimesh", "netCDF4", "h5netcdf", "pandas"}
# Parts of kane that a run does not need: of any model, of an arm, and of a model whose code is in the cache.
APART = "analysis ensembles exporters display viewer haptics cli model.picture formulation.explicit formulation.search"
OF_CONTACTS = "dynamics.contacts engine.hybrid engine.laws simulation.modes.contact_switching model.contacts.pairs"
OF_CONSTRAINTS = "dynamics.embedded formulation.constraints.elimination model.constraints.rolling"
OF_DERIVATIONS = "codegen.emit.llvm formulation.quantities.programs formulation.recursive.composite"


def loaded(code, folder, times=1):
    """Names of the modules that are loaded at the end of the last of several processes with one cache."""
    environment = {**os.environ, "KANE_CACHE": "on", "KANE_CACHE_DIR": str(folder / "cache")}
    # The sources count as unchanged even if somebody is working on them.
    start, end = "import kane; kane._STARTED = float('inf')\n", "import sys; sys.stderr.write(' '.join(sys.modules))"
    for _ in range(times):
        command = [sys.executable, "-c", f"{start}{code}\n{end}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    return set(done.stderr.split())


def among(found, parts):
    """Those of the modules that belong to these parts of kane."""
    wanted = tuple(f"kane.{part}" for part in parts.split()) or ("kane.",)
    return sorted(name for name in found if name.startswith(wanted))


def test_the_import_of_kane_loads_no_other_package(tmp_path):
    found = loaded("", tmp_path)
    assert among(found, "") == []
    assert found.isdisjoint({*HEAVY, "numpy", "llvmlite"})


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_need_no_package(option, tmp_path):
    code = f"import sys; sys.argv[1:] = ['{option}']; from kane.cli.start import start; start()"
    found = loaded(code, tmp_path)
    assert among(found, "") == ["kane.cli", "kane.cli.help_page", "kane.cli.start"]
    assert found.isdisjoint({*HEAVY, "numpy", "llvmlite"})


def test_first_uses_load_neither_contacts_nor_constraints_nor_derivations(tmp_path):
    found = loaded(NAMES, tmp_path)
    assert among(found, " ".join((APART, OF_CONTACTS, OF_CONSTRAINTS, OF_DERIVATIONS))) == []
    assert found.isdisjoint(HEAVY)
    assert len(among(found, "")) <= MOST_MODULES


def test_an_arm_whose_code_is_in_the_cache_loads_only_the_modules_of_its_run(tmp_path):
    found = loaded(ARM, tmp_path, times=2)
    assert among(found, " ".join((APART, OF_CONTACTS, OF_CONSTRAINTS, OF_DERIVATIONS))) == []
    assert found.isdisjoint({*HEAVY, "numpy.random", "numpy.ma"})


def test_a_box_on_a_floor_loads_what_contacts_need(tmp_path):
    found = loaded(BOX, tmp_path, times=2)
    assert among(found, f"{APART} formulation.contact_mode") == []
    assert among(found, OF_CONTACTS)
    assert found.isdisjoint({*HEAVY, "numpy.ma"})
