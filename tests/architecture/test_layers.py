"""Imports point downward only (architecture, section 2), between packages and between the rooms of a package."""

import pytest

from benchmarks.structure import arrows, between_rooms, circles

# Lowest first; names in one row do not import each other.
LAYERS = (
    ("array_types", "deferred", "errors", "progress"),
    ("calls",),
    ("files", "machine"),
    ("engine",),
    ("expression",),
    ("geometry", "codegen"),
    ("model",),
    ("formulation",),
    ("importers",),
    ("display",),
    ("library", "dynamics", "exporters"),
    ("simulation",),
    ("analysis", "ensembles"),
    ("sweeps",),
    ("haptics",),
    ("viewer",),
    ("cli",),
    ("__main__",),
)
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}


def upward_imports(source):
    """Messages for the imports of one file that do not point downward."""
    here = source.module.split(".")[1] if source.module != "kane" else ""
    if here == "":
        return []  # kane/__init__.py is the public vocabulary: it gathers from everywhere
    if here not in RANK:
        return [f"{source.path}: {here} has no place in the layers of tests/architecture/test_layers.py"]
    found = []
    for line, name in source.imports():
        parts = name.split(".")
        if parts[0] != "kane":
            continue
        there = parts[1] if len(parts) > 1 and parts[1] in RANK else ""
        if there == here or (there and RANK[there] < RANK[here]):
            continue
        if not there and here == "cli":
            continue  # the command line is a user like any other
        found.append(f"{source.path}:{line}: {here} may not import {name}")
    return found


def test_imports_point_downward_only(sources):
    assert [message for source in sources for message in upward_imports(source)] == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("expression/a.py", "from kane.model import Model"),
        ("geometry/a.py", "import kane.codegen.programs.program"),
        ("model/joints/a.py", "def f():\n    from kane.dynamics.build import build"),
        ("model/joints/a.py", "from ...formulation import formulate"),
        ("simulation/a.py", "import kane"),
        ("errors.py", "from kane.expression.node import Expr"),
        ("extras/a.py", "import math"),
    ],
)
def test_an_import_that_points_upward_is_seen(source_of, path, text):
    assert len(upward_imports(source_of(path, text))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("dynamics/a.py", "from kane.codegen.programs.program import Program\nfrom kane.errors import ModelError"),
        ("model/joints/a.py", "from ..body import Body\nfrom . import joint"),
        ("expression/a.py", "if TYPE_CHECKING:\n    from kane.model.model import Model"),
        ("cli/a.py", "import kane"),
    ],
)
def test_an_import_that_points_downward_or_names_a_type_is_allowed(source_of, path, text):
    assert upward_imports(source_of(path, text)) == []


# Lowest first; rooms in one row do not import each other.
ROOMS = {
    "engine": (
        ("kinds", "code"),
        ("call",),
        ("memory",),
        ("linear",),
        ("laws",),
        ("rows",),
        ("project",),
        ("hybrid",),
        ("step",),
        ("realtime",),
        ("compile",),
    ),
    "formulation": (
        ("tree",),
        ("route",),
        ("recursive", "explicit"),
        ("constraints",),
        ("speeds",),
        ("read_model",),
        ("matrix_route",),
        ("parameter_bounds", "quantities", "witnesses"),
        ("equations",),
        ("reactions", "units"),
        ("derivatives",),
        ("formulate", "given_equations", "projection_step"),
        ("equations_form", "search", "contact_mode"),
        ("digest",),
    ),
    "dynamics": (
        (
            "compiled_modes",
            "displayed",
            "inertia_left",
            "lane_modes",
            "least_solution",
            "mode_cache",
            "run_interface",
            "unit_quaternions",
        ),
        ("named_programs", "state_function"),
        ("embedded",),
        ("derivatives",),
        ("dynamics",),
        ("contacts",),
        ("build",),
        ("casadi", "compile_modes", "constraint_terms"),
        ("reactions",),
    ),
    "analysis": (
        ("laws", "random_states", "small_motions", "margins", "inverse_kinematics"),
        ("power_ledger", "assembly", "reasons"),
        ("linear", "sensitivities", "automaton"),
        ("identification", "certificate", "optimal_control", "differences", "enclosures"),
    ),
    "codegen": (("programs",), ("emit",), ("contact_laws", "jit")),
    "simulation": (
        ("exclusive_calls", "inputs", "integrator_state", "mode_table", "schedule", "state_layout"),
        ("events", "integrators", "projection"),
        ("mode_source", "monitors", "results"),
        ("follow", "initial_value_problem"),
        ("driver", "modes"),
        ("quick_steps",),
        ("stepped_run",),
        ("simulate", "stepper"),
    ),
    "haptics": (
        ("realtime", "system_calls"),
        ("devices",),
        ("safety",),
        ("coupling",),
        ("loop", "scenes"),
        ("recording",),
        ("session",),
        ("replay",),
    ),
    "importers": (
        ("missing",),
        ("left_out", "touching", "xml_reader"),
        ("mesh_folder", "pose"),
        ("dh", "mjcf", "sympy", "urdf"),
        ("example_robot_data",),
    ),
}


def imports_between_rooms_not_downward(drawn):
    """Messages for the arrows between the rooms of a package with an order that do not point downward."""
    found = []
    for package, rows in ROOMS.items():
        rank = {f"kane.{package}.{name}": k for k, row in enumerate(rows) for name in row}
        for here, targets in between_rooms(drawn).items():
            if here.startswith(f"kane.{package}."):
                found += [f"{here} may not import {t}" for t in targets if rank.get(t, -1) >= rank.get(here, -1)]
    return found


def test_rooms_of_a_package_import_downward_only(sources):
    """A room without a place in the order is one that imports no other, and that none imports."""
    assert imports_between_rooms_not_downward(arrows(sources)) == []


def test_an_import_between_rooms_that_points_upward_is_seen(source_of):
    files = [
        source_of("formulation/tree/a.py", "from kane.formulation.recursive.b import f"),
        source_of("formulation/recursive/b.py", "from kane.formulation.explicit.c import f"),
        source_of("formulation/explicit/c.py", "from kane.formulation.route import f"),
        source_of("formulation/route.py", "from kane.formulation.nowhere import f"),
        source_of("formulation/nowhere.py", "from kane.formulation.tree.a import f"),
    ]
    assert len(imports_between_rooms_not_downward(arrows(files))) == 3


def test_no_files_import_each_other_in_a_circle(sources):
    assert circles(arrows(sources)) == []


def test_no_rooms_of_a_package_import_each_other_in_a_circle(sources):
    """A room is a folder or file directly within a package: kane.formulation.tree, kane.simulation.simulate."""
    assert circles(between_rooms(arrows(sources))) == []


def test_a_circle_is_seen(source_of):
    files = [
        source_of("model/joints/a.py", "from kane.model.loads.b import f"),
        source_of("model/loads/b.py", "from kane.model.checks import f"),
        source_of("model/checks.py", "def g():\n    from kane.model.joints.c import f"),
        source_of("model/joints/c.py", "if TYPE_CHECKING:\n    from kane.model.joints.a import f"),
    ]
    assert circles(arrows(files)) == []
    assert circles(between_rooms(arrows(files))) == [["kane.model.checks", "kane.model.joints", "kane.model.loads"]]
    assert len(circles(arrows(files, types=True))) == 1


# Files of the largest circle that type-only imports close: nodes, their arena, and the files of their operators.
LARGEST_CIRCLE_OF_TYPES = 7


def large_circles_of_types(sources):
    """Circles, type-only imports included, with more files than the largest one may have."""
    return [found for found in circles(arrows(sources, types=True)) if len(found) > LARGEST_CIRCLE_OF_TYPES]


def test_circles_that_include_type_only_imports_are_small(sources):
    assert large_circles_of_types(sources) == []


@pytest.mark.parametrize("more", [0, 1])
def test_a_large_circle_of_type_only_imports_is_seen(source_of, more):
    count = LARGEST_CIRCLE_OF_TYPES + more
    text = "if TYPE_CHECKING:\n    from kane.model.a{} import f"
    files = [source_of(f"model/a{k}.py", text.format((k + 1) % count)) for k in range(count)]
    assert len(large_circles_of_types(files)) == more
