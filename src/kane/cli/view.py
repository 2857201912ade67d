"""kane view: look at a model or a run in a browser."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

import kane
from kane.cli.model_argument import RUN, Base, BaseOption, read_model
from kane.cli.run import initial_state


def view_command(
    source: Annotated[
        str, typer.Argument(metavar="MODEL|RUN", help="A model as for the other commands, or a run (.nc).")
    ],
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the server; 0 for any free port.")] = 0,
    save: Annotated[Path | None, typer.Option(help="Write the page to this file, instead of serving it.")] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    base: BaseOption = Base.fixed,
) -> None:
    """Show MODEL, with a slider for each coordinate, or play RUN, a file of kane run or run.save, in the browser.

    The page is served to this machine only, until Ctrl-C; its address contains a token. With --save, the page of a
    model simulates its equations, and the page of a run plays it. These files open anywhere and need no network.
    """
    if Path(source).suffix.lower() == RUN:
        made: Any = kane.Trajectory.load(source)
    else:
        made = kane.build(kane.formulate(read_model(source, base)))
    if save is not None:
        start = {} if isinstance(made, kane.Trajectory) else initial_state(made)
        typer.echo(made.save_html(save, **start))
        return
    start = {} if isinstance(made, kane.Trajectory) else {"q": initial_state(made)["q"]}
    with kane.view(made, port=port, **start) as shown:
        shown_at(shown.url, browser)
        try:
            while True:
                time.sleep(3600.0)
        except KeyboardInterrupt:
            typer.echo("", err=True)


def shown_at(url: str, browser: bool) -> None:
    """Print the address of a page, and open a browser there if requested."""
    typer.echo(url)
    if browser and not webbrowser.open(url):
        typer.echo("note: no browser was found; open the address in a browser on this machine", err=True)
    typer.echo("Ctrl-C ends it.", err=True)
