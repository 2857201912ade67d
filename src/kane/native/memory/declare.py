"""Declarations of memory: arrays with names and shapes, in regions that lie one behind the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# Kinds of arrays: doubles, 64-bit integers, and single integers that do not change during a call.
DOUBLES, INTEGERS, CONSTANT = "doubles", "integers", "constant"


@dataclass(frozen=True)
class Array:
    """One array of a region.

    Attributes:
        name: the field of the view.
        kind: DOUBLES, INTEGERS or CONSTANT.
        shape: products of named sizes, such as ("m", "n + 1"); () for a CONSTANT.
        unit: SI unit; "-" for numbers without a unit.
        writer: the module or program that writes the array.
        meaning: one line.
    """

    name: str
    kind: str
    shape: tuple[str, ...]
    unit: str
    writer: str
    meaning: str

    @property
    def length(self) -> str:
        """Number of doubles, as an expression of the sizes."""
        return " * ".join(bracketed(size) for size in self.shape) or "1"


@dataclass(frozen=True)
class Room:
    """Memory that a region reserves for another region, whose own sizes may be smaller at times.

    Attributes:
        name: the field of the view, an integer: where the reserved memory begins.
        region: the region that the memory is for.
        sizes: the largest sizes of that region, as expressions of the sizes of this one.
    """

    name: str
    region: Region
    sizes: tuple[str, ...]

    @property
    def length(self) -> str:
        """Number of doubles, as a call of the generated function."""
        return f"{self.region.function}_size({', '.join(self.sizes)})"


@dataclass(frozen=True)
class Region:
    """Arrays that lie one behind the other.

    Attributes:
        name: the class of the view.
        meaning: one line.
        sizes: names of the sizes on which the shapes depend.
        fields: the arrays, in the order in which they lie in memory.
        whole: whether the view has a field ``whole``, all doubles of the region: for outputs of programs.
    """

    name: str
    meaning: str
    sizes: tuple[str, ...]
    fields: tuple[Array | Room, ...]
    whole: bool = False

    @property
    def function(self) -> str:
        """Name of the region in the names of generated functions."""
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in self.name).lstrip("_")

    @property
    def arrays(self) -> Iterator[Array]:
        """The arrays without reserved memory."""
        return (field for field in self.fields if isinstance(field, Array))


def bracketed(size: str) -> str:
    """A size as a factor of a product."""
    return size if size.replace("_", "").isalnum() else f"({size})"
