"""Coherent SI units: text such as "N m/rad" to exponents of base units, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from kane.errors import ModelError, shown

# Exponents of base units, and of unknown units during inference; zero exponents are left out.
Dimension: TypeAlias = dict[Any, "int | Fraction"]

BASE_UNITS = ("kg", "m", "s", "A", "K", "mol", "cd")
# Words of unit texts; the radian and the steradian are dimensionless.
UNIT_WORDS: Mapping[str, Dimension] = {
    **{word: {word: 1} for word in BASE_UNITS},
    "1": {},
    "rad": {},
    "sr": {},
    "N": {"kg": 1, "m": 1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "Pa": {"kg": 1, "m": -1, "s": -2},
    "Hz": {"s": -1},
    "C": {"s": 1, "A": 1},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "F": {"kg": -1, "m": -2, "s": 4, "A": 2},
    "ohm": {"kg": 1, "m": 2, "s": -3, "A": -2},
    "T": {"kg": 1, "s": -2, "A": -1},
    "Wb": {"kg": 1, "m": 2, "s": -2, "A": -1},
    "H": {"kg": 1, "m": 2, "s": -2, "A": -2},
}
FACTOR = re.compile(r"\s*(?P<over>/?)\s*[*·]?\s*(?P<word>1|[A-Za-z]+)(?:(?:\^|\*\*)(?P<power>-?\d+(?:[./]\d+)?))?\s*")
_NEWTON: Dimension = {"kg": 1, "m": 1, "s": -2}


def read_unit(text: Any, what: str) -> Dimension:
    """Return the exponents of the base units of a text: "N m/rad", "kg m^2", "1"; "/" divides by the next word only.

    Raises:
        ModelError: the text is not a coherent SI unit; ``what`` names its owner in the message.
    """
    found: Dimension = {}
    place, rest = 0, text.strip() if isinstance(text, str) else ""
    while place < len(rest):
        factor = FACTOR.match(rest, place)
        if factor is None or factor["word"] not in UNIT_WORDS:
            break
        power = Fraction(factor["power"] or 1) * (-1 if factor["over"] else 1)
        found = multiplied(found, UNIT_WORDS[factor["word"]], power)
        place = factor.end()
    if place < len(rest) or not rest:
        raise ModelError(
            f'{what} is {shown(text)}, which is not an SI unit; write one without prefixes, such as "m", "kg m^2" or '
            f'"N s/m" (known are {", ".join(UNIT_WORDS)}), and give values in it'
        )
    return found


def multiplied(a: Mapping[Any, Any], b: Mapping[Any, Any], power: int | Fraction = 1) -> Dimension:
    """Return the exponents of a b^power."""
    found = dict(a)
    for word, exponent in b.items():
        total = found.get(word, 0) + exponent * power
        if total:
            found[word] = int(total) if total == int(total) else total
        else:
            found.pop(word, None)
    return found


def unit_text(dimension: Mapping[Any, Any]) -> str:
    """Return the text of a unit: "N s/m", "kg m^2", "1"; forces and loads are written in newtons."""
    left, words = dict(dimension), []
    if left.get("kg") == 1 and left.get("s", 0) < 0:
        left = multiplied(left, _NEWTON, -1)
        words.append(("N", 1))
    words += [(word, left[word]) for word in BASE_UNITS if word in left]
    over = "".join(f"/{_power(word, -power)}" for word, power in words if power < 0)
    return (" ".join(_power(word, power) for word, power in words if power > 0) or "1") + over


def _power(word: str, power: Any) -> str:
    return word if power == 1 else f"{word}^{power}"
