"""Mutants of the joint files: each has one change in the source and is loaded without replacing the joints in use."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import kane
from kane import Rotation

PACKAGE = "kane.model.joints."
FOLDER = Path(kane.__file__).parent / "model" / "joints"
QUATERNION = "kane.geometry.quaternion"
# Functions that determine the motion of a joint; the others give names or check arguments.
MOVING = {
    "angular_velocity_matrix",
    *("motion", "pose", "directions", "matrix", "integrate", "difference"),
    *("rotation_of", "_of_two", "_measured", "motion_of_pose", "moved_to", "_turning", "_slopes", "_changes", "_along"),
    *("kinematics", "exponential", "logarithm", "rotate", "product", "conjugate"),
}
ARGUMENTS = ("R_FM", "p_FM", "w_FM_u", "v_FM_u", "alpha_t", "a_t", "kinematics")
FILES = {
    ".".join(path.relative_to(FOLDER).with_suffix("").parts): path
    for path in sorted(FOLDER.rglob("*.py"))
    if path.stem not in ("__init__", "joint")
}
SOURCES = {PACKAGE + stem: path for stem, path in FILES.items()} | {
    QUATERNION: FOLDER.parents[1] / "geometry" / "quaternion.py"
}


@dataclass(frozen=True)
class Mutant:
    """Wrong version of a file.

    Attributes:
        name: file, function, original code and replacement.
        module: dotted name of the file.
        tree: its syntax tree.
    """

    name: str
    module: str
    tree: ast.Module

    def load(self) -> Sandbox:
        """Return the joints with this file instead of the original."""
        return Sandbox({self.module: self.tree})


class Sandbox:
    """Separate copy of the joint modules, with the attributes of the package ``kane.model.joints``."""

    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self._trees, self._modules = trees, {}

    def __getattr__(self, name: str) -> Any:
        place = getattr(kane.model.joints, name).__module__
        return getattr(self._load(place), name)

    def _load(self, name: str) -> ModuleType:
        if name not in self._modules:
            module = self._modules[name] = ModuleType(name)
            vars(module)["__builtins__"] = {**vars(builtins), "__import__": self._import}
            vars(module).update({word.__name__: word for word in (negated, rolled, dropped, swapped, turned, shifted)})
            tree = self._trees.get(name) or ast.parse(SOURCES[name].read_text("utf-8"))
            exec(compile(tree, f"<{name} in a sandbox>", "exec"), vars(module))
        return self._modules[name]

    def _import(self, name: str, *how: Any) -> Any:
        if name in SOURCES:
            return self._load(name)
        if name == "kane.geometry":
            return SimpleNamespace(quaternion=self._load(QUATERNION))
        return builtins.__import__(name, *how)


def title(module: str) -> str:
    """Return the short name of a joint file or of the quaternion file."""
    return module.removeprefix(PACKAGE).removeprefix("kane.geometry.")


def mutants(module: str) -> Iterator[Mutant]:
    """Yield all mutants of a file, with different names."""
    tree = ast.parse(SOURCES[module].read_text("utf-8"))
    seen: dict[str, int] = {}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.name not in MOVING:
            continue
        for node in ast.walk(function):
            for new in _replacements(node):
                words = f"{title(module)}.{function.name}: {ast.unparse(node)} -> {ast.unparse(new)}"
                seen[words] = seen.get(words, 0) + 1
                name = f"{words} ({seen[words]})" if seen[words] > 1 else words
                yield Mutant(name, module, _with(tree, node, new))


def _with(tree: ast.Module, old: ast.AST, new: ast.AST) -> ast.Module:
    class Replaced(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    # The transformer changes the tree, so that it gets a copy that shares only the node to be replaced.
    changed = copy.deepcopy(tree, {id(old): old})
    return ast.fix_missing_locations(Replaced().visit(changed))


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield wrong replacements of a node."""
    if isinstance(node, ast.BinOp):
        yield from _other_operations(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value:
        yield ast.UnaryOp(ast.USub(), node)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        yield ast.Subscript(node.value, ast.Constant(node.slice.value - 1), node.ctx)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and len(node.targets[0].elts) > 2:
        first, second, *rest = node.targets[0].elts
        yield ast.copy_location(ast.Assign([ast.Tuple([second, first, *rest], ast.Store())], node.value), node)
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)


OTHERS = {ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Div: ast.Mult()}


def _other_operations(node: ast.BinOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.MatMult):
        yield ast.BinOp(node.right, node.op, node.left)
    elif type(node.op) in OTHERS:
        yield ast.BinOp(node.left, OTHERS[type(node.op)], node.right)


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    name = ast.unparse(node.func).rsplit(".", 1)[-1]
    if name in ("apply", "apply_inverse"):
        other = {"apply": "apply_inverse", "apply_inverse": "apply"}[name]
        yield ast.Call(ast.Attribute(node.func.value, other, ast.Load()), node.args, node.keywords)
    elif name in ("Elementary", "about"):
        yield ast.Call(node.func, [node.args[0], ast.UnaryOp(ast.USub(), node.args[1])], [])
    elif name == "cross":
        yield ast.Call(node.func, node.args[::-1], [])
    elif name == "JointMotion":
        still = ast.unparse(node.args[2]) == "()"  # a joint without motion can only have another pose
        for k, argument in enumerate(ARGUMENTS):
            for wrong in ELSEWHERE.get(argument, ()) if still else WRONG[argument]:
                args = [*node.args]
                args[k] = wrong(args[k])
                yield ast.Call(node.func, args, node.keywords)


def _wrapped(word: str) -> Callable[[ast.expr], ast.expr]:
    return lambda x: ast.Call(ast.Name(word, ast.Load()), [x], [])


def _inverse(x: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(x, "inverse", ast.Load()), [], [])


VECTOR = (_wrapped("negated"), _wrapped("rolled"), _wrapped("dropped"))
WRONG = {
    "R_FM": (_inverse,),
    "p_FM": VECTOR,
    "w_FM_u": (*VECTOR, _wrapped("swapped")),
    "v_FM_u": (*VECTOR, _wrapped("swapped")),
    "alpha_t": VECTOR,
    "a_t": VECTOR,
    "kinematics": (_wrapped("negated"), _wrapped("swapped")),
}
ELSEWHERE = {"R_FM": (_wrapped("turned"),), "p_FM": (_wrapped("shifted"),)}


def negated(x: Any) -> Any:
    """Return the negated vectors."""
    return tuple(map(negated, x)) if x and isinstance(x[0], tuple) else tuple(-c for c in x)


def rolled(x: Any) -> Any:
    """Return the vectors with cyclically shifted components."""
    return tuple(map(rolled, x)) if x and isinstance(x[0], tuple) else (*x[-1:], *x[:-1])


def dropped(x: Any) -> Any:
    """Return zero vectors."""
    return tuple(map(dropped, x)) if x and isinstance(x[0], tuple) else (0.0,) * len(x)


def swapped(x: Any) -> Any:
    """Return the entries with the first one moved to the end."""
    return (*x[1:], *x[:1])


def turned(R: Rotation) -> Rotation:
    """Return another orientation."""
    return R @ Rotation.about("x", 0.1)


def shifted(p: Any) -> Any:
    """Return another position."""
    return (p[0] + 0.1, *p[1:])
