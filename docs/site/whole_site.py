"""After Sphinx: the Markdown of each page, llms.txt, and the check that no page asks another server for anything."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import unquote

from navigation import sections_of
from staged_pages import Stage

HEAD = """# kane

> Multibody dynamics by Kane's method, in Python: describe bodies, joints, loads and contacts; kane derives the
> equations of motion symbolically, compiles them to native code, and simulates them.

Every page exists as Markdown too, under its own address with `.md` in place of `.html`.
"""
# Attributes and rules by which a browser loads a file when it opens a page.
REQUESTS = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=["'](?P<src>(?:https?:)?//[^"']+)"""
    r"""|<link\b(?![^>]*rel=["'](?:canonical|license)["'])[^>]*?\bhref=["'](?P<href>(?:https?:)?//[^"']+)"""
    r"""|url\(\s*["']?(?P<url>(?:https?:)?//[^"')]+)|@import\s+["'](?P<css>(?:https?:)?//[^"']+)"""
)

LINKS = re.compile(r"""<(?:a\b[^>]*?\bhref|img\b[^>]*?\bsrc)=["']([^"'#?]+)""")


def write_texts(stage: Stage, html: Path) -> None:
    """Copy the Markdown of each page beside it, and write llms.txt."""
    for path in stage.folder.rglob("*.md"):
        target = html / path.relative_to(stage.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    lines = [HEAD]
    for title, members in sections_of(sorted(path.stem for path in stage.folder.glob("*.md"))).items():
        lines.append(f"## {title}\n")
        for member in members:
            lines.append(entry_of(stage.folder / f"{member}.md", stage.folder))
            if member.endswith("/index"):
                folder = (stage.folder / member).parent
                others = sorted(path for path in folder.glob("*.md") if path.stem != "index")
                lines += [entry_of(path, stage.folder) for path in others]
        lines.append("")
    (html / "llms.txt").write_text("\n".join(lines), "utf-8")


def entry_of(page: Path, root: Path) -> str:
    """Return the line of llms.txt for a page: its title, its address and its first sentence."""
    text = re.sub(r"^---\n.*?\n---\n", "", page.read_text("utf-8"), flags=re.S)
    title = re.search(r"^# (.*)$", text, re.M)
    first = re.search(r"^(?![#`<|!\-{:]|    )\w[^\n]*(?:\n\w[^\n]*)*", text[title.end() if title else 0 :], re.M)
    words = re.split(r"(?<=[.:])\s", first.group().replace("\n", " "))[0] if first else ""
    if words.endswith("you can"):  # a list of aims follows
        words += " " + " ".join(re.findall(r"^\* (.*)$", text.partition("\n## ")[0], re.M))
    return f"- [{title.group(1) if title else page.stem}]({page.relative_to(root).as_posix()}): {words}"


def foreign_requests(html: Path) -> list[str]:
    """Return the places at which a page or style sheet would load something from another server."""
    found = []
    for path in sorted(path for path in html.rglob("*") if path.suffix in (".html", ".css")):
        for request in REQUESTS.finditer(path.read_text("utf-8")):
            address = next(value for value in request.groups() if value)
            found.append(f"{path.relative_to(html)} would load {address}")
    return found


# Corrections of the theme's HTML that axe asks for: level and names of landmarks, and blocks that scroll by keys.
CORRECTIONS = (
    ('class="caption" role="heading"', 'class="caption" role="heading" aria-level="2"'),
    ('<aside class="sidebar-drawer"', '<aside aria-label="Site" class="sidebar-drawer"'),
    ('<aside class="toc-drawer"', '<aside aria-label="Page" class="toc-drawer"'),
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    ('<th class="head"><p></p></th>', '<td class="head"></td>'),
    ('<div id="search-results">', '<h1>Search</h1><div id="search-results">'),
)


def correct_html(html: Path) -> None:
    """Make the pages accessible where the theme is not."""
    for path in html.rglob("*.html"):
        text = path.read_text("utf-8")
        for old, new in CORRECTIONS:
            text = text.replace(old, new)
        path.write_text(text, "utf-8")


def broken_links(html: Path) -> list[str]:
    """Return the links between files of the site that lead nowhere, in all HTML, also where Sphinx does not read it."""
    found = []
    for path in sorted(html.rglob("*.html")):
        for target in sorted(set(LINKS.findall(path.read_text("utf-8")))):
            if not re.match(r"[a-z]+:|//", target) and not (path.parent / unquote(target)).exists():
                found.append(f"{path.relative_to(html)} links to {target}, which does not exist")
    return found
