"""Plain English in docstrings, comments, messages and Markdown: `python -m benchmarks.english [PATHS]`.

Splits the text of Python and Markdown files into sentences and flags those that match a pattern of unclear writing.
A flag is a hint: `tests/architecture/test_english.py` bounds the fraction of flagged sentences, not each sentence.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 28  # words of a sentence
FEWEST = 4  # words of a text that counts as a sentence
NOUN_CLAUSE = r"\b[Ww](?:hat(?:ever)?|hoever|hichever)\s+(?!is the\b|are the\b|if\b|about\b)[a-z_`]+\b(?![^.]*\?)"
PRONOUNS = ("those (?:of|that|which|in|with|behind)", "that (?:of|which)", r"such (?!as\b)\w+", "the same of")
MOTION = (
    "goes (?:on|its way|through|by)",
    "stands? (?:in|on|for|still|beside|behind)",
    "lies? (?:in|on|at|behind)",
    "comes? (?:and goes|back|of)",
    "(?:are|is) met",
    "falls? due",
)
KNOWING = ("knows? of", "known of", "ma(?:de|kes?) of", "(?:is|are) (?:told|asked)", "looked at")
PATTERNS = {
    "a clause with 'what' or 'whatever' as a noun": NOUN_CLAUSE,
    "'those', 'that of' or 'such' as a noun": rf"\b(?:{'|'.join(PRONOUNS)})\b",
    "'is none'": r"\b(?:is|are|was|were|be) none\b",
    "opens with 'Of'": r"^Of (?!course)\w+",
    "'so many' without 'that'": r"\bso (?:many|often|much|few|far|long|large|small)\b(?! (?:that|as))",
    "a verb of motion for a thing": rf"\b(?:{'|'.join(MOTION)})\b",
    "'knows of', 'made of', 'is told'": rf"\b(?:{'|'.join(KNOWING)})\b",
    "'behind' or 'beside' for an order": r"\b(?:behind (?:it|that|them|the|each)|beside (?:the|those|that))\b",
    "three clauses joined by semicolons": r"^[^.]*;[^.]*;[^.]*$",
    f"more than {LONGEST} words": rf"^(?:\S+\s+){{{LONGEST}}}\S",
}
_COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
_SECTION = re.compile(r"\n\s*(?:Args|Attributes|Raises|Returns|Warns|Yields|Source|Sources|Example):")


@dataclass(frozen=True)
class Sentence:
    """Sentence with its place "path:line" and the names of the patterns that it matches."""

    place: str
    text: str
    flags: tuple[str, ...]


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of the docstrings, messages, comments or paragraphs of a file."""
    source = path.read_text(encoding="utf-8")
    yield from python_texts(source) if path.suffix == ".py" else markdown_texts(source)


def sentences(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of a Python or Markdown file."""
    for line, text in texts(path):
        yield from sentences_of(f"{path}:{line}", text)


def sentences_of(place: str, text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text that begins at a place."""
    for part in re.split(r"(?<=[.!?])\s+(?=[A-Z`(*])", re.sub(r"\s+", " ", text).strip()):
        if len(part.split()) >= FEWEST:
            yield Sentence(place, part, flags(part))


def flags(sentence: str) -> tuple[str, ...]:
    """Return the names of the patterns that a sentence matches."""
    return tuple(name for name, pattern in _COMPILED.items() if pattern.search(sentence))


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of docstrings (each entry of a section apart), messages of raised errors, and comments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first, *sections = _SECTION.split(ast.get_docstring(node) or "")
            line = node.body[0].lineno if node.body else 1
            yield line, first
            for section in sections:
                for entry in re.split(r"\n\s*(?=[\w, *`\[\]]+:\s)", section):
                    yield line, entry.split(":", 1)[-1]
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            words = [x.value for x in ast.walk(node.exc) if isinstance(x, ast.Constant) and isinstance(x.value, str)]
            yield node.lineno, " ".join(words)
    yield from _comments(source)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    block: list[str] = []
    start = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
            start = start if block else token.start[0]
            block.append(token.string.lstrip("# "))
        elif token.type not in (tokenize.NL, tokenize.COMMENT) and block:
            yield start, "\n".join(block)
            block = []


def markdown_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of the paragraphs and list items of a page, without code, tables and headings."""
    source = re.sub(r"```.*?```", lambda found: "\n" * found.group().count("\n"), source, flags=re.DOTALL)
    source = re.sub(r"^#+ .*$", "", source, flags=re.MULTILINE)
    for found in re.finditer(r"(?:^|\n)((?:[^\n]+(?:\n|$))+)", source):
        text, line = found.group(1), source.count("\n", 0, found.start(1)) + 1
        if text.startswith("    ") or text.lstrip().startswith(("|", "#", "<!--", "![")):
            continue
        for item in re.split(r"\n(?=\s*(?:[-*]|\d+\.)\s)", text):
            if not re.match(r"\s*[|#]", item):
                yield line, item
            line += item.count("\n") + 1


def files(roots: Iterable[Path]) -> Iterator[Path]:
    """Yield the Python and Markdown files in folders, and files that are given themselves."""
    for root in roots:
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.suffix in (".py", ".md"):
                yield path


def main(roots: Iterable[str]) -> None:
    """Print the flagged sentences, and their fraction."""
    found = [s for path in files(Path(root) for root in roots) for s in sentences(path)]
    flagged = [s for s in found if s.flags]
    for s in flagged:
        print(f"{s.place}  [{', '.join(s.flags)}]\n  {s.text}")
    print(f"{len(flagged)} of {len(found)} sentences flagged: {100 * len(flagged) / max(1, len(found)):.1f} %")


if __name__ == "__main__":
    main(sys.argv[1:] or [str(ROOT / name) for name in ("src", "docs", "README.md", "ARCHITECTURE.md")])
