"""Declarations of memory: a region is a sequence of arrays with name, shape, unit, writer and meaning.

``generate`` derives offsets, views and docs/memory.md from the declarations. No other code computes an offset.
"""

from __future__ import annotations

from collections.abc import Iterator

from kane.deferred import dataclass

# Kinds of arrays: doubles, 64-bit integers, and single integers that do not change during a call.
DOUBLES, INTEGERS, CONSTANT = "doubles", "integers", "constant"
# Size of a last array that extends to the end of the memory, which must then be an array and not a pointer.
REST = "rest"

# Names of sizes and their meanings.
SIZES = {
    "m": "rows of all constraints, permanent and intermittent",
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
    "guards": "guards of a mode",
    "least": "numbers of ``Projection.least``",
    REST: "doubles up to the end of the memory",
    "waiting": "commands of a simulated device that do not act yet",
}
# Compiled programs that write arrays. All other writers are files of the package.
PROGRAMS = (
    "constraints",
    "configuration",
    "unconstrained",
    "gaps",
    "factor",
    "solution",
    "programs of rows",
    "programs of friction",
    "programs of velocities",
    "guards of a mode",
    "residuals of a mode",
    "step of a mode",
    "projection of a mode",
    "step of a selection",
    "consequences of a selection",
)


@dataclass(frozen=True)
class MemoryArray:
    """One array of a region.

    Attributes:
        name: the field of the view.
        kind: DOUBLES, INTEGERS or CONSTANT.
        shape: products of named sizes, such as ("m", "n + 1"); () for a CONSTANT, (REST,) for the rest of the memory.
        unit: SI unit; "-" for numbers without a unit.
        writer: names of the files or of the PROGRAMS that write the array.
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
        """Return the number of doubles as an expression of the sizes; 0 for a REST."""
        return "0" if REST in self.shape else " * ".join(bracketed(size) for size in self.shape) or "1"


@dataclass(frozen=True)
class Room:
    """Memory that a region reserves for another region, whose actual sizes may be smaller.

    Attributes:
        name: the field of the view, an integer: offset of the reserved memory.
        region: region that uses the memory.
        sizes: largest sizes of this region, as expressions of the sizes of the enclosing region.
    """

    name: str
    region: MemoryRegion
    sizes: tuple[str, ...]

    @property
    def length(self) -> str:
        """Return the number of doubles as a call of the generated function."""
        return f"{self.region.function}_size({', '.join(self.sizes)})"


@dataclass(frozen=True)
class MemoryRegion:
    """Sequence of arrays in contiguous memory.

    Attributes:
        name: the class of the view.
        meaning: one line.
        sizes: names of the sizes on which the shapes depend.
        fields: the arrays, in the order of memory.
        whole: whether the view has a field ``whole`` with all doubles of the region, for outputs of programs.
    """

    name: str
    meaning: str
    sizes: tuple[str, ...]
    fields: tuple[MemoryArray | Room, ...]
    whole: bool = False

    @property
    def function(self) -> str:
        """Return the name of the region in generated functions."""
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in self.name).lstrip("_")

    @property
    def arrays(self) -> Iterator[MemoryArray]:
        """Yield the arrays, but no reserved memory."""
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
    """Return a size as a factor of a product."""
    return size if size.replace("_", "").isalnum() else f"({size})"
