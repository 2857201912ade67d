"""kane bench: speed and operation counts compared with other libraries, by the benchmarks of a source checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

import kane
from kane.errors import KaneError


def bench_command(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions and smaller models.")] = False,
    only: Annotated[str | None, typer.Option(help="One table instead of all.")] = None,
) -> None:
    """Compare speed and operation counts with other libraries (in a source checkout)."""
    root = Path(kane.__file__).resolve().parents[2]
    if not (root / "benchmarks" / "__main__.py").is_file():
        raise KaneError(
            f"there are no benchmarks in {root}; run `kane bench` in a source checkout, with the other libraries "
            "installed by `make bench`"
        )
    options = ["--quick"] * quick + ([] if only is None else ["--only", only])
    done = subprocess.run([sys.executable, "-m", "benchmarks", *options], cwd=root, check=False)
    raise typer.Exit(done.returncode)
