"""The output below each block of Python of a page: python docs/site/outputs.py PAGES writes it.

A fenced block ``text`` directly below a block of Python is the output of that block. ``check_page`` raises an error if
the code prints something else, so that a page never shows a result that kane does not return. Pictures that the code
saves go to docs/figures.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).resolve().parents[1] / "figures"
_BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A block of Python of a page.

    Attributes:
        code: its text.
        expected: the output below it, or None.
        start, end: its place in the page, with the output.
        line: number of the line before its first one.
    """

    code: str
    expected: str | None
    start: int
    end: int
    line: int


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the blocks of Python of a page, in order."""
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("code"))
        yield Block(found["code"], found["output"], *found.span(), line)


def run_blocks(text: str, name: str) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page one after the other, with one set of names; yield each block and its output."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * block.line + block.code, name, "exec"), names)  # noqa: S102
        yield block, "".join(line.rstrip() + "\n" for line in printed.getvalue().splitlines())


def check_page(path: str | Path) -> None:
    """Run a page in the present folder; raise AssertionError if an output differs from the page."""
    for block, output in run_blocks(Path(path).read_text("utf-8"), str(path)):
        if block.expected is not None and block.expected != output:
            lines = difflib.unified_diff(
                block.expected.splitlines(), output.splitlines(), "the page", "the output", lineterm=""
            )
            raise AssertionError(
                f"{path}, line {block.line}: python docs/site/outputs.py {path} writes the output\n" + "\n".join(lines)
            )


def write_page(path: Path) -> None:
    """Run a page and write the outputs into it."""
    text = path.read_text("utf-8")
    parts, end = [], 0
    for block, output in run_blocks(text, str(path)):
        shown = f"\n```text\n{output}```\n" if output else ""
        parts += [text[end : block.start], f"```python\n{block.code}```\n{shown}"]
        end = block.end
    path.write_text("".join([*parts, text[end:]]), "utf-8")


def main(pages: list[Path]) -> None:
    """Write the outputs and pictures of pages."""
    for page in pages:
        here = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                write_page(page)
            finally:
                os.chdir(here)
            for picture in Path(folder).glob("*.png"):
                if f"figures/{picture.name})" in page.read_text("utf-8"):
                    shutil.copy(picture, FIGURES / picture.name)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    main([Path(name).resolve() for name in sys.argv[1:]])
