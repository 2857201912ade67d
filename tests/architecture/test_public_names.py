"""The public vocabulary: every exported name is documented, and the example of the README runs."""

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys

import pytest

import kane


def undocumented(name, thing):
    """Dotted names of what is exported without words."""
    if not (inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)):
        return []
    missing = [] if (inspect.getdoc(thing) or "").strip() else [name]
    if inspect.isclass(thing):
        for member in vars(thing):
            attribute = inspect.getattr_static(thing, member)
            described = inspect.isroutine(attribute) or isinstance(attribute, (property, staticmethod, classmethod))
            if member[0] != "_" and described and not (inspect.getdoc(getattr(thing, member)) or "").strip():
                missing.append(f"{name}.{member}")
    return missing


def test_every_exported_name_is_documented():
    names = kane.__all__
    assert {"Model", "formulate", "build", "simulate", "Trajectory", "load_urdf", "library"} <= set(names)
    assert len(names) == len(set(names))
    assert [m for name in names for m in undocumented(name, getattr(kane, name))] == []


FAMILIES = ("constraints", "contacts", "joints", "loads", "shapes")


def test_what_is_imported_into_the_vocabulary_is_exported(root):
    """For whoever reads types in the stub, and for whoever runs: no name more and none less."""
    stub = ast.parse((root / "src" / "kane" / "__init__.pyi").read_text("utf-8"))
    lines = [(x.module, a) for x in stub.body if isinstance(x, ast.ImportFrom) for a in x.names]
    assert all(a.name == a.asname for _, a in lines if a.name != "*")  # which exports them, for type checkers
    families = [importlib.import_module(module) for module, a in lines if a.name == "*"]
    assert {f.__name__ for f in families} == {*(f"kane.model.{x}" for x in FAMILIES), "kane.simulation.integrators"}
    named = ["__version__", *(a.name for _, a in lines if a.name != "*")]
    exported = [name for f in families for name in dir(f) if isinstance(getattr(f, name), type)]
    assert sorted(named + exported) == kane.__all__ == dir(kane)


def test_only_what_is_asked_for_is_imported():
    code = "import sys, kane; loaded = {m for m in sys.modules if m.startswith('kane.')}; kane.sin; kane.errors"
    code += "; assert not loaded, loaded; print(*sorted(m for m in sys.modules if m.startswith('kane.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert "kane.expression.functions" in done.stdout
    assert "kane.model" not in done.stdout


@pytest.mark.parametrize("name", ["no_such_name", "_private", "__wrapped__"])
def test_a_name_that_is_not_in_the_vocabulary_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=f"module 'kane' has no attribute '{name}'"):
        getattr(kane, name)
    assert not hasattr(kane, name)


def test_a_name_without_words_is_seen():
    class Bare:
        def method(self): ...

    assert undocumented("Bare", Bare) == ["Bare", "Bare.method"]


def python_blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_first_example_of_the_readme_is_short_and_prints_what_the_page_says(root, tmp_path):
    page = (root / "README.md").read_text("utf-8")
    example = python_blocks(page)[0]
    (shown,) = re.findall(r"^```text\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    assert example.count("\n") <= 25
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(root / "src")}
    command = [sys.executable, "-c", example]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "docs/notation.md", "docs/extending.md"])
def test_every_file_that_a_page_points_to_exists(root, page):
    text = (root / page).read_text("utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    folder = (root / page).parent
    assert [link for link in links if not (folder / link).exists()] == []


# Words that messages use for objects, and their classes.
NAMED = {
    "kane": kane,
    "run": kane.Trajectory,
    "dyn": kane.Dynamics,
    "stepper": kane.Stepper,
    "session": kane.haptics.Session,
    **dict.fromkeys(("m", "model", "Model"), kane.Model()),
    **dict.fromkeys(("eqs", "equations"), kane.Equations),
}


def advised(source):
    """Attributes of these objects that stand in texts of calls: messages, mostly."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    texts = {x.value for call in calls for x in ast.walk(call) if isinstance(x, ast.Constant)}
    pattern = rf"\b({'|'.join(NAMED)})\.([A-Za-z_]\w*)"
    return {found for text in texts if isinstance(text, str) and " " in text for found in re.findall(pattern, text)}


def test_whatever_a_message_advises_exists(root):
    sources = sorted((root / "src" / "kane").rglob("*.py"))
    found = {(path.name, *names) for path in sources for names in advised(path.read_text("utf-8"))}
    assert len(found) > 100
    missing = [x for x in sorted(found) if not hasattr(NAMED[x[1]], x[2])]
    assert [x for x in missing if x[2] not in vars(NAMED[x[1]]).get("__annotations__", {})] == []
