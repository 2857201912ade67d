"""Contact log of a collocation with phases: statuses and forces at nodes, and a record of each transition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kane.analysis.optimal_control.collocation import Collocation
from kane.analysis.optimal_control.phase_link import PhaseLink
from kane.analysis.optimal_control.phase_mode import PhaseMode
from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.simulation.results.contact_log import ContactLog, TransitionRecord

# Kinds of records by kinds of guards; an open contact whose gap closes is imposed, or bounces.
_KINDS = {"impact": "imposed", "imposed": "imposed", "opens": "deleted", "deleted": "deleted"}


def phased_log(
    modes: Sequence[PhaseMode],
    links: Sequence[PhaseLink],
    phases: Sequence[Collocation],
    impulses: Sequence[dict[str, float]],
) -> ContactLog:
    """Return the contact log.

    Args:
        modes: modes of the phases.
        links: transitions between them.
        phases: motions in the phases.
        impulses: impulses of each transition by constraint row.
    """
    intermittents = modes[0].whole.equations.intermittents
    rows = [row.name for c in intermittents for row in c.rows]
    records = []
    for link, before, after, own in zip(links, phases[:-1], phases[1:], impulses, strict=True):
        records += _records(link, before, after, np.array([own.get(name, 0.0) for name in rows]))
    statuses, reactions = [], []
    for k, (mode, phase) in enumerate(zip(modes, phases, strict=True)):
        nodes = slice(min(k, 1), None)
        statuses.append(np.tile(np.array(mode.statuses, np.int8), (len(phase.time[nodes]), 1)))
        reactions.append(_forces(phase, rows)[nodes])
    columns = list(zip(*records, strict=True)) if records else []
    nq, n = len(modes[0].whole.equations.q), len(modes[0].whole.equations.u)
    shapes = [(0,), (0,), (0,), (0, len(rows)), (0,), (0, len(intermittents)), (0, nq), (0, n), (0, n)]
    times, causes, kinds, pushed, lost, later, q, u_before, u = (
        [np.array(x) for x in columns] if columns else [np.zeros(shape) for shape in shapes]
    )
    return ContactLog(
        tuple(c.name for c in intermittents), tuple(rows),
        np.repeat(np.arange(len(intermittents)), [len(c.rows) for c in intermittents]),
        np.concatenate(statuses), np.concatenate(reactions), times, causes.astype(np.int64),
        tuple(map(str, kinds.tolist())), lost, pushed, later.astype(np.int8), q, u_before, u,
    )  # fmt: skip


def _records(link: PhaseLink, before: Collocation, after: Collocation, impulses: Array) -> list[TransitionRecord]:
    """Return the records of one transition; a constraint that is imposed or bounces is the first."""
    dyn, names = link.before.whole, [c.name for c in link.before.whole.equations.intermittents]
    time, q = float(before.time[-1]), after.q[0]
    lost = _kinetic(dyn, before, time, q, before.u[-1]) - _kinetic(dyn, before, time, q, after.u[0])
    statuses, found = np.array(link.after.statuses, np.int8), list[TransitionRecord]()
    for c, guard in sorted(link.changes, key=lambda change: not change[1].rows):
        kind = "bounces" if c.name in link.before.bouncing else _KINDS[guard.kind]
        energy = lost if not found else 0.0
        cause = names.index(c.name)
        found.append(TransitionRecord(time, cause, kind, impulses, energy, statuses, q, before.u[-1], after.u[0]))
    return found


def _kinetic(dyn: Dynamics, phase: Collocation, t: float, q: Array, u: Array) -> float:
    e = dyn.derived("without constraints", lambda: Dynamics(dyn.equations.unconstrained, dyn.compile))
    return float(e.energy(q, u, t=t, parameters=phase.parameters).kinetic)


def _forces(phase: Collocation, rows: Sequence[str]) -> Array:
    """Return the forces of rows at the nodes of a phase, (nodes, rows); zero for rows that are not active."""
    active = [row.name for row in phase.problem.dyn.equations.constraints]
    found = np.zeros((len(phase.time), len(rows)))
    for name, column in zip(active, phase.multipliers.T, strict=True):
        if name in rows:
            found[:, rows.index(name)] = np.interp(phase.time, phase.point_time, column)
    return found
