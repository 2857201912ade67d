"""Formulas: texts such as "-cos(q1) * mass", read as expressions by a grammar that executes nothing.

The grammar:

sum      product, then + or - product, any number of times
product  factor, then * or / factor, any number of times
factor   - factor, or + factor, or power
power    atom, or atom ** factor
atom     number, name, `name with other characters`, function(sum, ...), (sum)
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kane.errors import ExpressionError, list_names, shown
from kane.expression import functions

KNOWN_FUNCTIONS = (
    *("sin", "cos", "tan", "asin", "acos", "atan2", "sqrt", "exp", "log", "tanh"),
    *("absolute", "sign", "minimum", "maximum", "select", "equal"),
)
_TOKEN = re.compile(r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([^\W\d]\w*)|`([^`]+)`|(\*\*|[-+*/(),]))")
MOST_CHARACTERS, DEEPEST = 10_000, 100  # of one formula, and of parentheses and signs inside each other


@dataclass
class _FormulaReader:
    text: str
    names: Mapping[str, Any]
    place: int = 0
    depth: int = 0

    def peek(self) -> tuple[str, str, int]:
        """Return kind, text and end of the next token; the kind is "" at the end."""
        found = _TOKEN.match(self.text, self.place)
        if found is None:
            if self.text[self.place :].strip():
                self.fail(f"{shown(self.text[self.place :].strip()[0])} is not part of a formula")
            return "", "", len(self.text)
        kind = ("number", "name", "name", "sign")[(found.lastindex or 1) - 1]
        return kind, str(found.group(found.lastindex or 1)), found.end()

    def take(self, *signs: str) -> str:
        """Return the next token and move on if it is one of the signs, else ""."""
        kind, word, end = self.peek()
        if kind == "sign" and word in signs:
            self.place = end
            return word
        return ""

    def fail(self, reason: str) -> None:
        """Raise with the place of the fault."""
        raise ExpressionError(f"the formula {shown(self.text)}, character {self.place + 1}: {reason}")

    def sum(self) -> Any:
        found = self.product()
        while sign := self.take("+", "-"):
            later = self.product()
            found = found + later if sign == "+" else found - later
        return found

    def product(self) -> Any:
        found = self.factor()
        while sign := self.take("*", "/"):
            later = self.factor()
            if sign == "/" and later.__class__ is float and later == 0.0:
                self.fail("a division by zero")
            found = found * later if sign == "*" else found / later
        return found

    def factor(self) -> Any:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail("too many parentheses or signs inside each other")
        if sign := self.take("-", "+"):
            found = self.factor()
            found = -found if sign == "-" else found
        else:
            found = self.atom()
            if self.take("**"):
                found = found ** self.factor()
            if isinstance(found, complex):
                self.fail("a fractional power of a negative number")
        self.depth -= 1
        return found

    def atom(self) -> Any:
        kind, word, end = self.peek()
        if kind == "number":
            self.place = end
            return float(word)
        if kind == "name":
            return self.named(word, end)
        if not self.take("("):
            self.fail(f"a number, a name or ( is missing{f' before {word!r}' if word else ' at the end'}")
        found = self.sum()
        self.close()
        return found

    def named(self, word: str, end: int) -> Any:
        quoted = self.text[end - 1] == "`"
        if word in self.names or quoted or word not in (*KNOWN_FUNCTIONS, "pi"):
            if word not in self.names:
                known = [*self.names, *KNOWN_FUNCTIONS]
                close = difflib.get_close_matches(word, known, n=3)
                hint = f"did you mean {', '.join(close)}?" if close else f"known are {list_names(known, 30)}"
                self.fail(f"there is no {word!r}; {hint}")
            self.place = end
            return self.names[word]
        self.place = end
        if word == "pi":
            return math.pi
        if not self.take("("):
            self.fail(f"( is missing after the function {word!r}")
        arguments = [self.sum()]
        while self.take(","):
            arguments.append(self.sum())
        self.close()
        try:
            return getattr(functions, word)(*arguments)
        except TypeError as error:
            self.fail(str(error))

    def close(self) -> None:
        if not self.take(")"):
            self.fail(") is missing")


def read_formula(text: str, names: Mapping[str, Any]) -> Any:
    """Return the expression of a formula; a formula without names gives a number.

    Args:
        text: numbers, names, the functions of kane (sin, sqrt, maximum, ...), pi, + - * / ** and parentheses. A name
            with other characters than letters, digits and _ is written between backquotes.
        names: expressions by name.

    Raises:
        ExpressionError: a fault of the text, with its place, or an unknown name, with similar ones.
    """
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise ExpressionError(f"{shown(text)} is not a formula; give a text of at most {MOST_CHARACTERS} characters")
    reader = _FormulaReader(text, names)
    try:
        found = reader.sum()
    except (OverflowError, ZeroDivisionError) as error:
        raise ExpressionError(f"the formula {shown(text)} has no value: {error}") from None
    if reader.peek()[1]:
        reader.fail(f"{reader.peek()[1]!r} does not follow; an operator is missing")
    return found
