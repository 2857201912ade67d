"""Quantities of a trajectory plot, and their distribution over panels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.model.named_vector import index_of_name

# Lines per panel; more than MANY_SIMILAR_LINES similar lines share one panel, without a legend.
LINES_PER_PANEL, MANY_SIMILAR_LINES = 20, 60
UNEQUAL = 20.0  # size ratio of two lines above which the smaller one would look flat
NOISE = 1e-12  # values below this are rounding, relative to the largest value of the same unit, or to 1 if larger


@dataclass(frozen=True, eq=False)
class PlottedQuantity:
    """Line of a plot.

    Attributes:
        name: name by which a user selects it.
        kind, unit: label of the axis.
        values: over time, (times,).
        title: text in the legend.
    """

    name: str
    kind: str
    unit: str
    values: Any
    title: str

    @property
    def axis(self) -> str:
        """Label of the axis."""
        return f"{self.kind} [{self.unit}]"

    @property
    def size(self) -> float:
        """Largest absolute value."""
        return float(np.nanmax(np.abs(self.values), initial=0.0))


Panel = Sequence[PlottedQuantity]


# Dimension and units of each variable; the units of inputs are known only to the author of the model.
VARIABLES = {
    "q": ("coordinate", "coordinate_units"),
    "u": ("speed", "speed_units"),
    "forces": ("speed", "force_units"),
    "inputs": ("input", ""),
}


def quantities(dataset: Any, variable: str) -> list[PlottedQuantity]:
    """Return the columns of a variable of a run; for "energy": kinetic, potential and total."""
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
    """Return the quantities with these names.

    Raises:
        ModelError: a name is unknown.
    """
    words = [x.name for x in known]
    return [known[index_of_name(name, words, "coordinate, speed, input or energy")] for name in names]


def silent(shown: Sequence[PlottedQuantity]) -> list[PlottedQuantity]:
    """Return the quantities that are zero up to rounding."""
    largest: dict[str, float] = {}
    for x in shown:
        largest[x.axis] = max(largest.get(x.axis, 1.0), x.size)
    return [x for x in shown if x.size <= NOISE * largest[x.axis]]


def panels(shown: Sequence[PlottedQuantity]) -> list[Panel]:
    """Group quantities of the same unit and of similar size into panels, the largest first."""
    groups: dict[str, list[PlottedQuantity]] = {}
    for x in shown:
        groups.setdefault(x.axis, []).append(x)
    return [panel for group in groups.values() for panel in _divided(group)]


def _divided(group: list[PlottedQuantity]) -> Iterator[Panel]:
    while group:
        largest = max(x.size for x in group)
        alike = [x for x in group if x.size * UNEQUAL >= largest]
        count = len(alike) if len(alike) > MANY_SIMILAR_LINES else LINES_PER_PANEL
        yield from (alike[k : k + count] for k in range(0, len(alike), count))
        group = [x for x in group if x not in alike]
