"""Identifiers and remarks in generated source: whatever names a model has, what is written is harmless and distinct."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from kane.errors import ExpressionError
from kane.expression.node import Expr
from kane.expression.text import name_of


class Named(Protocol):
    """What has a name: a program."""

    @property
    def name(self) -> str:
        """Any text."""


def identifier(text: str) -> str:
    """``text`` with all but ASCII letters, digits and underscores made an underscore; it starts with a letter."""
    word = re.sub(r"\W", "_", text, flags=re.ASCII)
    return word if re.match(r"[A-Za-z]", word) else f"v{word}"


def remark(text: str) -> str:
    """``text`` with everything that could end a comment or string, or confuse a terminal, made an underscore."""
    return re.sub(r"[^\w .,:'+()\[\]-]", "_", text, flags=re.ASCII)


def distinct_names(programs: Sequence[Named], words: Sequence[Sequence[str]], language: str) -> None:
    """Check that no two programs have an identifier in common.

    Args:
        programs: for the message.
        words: the identifiers of each.
        language: for the message.

    Raises:
        ExpressionError: two have, or one program's identifiers are not distinct.
    """
    owner: dict[str, str] = {}
    for program, own in zip(programs, words, strict=True):
        for word in own:
            if word in owner:
                both = f"the programs {owner[word]!r} and {program.name!r}"
                raise ExpressionError(f"{both} would both become the {language} function {word}; rename one")
            owner[word] = program.name


def local_names(given: Iterable[Expr], reserved: Collection[str], foreign: tuple[str, ...] = ()) -> dict[Expr, str]:
    """An identifier of its own for every leaf; what was computed in the parameter stage is P1, P2, ...

    Args:
        given: leaves, and operations that are handed over ready.
        reserved: words not to be used.
        foreign: beginnings of words that belong to others.
    """
    names: dict[Expr, str] = {}
    taken = set(reserved)
    for number, node in enumerate(given, 1):
        stem = f"P{number}" if node.args else identifier(name_of(node).replace("'", "_dot"))
        if stem.startswith(foreign):
            stem = f"v_{stem}"
        word, copy = stem, 1
        while word in taken:
            copy += 1
            word = f"{stem}_{copy}"
        names[node] = word
        taken.add(word)
    return names
