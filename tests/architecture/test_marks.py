"""Nothing unfinished and nothing dangerous in the source."""

import ast
import re

import pytest

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
DANGEROUS_CALLS = {"eval", "exec", "compile", "__import__"}
DANGEROUS_MODULES = {"pickle", "dill", "cloudpickle", "marshal", "shelve"}


def marks(source):
    """Messages for what one file must not contain."""
    for number, line in enumerate(source.text.splitlines(), start=1):
        if UNFINISHED.search(line):
            yield f"{source.path}:{number}: unfinished: {line.strip()}"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in DANGEROUS_CALLS:
            yield f"{source.path}:{node.lineno}: {node.func.id}"
        if isinstance(node, ast.Global):
            yield f"{source.path}:{node.lineno}: module state: global {', '.join(node.names)}"
    for line, name in source.imports():
        if name.split(".")[0] in DANGEROUS_MODULES:
            yield f"{source.path}:{line}: {name}"


def test_the_source_has_nothing_unfinished_or_dangerous(sources):
    assert [message for source in sources for message in marks(source)] == []


@pytest.mark.parametrize(
    "text",
    [
        "x = 1  # TODO later",
        "def f():\n    raise NotImplementedError",
        "eval('1')",
        "from pickle import loads",
        "def f():\n    global x\n    x = 1",
    ],
)
def test_a_mark_is_seen(source_of, text):
    assert list(marks(source_of("a.py", text)))


def test_what_looks_alike_is_allowed(source_of):
    text = "import re\nre.compile('a')\ncompiled = compile_program(p)\n"
    assert list(marks(source_of("a.py", text))) == []
