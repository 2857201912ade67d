"""The structure of the library by its own imports and definitions: `python -m benchmarks.structure [FOLDER]`.

Files, lines, arrows (a file that imports another), circles of files and of rooms (a folder or file directly within a
package), how long functions and files are, and the kernels that a transition needs. The architecture tests read the
source through the same functions.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "kane"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# The native program of a transition, and the modules without kernels: generated views, and calls by address.
TRANSITION = ("kane.engine.hybrid.transition", "transition")
NO_KERNELS = ("kane.engine.memory", "kane.engine.call")
Arrows = Mapping[str, set[str]]


@dataclass(frozen=True)
class Source:
    """One file of the library: its path from src/kane, its text and its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def module(self) -> str:
        parts = ["kane", *self.path.removesuffix(".py").split("/")]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def package(self) -> str:
        return self.module if self.path.endswith("__init__.py") else self.module.rpartition(".")[0]

    def imports(self, *, types: bool = False) -> Iterator[tuple[int, str]]:
        """Line and full dotted name of everything imported, wherever in the file; for type checking only if asked."""
        for node in ast.walk(self.tree) if types else _run_time_nodes(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield node.lineno, alias.name
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield node.lineno, f"{self._origin(node)}.{alias.name}"

    def _origin(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        start = self.package.split(".")[: len(self.package.split(".")) - node.level + 1]
        return ".".join([*start, *([node.module] if node.module else [])])

    def functions(self) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
        """Every function with its dotted name, and whether it is a method."""
        yield from _functions(self.tree, "", in_class=False)


def _run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, but for the bodies of ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from (node for other in child.orelse for node in [other, *_run_time_nodes(other)])
        else:
            yield child
            yield from _run_time_nodes(child)


def _functions(
    node: ast.AST, prefix: str, *, in_class: bool
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            name = f"{prefix}.{child.name}" if prefix else child.name
            if isinstance(child, FUNCTIONS):
                yield name, child, in_class
            yield from _functions(child, name, in_class=isinstance(child, ast.ClassDef))
        else:
            yield from _functions(child, prefix, in_class=in_class)


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function, its decorators and docstring not counted."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or 0) - docstring.lineno + 1
    return lines


def read(path: str, text: str) -> Source:
    return Source(path, text, ast.parse(text, path))


def sources(folder: Path = PACKAGE) -> list[Source]:
    """Every file of a package."""
    return [read(p.relative_to(folder).as_posix(), p.read_text("utf-8")) for p in sorted(folder.rglob("*.py"))]


def arrows(found: Iterable[Source], *, types: bool = False) -> dict[str, set[str]]:
    """From each module to those it imports; for type checking only if asked."""
    found = list(found)
    modules = {source.module for source in found}
    drawn: dict[str, set[str]] = {module: set() for module in modules}
    for source in found:
        for _, name in source.imports(types=types):
            target = name if name in modules else name.rpartition(".")[0]
            if target in modules and target != source.module:
                drawn[source.module].add(target)
    return drawn


def room(module: str) -> str:
    """The folder or file directly within a package that a module is, or is in: kane.formulation.tree."""
    return ".".join(module.split(".")[:3])


def between_rooms(drawn: Arrows) -> dict[str, set[str]]:
    """Arrows between the rooms of one package."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, targets in drawn.items():
        for target in targets:
            here, there = room(module), room(target)
            # What a package's own __init__ gathers is its face and no part of a circle.
            same = here.split(".")[:2] == there.split(".")[:2] and min(here.count("."), there.count(".")) == 2
            if same and here != there:
                found[here].add(there)
    return dict(found)


def circles(drawn: Arrows) -> list[list[str]]:
    """Groups of which each member leads to every other, by reachability."""
    nodes = {*drawn, *(t for targets in drawn.values() for t in targets)}
    reached = {node: _reached(node, drawn) for node in nodes}
    found = {frozenset({node, *(o for o in reached[node] if node in reached[o])}) for node in nodes}
    return sorted(sorted(group) for group in found if len(group) > 1)


def _reached(start: str, drawn: Arrows) -> set[str]:
    seen: set[str] = set()
    left = [start]
    while left:
        for target in drawn.get(left.pop(), ()):
            if target not in seen:
                seen.add(target)
                left.append(target)
    return seen


def functions_needed(found: Iterable[Source], start: tuple[str, str]) -> set[tuple[str, str]]:
    """Return the functions, by module and name, that a function can reach through names, itself included."""
    found = list(found)
    bodies = {(s.module, node.name): node for s in found for node in s.tree.body if isinstance(node, FUNCTIONS)}
    # The module and the name behind each name in a module.
    meant = {(module, name): (module, name) for module, name in bodies}
    for source in found:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    meant[source.module, alias.asname or alias.name] = node.module or "", alias.name
    seen: set[tuple[str, str]] = set()
    left = [start]
    while left:
        here = left.pop()
        if here in bodies and here not in seen:
            seen.add(here)
            names = {node.id for node in ast.walk(bodies[here]) if isinstance(node, ast.Name)}
            left += [meant[here[0], name] for name in names if (here[0], name) in meant]
    return seen


def _needed(found: Iterable[Source]) -> str:
    kernels = {key for key in functions_needed(found, TRANSITION) if not key[0].startswith(NO_KERNELS)}
    return f"{len(kernels)} in {len({module for module, _ in kernels})} files"


def _groups(found: Sequence[Sequence[str]]) -> str:
    return "; ".join(f"{len(group)} in {room(group[0])}" for group in found) or "none"


def _typical(lengths: Sequence[int]) -> str:
    ordered = sorted(lengths)
    most = ordered[int(0.9 * len(ordered))]
    return f"median {statistics.median(ordered):.0f}, 90th percentile {most}, longest {ordered[-1]}"


def main(arguments: Sequence[str]) -> int:
    """Print the structure of a package."""
    found = sources(Path(arguments[0]) if arguments else PACKAGE)
    drawn = arrows(found)
    rooms = between_rooms(drawn)
    rows = {
        "files": len(found),
        "lines": f"{sum(s.text.count(chr(10)) for s in found):,}",
        "arrows between files": sum(map(len, drawn.values())),
        "arrows between rooms of one package": sum(map(len, rooms.values())),
        "circles of files": _groups(circles(drawn)),
        "circles of files, types counted": _groups(circles(arrows(found, types=True))),
        "circles of rooms": _groups(circles(rooms)),
        "lines of a function": _typical([body_lines(f) for s in found for _, f, _ in s.functions()]),
        "kernels that a transition needs": _needed(found),
        "lines of a file": _typical([s.text.count("\n") for s in found]),
    }
    for name, value in rows.items():
        print(f"{name:38}{value}")
    by_package: dict[str, list[Source]] = defaultdict(list)
    for source in found:
        by_package[source.path.split("/")[0].removesuffix(".py")].append(source)
    for name, files in sorted(by_package.items()):
        inside = {s.module for s in files}
        within = sum(len(drawn[m] & inside) for m in inside)
        print(
            f"    {name:34}{len(files):4} files {sum(s.text.count(chr(10)) for s in files):7,} lines {within:5} arrows"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
