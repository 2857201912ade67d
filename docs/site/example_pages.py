"""A page for each file of examples/: its title, its first docstring and its code."""

from __future__ import annotations

import ast

from staged_pages import ROOT, Stage, source_page

WORDS = (
    "Each example is a program of about a page. It prints its results and draws its figures in `out/`. "
    "The numbers of papers are checked by `tests/papers`."
)


def write_examples(stage: Stage) -> None:
    """Write the pages of all examples, and their index."""
    entries = []
    for path in sorted((ROOT / "examples").glob("*.py")):
        source = path.read_text("utf-8")
        summary = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].replace("\n", " ")
        title = path.stem.replace("_", " ").capitalize()
        page = source_page(f"examples/{path.name}", source).partition("\n")[2]
        stage.write(f"examples/{path.stem}.md", f"# {title}\n\n{summary}\n\n    python examples/{path.name}\n{page}")
        entries.append((path.stem, title))
    stage.write_index("examples/index.md", "Examples", WORDS, entries)
