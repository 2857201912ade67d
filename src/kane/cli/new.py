"""kane new: write a model file in TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import kane
from kane.cli.model_argument import Base, BaseOption, read_model
from kane.errors import FileError
from kane.files.write_file import write_whole

EXAMPLE = """# A pendulum with a motor. Units: m, kg, s, rad, N.
# Check it with kane check, simulate it with kane run, show it with kane view.
name = "pendulum"
gravity = [0, 0, -9.81]

[parameters]  # numbers that a run may change
mass = 2.0
length = { value = 1.0, unit = "m" }
damping = { value = 0.1, unit = "N m s/rad" }

[inputs]
torque = 0.0

[bodies.rod]
mass = "mass"
com = [0, 0, "-length/2"]  # mass centre, from the origin of the body
inertia = ["mass*length**2/12", "mass*length**2/12", 0.001]

[joints.q1]
type = "Revolute"
axis = "y"
parent = "ground"
child = "rod"

[[loads]]
type = "Motor"
connection = "q1"
effort = "torque"

[[loads]]
type = "Damper"
connection = "q1"
coefficient = "damping"

[[shapes]]  # for pictures
type = "Capsule"
start = "rod"
end = "rod.point((0, 0, -length))"
radius = 0.03
"""


def new_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to be written, such as arm.toml.")],
    model: Annotated[str, typer.Option("--model", help="The MODEL to write; an example by default.")] = "",
    *,
    base: BaseOption = Base.fixed,
) -> None:
    """Write a model file in TOML: an example to be edited, or any MODEL in this form."""
    if file.suffix.lower() != ".toml":
        raise FileError(
            f"{str(file)!r} does not end with .toml, by which kane recognizes model files; give a name with this ending"
        )
    if file.exists():
        raise FileError(f"{str(file)!r} exists; give another path, or delete the file")
    if model:
        kane.save_model(read_model(model, base), file)
    else:
        write_whole(file, lambda draft: draft.write_text(EXAMPLE, "utf-8"))
    typer.echo(f"{file}: kane check {file}, kane run {file}, kane view {file}")
