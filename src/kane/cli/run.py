"""kane run: simulate a model from its neutral position and write the results."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

import kane
from kane.cli.count import describe_operation_counts, operation_table
from kane.cli.model_argument import Base, BaseOption, ModelArgument, read_model
from kane.files.write_file import made_folder
from kane.simulation.state_layout import Layout

# Distance to a joint singularity at which a position counts as singular, and offset of the start then [rad, m].
SINGULAR_TOLERANCE, SINGULAR_START_OFFSET = 1e-6, 0.3


def run_command(
    model: ModelArgument,
    *,
    until: Annotated[float, typer.Option(min=0.0, help="Time to simulate [s].")] = 10.0,
    dt: Annotated[float | None, typer.Option(help="Fixed step [s]; chosen by the integrator unless given.")] = None,
    damping: Annotated[float, typer.Option(min=0.0, help="Damping in every joint [N m s/rad, N s/m].")] = 0.0,
    out: Annotated[Path, typer.Option(help="Folder for the trajectory and the plot.")] = Path("out"),
    base: BaseOption = Base.fixed,
) -> None:
    """Simulate MODEL from rest in its neutral position; write the trajectory (NetCDF) and a plot (PNG).

    The start is projected onto the constraints, and moved away from the neutral position if that is singular. Events of
    contacts, stops and friction are listed.
    """
    description = read_model(model, base)
    if damping > 0.0:
        add_damping(description, damping)
    started = time.perf_counter()
    equations = kane.formulate(description)
    derived = time.perf_counter()
    dynamics = kane.build(equations)
    dynamics.function("rhs")
    built = time.perf_counter()
    start = initial_state(dynamics)
    kane.simulate(dynamics, until=0.0, dt=dt, **start)  # loads the integrator, which is compiled once for all models
    loaded = time.perf_counter()
    trajectory = kane.simulate(dynamics, until=until, dt=dt, **start)
    finished = time.perf_counter()
    files = write_files(trajectory, out, file_name(equations.name))
    console = Console()
    console.print(operation_table(*describe_operation_counts(equations)))
    summary = Table("", Column(overflow="fold"), show_header=False)  # folding keeps paths complete
    for name, value in {
        "derive": f"{derived - started:.3f} s",
        "build": f"{built - derived:.3f} s",
        "load integrator": f"{loaded - built:.3f} s",
        "simulate": f"{finished - loaded:.3f} s for {until:g} s",
        "energy at the start": _energy(trajectory, 0),
        "energy at the end": _energy(trajectory, -1),
        "files": ", ".join(map(str, files)),
    }.items():
        summary.add_row(name, Text(value))
    console.print(summary)
    if trajectory.events:
        typer.echo(trajectory)


def write_files(trajectory: kane.Trajectory, folder: Path, name: str) -> list[Path]:
    """Write the trajectory and its plot to a folder, which is created if it does not exist; return the paths."""
    folder = made_folder(folder)
    files = [folder / f"{name}.nc", folder / f"{name}.png"]
    trajectory.save(files[0])
    trajectory.plot().savefig(files[1])
    return files


def initial_state(dynamics: kane.Dynamics) -> dict[str, Any]:
    """Return initial q and u for ``simulate``: neutral and at rest, projected onto the constraints, no penetration.

    If the neutral position is singular, each coordinate outside quaternions is increased by SINGULAR_START_OFFSET.
    """
    equations = dynamics.equations
    q, u = np.array(equations.neutral), np.zeros(len(equations.u))
    aside = q + SINGULAR_START_OFFSET
    for start in equations.quaternions:
        aside[start : start + 4] = q[start : start + 4]
    layout, inputs = Layout.of(equations), [equations.defaults[i.name] for i in equations.inputs]
    for guess in (q, aside):
        if equations.constraints or equations.intermittents:
            found = kane.assemble(dynamics, q=guess, t=0.0)
            guess, u = found.q, found.u
        x = np.concatenate([guess, u])
        if layout.singular(x, within=SINGULAR_TOLERANCE) is None and np.isfinite(dynamics.rhs(0.0, x, inputs)).all():
            break
    return {"q": guess, "u": u}


def add_damping(model: kane.Model, coefficient: float) -> None:
    """Add a damper to every joint with one coordinate."""
    for connection in model.connections:
        if connection.joint.one_dof and connection.coordinate_names:
            model.load(kane.Damper(connection, coefficient))


def file_name(text: str) -> str:
    """Return ``text`` with only letters, digits, - and _, so that the name of a model cannot leave the folder."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in text) or "model"


def _energy(trajectory: kane.Trajectory, index: int) -> str:
    kinetic, potential = (trajectory[word][index] + 0.0 for word in ("kinetic_energy", "potential_energy"))
    return f"{kinetic:.6g} J kinetic, {potential:.6g} J potential"
