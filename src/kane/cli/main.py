"""The program ``kane``: its commands, and what an error looks like."""

from __future__ import annotations

from typing import Annotated, Any

import typer
import typer.core
from rich.console import Console
from rich.text import Text

import kane
from kane.cli.bench import bench
from kane.cli.check import check
from kane.cli.count import count
from kane.cli.export import export
from kane.cli.haptic import haptic
from kane.cli.run import run
from kane.cli.view import view
from kane.errors import KaneError


class Commands(typer.core.TyperGroup):
    """The commands; an error that kane raises on purpose is one message and exit status 1, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command of the context."""
        try:
            return super().invoke(ctx)
        except (KaneError, OSError) as error:
            Console(stderr=True, soft_wrap=True).print(Text(f"kane: {error}"))
            raise typer.Exit(1) from None


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False)
app.command()(run)
app.command()(count)
app.command()(check)
app.command()(export)
app.command()(bench)
app.command()(view)
app.command()(haptic)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kane {kane.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Multibody dynamics by Kane's method.

    MODEL is the path of a URDF or MJCF file, or of one that kane.save_model wrote (.json); of a Python file that
    defines `model`, a kane.Model or a function that returns one (the file is executed); a reference model:
    stanford_arm, chain:6; or a robot of the package example-robot-data: ur5, panda.

    Exit status: 0 done, 1 an error that the message explains or a certificate that fails, 2 wrong usage.
    """


if __name__ == "__main__":
    app()
