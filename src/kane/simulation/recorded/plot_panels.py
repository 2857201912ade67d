"""What the picture of a trajectory shows, and which lines share a panel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.model.named_vector import position

LINES, MANY = 20, 60  # in a panel; more than MANY of one unit and size are in one, for which no legend has room
UNEQUAL = 20.0  # a line that many times smaller than another would look flat beside it
NOISE = 1e-12  # of the largest value in the same unit, or of 1 where that is larger: nothing but rounding


@dataclass(frozen=True, eq=False)
class PlottedQuantity:
    """One line.

    Attributes:
        name: by which a user chooses it.
        kind, unit: what the axis says.
        values: over time, (times,).
        title: what the legend says.
    """

    name: str
    kind: str
    unit: str
    values: Any
    title: str

    @property
    def axis(self) -> str:
        """The label of the axis."""
        return f"{self.kind} [{self.unit}]"

    @property
    def size(self) -> float:
        """The largest absolute value."""
        return float(np.nanmax(np.abs(self.values), initial=0.0))


Panel = Sequence[PlottedQuantity]


# The dimension and the units of each variable; of inputs only the author of the model knows the unit.
VARIABLES = {
    "q": ("coordinate", "coordinate_units"),
    "u": ("speed", "speed_units"),
    "forces": ("speed", "force_units"),
    "inputs": ("input", ""),
}


def quantities(dataset: Any, variable: str) -> list[PlottedQuantity]:
    """The columns of a variable of a run; of "energy" kinetic, potential and total."""
    if variable == "energy":
        return _energies(dataset)
    dimension, units = VARIABLES[variable]
    names, columns = [str(name) for name in dataset[dimension].to_numpy()], dataset[variable].to_numpy().T
    words = [str(unit) for unit in dataset[units].to_numpy()] if units else ["SI units"] * len(names)
    kinds = ["quaternion" if unit == "1" else variable for unit in words]
    return [PlottedQuantity(n, k, u, x, n) for n, k, u, x in zip(names, kinds, words, columns, strict=True)]


def _energies(dataset: Any) -> list[PlottedQuantity]:
    kinetic, potential = (dataset[name].to_numpy() for name in ("kinetic_energy", "potential_energy"))
    found = {"kinetic_energy": kinetic, "potential_energy": potential, "energy": kinetic + potential}
    titles = ("kinetic", "potential", "total")
    return [
        PlottedQuantity(name, "energy", "J", x, title) for (name, x), title in zip(found.items(), titles, strict=True)
    ]


def named(known: Sequence[PlottedQuantity], names: Sequence[str]) -> list[PlottedQuantity]:
    """The quantities of these names.

    Raises:
        ModelError: there is none of a name.
    """
    words = [x.name for x in known]
    return [known[position(name, words, "coordinate, speed, input or energy")] for name in names]


def silent(shown: Sequence[PlottedQuantity]) -> list[PlottedQuantity]:
    """Those that are zero but for rounding."""
    largest: dict[str, float] = {}
    for x in shown:
        largest[x.axis] = max(largest.get(x.axis, 1.0), x.size)
    return [x for x in shown if x.size <= NOISE * largest[x.axis]]


def panels(shown: Sequence[PlottedQuantity]) -> list[Panel]:
    """Those of one unit together, as far as their sizes allow, the largest first."""
    groups: dict[str, list[PlottedQuantity]] = {}
    for x in shown:
        groups.setdefault(x.axis, []).append(x)
    return [panel for group in groups.values() for panel in _divided(group)]


def _divided(group: list[PlottedQuantity]) -> Iterator[Panel]:
    while group:
        largest = max(x.size for x in group)
        alike = [x for x in group if x.size * UNEQUAL >= largest]
        count = len(alike) if len(alike) > MANY else LINES
        yield from (alike[k : k + count] for k in range(0, len(alike), count))
        group = [x for x in group if x not in alike]
