"""Exporter of equations as readable text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kane.errors import ModelError
from kane.exporters.exporter import Exporter, file_stem
from kane.formulation.equations import Equations
from kane.formulation.units.inferred_units import units


@dataclass(frozen=True)
class Listing(Exporter):
    """Exporter of one text file: units, then intermediates Z1 = ..., Z2 = ... and the outputs of every quantity."""

    def files(self, equations: Equations, quantities: Sequence[str]) -> Mapping[str, str]:
        parts = [_units(equations)]
        parts += [f"{name}\n{'-' * len(name)}\n{equations.listing(name)}" for name in quantities]
        return {f"{file_stem(equations)}.txt": "\n".join(parts)}


def _units(equations: Equations) -> str:
    """Return the table of units; the contradiction if there is one, because the listing itself is valid."""
    try:
        return f"{units(equations)!r}\n"
    except ModelError as error:
        return f"units of {equations.name!r} contradict each other\n  {error}\n"
