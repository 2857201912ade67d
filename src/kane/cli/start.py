"""Start of the program ``kane``, which prints its help and its version itself."""

from __future__ import annotations

import shutil
import sys

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
        from kane.cli.main import app

        app(prog_name="kane")
