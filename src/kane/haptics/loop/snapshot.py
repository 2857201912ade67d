"""State of a session at one tick, and the objects that it couples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.engine.realtime import loop_arrays as at
from kane.haptics.coupling.rigid_coupler import AnyCoupler
from kane.haptics.devices.device import Device
from kane.haptics.loop.commands import published
from kane.haptics.loop.loop import SNAPSHOT_HEADER, Loop
from kane.haptics.loop.report import FAULTS, SESSION_STATUSES


class Snapshot(NamedTuple):
    """State of a session after a tick.

    Attributes:
        tick, time: number of completed ticks; time of the mechanism [s].
        status, fault: "idle", "armed" or "ending"; the fault that ended the force, in words.
        force, torque: latest values written to the device [N], [N m], (3,) each.
        q, u: coordinates and speeds of the mechanism.
        proxy, handle: positions of the proxy and of the handle at the last tick [m], (3,) each; NaN before the first.
        pull: force and torque of the coupler on the mechanism at the last tick [N], [N m], (6,).
        energies: energy given to the operator at the start of the tick; energy given to the mechanism, kinetic and
            potential energy at its end [J], (4,).
    """

    tick: int
    time: float
    status: str
    fault: str
    force: Vector
    torque: Vector
    q: Vector
    u: Vector
    proxy: Vector
    handle: Vector
    pull: Vector
    energies: Vector


class Coupling(NamedTuple):
    """Objects that a session couples: mechanism with its coupler, parameters, device, and coupler."""

    dyn: Dynamics
    parameters: Vector
    device: Device
    coupler: AnyCoupler


def snapshot_of(loop: Loop) -> Snapshot:
    """Return the snapshot of one tick, also while the loop runs."""
    taken = published(loop.circuit)
    tick, nq = int(taken[0]), len(loop.problem.layout.coordinates)
    # the loop completes the row of a tick before its snapshot
    row = loop.circuit.desk.log[tick - 1] if tick else np.full(at.LOGGED, np.nan)
    status, fault = SESSION_STATUSES[int(taken[2])], FAULTS[int(taken[3])]
    acting = taken[4:7], taken[7:10]
    state = taken[SNAPSHOT_HEADER : SNAPSHOT_HEADER + nq], taken[SNAPSHOT_HEADER + nq :]
    places = (at.OF_IMAGE, 3), (at.OF_HANDLE, 3), (at.OF_PULL, 6)
    last = [row[place : place + length].copy() for place, length in places]
    last.append(_four(taken[None, SNAPSHOT_HEADER - 6 : SNAPSHOT_HEADER - 1])[0])
    return Snapshot(tick, float(taken[SNAPSHOT_HEADER - 1]), status, fault, *acting, *state, *last)


def energies_of(log: Matrix) -> Matrix:
    """Return energies given to operator and mechanism, then kinetic and potential energy [J], (ticks, 4)."""
    return _four(log[:, at.OF_ENERGIES : at.OF_ENERGIES + 5])


def _four(energies: Matrix) -> Matrix:
    found = energies[:, :4].copy()
    found[:, 0] += energies[:, 4]
    return found
