"""kane sweep: compute or resume a study that a TOML file describes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import kane
from kane.cli.study_file import read_study
from kane.errors import ModelError

REASONS = 5  # failed runs whose reason is printed


def sweep_command(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A file in TOML; with --status it may be a store.")],
    *,
    store: Annotated[Path | None, typer.Option(help="Folder of the results, in the format zarr 3.")] = None,
    status: Annotated[bool, typer.Option("--status", help="Only show how far the store is.")] = False,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, tcp://...")] = None,
) -> None:
    """Compute the runs of STUDY and print statistics; a repeated command resumes the study.

    Finished runs are in the store, also while others are computed: kane.Sweep.open reads them.
    """
    if status and store is None and study.suffix == ".toml":
        raise ModelError(f"{study} is a study; --status needs its store: kane sweep STORE --status")
    if status:
        found = kane.Sweep.open(study if store is None else store)
    elif store is None:
        raise ModelError("kane sweep needs --store, a folder for the results; without one an interrupted study is lost")
    else:
        dyn, given = read_study(study)
        found = kane.sweep(dyn, **given, store=store, scheduler=scheduler)
    typer.echo(found)
    interrupted = not (status or found.finished)
    if status or interrupted:
        writing = ", another process computes more" if found.growing else ""
        typer.echo(f"{found.computed:,} of {len(found):,} runs computed ({found.computed / len(found):.1%}){writing}")
    for run, reason in list(found.failures.items())[:REASONS]:
        typer.echo(f"run {run} failed: {reason}")
    if len(found.failures) > REASONS:
        typer.echo(f"and {len(found.failures) - REASONS:,} more failed; kane.Sweep.open(store).failures lists them")
    if interrupted:
        raise typer.Exit(1)
