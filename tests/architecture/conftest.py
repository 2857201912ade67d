"""The source of kane as syntax trees, read once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


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

    def imports(self) -> Iterator[tuple[int, str]]:
        """Line and full dotted name of everything imported, wherever in the file, for more than type checking."""
        for node in _run_time_nodes(self.tree):
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


def _run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, but for the bodies of ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from (node for other in child.orelse for node in [other, *_run_time_nodes(other)])
        else:
            yield child
            yield from _run_time_nodes(child)


def read(path: str, text: str) -> Source:
    return Source(path, text, ast.parse(text, path))


@pytest.fixture(scope="session")
def sources(root: Path) -> list[Source]:
    """Every file of src/kane."""
    folder = root / "src" / "kane"
    found = [read(p.relative_to(folder).as_posix(), p.read_text("utf-8")) for p in sorted(folder.rglob("*.py"))]
    assert len(found) > 20, f"hardly any source was found in {folder}"
    return found


@pytest.fixture(scope="session")
def source_of():
    """source_of(path, text): a made-up file, to see that a check can fail."""
    return read
