"""The pages of the reference: docs/reference has an example for each heading, the docstrings have the rest.

A heading ``## simulate`` of a page in docs/reference is followed by the signature and the docstring of kane.simulate,
then by the example. Public names without a heading follow at the end of the page of their part of the library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from docstrings import entry_of
from staged_pages import Stage

import kane

# Page of the names that are exported from modules with these prefixes; the longest prefix counts.
PAGES = {
    "kane.model": "models",
    "kane.geometry": "models",
    "kane.importers": "importers",
    "kane.exporters": "exporters",
    "kane.model.joints": "joints",
    "kane.model.loads": "loads",
    "kane.model.constraints": "constraints",
    "kane.model.contacts": "contacts",
    "kane.model.shapes": "shapes",
    "kane.model.wheel": "constraints",
    "kane.expression": "expressions",
    "kane.formulation": "equations",
    "kane.dynamics": "dynamics",
    "kane.simulation": "runs",
    "kane.ensembles": "many_runs",
    "kane.sweeps": "many_runs",
    "kane.analysis": "analysis",
    "kane.viewer": "pictures",
    "kane.errors": "errors",
    "kane.haptics": "haptics",
    "kane.library": "library",
}
# Classes that users meet without importing them.
WITHOUT_EXPORT = {
    "models": ("kane.model.body.Body", "kane.model.body.Point", "kane.model.body.Direction"),
    "joints": ("kane.model.connection.Connection",),
}
ORDER = (
    "models", "joints", "loads", "constraints", "contacts", "shapes", "expressions", "equations", "dynamics", "runs",
    "many_runs", "analysis", "pictures", "importers", "exporters", "haptics", "library", "errors",
)  # fmt: skip
_HEADING = re.compile(r"^## (.+)$", re.M)


def public_names() -> dict[str, dict[str, Any]]:
    """Return the public names of each page: of kane, kane.haptics and kane.library."""
    found: dict[str, dict[str, Any]] = {page: {} for page in ORDER}
    for name in (n for n in kane.__all__ if n not in ("haptics", "library", "__version__")):
        home = kane._HOMES[name]
        page = PAGES[max((prefix for prefix in PAGES if home.startswith(prefix)), key=len)]
        found[page][name] = getattr(kane, name)
    for part in (kane.haptics, kane.library):
        names = (n for n in dir(part) if not n.startswith("_"))
        members = {n: getattr(part, n) for n in names}
        kept = {n: x for n, x in members.items() if callable(x) and (x.__module__ or "").startswith(part.__name__)}
        found[part.__name__.rpartition(".")[2]] |= kept
    for page, paths in WITHOUT_EXPORT.items():
        for path in paths:
            module, _, name = path.rpartition(".")
            found[page][name] = getattr(import_module(module), name)
    return found


def full_name(page: str, name: str, thing: Any) -> str:
    """Return the name as a user types it."""
    if page in ("haptics", "library"):
        return f"kane.{page}.{name}"
    return f"kane.{name}" if name in kane.__all__ else f"{thing.__module__}.{name}"


def _with_entries(text: str, entries: Mapping[str, str]) -> str:
    """Return the text of a page with the entry of each heading's name below the heading."""
    return _HEADING.sub(lambda found: f"{found.group()}\n\n{entries[found.group(1)]}", text)


def write_reference(stage: Stage) -> None:
    """Insert the docstrings into the pages of the reference; raise ValueError for a heading without a public name."""
    with_example = 0
    for page, names in public_names().items():
        path = stage.folder / "reference" / f"{page}.md"
        text = path.read_text("utf-8")
        headings = _HEADING.findall(text)
        if unknown := [heading for heading in headings if heading not in names]:
            raise ValueError(
                f"docs/reference/{page}.md has examples of {unknown}, which are no public names of this page"
            )
        entries = {name: entry_of(full_name(page, name, thing), thing) for name, thing in names.items()}
        text = _with_entries(text, entries)
        rest = [f"## {name}\n\n{entries[name]}" for name in names if name not in headings]
        stage.write(f"reference/{page}.md", text.rstrip() + "\n\n" + "\n".join(rest))
        with_example += len(headings)
    print(f"{with_example} of {sum(map(len, public_names().values()))} public names have an example")
    index = stage.folder / "reference/index.md"
    index.write_text(index.read_text("utf-8") + "\n```{toctree}\n:hidden:\n\n" + "\n".join(ORDER) + "\n```\n", "utf-8")
