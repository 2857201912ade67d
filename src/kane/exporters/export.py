"""export: equations written into a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kane.errors import ModelError, shown
from kane.exporters.exporter import Exporter
from kane.expression.arguments import words
from kane.files.given_path import given_path
from kane.files.write_file import made_folder, write_whole
from kane.formulation.equations import Equations


def export(
    equations: Equations,
    folder: str | os.PathLike[str],
    exporter: Exporter,
    *,
    quantities: Sequence[str] | None = None,
) -> list[Path]:
    """Write equations as source code or a document of another language.

        kane.export(eqs, "out/arm", kane.CSource(), quantities=["forward", "mass_matrix"])

    Args:
        equations: what ``kane.formulate(model)`` returns.
        folder: where to write; made if it is not there. Files of the same names are replaced.
        exporter: ``kane.CSource()``, ``kane.NumPySource()``, ``kane.JAXSource()``, ``kane.JavaScriptSource()``,
            ``kane.LaTeXDocument()`` or ``kane.Listing()``.
        quantities: what to write: "rhs", "forward", "inverse", "kinematics", "mass_matrix", "bias", "input_matrix",
            "energy", "momentum", "poses", "jacobian NAME", "coriolis_matrix", "gravity_vector", "derivatives of
            forward by q, u, inputs" (as source code: values, then the entries that are not zero); what the exporter
            thinks useful unless given.

    Returns:
        The paths of the files.

    Raises:
        ModelError: an argument is not what it should be, or there is no such quantity.
        FileError: the folder cannot be written.
    """
    if not isinstance(equations, Equations):
        raise ModelError(f"export takes Equations, which kane.formulate(model) returns, not {shown(equations)}")
    if not isinstance(exporter, Exporter):
        raise ModelError(f"{shown(exporter)} is no exporter; give one such as kane.CSource()")
    target = given_path(folder, "the folder of an export")
    names = exporter.quantities(equations) if quantities is None else words(quantities, "quantities=", "names")
    files = exporter.files(equations, tuple(dict.fromkeys(names)))
    made = made_folder(target)
    for name, text in files.items():
        write_whole(made / name, partial(Path.write_text, data=text, encoding="utf-8"))
    return [made / name for name in files]
