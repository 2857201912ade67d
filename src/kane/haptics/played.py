"""Sessions that have ended, as pages that play them: the forces between hand and mechanism, and the ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kane.display.arrows import Arrow
from kane.display.motion import LEDGER
from kane.display.page import Page
from kane.display.replay import replay_page
from kane.display.scene import Numbers
from kane.haptics.snapshot import Coupling, energies_of
from kane.native.arrays import Matrix, Vector
from kane.native.haptics import loop_arrays as at
from kane.simulation.recorded.replayed import shown_run
from kane.simulation.recorded.trajectory import Trajectory

# What is drawn: the coupler's force on the mechanism, at the handle; the force on the hand, at its image, of which one
# newton there is as long as the force that it stands for here.
COUPLER_ARROW, HAND_ARROW = "coupler on the mechanism", "force on the hand"
# The course that says when the mechanism was held.
HELD = "in_hand"


def played(coupling: Coupling, run: Trajectory, log: Matrix, energies: Vector, traces: Any) -> Page:
    """The page that plays a session, with the forces and the ledger; energies are those at the end."""
    dyn, _, _, coupler = coupling
    values = name_coupling_parameters(coupling)
    rows = np.append(np.arange(len(log)), len(log) - 1)  # what holds at the end is what held in the last tick
    held = (log[rows, at.OF_STATUS] != at.IDLE)[:, None]
    handle, image, pull, moment, force, torque = (
        np.where(held, log[rows, place : place + 3], 0.0)
        for place in (at.OF_HANDLE, at.OF_IMAGE, at.OF_PULL, at.OF_PULL + 3, at.OF_FORCE, at.OF_FORCE + 3)
    )
    nowhere = np.zeros(3)
    arrows = [
        Arrow(COUPLER_ARROW, 0, nowhere, handle, pull, moment),
        Arrow(HAND_ARROW, 0, nowhere, image, force / coupler.force_scale, torque / coupler.torque_scale),
    ]
    shown = shown_run(run, "run", dyn, ())
    ledger = dict(zip(LEDGER, np.vstack([energies_of(log), energies]).T, strict=False))
    series = {**shown.series, **ledger, HELD: held[:, 0].astype(float)}
    made = replay_page(
        dyn.equations,
        [replace(shown, series=series, arrows=arrows)],
        parameters=values,
        traces=traces,
        plots=LEDGER,
    )
    hand = {**describe_handle(coupling), "mouse": False, "held": HELD}
    return replace(made, content={**made.content, "hand": hand})


def name_coupling_parameters(coupling: Coupling) -> dict[str, float]:
    """Values by name."""
    names = [leaf.name for leaf in coupling.dyn.equations.parameters]
    return dict(zip(names, map(float, coupling.parameters), strict=True))


def describe_handle(coupling: Coupling) -> dict[str, Any]:
    """Where the handle is, and which arrows stand there and where the hand is."""
    handle, numbers = coupling.coupler.handle, Numbers(coupling.dyn.equations, name_coupling_parameters(coupling))
    place = {"body": handle.body.index, "at": numbers.of(handle.position_in_body).tolist()}
    return {"on": COUPLER_ARROW, "at": HAND_ARROW, "handle": place}
