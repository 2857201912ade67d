"""State of a session at one tick, and the objects that it couples."""

from __future__ import annotations

import numpy as np

from kane.deferred import NamedTuple
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.fill import record_dtype
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.realtime import LOG_ROW
from kane.engine.memory.views import loop_energies_at, loop_snapshot_at
from kane.haptics.coupling.rigid_coupler import AnyCoupler
from kane.haptics.devices.device import Device
from kane.haptics.loop.commands import published
from kane.haptics.loop.loop import Loop
from kane.haptics.loop.report import FAULTS, SESSION_STATUSES


class Snapshot(NamedTuple):
    """State of a session after a tick.

    Attributes:
        tick, time: number of completed ticks; time of the mechanism [s].
        status, fault: "idle", "armed" or "ending"; the fault that ended the force, in words.
        force, torque: latest values on the operator, written to the device or measured [N], [N m], (3,) each.
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
    memory, nq = published(loop.circuit), len(loop.problem.layout.coordinates)
    taken = loop_snapshot_at(memory, 0, len(loop.integration.x))
    tick, status, fault = int(taken.tick[0]), int(taken.status[0]), int(taken.fault[0])
    if tick:  # the loop completes the row of a tick before its snapshot
        row = loop.circuit.messages.log[tick - 1].view(record_dtype(LOG_ROW))[0]
    else:
        row = np.full(record_dtype(LOG_ROW).itemsize // 8, np.nan).view(record_dtype(LOG_ROW))[0]
    given = loop_energies_at(memory, taken.energies)
    to_operator = given.to_operator[0] + given.to_operator_by_torque[0]
    return Snapshot(
        tick=tick,
        time=float(taken.time[0]),
        status=SESSION_STATUSES[status],
        fault=FAULTS[fault],
        force=taken.force,
        torque=taken.torque,
        q=taken.x[:nq],
        u=taken.x[nq:],
        proxy=row["proxy"][:3].copy(),
        handle=row["handle"][:3].copy(),
        pull=row["pull"].copy(),
        energies=np.array([to_operator, given.to_mechanism[0], given.kinetic[0], given.potential[0]]),
    )
