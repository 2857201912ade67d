"""The program ``kane``: its commands and its error output."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
import typer.core
import typer.main
from rich.console import Console
from rich.markup import escape
from rich.text import Text

import kane
from kane.cli.help_page import DESCRIPTION, OPTIONS, SUMMARIES
from kane.errors import KaneError

CLI_COMMANDS = tuple(SUMMARIES)


class Commands(typer.core.TyperGroup):
    """Commands of kane; errors that kane raises on purpose print one message, without a traceback, exit status 1."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*CLI_COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of this name; None if the name is unknown."""
        if cmd_name in CLI_COMMANDS and cmd_name not in self.commands:
            alone = typer.Typer(add_completion=False)
            alone.command(cmd_name)(getattr(import_module(f"kane.cli.{cmd_name}"), f"{cmd_name}_command"))
            self.commands[cmd_name] = _as_written(typer.main.get_command(alone))
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run the command of the context."""
        try:
            return super().invoke(ctx)
        except (KaneError, OSError) as error:
            Console(stderr=True, soft_wrap=True).print(Text(f"kane: {error}"))
            raise typer.Exit(1) from None


def _as_written(command: Any) -> Any:
    """Return the command with escaped help texts, so that rich does not read [s] as markup."""
    if command.rich_markup_mode == "rich":
        for part in (command, *command.params):
            part.help = part.help and escape(part.help)
    return command


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kane {kane.__version__}")
        raise typer.Exit


@app.callback(help=DESCRIPTION)
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help=OPTIONS["--version"])
    ] = False,
) -> None:
    """Read the options of the program."""


if __name__ == "__main__":
    app()
