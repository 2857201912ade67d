"""The contract that every exporter fulfils."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from kane.codegen.emit.source_names import identifier
from kane.codegen.programs.program import Program
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import program, quantity


class Exporter(ABC):
    """A language, and how equations are laid out in it."""

    def quantities(self, equations: Equations) -> tuple[str, ...]:
        """What is written unless something else is asked for."""
        return ("forward", "inverse", "kinematics")

    @abstractmethod
    def files(self, equations: Equations, quantities: Sequence[str]) -> Mapping[str, str]:
        """The files: plain name to text.

        Args:
            equations: of the model.
            quantities: names of programs such as "forward", "inverse", "mass_matrix", "jacobian NAME".

        Raises:
            ModelError: there is no such quantity.
        """


def file_stem(equations: Equations) -> str:
    """A file name made of the name of the model: ASCII letters, digits and underscores."""
    return identifier(equations.name or "model")


def programs_of(equations: Equations, quantities: Sequence[str]) -> list[Program]:
    """The straight-line program of every quantity."""
    return [program(equations, name) for name in quantities]


def names_of_outputs(equations: Equations, quantities: Sequence[str]) -> dict[str, Sequence[str]]:
    """What the outputs of every quantity are called."""
    return {name: tuple(quantity(equations, name).names) for name in quantities}
