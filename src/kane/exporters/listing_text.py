"""Exporter of equations as readable text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kane.codegen.emit.typesetting import Typesetting
from kane.errors import ModelError
from kane.exporters.exporter import Exporter, file_stem
from kane.formulation.equations import Equations
from kane.formulation.quantities.written import written_listing
from kane.formulation.units.inferred_units import units


@dataclass(frozen=True)
class Listing(Exporter):
    """Exporter of one text file: units, then intermediates Z1 = ..., Z2 = ... and the outputs of every quantity.

    Attributes:
        digits, names, columns: options of ``Equations.listing``.
    """

    digits: int = 12
    names: Mapping[str, str] = field(default_factory=dict)
    columns: int = 1

    def files(self, equations: Equations, quantities: Sequence[str]) -> Mapping[str, str]:
        parts = [_units(equations)]
        style = Typesetting(self.digits, self.names, self.columns)
        parts += [f"{name}\n{'-' * len(name)}\n{written_listing(equations, name, style)}" for name in quantities]
        return {f"{file_stem(equations)}.txt": "\n".join(parts)}


def _units(equations: Equations) -> str:
    """Return the table of units; the contradiction if there is one, because the listing itself is valid."""
    try:
        return f"{units(equations)!r}\n"
    except ModelError as error:
        return f"units of {equations.name!r} contradict each other\n  {error}\n"
