"""Write equations into a folder with an exporter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kane.errors import ModelError, list_names, shown
from kane.exporters.exporter import Exporter, without
from kane.expression.number_arguments import require, words
from kane.files.given_path import given_path
from kane.files.write_file import made_folder, write_whole
from kane.formulation.equations import Equations
from kane.model.contacts.intermittent_constraint import declared_name


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
        equations: equations from ``kane.formulate(model)``.
        folder: target folder, created if necessary. Files of the same names are replaced.
        exporter: ``kane.CSource()``, ``kane.NumPySource()``, ``kane.JAXSource()``, ``kane.JavaScriptSource()``,
            ``kane.LaTeXDocument()`` or ``kane.Listing()``.
        quantities: names of quantities: "rhs", "forward", "inverse", "kinematics", "mass_matrix", "bias",
            "input_matrix", "energy", "momentum", "poses", "jacobian NAME", "coriolis_matrix", "gravity_vector",
            "derivatives of forward by q, u, inputs" (as source code: values, then the nonzero entries). The default
            depends on the exporter.
        without_contacts: whether to export the motion without the model's contacts, stops, sticks, latches and
            switches, which exported equations cannot have. Every file then lists them in its first lines.

    Returns:
        The paths of the files.

    Raises:
        ModelError: an argument is invalid, a quantity is unknown, or the model has intermittent constraints and
            ``without_contacts`` is False.
        FileError: the folder cannot be written.
    """
    require(equations, Equations, "export takes Equations, which kane.formulate(model) returns")
    if not isinstance(exporter, Exporter):
        raise ModelError(f"{shown(exporter)} is not an exporter; give one such as kane.CSource()")
    require(without_contacts, bool, "without_contacts= is True or False")
    left_out = list(dict.fromkeys(map(declared_name, equations.intermittents)))
    if left_out and not without_contacts:
        raise ModelError(
            f"{equations.name!r} has intermittent constraints, which cannot be exported: {list_names(left_out)}; "
            "without_contacts=True (kane export --without-contacts) leaves them out and lists them in every file"
        )
    target = given_path(folder, "the folder of an export")
    names = exporter.quantities(equations) if quantities is None else words(quantities, "quantities=", "names")
    files = exporter.files(equations, tuple(dict.fromkeys(names)))
    made = made_folder(target)
    for name, text in files.items():
        data = exporter.comment(name, without(left_out)) + text if left_out else text
        write_whole(made / name, partial(Path.write_text, data=data, encoding="utf-8"))
    return [made / name for name in files]
