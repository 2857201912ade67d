"""Pages that play completed sessions, with the coupling forces and the energies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kane.display.arrows import Arrow
from kane.display.live_motion import LEDGER
from kane.display.page import Page
from kane.display.scene import Numbers
from kane.display.thinned_run import replay_page
from kane.engine.memory.loop_arguments import Vector
from kane.engine.realtime.loop_arrays import UNARMED
from kane.haptics.loop.loop import Log
from kane.haptics.loop.report import energies_of
from kane.haptics.loop.snapshot import Coupling
from kane.simulation.results.replayed import shown_run
from kane.simulation.results.trajectory import Trajectory

# Names of the arrows: the coupler's force on the mechanism, at the handle; and the force on the operator, at the proxy,
# divided by the force scale.
COUPLER_ARROW, HAND_ARROW = "coupler on the mechanism", "force on the hand"
# Name of the series that is 1 while the mechanism is held.
HELD = "in_hand"


def played(coupling: Coupling, run: Trajectory, log: Log, energies: Vector, traces: Any) -> Page:
    """Return a page that plays a session, with forces and energies; ``energies`` are the values at the end."""
    dyn, _, _, coupler = coupling
    values = name_coupling_parameters(coupling)
    rows = log[np.append(np.arange(len(log)), len(log) - 1)]  # the end has the values of the last tick
    held = (rows["status"] != UNARMED)[:, None]
    pull = rows["pull"]
    vectors = rows["handle"], rows["proxy"], pull, pull[:, 3:], rows["force"], rows["torque"]
    handle, proxy, pull, moment, force, torque = (np.where(held, vector[:, :3], 0.0) for vector in vectors)
    nowhere = np.zeros(3)
    arrows = [
        Arrow(COUPLER_ARROW, 0, nowhere, handle, pull, moment),
        Arrow(HAND_ARROW, 0, nowhere, proxy, force / coupler.force_scale, torque / coupler.torque_scale),
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
    """Return the parameter values by name."""
    names = [leaf.name for leaf in coupling.dyn.equations.parameters]
    return dict(zip(names, map(float, coupling.parameters), strict=True))


def describe_handle(coupling: Coupling) -> dict[str, Any]:
    """Return the position of the handle in its body, and the names of the arrows at the handle and at the proxy."""
    handle, numbers = coupling.coupler.handle, Numbers(coupling.dyn.equations, name_coupling_parameters(coupling))
    place = {"body": handle.body.index, "at": numbers.of(handle.position_in_body).tolist()}
    return {"on": COUPLER_ARROW, "at": HAND_ARROW, "handle": place}
