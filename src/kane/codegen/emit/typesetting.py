"""Options of listings and LaTeX: digits of constants, other names of leaves, and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from kane.errors import ModelError
from kane.expression.number_arguments import require, text, whole

# Suffixes that a name keeps if its stem gets another name: theta_dot for q1_dot, theta' for q1'.
DERIVATIVE_SUFFIXES = ("'", "_dot")
MOST_DIGITS = 17


@dataclass(frozen=True)
class Typesetting:
    """Options of a listing or of LaTeX.

    Attributes:
        digits: significant digits of constants, 1 to 17.
        names: other names of coordinates, speeds, inputs and parameters, or of outputs, such as {"q1": "theta"}; LaTeX
            takes symbols, {"q1": r"\\theta"}. Derivatives follow: theta' for q1', theta_dot for q1_dot.
        columns: number of equations in a line.
    """

    digits: int = 12
    names: Mapping[str, str] = field(default_factory=dict)
    columns: int = 1

    def __post_init__(self) -> None:
        if whole(self.digits, "digits", 1) > MOST_DIGITS:
            raise ModelError(f"digits is {self.digits}; a double has no more than {MOST_DIGITS}")
        whole(self.columns, "columns", 1)
        require(self.names, Mapping, 'give other names as a dictionary such as {"q1": "theta"}')
        for name, other in self.names.items():
            if not text(other, f"the other name of {name!r}"):
                raise ModelError(f"the other name of {name!r} is empty; give a text, or leave it out")

    def name(self, name: str) -> str:
        """Return the written name of a leaf or output in a listing."""
        stem, suffix = self.split(name)
        return self.names.get(stem, stem) + suffix

    def split(self, name: str) -> tuple[str, str]:
        """Return the longest beginning of a name that has another name, and the suffixes after it."""
        stem = name
        while stem not in self.names:
            suffix = next((s for s in DERIVATIVE_SUFFIXES if stem.endswith(s) and stem != s), None)
            if suffix is None:
                return name, ""
            stem = stem.removesuffix(suffix)
        return stem, name[len(stem) :]

    def number(self, size: float) -> str:
        """Return the magnitude of a constant."""
        return f"{size:.{self.digits}g}"

    def rows(self, lines: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the lines in rows of ``columns``, from left to right."""
        return list(zip_longest(*[iter(lines)] * self.columns, fillvalue=""))

    def require_names(self, known: Sequence[str]) -> None:
        """Raise unless each of ``names`` belongs to a known name and no two known names become one.

        Raises:
            ModelError: an unknown name, or a name that is given to two.
        """
        unknown = [name for name in self.names if name not in known]
        if unknown:
            raise ModelError(f"there is no {unknown[0]!r} to write otherwise; the names are {', '.join(known)}")
        owners: dict[str, str] = {}
        for name in known:
            owner = owners.setdefault(self.name(name), name)
            if owner != name:
                raise ModelError(f"{owner!r} and {name!r} would both be written {self.name(name)!r}; give two names")

    def require_identifiers(self) -> None:
        """Raise unless all other names can be typed.

        Raises:
            ModelError: a name is not an identifier.
        """
        for name, other in self.names.items():
            if not other.isidentifier():
                raise ModelError(f"the other name {other!r} of {name!r} is not an identifier; listings need one")


PLAIN = Typesetting()
