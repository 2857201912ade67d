"""The gallery: a page for each model of kane.library, with picture, live page, operation counts and equations."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from html import escape
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from docstrings import markdown_of
from staged_pages import LIVE, ROOT, Stage

import kane

sys.path.append(str(ROOT / "examples"))
from live_pages import MODELS, start_of, write_page

LONGEST = 60  # lines of a listing that a page shows


def write_gallery(stage: Stage, html: Path) -> None:
    """Write the pages of all models and their index; two processes share the work."""
    pictures, live = stage.folder / "gallery/pictures", html / "gallery" / LIVE
    pictures.mkdir(parents=True)
    live.mkdir(parents=True)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        pages = dict(
            zip(MODELS, pool.map(page_of, MODELS, [pictures] * len(MODELS), [live] * len(MODELS)), strict=True)
        )
    for name, text in pages.items():
        stage.write(f"gallery/{name}.md", text)
    cards = "\n".join(card_of(name) for name in MODELS)
    names = "\n".join(MODELS)
    contents = f"```{{toctree}}\n:hidden:\n\n{names}\n```"
    with (stage.folder / "gallery/index.md").open("a", encoding="utf-8") as index:
        index.write(f'\n<div class="cards">\n{cards}\n</div>\n\n{contents}\n')


def summary_of(name: str) -> str:
    """Return the first line of the docstring of a model, without its verb."""
    line = (inspect.getdoc(getattr(kane.library, name)) or "").partition("\n")[0]
    return line.removeprefix("Return ").replace("`", "")


def card_of(name: str) -> str:
    """Return the card of a model in the index."""
    picture = f'<img src="../_images/{name}.png" alt="" loading="lazy">'
    return f'<a href="{name}.html">{picture}<strong>{name}</strong><small>{escape(summary_of(name))}</small></a>'


def page_of(name: str, pictures: Path, live: Path) -> str:
    """Write the picture and the live page of a model; return its page."""
    os.environ["MPLBACKEND"] = "Agg"
    maker = getattr(kane.library, name)
    equations = kane.formulate(maker())
    dyn = kane.build(equations)
    start = start_of(dyn, name)
    write_page(dyn, name, live / f"{name}.html")
    kane.draw3d(dyn, q=start.get("q")).savefig(pictures / f"{name}.png", dpi=110)
    q, u = (", ".join(x.name for x in leaves) for leaves in (equations.q, equations.u))
    return f"""# {name}

{markdown_of(inspect.getdoc(maker) or "")}

![The model {name} at the start of its live page](pictures/{name}.png)

<p><a href="{LIVE}{name}.html">Simulate it in this browser</a>: pull at the bodies with the mouse.</p>

    model = kane.library.{name}()

Coordinates: {q}

Speeds: {u}

## Operations

Operations of a call, after the elimination of common subexpressions; forward dynamics returns udot.

{counts_of(equations)}

## Equations

{listing_of(equations, start)}

## Source

```python
{inspect.getsource(maker)}
```
"""


def counts_of(equations: kane.Equations) -> str:
    """Return the table of operations."""
    from kane.cli.count import describe_operation_counts

    title, table = describe_operation_counts(equations)
    columns = list(next(iter(table.values())))
    rows = [
        f"| {name.replace('_', ' ')} | " + " | ".join(str(row[c]) for c in columns) + " |"
        for name, row in table.items()
    ]
    head = f"| program | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}"
    return f"{title}.\n\n{head}\n" + "\n".join(rows)


def listing_of(equations: kane.Equations, start: Mapping[str, Any]) -> str:
    """Return the equations as text. The equations of closed loops hold near the start."""
    words = ""
    if equations.embedding.remark:
        words = (
            "The dependent speeds are selected near the start of the live page (`kane.formulate(model, near=q)`).\n\n"
        )
        equations = kane.formulate(equations.model, near=start["q"])
    lines = equations.listing().rstrip().split("\n")
    left = len(lines) - LONGEST
    shown = [*lines[:LONGEST], f"... and {left} more lines: print(equations.listing())"] if left > 0 else lines
    return f"{words}```text\n" + "\n".join(shown) + "\n```"
