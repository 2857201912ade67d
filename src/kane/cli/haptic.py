"""kane haptic: a mechanism in a hand, in real time."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kane.cli.model_argument import ModelArgument, read_model
from kane.cli.run import file_name, initial_state
from kane.errors import ModelError, shown
from kane.files.write_file import made_folder
from kane.haptics.scenes import SCENES, HandScene, scene_of, stirred
from kane.haptics.session import Session


class DeviceName(StrEnum):
    """Which device is in the hand."""

    simulated = "simulated"


def haptic(
    model: ModelArgument,
    *,
    device: Annotated[DeviceName, typer.Option(help="The device.")] = DeviceName.simulated,
    handle: Annotated[
        str | None,
        typer.Option(metavar="BODY[:X:Y:Z]", help="The point that the hand moves [m]; shopping_cart has its own."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(min=0.0, help="How long; what the scene takes unless given.")] = None,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="In simulated time, as fast as it goes.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the trajectory and the session.")] = Path("out"),
) -> None:
    """Couple MODEL to a hand through a haptic device, and tell what happened: ticks, energy, events.

    shopping_cart is Gillespie's Example 3: a simulated person pushes the cart, the caster sticks and is free again. In
    ball_in_a_box and crank a hand meets walls and a stop. Of other models it moves the handle on a small circle.
    """
    scene = scene_of(model) if handle is None and model in SCENES else _handled(model, handle)
    folder, name = made_folder(out), file_name(scene.dyn.equations.name)
    with Session(scene.dyn, scene.hand, scene.coupler, **_start(scene)) as session:
        session.arm()
        length = scene.seconds if seconds is None else seconds
        if rehearse:
            session.rehearse(length)
        else:
            session.run(length)
        typer.echo(str(session.report))
        session.trajectory.save(folder / f"{name}.nc")
        session.save(folder / f"{name}.session")
    typer.echo(f"written: {folder / name}.nc, {folder / name}.session")


def _handled(name: str, handle: str | None) -> HandScene:
    if handle is None:
        raise ModelError(f"which point of {name} does the hand move? give --handle BODY or BODY:X:Y:Z")
    model = read_model(name)
    body, *place = handle.split(":")
    found = [b for b in model.bodies[1:] if b.name == body]
    try:
        numbers = [float(x) for x in place] or [0.0, 0.0, 0.0]
    except ValueError:
        numbers = []
    if not found or len(numbers) != 3:
        names = ", ".join(b.name for b in model.bodies[1:])
        raise ModelError(f"the handle is {shown(handle)}; give BODY or BODY:X:Y:Z, with a body of {names}")
    return stirred(model, found[0].point(numbers))


def _start(scene: HandScene) -> dict[str, Any]:
    return initial_state(scene.dyn) if scene.q is None else {"q": scene.q}
