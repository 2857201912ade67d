"""Formulas: texts such as "-cos(q1) * mass", read as expressions by a grammar that executes nothing.

The grammar:

formula  sum, or sum < sum (also <=, >, >=), which is 1 or 0
sum      product, then + or - product, any number of times
product  factor, then * or / factor, any number of times
factor   - factor, or + factor, or power
power    part, or part ** factor
part     atom, then .member or .member(formula, ...), any number of times
atom     number, name, function(formula, ...), (formula), (formula, formula, ...)
name     q1, q1' for a rate, `name with other characters`, [reaction]
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kane.errors import ExpressionError, ModelError, list_names, shown
from kane.expression import functions

KNOWN_FUNCTIONS = (
    *("sin", "cos", "tan", "asin", "acos", "atan2", "sqrt", "exp", "log", "tanh"),
    *("absolute", "sign", "minimum", "maximum", "select", "equal", "spline"),
)
RESERVED = (*KNOWN_FUNCTIONS, "pi")  # names that mean the same in all formulas
_TOKEN = re.compile(
    r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([^\W\d]\w*'?|\[[^\[\]]+\])|(`[^`]+`'?)|(\*\*|[<>]=|[-+*/(),.<>]))"
)
MOST_CHARACTERS, DEEPEST = 10_000, 100  # of one formula, and of parentheses and signs inside each other
COMPARISONS = ("<", "<=", ">", ">=")
_OPERATORS: Mapping[str, Callable[..., Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}


class FormulaError(ExpressionError):
    """A formula is malformed.

    Attributes:
        text: the formula.
        place: index of the character at which the fault is.
    """

    def __init__(self, text: str, place: int, reason: str) -> None:
        super().__init__(f"the formula {shown(text)}, character {place + 1}: {reason}")
        self.text, self.place = text, place


@dataclass(frozen=True)
class Vocabulary:
    """Words of a formula beside functions and pi.

    Attributes:
        names: expressions and numbers by name.
        objects: bodies and other objects by name, whose members a formula may use: rod.point((0, 0, 1)).
        members: names of the usable members by class; other attributes cannot be reached.
    """

    names: Mapping[str, Any]
    objects: Mapping[str, Any] = field(default_factory=dict)
    members: Mapping[type, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class _FormulaReader:
    text: str
    known: Vocabulary
    place: int = 0
    depth: int = 0

    def peek(self) -> tuple[str, str, int]:
        """Return kind, text and end of the next token; the kind is "" at the end."""
        found = _TOKEN.match(self.text, self.place)
        if found is None:
            if self.text[self.place :].strip():
                sign = self.text[self.place :].strip()[0]
                self.fail(f"{shown(sign)} is not part of a formula{'; a power is written **' if sign == '^' else ''}")
            return "", "", len(self.text)
        kind = ("number", "name", "quoted", "sign")[(found.lastindex or 1) - 1]
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
        left = self.text[self.place :]
        raise FormulaError(self.text, self.place + (len(left) - len(left.lstrip()) if left.strip() else 0), reason)

    def apply(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Return function(*operands); operands of wrong kinds are faults of the formula."""
        try:
            return function(*operands)
        except (TypeError, ModelError) as error:
            wrong = "operand type" in str(error) or "not supported between" in str(error)
            return self.fail("these cannot be combined" if wrong else str(error))

    def operate(self, sign: str, a: Any, b: Any) -> Any:
        """Return a sign b; tuples, which Python adds end to end, are no operands."""
        return self.apply(_OPERATORS[sign], *(object() if x.__class__ is tuple else x for x in (a, b)))

    def formula(self) -> Any:
        found = self.sum()
        if sign := self.take(*COMPARISONS):
            truth = self.operate(sign, found, self.sum())
            return float(truth) if truth.__class__ is bool else truth
        return found

    def sum(self) -> Any:
        found = self.product()
        while sign := self.take("+", "-"):
            found = self.operate(sign, found, self.product())
        return found

    def product(self) -> Any:
        found = self.factor()
        while sign := self.take("*", "/"):
            later = self.factor()
            if sign == "/" and later.__class__ is float and later == 0.0:
                self.fail("a division by zero")
            found = self.operate(sign, found, later)
        return found

    def factor(self) -> Any:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail("too many parentheses or signs inside each other")
        if sign := self.take("-", "+"):
            found = self.factor()
            found = self.apply(operator.neg, found) if sign == "-" else found
        else:
            found = self.part()
            if self.take("**"):
                found = self.operate("**", found, self.factor())
            if isinstance(found, complex):
                self.fail("a fractional power of a negative number")
        self.depth -= 1
        return found

    def part(self) -> Any:
        found = self.atom()
        while self.take("."):
            allowed = self.known.members.get(type(found), ())
            _, word, end = self.peek()
            if word not in allowed:
                known = f"known are {', '.join(allowed)}" if allowed else "it has none"
                self.fail(f"{shown(found)} has no part {word!r}; {known}")
            start, self.place = self.place, end
            found = getattr(found, word)
            if callable(found):
                if not self.take("("):
                    self.fail(f"( is missing after {word!r}")
                arguments = self.arguments()
                self.place, end = start, self.place
                found = self.apply(found, *arguments)
                self.place = end
        return found

    def atom(self) -> Any:
        kind, word, end = self.peek()
        if kind == "number":
            self.place = end
            return float(word)
        if kind in ("name", "quoted"):
            return self.named(word.replace("`", ""), end, quoted=kind == "quoted")
        if not self.take("("):
            self.fail(f"a number, a name or ( is missing{f' before {word!r}' if word else ' at the end'}")
        if self.peek()[1] == ")":
            self.fail("a formula is missing between ( and )")
        found = self.arguments()
        return found[0] if len(found) == 1 else tuple(found)

    def named(self, word: str, end: int, *, quoted: bool) -> Any:
        names = self.known.objects if self.text[end:].lstrip().startswith(".") else self.known.names
        if word in names or quoted or word not in RESERVED:
            if word not in names:
                if word in self.known.names:
                    self.fail(f"{word!r} has no parts; only bodies and points have")
                known = [*names, *(() if names is self.known.objects else KNOWN_FUNCTIONS)]
                close = difflib.get_close_matches(word, known, n=3)
                hint = f"did you mean {', '.join(close)}?" if close else f"known are {list_names(known, 30)}"
                self.fail(f"there is no {word!r}; {hint}")
            found = names[word]
            self.place = end
            return found
        self.place = end
        if word == "pi":
            return math.pi
        if not self.take("("):
            self.fail(f"( is missing after the function {word!r}")
        return self.apply(getattr(functions, word), *self.arguments())

    def arguments(self) -> list[Any]:
        """Return the values up to the closing parenthesis."""
        if self.take(")"):
            return []
        found = [self.formula()]
        while self.take(","):
            found.append(self.formula())
        self.close()
        return found

    def close(self) -> None:
        if not self.take(")"):
            self.fail(") is missing")


def read_formula(text: str, names: Mapping[str, Any] | Vocabulary) -> Any:
    """Return the expression of a formula; a formula without names gives a number.

    Args:
        text: numbers, names, the functions of kane (sin, sqrt, maximum, ...), pi, + - * / **, comparisons and
            parentheses. A name with other characters than letters, digits and _ is written between backquotes.
        names: expressions by name, or a vocabulary with objects, whose formulas can also be points and directions.

    Raises:
        FormulaError: a fault of the text, with its place, or an unknown name, with similar ones.
    """
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise ExpressionError(f"{shown(text)} is not a formula; give a text of at most {MOST_CHARACTERS} characters")
    reader = _FormulaReader(text, names if isinstance(names, Vocabulary) else Vocabulary(names))
    try:
        found = reader.formula()
    except (OverflowError, ZeroDivisionError) as error:
        reason = "a number in it is too large" if isinstance(error, OverflowError) else str(error)
        raise ExpressionError(f"the formula {shown(text)} has no value: {reason}") from None
    if reader.peek()[1]:
        reader.fail(f"{reader.peek()[1]!r} does not follow; an operator is missing")
    return found
