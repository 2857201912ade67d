"""What a session is at, as of one tick, and what it couples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kane.dynamics.dynamics import Dynamics
from kane.haptics.commands import published
from kane.haptics.devices.device import Device
from kane.haptics.loop import SNAPSHOT_HEADER, Loop
from kane.haptics.report import FAULTS, SESSION_STATUSES
from kane.haptics.rigid_coupler import AnyCoupler
from kane.native.arrays import Matrix, Vector
from kane.native.haptics import loop_arrays as at


class Snapshot(NamedTuple):
    """What a session is at.

    Attributes:
        tick, time: how many ticks were done; the time of the mechanism [s].
        status, fault: "idle", "armed" or "ending"; what ended the force, in words.
        force, torque: that were written last, on the hand [N], [N m], (3,) each.
        q, u: of the mechanism.
        image, handle: where the hand is in the simulation, and where it holds on, at the last tick [m], (3,) each; NaN
            before the first one.
        pull: force and torque of the coupler on the mechanism then [N], [N m], (6,).
        energies: given to the hand when that tick began; to the mechanism, kinetic, potential when it ended [J], (4,).
    """

    tick: int
    time: float
    status: str
    fault: str
    force: Vector
    torque: Vector
    q: Vector
    u: Vector
    image: Vector
    handle: Vector
    pull: Vector
    energies: Vector


class Coupling(NamedTuple):
    """What a session couples: the mechanism with its coupler and its parameters, the device, and the coupler."""

    dyn: Dynamics
    parameters: Vector
    hand: Device
    coupler: AnyCoupler


def snapshot_of(loop: Loop) -> Snapshot:
    """The snapshot of one tick, while the loop goes on."""
    taken = published(loop.circuit)
    tick, nq = int(taken[0]), len(loop.problem.layout.coordinates)
    # the row of a tick is complete before its snapshot is
    row = loop.circuit.desk.log[tick - 1] if tick else np.full(at.LOGGED, np.nan)
    status, fault = SESSION_STATUSES[int(taken[2])], FAULTS[int(taken[3])]
    acting = taken[4:7], taken[7:10]
    state = taken[SNAPSHOT_HEADER : SNAPSHOT_HEADER + nq], taken[SNAPSHOT_HEADER + nq :]
    places = (at.OF_IMAGE, 3), (at.OF_HANDLE, 3), (at.OF_PULL, 6)
    last = [row[place : place + length].copy() for place, length in places]
    last.append(_four(taken[None, SNAPSHOT_HEADER - 6 : SNAPSHOT_HEADER - 1])[0])
    return Snapshot(tick, float(taken[SNAPSHOT_HEADER - 1]), status, fault, *acting, *state, *last)


def energies_of(log: Matrix) -> Matrix:
    """Given to the hand, by forces and torques, and to the mechanism, kinetic and potential, [J], (ticks, 4)."""
    return _four(log[:, at.OF_ENERGIES : at.OF_ENERGIES + 5])


def _four(energies: Matrix) -> Matrix:
    found = energies[:, :4].copy()
    found[:, 0] += energies[:, 4]
    return found
