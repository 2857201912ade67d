"""The contents of the site: which page belongs to which section."""

from __future__ import annotations

from pathlib import Path

from staged_pages import Stage

# Section, and its pages in order. Pages of docs that no section names belong to the guides.
SECTIONS: dict[str, list[str]] = {
    "Learn": ["start", "installation", "course/index"],
    "How to": [
        "howto/index",
        "contacts",
        "controllers",
        "derivatives",
        "explanations",
        "haptics",
        "identification",
        "optimal_control",
        "sweeps",
        "viewing",
        "extending",
    ],
    "Look up": ["gallery/index", "examples/index", "reference/index", "overview", "notation"],
    "Coming from": ["coming_from", "from_sympy", "from_other_engines"],
    "Understand": [
        "readme",
        "architecture",
        "compiled-modes",
        "decisions/index",
        "memory",
        "benchmarks/results",
        "benchmarks/decisions",
        "contributing",
        "changelog",
    ],
}
GUIDES = "How to"


def sections_of(pages: list[str]) -> dict[str, list[str]]:
    """Return the sections with the pages that exist; ``pages`` are the names of those at the top level."""
    named = {page for members in SECTIONS.values() for page in members}
    unnamed = [page for page in pages if page not in named and page != "index"]
    return {title: members + (unnamed if title == GUIDES else []) for title, members in SECTIONS.items()}


def write_contents(stage: Stage) -> None:
    """Write the index of the decisions and append the table of contents to the home page."""
    records = sorted(path.stem for path in (stage.folder / "decisions").glob("*.md") if path.stem != "0000-template")
    (stage.folder / "decisions/0000-template.md").unlink()
    words = "One page for each decision: the question, the decision, its reasons and the rejected alternatives."
    stage.write_index("decisions/index.md", "Decisions", words, [(name, "") for name in records])
    for folder in ("course", "howto"):
        names = sorted(path.stem for path in (stage.folder / folder).glob("*.md") if path.stem != "index")
        append_contents(stage.folder / folder / "index.md", "", names)
    for title, members in sections_of(sorted(path.stem for path in stage.folder.glob("*.md"))).items():
        append_contents(stage.folder / "index.md", title, members)


def append_contents(page: Path, caption: str, members: list[str]) -> None:
    """Append an invisible table of contents to a page; the sidebar shows it."""
    options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
    with page.open("a", encoding="utf-8") as file:
        file.write(f"\n```{{toctree}}\n{options}\n" + "\n".join(members) + "\n```\n")
