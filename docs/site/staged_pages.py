"""Copies the pages of the repository to the sources of the site, and makes their links point inside the site."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.M | re.S)
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")
# Pages outside docs, by their address in the site.
OTHER_PAGES = {
    "README.md": "readme.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/RESULTS.md": "benchmarks/results.md",
    "benchmarks/DECISIONS.md": "benchmarks/decisions.md",
}
LIVE = "live/"  # folder of the pages with motions, beside the page whose code makes them
FOLDERS = {"docs/decisions": "decisions/index.md", "examples": "examples/index.md"}


def is_address(target: str) -> bool:
    """Return whether a link leads out of the repository."""
    return re.match(r"[a-z]+:", target) is not None


def place_of(path: str) -> str:
    """Return the place in the site of a file or folder of the repository, both as posix paths."""
    if path in FOLDERS:
        return FOLDERS[path]
    if path in OTHER_PAGES:
        return OTHER_PAGES[path]
    if path.startswith("docs/") and path.endswith((".md", ".png")):
        return path.removeprefix("docs/")
    if path.startswith("examples/"):
        return path.removesuffix(".py") + ".md"
    return f"sources/{path}.md"


def outside_of_code(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to the parts of a page that are no fenced blocks."""
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def with_one_title(text: str) -> str:
    """Return a page whose second and later titles are headings one level lower, as all headings below them."""
    titles = 0

    def lowered(found: re.Match[str]) -> str:
        nonlocal titles
        titles += found.group() == "# "
        return ("#" if titles > 1 else "") + found.group()

    return outside_of_code(text, lambda part: re.sub(r"^#+ ", lowered, part, flags=re.M))


class Stage:
    """The folder with the sources of the site.

    Attributes:
        folder: where pages are written.
        linked: files of the repository that pages link to and that are no pages themselves.
        external: addresses outside the repository, each with a page that links to it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.linked: set[str] = set()
        self.external: dict[str, str] = {}

    def write(self, place: str, text: str) -> None:
        """Write one page."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def copy_pages(self) -> None:
        """Copy all pages and figures of the repository."""
        for path in sorted((ROOT / "docs").rglob("*.md")):
            self._copy(path.relative_to(ROOT).as_posix())
        for path in OTHER_PAGES:
            self._copy(path)
        for path in sorted((ROOT / "docs/figures").glob("*.png")):
            target = self.folder / "figures" / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)

    def _copy(self, path: str) -> None:
        text = with_one_title((ROOT / path).read_text("utf-8"))
        self.write(place_of(path), outside_of_code(text, lambda part: self.with_links(part, path)))

    def with_links(self, text: str, page: str) -> str:
        """Return a text of a page with links that are valid in the site; raise ValueError for a missing target."""

        def moved(found: re.Match[str]) -> str:
            words, (target, _, anchor) = found.group(1), found.group(2).partition("#")
            if is_address(found.group(2)):
                self.external.setdefault(found.group(2), page)
                return found.group()
            if not target:
                return found.group()
            if target.startswith(LIVE):  # made by the code of the page, see page_motions.py
                return f'<a href="{target}">{words[1:-1]}</a>'
            path = os.path.normpath(os.path.join(os.path.dirname(page), target))
            if not (ROOT / path).exists():
                raise ValueError(f"{page} links to {target}, which does not exist")
            place = place_of(path)
            if place.startswith("sources/"):
                self.linked.add(path)
            here = os.path.dirname(place_of(page))
            return f"{words}({os.path.relpath(place, here or '.')}{'#' + anchor if anchor else ''})"

        return LINK.sub(moved, text)

    def write_sources(self) -> None:
        """Write a page for each file that a page links to."""
        for path in sorted(self.linked):
            file = ROOT / path
            if file.is_dir():
                names = "\n".join(f"    {entry.name}" for entry in sorted(file.iterdir()) if entry.name[0] not in "_.")
                self.write(
                    place_of(path), f"---\norphan: true\n---\n# {path}\n\nThe files of this folder:\n\n{names}\n"
                )
            else:
                self.write(place_of(path), "---\norphan: true\n---\n" + source_page(path, file.read_text("utf-8")))

    def write_index(self, place: str, title: str, words: str, entries: Iterable[tuple[str, str]]) -> None:
        """Write a page that lists others: ``entries`` are pairs (page beside it without suffix, title or "")."""
        names = "\n".join(f"{heading} <{name}>" if heading else name for name, heading in entries)
        self.write(place, f"# {title}\n\n{words}\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n")


def source_page(path: str, text: str) -> str:
    """Return the page of a source file."""
    language = {"py": "python", "toml": "toml", "c": "c", "h": "c", "txt": "text"}.get(path.rpartition(".")[2], "text")
    return f"# {path}\n\n`````{{code-block}} {language}\n{text}\n`````\n"
