"""kane diff: differences of two saved models or equations."""

from __future__ import annotations

from typing import Annotated

import typer

import kane
from kane.errors import KaneError


def diff_command(
    a: Annotated[str, typer.Argument(metavar="A", help="A file of kane.save_model or kane.save_equations.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The file to compare with A.")],
) -> None:
    """Print the differences of two saved models or equations; the exit status is 0 if they are the same.

    Exit status: 0 the same, 1 different, 2 a file that cannot be read.
    """
    try:
        found = kane.compare(a, b)
    except (KaneError, OSError) as error:
        typer.echo(f"kane: {error}", err=True)
        raise typer.Exit(2) from None
    typer.echo(repr(found))
    raise typer.Exit(0 if found.same else 1)
