"""Mutants of modules that write code as text: changes of functions, tables, constants and the text itself.

A mutant is a module that is executed again with one change, in a process that ends afterwards. Its objects replace the
original ones in all modules.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from oracles.source_mutants import inside, replacements, shown

# Wrong replacements of words of LLVM, C or NumPy.
WORDS = {
    "fadd": "fsub", "fsub": "fadd", "fmul": "fdiv", "fdiv": "fmul", "add": "sub", "sub": "add", "mul": "add",
    "ole": "olt", "olt": "ole", "ogt": "oge", "oeq": "une", "une": "oeq", "uno": "ord",
    "sgt": "sge", "slt": "sle", "eq": "ne", "true": "false", "false": "true",
    "sin": "cos", "cos": "sin", "tan": "tanh", "tanh": "tan", "asin": "acos", "acos": "asin", "exp": "log",
    "log": "exp", "sqrt": "fabs", "fabs": "sqrt", "shl": "lshr", "and": "or", "xor": "or",
    "arcsin": "arccos", "arccos": "arcsin", "abs": "sqrt", "sign": "abs", "minimum": "maximum", "maximum": "minimum",
    "kane_min": "kane_max", "kane_max": "kane_min", "right": "left", "low": "high", "high": "low",
}  # fmt: skip
SIGNS = {"+": "-", "-": "+", "*": "+", "/": "*", "<": "<=", "<=": "<", ">": ">=", "==": "!=", "!=": "==", "**": "*",
         ">=": ">", "||": "&&"}  # fmt: skip
_WORD = re.compile(r"(?<![\w@%])[A-Za-z_]+\b(?![\w.])|(?<=@llvm\.)[a-z]+\b|(?<=double @)(?:sin|cos)\b")
_NUMBER = re.compile(r"(?<![\w.%@])\d+(?:\.\d+)?(?![\w.])")
# Names of formatted values that are types or parts of type names.
_TYPE = re.compile(r"(^[tw]|bits|type|suffix|width|integer|lanes\.pair|k\.pair)$")
# Operators between blanks or alone in a text; others belong to comments, pointers, arrows or names.
_SIGN = re.compile(r"(?<= )(?:\*\*|[<>=!]=|\|\||[-+*/<>])(?= )|^(?:\*\*|[<>=!]=|[-+*/<>])$|^-$")


@dataclass(frozen=True)
class TextMutant:
    """Wrong version of a module.

    Attributes:
        name: place, original code and replacement.
        module: dotted name of its file.
        place: index of the changed statement in the module.
        old, new: node that is replaced, and its replacement.
        after: modules to execute again afterwards, because they imported objects of this one.
    """

    name: str
    module: str
    place: int
    old: ast.AST | None
    new: ast.AST | None
    after: tuple[str, ...]

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Execute the module and the modules ``after`` it again, and replace their original objects everywhere."""
        known: dict[int, tuple[object, str, str]] = {}
        for word in (self.module, *self.after):
            # Import the module here, because an earlier test may or may not have imported it.
            for name, value in vars(importlib.import_module(word)).items():
                if not isinstance(value, str | int | float | tuple | ModuleType | None) and not name.startswith("__"):
                    known.setdefault(id(value), (value, word, name))
        self._run()
        for word in self.after:
            importlib.reload(sys.modules[word])
        new = {key: vars(sys.modules[word]).get(name) for key, (_, word, name) in known.items()}
        for module in list(sys.modules.values()):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if id(value) in new:
                    setattr(module, name, new[id(value)])
        yield

    def _run(self) -> None:
        home, tree = sys.modules[self.module], _tree(self.module)
        if self.old is not None:
            statement = tree.body[self.place]
            for node in ast.walk(statement):
                for word, value in ast.iter_fields(node):
                    if value is self.old:
                        setattr(node, word, self.new)
                    elif isinstance(value, list):
                        value[:] = [self.new if v is self.old else v for v in value]
        exec(compile(ast.fix_missing_locations(tree), f"<mutant of {self.module}>", "exec"), vars(home))


_trees: dict[str, ast.Module] = {}


def _tree(module: str) -> ast.Module:
    if module not in _trees:
        _trees[module] = ast.parse(Path(importlib.import_module(module).__file__ or "").read_text("utf-8"))
    return _trees[module]


def unchanged(module: str, after: Sequence[str]) -> TextMutant:
    """Return a mutant without a change, which executes the module again."""
    return TextMutant("nothing", module, 0, None, None, tuple(after))


def text_mutants(module: str, after: Sequence[str], *, signs: bool, without: Sequence[str] = ()) -> list[TextMutant]:
    """Return all mutants of a module, with different names.

    Args:
        module: dotted name.
        after: modules that import from it, in a valid import order.
        signs: True if its text has operators as in C.
        without: names of functions and tables without mutants.
    """
    found: list[TextMutant] = []
    seen: dict[str, int] = {}
    for place, where, node in _places(module):
        if where.rsplit(".", 1)[-1] in (*without, "__repr__", "__init__.__doc__"):
            continue
        others = [(new, f"{shown(node)} -> {shown(new)}") for new in replacements(node)]
        for new, change in (*others, *_swapped(node), *_other_text(node, signs)):
            words = f"{where}: {change}"
            seen[words] = seen.get(words, 0) + 1
            name = f"{words} ({seen[words]})" if seen[words] > 1 else words
            found.append(TextMutant(name, module, place, node, new, tuple(after)))
    return found


def _places(module: str) -> Iterator[tuple[int, str, ast.AST]]:
    """Yield the nodes that may be changed: index of the statement, name of the place, and node."""
    for place, statement in enumerate(_tree(module).body):
        if isinstance(statement, ast.FunctionDef):
            yield from ((place, statement.name, node) for node in inside(statement))
        elif isinstance(statement, ast.ClassDef):
            for f in statement.body:
                if isinstance(f, ast.FunctionDef):
                    yield from ((place, f"{statement.name}.{f.name}", node) for node in inside(f))
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            yield from ((place, ast.unparse(target), node) for node in ast.walk(statement.value))


def _other_text(node: ast.AST, signs: bool) -> Iterator[tuple[ast.AST, str]]:
    """Yield the text with one word, number or sign changed, and the change with its surrounding text."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return
    text = node.value
    changes = [(found, WORDS[found[0]]) for found in _WORD.finditer(text) if found[0] in WORDS]
    for found in _NUMBER.finditer(text):
        changes.append((found, f"{float(found[0]) + 1.0}" if "." in found[0] else str(int(found[0]) + 1)))
    changes += [(found, SIGNS[found[0]]) for found in _SIGN.finditer(text) if signs]
    for found, other in changes:
        before, after = text[: found.start()], text[found.end() :]
        around = " ".join(f"{before[-30:]}[{found[0]} -> {other}]{after[:20]}".split())
        yield ast.Constant(f"{before}{other}{after}"), around


def _swapped(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield texts with two adjacent formatted values exchanged, except types, whose exchange is not valid code."""
    if not isinstance(node, ast.JoinedStr):
        return
    words = [ast.unparse(v.value) if isinstance(v, ast.FormattedValue) else "" for v in node.values]
    values = [i for i, word in enumerate(words) if word and not _TYPE.search(word)]
    for i, j in pairwise(values):
        if words[i] != words[j]:
            parts = list(node.values)
            parts[i], parts[j] = parts[j], parts[i]
            yield ast.JoinedStr(parts), f"{words[i]} <-> {words[j]} in {shown(node)[:40]}"
