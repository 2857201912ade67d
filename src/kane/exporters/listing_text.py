"""Exporter of equations as readable text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kane.deferred import dataclass
from kane.exporters.exporter import Exporter, file_stem
from kane.formulation.equations import Equations


@dataclass(frozen=True)
class Listing(Exporter):
    """Exporter of one text file with intermediates Z1 = ..., Z2 = ..., then the outputs, for every quantity."""

    def files(self, equations: Equations, quantities: Sequence[str]) -> Mapping[str, str]:
        parts = [f"{name}\n{'-' * len(name)}\n{equations.listing(name)}" for name in quantities]
        return {f"{file_stem(equations)}.txt": "\n".join(parts)}
