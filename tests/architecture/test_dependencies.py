"""Third-party packages: declared, and the optional ones imported only in the file named after them."""

import re
import sys
import tomllib

import pytest

from kane.errors import EXTRAS, pip_install

# Import name of what is not called as its distribution is.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "sksundae": "scikit-sundae",
    "pinocchio": "pin",
    "flint": "python-flint",
    "hppfcl": "coal",
}
# Files that a package may be imported in, by the import name; an optional one else only in a file of its own name.
NAMED_AFTER = {
    "numba": {
        "entries",
        "instructions",
        "lane_instructions",
        "parts",
        "records",
    },  # of engine/compile, a process of its own
    # Commands, which cli/start.py imports if typer is installed.
    "typer": {
        "bench",
        "check",
        "count",
        "diff",
        "export",
        "haptic",
        "main",
        "model_argument",
        "new",
        "run",
        "sweep",
        "view",
    },
    "mujoco": {"mjcf", "mujoco"},
    "sksundae": {"sundae", "stiff", "sksundae"},
}


@pytest.fixture(scope="module")
def declared(root):
    """Names of the core requirements, and of those of all extras."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]

    def names(requirements):
        return {re.match(r"[\w-]+", r).group().lower() for r in requirements}

    return names(project["dependencies"]), set().union(*map(names, project["optional-dependencies"].values()))


def misplaced(source, core, optional):
    """Messages for third-party imports of one file that are not declared or not where they belong."""
    stem = source.path.removesuffix(".py").rpartition("/")[2]
    for line, name in source.imports():
        package = name.split(".")[0]
        if package in sys.stdlib_module_names or package == "kane":
            continue
        distribution = DISTRIBUTIONS.get(package, package).lower()
        if distribution in core and package not in NAMED_AFTER:
            continue
        if distribution not in core | optional:
            yield f"{source.path}:{line}: {package} is not declared in pyproject.toml"
        elif stem not in NAMED_AFTER.get(package, {package}):
            yield f"{source.path}:{line}: {package} has files of its own, and this file is not named after it"


def test_what_is_imported_is_declared_and_what_is_optional_has_its_own_file(sources, declared):
    assert [message for source in sources for message in misplaced(source, *declared)] == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("importers/urdf/urdf.py", "import mujoco"),
        ("simulation/a.py", "def f():\n    import sksundae as sun"),
        ("a.py", "import torch"),
        ("simulation/a.py", "import numba"),
        ("formulation/a.py", "from pinocchio import Model"),
    ],
)
def test_a_package_out_of_place_is_seen(source_of, declared, path, text):
    assert len(list(misplaced(source_of(path, text), *declared))) == 1


def test_an_optional_package_is_allowed_in_the_file_named_after_it(source_of, declared):
    assert list(misplaced(source_of("importers/mjcf/mjcf.py", "import mujoco\nimport numpy as np"), *declared)) == []


def test_importing_kane_does_not_import_optional_packages(declared, imported_by_kane):
    core, optional = declared
    import_names = {d: i for i, d in DISTRIBUTIONS.items()}
    banned = {import_names.get(d, d) for d in optional - core}
    assert sorted(banned & imported_by_kane) == []


def test_importing_kane_does_not_import_numba(imported_by_kane):
    """It takes 0.3 s, which only simulations and constraints pay."""
    assert "numba" not in imported_by_kane


@pytest.fixture(scope="module")
def imported_by_kane():
    import subprocess

    code = "import sys; from kane import *; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


def test_hints_name_the_packages_of_extras_and_no_package_of_an_index_that_has_no_kane(root):
    extras = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert all(list(packages) == extras[extra] for extra, packages in EXTRAS.items())
    assert pip_install("view") == "pip install 'trimesh>=4.5' 'pycollada>=0.8' 'websockets>=14.0'"
    texts = [*(root / "src").rglob("*.py"), *(root / "docs").rglob("*.md"), root / "README.md"]
    assert [path for path in texts if re.search(r"install\s+['\"]?kane\[", path.read_text("utf-8"))] == []
    hints = [name for path in texts for name in re.findall(r"pip_install\('(\w+)'\)", path.read_text("utf-8"))]
    assert set(hints) == set(EXTRAS)
