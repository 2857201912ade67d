"""Mutants of functions: wrong versions with one change in the source, without line numbers.

A mutant is named by its function, the original code and the replacement. It is compiled in the globals of its module
and replaces the original function in all modules within a ``with`` block.
"""

from __future__ import annotations

import ast
import builtins
import copy
import importlib
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Mod: ast.Mult}
COMPARISONS = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
# Folders of modules of Python and of installed packages.
FOREIGN = tuple({sysconfig.get_path(word) for word in ("stdlib", "platstdlib", "purelib", "platlib")})


@dataclass(frozen=True)
class Mutant:
    """Wrong version of a function.

    Attributes:
        name: function, original code and replacement.
        module: dotted name of its file.
        path: name of the function, after the name of its class if it is a method.
        function: definition of the original.
        old, new: node of the definition and its replacement.
    """

    name: str
    module: str
    path: tuple[str, ...]
    function: ast.FunctionDef
    old: ast.AST
    new: ast.AST

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Replace the original function by the mutant within the context."""
        with installed(self.module, self.path, _with(self.function, self.old, self.new)):
            yield


def mutants(module: str, *, without: Collection[str] = (), only: Collection[str] = ()) -> list[Mutant]:
    """Return all mutants of the functions of a file, with different names.

    Args:
        without: names of functions without mutants, in addition to ``__repr__``.
        only: names of the only functions with mutants; empty for all functions.
    """
    found: list[Mutant] = []
    seen: dict[str, int] = {}
    for path, function in functions(module):
        if path[-1] in (*without, "__repr__") or (only and path[-1] not in only):
            continue
        for node in inside(function):
            for new in replacements(node):
                words = f"{'.'.join(path)}: {shown(node)} -> {shown(new)}"
                seen[words] = seen.get(words, 0) + 1
                name = f"{words} ({seen[words]})" if seen[words] > 1 else words
                found.append(Mutant(name, module, path, function, node, new))
    return found


@cache
def functions(module: str) -> tuple[tuple[tuple[str, ...], ast.FunctionDef], ...]:
    """Return the functions and methods of a file."""
    tree = ast.parse(Path(importlib.import_module(module).__file__ or "").read_text("utf-8"))
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.append(((node.name,), node))
        elif isinstance(node, ast.ClassDef):
            found += [((node.name, f.name), f) for f in node.body if isinstance(f, ast.FunctionDef)]
    return tuple(found)


@contextmanager
def installed(module: str, path: tuple[str, ...], tree: ast.FunctionDef) -> Iterator[None]:
    """Replace a function of a module, or a method of one of its classes, by another definition within the context."""
    home = importlib.import_module(module)
    names = dict(vars(home))
    exec(compile(ast.fix_missing_locations(ast.Module([tree], [])), f"<mutant of {module}>", "exec"), vars(home))
    new = vars(home).pop(path[-1])
    if path[-1] in names:
        setattr(home, path[-1], names[path[-1]])
    if len(path) == 2:
        with replaced(vars(home)[path[0]], path[1], new):
            yield
        return
    with everywhere(names[path[-1]], new):
        yield


@contextmanager
def everywhere(old: Any, new: Any) -> Iterator[None]:
    """Replace an object by another in all modules of this repository, including tests, within the context.

    The wrappers of exported functions (``kane.calls``) are replaced if they wrap the object.
    """
    wrapped = callable(old)
    places = [
        (m, word, value)
        for name, m in list(sys.modules.items())
        if _is_own(name, getattr(m, "__dict__", {}).get("__file__"))
        for word, value in list(vars(m).items())
        if value is old or (wrapped and type(value) is FunctionType and vars(value).get("__wrapped__") is old)
    ]
    for m, word, _ in places:
        setattr(m, word, new)
    try:
        yield
    finally:
        for m, word, value in places:
            setattr(m, word, value)


@cache
def _is_own(name: str, file: str | None) -> bool:
    """Check whether a module belongs to this repository: no other module has functions of it among its names.

    Of 3,000 modules 500 do. Looking through all of them for each mutant takes longer than most tests.
    """
    return name.split(".")[0] == "kane" or (file is not None and not file.startswith(FOREIGN))


@contextmanager
def replaced(owner: type, name: str, new: Any) -> Iterator[None]:
    """Replace an attribute of a class within the context."""
    old = vars(owner)[name]
    if hasattr(new, "__set_name__"):
        new.__set_name__(owner, name)
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)


def survivors(tried: Collection[Mutant], fails: Callable[[], bool], equivalent: Collection[str] = ()) -> list[str]:
    """Return the names of the mutants with which no test fails, without equivalent (correct) mutants."""
    found = []
    for mutant in tried:
        if mutant.name in equivalent:
            continue
        with mutant.installed():
            if not fails():
                found.append(mutant.name)
    return found


def inside(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of computations: without signature, docstrings and raised errors."""
    stack: list[ast.AST] = list(reversed(function.body))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Raise | ast.arguments) or (isinstance(node, ast.keyword) and node.arg == "strict"):
            continue
        if isinstance(node, ast.Expr) and _is_text(node.value):
            continue
        if isinstance(node, ast.AnnAssign):
            stack += [node.value] if node.value else []
            continue
        yield node
        stack.extend(reversed(list(ast.iter_child_nodes(node))))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def shown(node: ast.AST) -> str:
    return " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())[:100]


def _with(function: ast.FunctionDef, old: ast.AST, new: ast.AST) -> ast.FunctionDef:
    class Replaced(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    # The transformer changes the tree, so that it gets a copy that shares only the node to be replaced.
    return ast.fix_missing_locations(Replaced().visit(copy.deepcopy(function, {id(old): old})))


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield wrong replacements of a node."""
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _is_text(node.left):
        yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
        if isinstance(node.op, ast.Add | ast.Sub):
            yield node.left  # a dropped term
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node.value)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        yield ast.Compare(node.left, [COMPARISONS[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value)
        yield ast.Pass()
    elif isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple):
        yield ast.Pass()  # an assignment to an array element or attribute
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)


def _other_constants(value: Any) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(2.0 * value if value else 1.0)


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    word = ast.unparse(node.func).rsplit(".", 1)[-1]
    if hasattr(builtins, word):
        if word in ("min", "max"):
            yield ast.Call(ast.Name("max" if word == "min" else "min", ast.Load()), node.args, node.keywords)
        return
    if word in ("apply", "apply_inverse"):
        other = "apply" if word == "apply_inverse" else "apply_inverse"
        yield ast.Call(ast.Attribute(node.func.value, other, ast.Load()), node.args, node.keywords)  # type: ignore[attr-defined]
    if len(node.args) > 1 and not any(isinstance(a, ast.Starred) for a in node.args[:2]):
        yield ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
