"""Equations as an analyst would read them, in one text file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kane.exporters.exporter import Exporter, file_stem
from kane.formulation.equations import Equations


@dataclass(frozen=True)
class Listing(Exporter):
    """One text file: Z1 = ..., Z2 = ..., then the outputs, of every quantity."""

    def files(self, equations: Equations, quantities: Sequence[str]) -> Mapping[str, str]:
        parts = [f"{name}\n{'-' * len(name)}\n{equations.listing(name)}" for name in quantities]
        return {f"{file_stem(equations)}.txt": "\n".join(parts)}
