"""Wrong versions of functions, put in their place: each changes one thing in the source. No line numbers are kept.

A mutant is named by its function, what was there and what is there now. It is compiled in the globals of its module and
put wherever the right function is known by name, for the time of a ``with``.
"""

from __future__ import annotations

import ast
import builtins
import copy
import importlib
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Mod: ast.Mult}
COMPARISONS = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
# Decorators that compile: a mutant is run as it stands. What makes programs of functions has a stand-in, where needed.
COMPILING = ("native_loop", "native_inline", "native_kernel")


@dataclass(frozen=True)
class Mutant:
    """One wrong version of a function.

    Attributes:
        name: function, what was there, what is there now.
        module: dotted name of its file.
        path: names from the module to the function: of a class, and of the function.
        tree: its definition.
    """

    name: str
    module: str
    path: tuple[str, ...]
    tree: ast.FunctionDef

    @contextmanager
    def installed(self) -> Iterator[None]:
        """The mutant in the place of the right function."""
        with installed(self.module, self.path, self.tree):
            yield


def mutants(module: str, *, without: Collection[str] = (), only: Collection[str] = ()) -> list[Mutant]:
    """All wrong versions of the functions of a file, each under a name of its own.

    Args:
        without: names of functions that are left alone, as ``__repr__`` is; ``only`` those that are not, where given.
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
                found.append(Mutant(name, module, path, _with(function, node, new)))
    return found


@cache
def functions(module: str) -> tuple[tuple[tuple[str, ...], ast.FunctionDef], ...]:
    """The functions and methods of a file."""
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
    """A definition in the place of a function of a module, or of a method of one of its classes."""
    home = importlib.import_module(module)
    names = dict(vars(home))
    stripped = copy.copy(tree)
    stripped.decorator_list = [d for d in tree.decorator_list if ast.unparse(d) not in COMPILING]
    exec(compile(ast.fix_missing_locations(ast.Module([stripped], [])), f"<mutant of {module}>", "exec"), vars(home))
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
    """One object in the place of another in every module, tests included, that knows it by a name.

    Functions that ``kane`` exports answer wrong calls (``kane.calls``): there the wrapped function is replaced.
    """
    places = [
        (m, word, value)
        for m in list(sys.modules.values())
        for word, value in list(getattr(m, "__dict__", {}).items())
        if value is old or (callable(old) and vars_of(value).get("__wrapped__") is old)
    ]
    for m, word, _ in places:
        setattr(m, word, new)
    try:
        yield
    finally:
        for m, word, value in places:
            setattr(m, word, value)


def vars_of(value: Any) -> dict[str, Any]:
    """The attributes of a function; none of another object, such as a proxy of an object that is gone."""
    return vars(value) if type(value) is FunctionType else {}


@contextmanager
def replaced(owner: type, name: str, new: Any) -> Iterator[None]:
    """An attribute of a class for a while."""
    old = vars(owner)[name]
    if hasattr(new, "__set_name__"):
        new.__set_name__(owner, name)
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)


def survivors(tried: Collection[Mutant], fails: Callable[[], bool], equivalent: Collection[str] = ()) -> list[str]:
    """Names of the mutants with which nothing fails, those apart that are right too."""
    found = []
    for mutant in tried:
        if mutant.name in equivalent:
            continue
        with mutant.installed():
            if not fails():
                found.append(mutant.name)
    return found


def inside(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What is computed: not the signature, not what is said when something is refused."""
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

    # Transformation is in place: work on a copy in which the node to be replaced is itself.
    return ast.fix_missing_locations(Replaced().visit(copy.deepcopy(function, {id(old): old})))


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand wrongly in the place of a node."""
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
        yield ast.Pass()  # what is written into an array
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
