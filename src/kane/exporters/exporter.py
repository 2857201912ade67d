"""The contract that every exporter fulfils."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from kane.codegen.emit.source_names import identifier, remark
from kane.codegen.programs.program import Program
from kane.formulation.derivatives.derivative import derivative, derivative_program
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import program, quantity

# What names of derivatives begin with.
DERIVATIVES = "derivatives of "


# Beginning and end of comments by suffix of the file, "# " for other suffixes; largest length of a line.
COMMENTS = {".c": ("/* ", " */"), ".h": ("/* ", " */"), ".mjs": ("// ", ""), ".tex": ("% ", "")}
WIDTH = 110


def without(names: Sequence[str]) -> str:
    """Return the sentence by which files say that constraints are left out."""
    return f"Without contacts: these constraints that come and go are left out: {', '.join(names)}."


class Exporter(ABC):
    """A language, and how equations are laid out in it."""

    def quantities(self, equations: Equations) -> tuple[str, ...]:
        """What is written unless something else is asked for."""
        return ("forward", "inverse", "kinematics")

    def comment(self, file: str, text: str) -> str:
        """A text as comment lines for the top of a file, in the language that the name of the file ends with."""
        begin, end = COMMENTS.get(PurePosixPath(file).suffix, ("# ", ""))
        return "".join(f"{begin}{line}{end}\n" for line in textwrap.wrap(remark(text), WIDTH))

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
    return [_named(equations, name)[0] for name in quantities]


def names_of_outputs(equations: Equations, quantities: Sequence[str]) -> dict[str, Sequence[str]]:
    """What the outputs of every program are called."""
    found = (_named(equations, name) for name in quantities)
    return {made.name: names for made, names in found}


def _named(equations: Equations, name: str) -> tuple[Program, tuple[str, ...]]:
    """A program with the names of its outputs; "derivatives of forward by q, u" has the values first."""
    if not name.startswith(DERIVATIVES):
        return program(equations, name), tuple(quantity(equations, name).names)
    of, _, varied = name.removeprefix(DERIVATIVES).partition(" by ")
    found = derivative(equations, of, [word.strip() for word in varied.split(",")])
    return derivative_program(equations, found), tuple(found.quantity.names)
