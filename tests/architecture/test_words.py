"""One name, one meaning: a class, function, constant or file has a name of its own in src/kane."""

import ast
from collections import defaultdict
from pathlib import PurePath

import pytest

# Names that several files define, one for each member of a family.
FAMILIES = {
    "ROWS": "codegen/emit: one table of operations for each language",
    "TABLEAU": "simulation/integrators: one table of coefficients for each method",
    "_RESERVED": "codegen/emit: reserved words of each language",
    "_DEFINITIONS": "codegen/emit: definitions that generated code of each language begins with",
    "_HEADING": "codegen/emit: first lines of generated code of each language",
}
# Files that a rule names: of commands (docs/extending.md) and of optional dependencies (test_dependencies.py).
NAMED_BY_RULES = ("cli/", "haptics/devices/websockets.py", "viewer/websockets.py", "__init__.py")


def checked(sources):
    """The files without kernels, whose names are those of the Python code that calls them: projection, coupler."""
    return [s for s in sources if not s.path.startswith("engine/")]


def classes_of(source):
    """Names of the classes of a file."""
    return [node.name for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]


def functions_of(source):
    """Names of the public functions of a file."""
    functions = [node.name for node in source.tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in functions if not name.startswith("_")]


def constants_of(source):
    """Names of the constants and type aliases of a file."""
    found = []
    for node in source.tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [x for target in targets for x in (target.elts if isinstance(target, ast.Tuple) else [target])]
        found += [x.id for x in names if isinstance(x, ast.Name) and not x.id.startswith("__")]
    return [name for name in found if name not in FAMILIES]


def file_of(source):
    """Name of a file, unless a rule gives it."""
    ruled = source.path.startswith(NAMED_BY_RULES) or source.path.endswith("__init__.py")
    return [] if ruled else [PurePath(source.path).stem]


def named_alike(sources, names_of):
    """The names that more than one file has, with the files."""
    found = defaultdict(list)
    for source in sources:
        for name in dict.fromkeys(names_of(source)):
            found[name].append(source.path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_no_two_classes_bear_one_name(sources):
    assert named_alike(sources, classes_of) == {}


@pytest.mark.parametrize("names_of", [functions_of, constants_of, file_of])
def test_no_two_functions_constants_or_files_bear_one_name(sources, names_of):
    assert named_alike(checked(sources), names_of) == {}


def test_every_family_has_members(sources):
    names = {x.id for s in checked(sources) for x in ast.walk(s.tree) if isinstance(x, ast.Name)}
    assert set(FAMILIES) <= names


@pytest.mark.parametrize(
    ("names_of", "text"),
    [
        (classes_of, "class Row: ..."),
        (functions_of, "def row(): ..."),
        (constants_of, "SMALL, LARGE = 1, 2"),
        (constants_of, "SMALL: float = 1"),
    ],
)
def test_two_things_of_one_name_are_seen(source_of, names_of, text):
    files = [source_of("model/a.py", text), source_of("expression/b.py", text)]
    assert ["model/a.py", "expression/b.py"] in named_alike(files, names_of).values()


def test_two_files_of_one_name_are_seen(source_of):
    files = [source_of("model/a.py", ""), source_of("expression/a.py", ""), source_of("cli/a.py", "")]
    assert named_alike(files, file_of) == {"a": ["model/a.py", "expression/a.py"]}
