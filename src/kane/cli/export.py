"""kane export: the equations of a model as source code or a document."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import kane
from kane.cli.model_argument import Base, BaseOption, ModelArgument, read_model
from kane.exporters.exporter import Exporter


class Language(StrEnum):
    """Output formats for equations."""

    c = "c"
    numpy = "numpy"
    jax = "jax"
    javascript = "javascript"
    latex = "latex"
    listing = "listing"


EXPORTERS: dict[Language, type[Exporter]] = {
    Language.c: kane.CSource,
    Language.numpy: kane.NumPySource,
    Language.jax: kane.JAXSource,
    Language.javascript: kane.JavaScriptSource,
    Language.latex: kane.LaTeXDocument,
    Language.listing: kane.Listing,
}


def export_command(
    model: ModelArgument,
    *,
    to: Annotated[Language, typer.Option(help="The language.")],
    out: Annotated[Path, typer.Option(help="Folder for the files; created if it does not exist.")] = Path("out"),
    quantity: Annotated[
        list[str] | None,
        typer.Option(help="What to write: forward, inverse, mass_matrix, bias, ...; may be given several times."),
    ] = None,
    without_contacts: Annotated[
        bool, typer.Option("--without-contacts", help="Leave out intermittent constraints; every file states this.")
    ] = False,
    base: BaseOption = Base.fixed,
) -> None:
    """Write the equations of MODEL as C with a CMake project, NumPy, JAX, JavaScript, a LaTeX document or a listing."""
    equations = kane.formulate(read_model(model, base))
    written = kane.export(
        equations, out, EXPORTERS[to](), quantities=quantity or None, without_contacts=without_contacts
    )
    for path in written:
        typer.echo(path)
