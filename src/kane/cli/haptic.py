"""kane haptic: haptic interaction with a mechanism, in real time."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import kane
from kane.cli.model_argument import ModelArgument, read_model
from kane.cli.run import file_name, initial_state
from kane.cli.view import shown_at
from kane.errors import ModelError, shown
from kane.files.write_file import made_folder
from kane.haptics.scenes import SCENES, HandScene, held_by_mouse, make_hand_scene, stirred
from kane.haptics.session import Session


class DeviceName(StrEnum):
    """Device in the operator's hand."""

    simulated = "simulated"
    pointer = "pointer"


def haptic_command(
    model: ModelArgument,
    *,
    device: Annotated[
        DeviceName, typer.Option(help="The device; pointer is the mouse in the page.")
    ] = DeviceName.simulated,
    handle: Annotated[
        str | None,
        typer.Option(
            metavar="BODY[:X:Y:Z]", help="The point that the operator moves, in metres; scenes have their own handle."
        ),
    ] = None,
    seconds: Annotated[float | None, typer.Option(min=0.0, help="Duration [s]; by default that of the scene.")] = None,
    view: Annotated[bool, typer.Option("--view", help="Show the mechanism and the proxy on a page.")] = False,
    browser: Annotated[bool, typer.Option(help="Open a browser for the page.")] = True,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Run in simulated time, as fast as possible.")] = False,
    predict: Annotated[bool, typer.Option("--predict", help="Compute each tick shortly before it is due.")] = False,
    save: Annotated[Path | None, typer.Option(help="Write a page that replays the session to this file.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the trajectory and the session.")] = Path("out"),
) -> None:
    """Couple MODEL to an operator through a haptic device, and report ticks, energy and events.

    shopping_cart is Gillespie's Example 3: a simulated person pushes the cart, and the caster sticks and slips. In
    ball_in_a_box and crank the operator touches walls and a stop; in dragged_box the operator drags a box over a rough
    floor. In other models a simulated operator moves the handle on a small circle. With --device pointer, the user of
    the page drags the mechanism with the mouse, for a minute or for --seconds.
    """
    if rehearse and device == DeviceName.pointer:
        raise ModelError("a mouse needs real time; leave out --rehearse or --device pointer")
    scene = make_hand_scene(model) if handle is None and model in SCENES else _handled(model, handle)
    folder, name, mouse = made_folder(out), file_name(scene.dyn.equations.name), device == DeviceName.pointer
    if mouse:
        scene = held_by_mouse(scene)
    held = scene.dyn, scene.hand, scene.coupler
    with Session(*held, predict=predict, **_start(scene)) as session, ExitStack() as page:
        if view or mouse:
            shown_at(page.enter_context(kane.view(session)).url, browser)
        if not mouse:
            session.arm()
        go = session.rehearse if rehearse else session.run
        go(scene.seconds if seconds is None else seconds)
        typer.echo(str(session.report))
        session.trajectory.save(folder / f"{name}.nc")
        session.save(folder / f"{name}.session")
        if save is not None:
            typer.echo(f"written: {session.save_html(save)}")
    typer.echo(f"written: {folder / name}.nc, {folder / name}.session")


def _handled(name: str, handle: str | None) -> HandScene:
    if name in SCENES and name not in kane.library.__all__:
        raise ModelError(f"{name} is a scene with its own handle; leave --handle out")
    model = read_model(name, others=f"a scene: those are {', '.join(SCENES)}; nor a ")
    if handle is None:
        raise ModelError(f"{name} has no handle; give --handle BODY or BODY:X:Y:Z, the point that the operator moves")
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
