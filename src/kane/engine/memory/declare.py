"""Declarations of memory: arrays with names and shapes, in regions that lie one behind the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# Kinds of arrays: doubles, 64-bit integers, and single integers that do not change during a call.
DOUBLES, INTEGERS, CONSTANT = "doubles", "integers", "constant"


# Meaning of the names of sizes.
SIZES = {
    "m": "rows of constraints, those of intermittent constraints included",
    "n": "generalized speeds",
    "nq": "coordinates",
    "nx": "entries of the state [q, u]",
    "p": "residuals of the configuration",
    "nc": "intermittent constraints",
    "k": "blocks of a problem of reactions",
    "fronts": "fronts of the elimination of closed loops",
    "quaternions": "unit quaternions in q",
    "own": "the joints' own speeds",
    "entries": "nonzero entries of L below its diagonal",
    "shared": "numbers that programs of rows share with the factor of M",
    "room": "numbers of the records of all rows",
    "most": "rows of the largest compiled solution",
    "columns": "columns in the record of a row",
    "inputs": "inputs of the model",
    "digits": "numbers that describe lost digits",
    "waiting": "commands of a simulated device that do not act yet",
}


@dataclass(frozen=True)
class MemoryArray:
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
    region: MemoryRegion
    sizes: tuple[str, ...]

    @property
    def length(self) -> str:
        """Number of doubles, as a call of the generated function."""
        return f"{self.region.function}_size({', '.join(self.sizes)})"


@dataclass(frozen=True)
class MemoryRegion:
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
    fields: tuple[MemoryArray | Room, ...]
    whole: bool = False

    @property
    def function(self) -> str:
        """Name of the region in the names of generated functions."""
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in self.name).lstrip("_")

    @property
    def arrays(self) -> Iterator[MemoryArray]:
        """The arrays without reserved memory."""
        return (field for field in self.fields if isinstance(field, MemoryArray))


def real(name: str, shape: tuple[str, ...], unit: str, writer: str, meaning: str) -> MemoryArray:
    """Return a field of doubles."""
    return MemoryArray(name, DOUBLES, shape, unit, writer, meaning)


def integer(name: str, shape: tuple[str, ...], writer: str, meaning: str) -> MemoryArray:
    """Return a field of 64-bit integers."""
    return MemoryArray(name, INTEGERS, shape, "-", writer, meaning)


def constant(name: str, writer: str, meaning: str) -> MemoryArray:
    """Return a field of one integer that does not change during a call."""
    return MemoryArray(name, CONSTANT, (), "-", writer, meaning)


def bracketed(size: str) -> str:
    """A size as a factor of a product."""
    return size if size.replace("_", "").isalnum() else f"({size})"
