"""Start of the program ``kane``, which prints its help and its version itself."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec

import kane
from kane.cli.help_page import help_page


def start() -> None:
    """Run the command of the command line."""
    arguments = sys.argv[1:]
    if arguments == ["--help"]:
        sys.stdout.write(f"{help_page(shutil.get_terminal_size().columns)}\n")
    elif arguments == ["--version"]:
        sys.stdout.write(f"kane {kane.__version__}\n")
    else:
        if find_spec("typer") is None:
            from kane.errors import pip_install

            sys.exit(f"kane: the commands need the package typer; {pip_install('cli')}")
        from kane.cli.main import app

        app(prog_name="kane")
