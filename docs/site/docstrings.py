"""Docstrings and signatures as Markdown for the pages of the reference."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import kane

_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields|Warns|Sources?|Examples?|Notes?):[ \t]*(.*)$")
_TITLES = {"Args": "Arguments", "Raises": "Errors"}
_TICKS = 12  # backticks around the outermost directive; inner ones have one less


def markdown_of(docstring: str) -> str:
    """Return a docstring with Google sections as Markdown."""
    parts: list[str] = []
    for title, lines in _sections(inspect.cleandoc(docstring)):
        if not title:
            parts.append(_prose("\n".join(lines)))
        elif title in ("Source", "Sources"):
            parts.append(f"*{title}:* {_prose(' '.join(line.strip() for line in lines))}")
        elif title in ("Returns", "Yields", "Warns", "Note", "Notes"):
            parts.append(f"**{title}**\n\n{_prose(inspect.cleandoc(chr(10) + chr(10).join(lines)))}")
        else:
            parts.append(f"**{_TITLES.get(title, title)}**\n\n{_entries(lines)}")
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    title, lines = "", []
    for line in text.split("\n"):
        if found := _SECTION.match(line):
            yield title, lines
            title, lines = found.group(1), [found.group(2)] if found.group(2) else []
        else:
            lines.append(line)
    yield title, lines


def _entries(lines: list[str]) -> str:
    """Return the entries of a section as a list: "name: words", with deeper lines that continue an entry."""
    text = inspect.cleandoc("\n" + "\n".join(lines))
    entries = [" ".join(part.split()) for part in re.split(r"\n(?=\S)", text) if part.strip()]
    written = []
    for entry in entries:
        found = re.match(r"([\w*][\w.*\[\], ]*?): (.*)", entry, re.S)
        written.append(f"- `{found.group(1)}`: {_prose(found.group(2))}" if found else f"- {_prose(entry)}")
    return "\n".join(written)


def _prose(text: str) -> str:
    """Escape the characters that Markdown reads otherwise, outside code."""
    pieces = re.split(r"(``.*?``|`[^`]*`|^(?: {4}.*(?:\n|$))+)", text, flags=re.M | re.S)
    return "".join(
        piece if k % 2 else re.sub(r"(?<!^)(?<!\n)\*|[$<]|(?<=\])\(", r"\\\g<0>", piece)
        for k, piece in enumerate(pieces)
    )


def signature_of(thing: Any) -> str:
    """Return the arguments of a class or function as they are typed, without annotations of the result of a class."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    if inspect.isclass(thing):
        if issubclass(thing, list | dict) or (issubclass(thing, tuple) and not hasattr(thing, "_fields")):
            return "()"  # results, which users do not construct
        found = found.replace(return_annotation=inspect.Signature.empty)
    shown = [
        p.replace(annotation=_words(p.annotation), default=p.default if _readable(p.default) else ...)
        for p in found.parameters.values()
    ]
    return str(found.replace(parameters=shown, return_annotation=_words(found.return_annotation)))


class _Words:
    """An annotation that a signature prints without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _words(annotation: Any) -> Any:
    if annotation is inspect.Signature.empty:
        return annotation
    named = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", None)
    return _Words(named or getattr(annotation, "__name__", str(annotation)))


def _readable(value: Any) -> bool:
    return value is inspect.Parameter.empty or value is None or isinstance(value, (bool, int, float, str, tuple))


def members_of(cls: type) -> Iterator[tuple[str, str, Any]]:
    """Yield (kind, name, function) of the documented methods and properties of a class and its private bases."""
    seen = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("kane") or (base is not cls and getattr(kane, base.__name__, None) is base):
            continue  # a public base has an entry of its own
        for name, thing in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            kind, function = _kind_of(thing)
            if kind and function.__doc__:
                yield kind, name, function


def _kind_of(thing: Any) -> tuple[str, Any]:
    if isinstance(thing, property):
        return "property", thing.fget
    if isinstance(thing, classmethod | staticmethod):
        return "staticmethod" if isinstance(thing, staticmethod) else "classmethod", thing.__func__
    if inspect.isfunction(thing):
        return "method", thing
    inner = getattr(thing, "func", None)  # of a cached_property
    return ("property", inner) if inspect.isfunction(inner) else ("", None)


def entry_of(name: str, thing: Any) -> str:
    """Return the directive that documents a public name, with its methods and properties."""
    doc = markdown_of(inspect.getdoc(thing) or "")
    if not inspect.isclass(thing):
        return directive("function", f"{name}{signature_of(thing)}", doc, 0)
    inner = [
        directive(
            kind, member + ("" if kind == "property" else _without_first(thing_of)), markdown_of(thing_of.__doc__), 1
        )
        for kind, member, thing_of in members_of(thing)
    ]
    return directive("class", f"{name}{signature_of(thing)}", "\n\n".join([doc, *inner]), 0)


def _without_first(function: Any) -> str:
    """Return the signature of a method without self or cls."""
    found = signature_of(function)
    return re.sub(r"^\((?:self|cls)(?:, )?", "(", found)


def directive(kind: str, head: str, body: str, depth: int) -> str:
    """Return a directive of Sphinx's Python domain."""
    ticks = "`" * (_TICKS - depth)
    return f"{ticks}{{py:{kind}}} {head}\n{body}\n{ticks}\n"
