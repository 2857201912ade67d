"""Interface of all exporters."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from kane.codegen.emit.source_names import identifier, remark
from kane.codegen.programs.program import Program
from kane.formulation.derivatives.program_derivative import derivative, derivative_program
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import program, quantity

# Prefix of the names of quantities that are derivatives.
DERIVATIVES = "derivatives of "


# Beginning and end of comments by file suffix ("# " for other suffixes), and largest length of a line.
COMMENTS = {".c": ("/* ", " */"), ".h": ("/* ", " */"), ".mjs": ("// ", ""), ".tex": ("% ", "")}
REMARK_WIDTH = 110


def without(names: Sequence[str]) -> str:
    """Return the sentence that lists omitted constraints in exported files."""
    return f"Without contacts: these intermittent constraints are left out: {', '.join(names)}."


class Exporter(ABC):
    """Exporter of equations to files in one language."""

    def quantities(self, equations: Equations) -> tuple[str, ...]:
        """Return the names of the quantities that are exported by default."""
        return ("forward", "inverse", "kinematics")

    def comment(self, file: str, text: str) -> str:
        """Return a text as comment lines for the top of a file, in the language of the file's suffix."""
        begin, end = COMMENTS.get(PurePosixPath(file).suffix, ("# ", ""))
        return "".join(f"{begin}{line}{end}\n" for line in textwrap.wrap(remark(text), REMARK_WIDTH))

    @abstractmethod
    def files(self, equations: Equations, quantities: Sequence[str]) -> Mapping[str, str]:
        """Return the texts of the files, by file name.

        Args:
            equations: equations of the model.
            quantities: names of quantities, such as "forward", "inverse", "mass_matrix", "jacobian NAME".

        Raises:
            ModelError: a quantity is unknown.
        """


def file_stem(equations: Equations) -> str:
    """Return a file name without suffix from the name of the model, with ASCII letters, digits and underscores."""
    return identifier(equations.name or "model")


def programs_of(equations: Equations, quantities: Sequence[str]) -> list[Program]:
    """Return the straight-line program of every quantity."""
    return [_named(equations, name)[0] for name in quantities]


def names_of_outputs(equations: Equations, quantities: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the names of the outputs of every program, by program name."""
    found = (_named(equations, name) for name in quantities)
    return {made.name: names for made, names in found}


def _named(equations: Equations, name: str) -> tuple[Program, tuple[str, ...]]:
    """Return a program with the names of its outputs; for "derivatives of forward by q, u", values come first."""
    if not name.startswith(DERIVATIVES):
        return program(equations, name), tuple(quantity(equations, name).names)
    of, _, varied = name.removeprefix(DERIVATIVES).partition(" by ")
    found = derivative(equations, of, [word.strip() for word in varied.split(",")])
    return derivative_program(equations, found), tuple(found.quantity.names)
