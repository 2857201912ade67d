"""The attributes that docstrings list exist, and the arguments that they list are those of the function."""

import ast
import re

import pytest


def entries(docstring, section):
    """Names that a section of a docstring lists: "a, b: meaning" lists a and b."""
    found = re.search(rf"^{section}:\n(.*?)(?=^\S|\Z)", docstring, re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^ {4}(\w+(?:, \w+)*):", found.group(1), re.MULTILINE) if found else []
    return [name for line in lines for name in line.split(", ")]


def attributes(node):
    """Names that a class assigns, annotates or defines, and those that its methods assign to self."""
    for child in ast.walk(node):
        if isinstance(child, ast.FunctionDef):
            yield child.name
        elif isinstance(child, ast.AnnAssign | ast.Assign):
            for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        yield name.id
                    elif isinstance(name, ast.Attribute):
                        yield name.attr
        elif isinstance(child, ast.Constant) and isinstance(child.value, str) and child.value.isidentifier():
            yield child.value  # __slots__, setattr


def unknown_attributes(sources):
    """Messages for attributes in docstrings that neither their class nor a base class of kane has."""
    classes = {node.name: node for s in sources for node in ast.walk(s.tree) if isinstance(node, ast.ClassDef)}

    def known(node, seen=()):
        names = set(attributes(node))
        for base in node.bases:
            name = ast.unparse(base).split("[")[0].split(".")[-1]
            if name in classes and name not in seen:
                names |= known(classes[name], (*seen, node.name))
        return names

    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and (text := ast.get_docstring(node)):
                missing = [name for name in entries(text, "Attributes") if name not in known(node)]
                yield from (f"{source.path}: {node.name}.{name}" for name in missing)


def unknown_arguments(sources):
    """Messages for arguments in docstrings that the function does not take."""
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
                a = node.args
                taken = {x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if x is not None}
                missing = [name for name in entries(text, "Args") if name not in taken]
                yield from (f"{source.path}: {node.name}({name})" for name in missing)


@pytest.mark.parametrize("check", [unknown_attributes, unknown_arguments])
def test_docstrings_list_what_there_is(sources, check):
    assert list(check(sources)) == []


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (unknown_attributes, 'class A:\n    """A.\n\n    Attributes:\n        a, b: two.\n    """\n    a: int'),
        (unknown_arguments, 'def f(a):\n    """F.\n\n    Args:\n        a: one.\n        b: two.\n    """'),
    ],
)
def test_a_name_that_is_not_there_is_seen(source_of, check, text):
    assert len(list(check([source_of("model/a.py", text)]))) == 1
