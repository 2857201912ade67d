"""export: equations written into a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kane.errors import ModelError, listed, shown
from kane.exporters.exporter import Exporter, without
from kane.expression.arguments import require, words
from kane.files.given_path import given_path
from kane.files.write_file import made_folder, write_whole
from kane.formulation.equations import Equations
from kane.model.contacts.candidate import declared_name


def export(
    equations: Equations,
    folder: str | os.PathLike[str],
    exporter: Exporter,
    *,
    quantities: Sequence[str] | None = None,
    without_contacts: bool = False,
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
        without_contacts: whether to export the motion without the contacts, stops, sticks, latches and switches of the
            model, which exported equations do not have; every file then names them in its first lines.

    Returns:
        The paths of the files.

    Raises:
        ModelError: an argument is not what it should be, there is no such quantity, or the model has constraints that
            come and go.
        FileError: the folder cannot be written.
    """
    if not isinstance(equations, Equations):
        raise ModelError(f"export takes Equations, which kane.formulate(model) returns, not {shown(equations)}")
    if not isinstance(exporter, Exporter):
        raise ModelError(f"{shown(exporter)} is no exporter; give one such as kane.CSource()")
    require(without_contacts, bool, "without_contacts= is True or False")
    left_out = list(dict.fromkeys(map(declared_name, equations.candidates)))
    if left_out and not without_contacts:
        raise ModelError(
            f"{equations.name!r} has constraints that come and go, which exported equations do not have: "
            f"{listed(left_out)}; without_contacts=True (kane export --without-contacts) leaves them out and says so "
            "in every file"
        )
    target = given_path(folder, "the folder of an export")
    names = exporter.quantities(equations) if quantities is None else words(quantities, "quantities=", "names")
    files = exporter.files(equations, tuple(dict.fromkeys(names)))
    made = made_folder(target)
    for name, text in files.items():
        data = exporter.comment(name, without(left_out)) + text if left_out else text
        write_whole(made / name, partial(Path.write_text, data=data, encoding="utf-8"))
    return [made / name for name in files]
