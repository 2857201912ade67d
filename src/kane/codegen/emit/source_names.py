"""Identifiers and comments in generated source: safe and distinct for any names in the model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from kane.errors import ExpressionError
from kane.expression.node import Expr
from kane.expression.text import name_of


class Named(Protocol):
    """Protocol of objects with a name, such as programs."""

    @property
    def name(self) -> str:
        """Any text."""


def identifier(text: str) -> str:
    """Return ``text`` as an identifier: characters except ASCII letters and digits become underscores.

    The identifier begins with an additional v unless its first character is a letter.
    """
    word = re.sub(r"\W", "_", text, flags=re.ASCII)
    return word if re.match(r"[A-Za-z]", word) else f"v{word}"


def remark(text: str) -> str:
    """Return ``text`` with underscores for all characters that could end a comment or string, or confuse a terminal."""
    return re.sub(r"[^\w .,:'+()\[\]-]", "_", text, flags=re.ASCII)


def with_unit(leaf_name: str, units: Mapping[str, str]) -> str:
    """Return a name for a comment, with its unit if it is known: "k [N m/rad]"."""
    unit = " ".join(units.get(leaf_name, "").replace("**", "^").replace("*", " ").replace("·", " ").split())
    return f"{remark(leaf_name)} [{unit}]" if re.fullmatch(r"[\w ./^-]+", unit, flags=re.ASCII) else remark(leaf_name)


def distinct_names(programs: Sequence[Named], words: Sequence[Sequence[str]], language: str) -> None:
    """Raise ExpressionError unless all identifiers of programs are distinct.

    Args:
        programs: programs, named in the message.
        words: identifiers of each program.
        language: name of the target language, for the message.

    Raises:
        ExpressionError: two identifiers are equal.
    """
    owner: dict[str, str] = {}
    for program, own in zip(programs, words, strict=True):
        for word in own:
            if word in owner:
                both = f"the programs {owner[word]!r} and {program.name!r}"
                raise ExpressionError(f"{both} would both become the {language} function {word}; rename one")
            owner[word] = program.name


def local_names(given: Iterable[Expr], reserved: Collection[str], foreign: tuple[str, ...] = ()) -> dict[Expr, str]:
    """Return a distinct identifier for every given node; results of the parameter stage are named P and a number.

    Args:
        given: leaves, and results of the parameter stage.
        reserved: words that must not be used.
        foreign: prefixes of names that belong to libraries.
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
