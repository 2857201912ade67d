"""Contact log of a run: status and reactions of intermittent constraints, and a record of each transition.

A transition leads from one contact mode to another at one time. The native program "transition" notes it;
``simulation.modes.contact_records`` turns the notes into records, once. All readers take this log: trajectories and
their files, events, sensitivities, identification, certificates, pages and haptic reports.

The contract of ``TransitionRecord(time, cause, kind, impulses, energy_lost, ...)``:

- Each constraint that changes at a transition has a record. Records of one transition are consecutive. The first one
  names the constraint that caused the transition. The others follow in the order of declaration.
- ``kind`` is "imposed", "deleted", "slips", "sticks", "reverses", "bounces", "halts", JAMS or STEPPED_OVER.
- ``impulses`` act along the rows of all intermittent constraints and are the same in all records of a transition.
  They satisfy M (u - u_before) = A^T impulses along the motions that permanent constraints allow.
- ``energy_lost`` is the kinetic energy before minus after. The first record has the loss of the whole transition. The
  others have zero, so that the sum over the log is the loss of the run.
- ``statuses`` are the mode after the whole transition. q, ``u_before`` and u are in declared coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.deferred import NamedTuple, dataclass
from kane.dynamics.compiled_modes import CONSTRAINT_STATUSES
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, shown
from kane.model.checks import near
from kane.model.contacts.intermittent_constraint import parts_named
from kane.model.named_vector import index_of_name
from kane.simulation.events.event import Occurrence
from kane.simulation.results.labelled import Labelled, XarrayVariable

INTERMITTENT_KINDS = "contact, stop, stick, latch or switch"
EFFORT, IMPULSE = "N or N m", "N s or N m s"
# Kind if the friction of a sliding contact leaves no consistent normal force (Painleve's paradox).
JAMS = "jams"
# Impulses and energies smaller than this fraction of the largest in the run are rounding and print as zero.
NEGLIGIBLE_FRACTION = 1e-14
# A long event table shows the first FIRST_EVENTS and the last LAST_EVENTS events.
FIRST_EVENTS, LAST_EVENTS = 30, 10


class TransitionRecord(NamedTuple):
    """Change of one intermittent constraint at a transition; see the contract above.

    Attributes:
        time: [s].
        cause: index of the constraint that changes.
        kind: how it changes, for example "bounces".
        impulses: along the rows of all intermittent constraints, (rows,) [N s or N m s].
        energy_lost: [J].
        statuses: indices into CONSTRAINT_STATUSES after the transition, (constraints,).
        q, u_before, u: coordinates, and speeds before and after.
    """

    time: float
    cause: int
    kind: str
    impulses: Vector
    energy_lost: float
    statuses: NDArray[np.int8]
    q: Vector
    u_before: Vector
    u: Vector


class ActiveInterval(NamedTuple):
    """Time interval [s] in which an intermittent constraint is active, and whether it slides."""

    begin: float
    end: float
    slides: bool


# Dataset variable of each column of records: its name, second dimension, and attributes.
_COLUMNS: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "times": ("change_time", (), {"units": "s"}),
    "causes": ("change_of", (), {"long_name": "index of the constraint that changes"}),
    "kinds": ("change_kind", (), {}),
    "energy_lost": ("change_energy_lost", (), {"units": "J"}),
    "impulses": ("change_impulse", ("contact_row",), {"units": IMPULSE}),
    "after": ("change_status", ("candidate",), {"long_name": "status after the transition"}),
    "q": ("change_q", ("coordinate",), {"long_name": "coordinates at the transition"}),
    "u_before": ("change_u_before", ("speed",), {"long_name": "speeds before the transition"}),
    "u": ("change_u", ("speed",), {"long_name": "speeds after the transition"}),
}
# Columns of integers.
_INDICES = ("causes", "after")


@dataclass(frozen=True)
class ContactLog:
    """Contact log of a run; the records are stored by columns.

    Attributes:
        intermittents: names of the constraints.
        rows: names of the constraint rows.
        of: index of each row's constraint, (rows,).
        statuses: index into CONSTRAINT_STATUSES at each recorded time, (times, constraints).
        reactions: force of each row at each recorded time, (times, rows) [N or N m].
        times, causes, kinds, energy_lost, impulses, after, q, u_before, u: columns of the records, (records, ...);
            ``after`` has the statuses after each transition.
    """

    intermittents: tuple[str, ...]
    rows: tuple[str, ...]
    of: NDArray[np.int64]
    statuses: NDArray[np.int8]
    reactions: Array
    times: Vector
    causes: NDArray[np.int64]
    kinds: tuple[str, ...]
    energy_lost: Vector
    impulses: Array
    after: NDArray[np.int8]
    q: Array
    u_before: Array
    u: Array

    @classmethod
    def of_run(cls, run: Labelled) -> ContactLog | None:
        """Return the log in a run's variables; None without intermittent constraints."""
        if "status" not in run:
            return None
        names, rows = (tuple(map(str, run.values(name))) for name in ("candidate", "contact_row"))
        of, statuses, reactions = map(run.values, ("contact_row_of", "status", "reaction"))
        columns: dict[str, Any] = {}
        for column, (name, dimensions, _) in _COLUMNS.items():
            empty = np.zeros((0, *(len(run.values(x)) for x in dimensions)), np.int8 if column in _INDICES else float)
            columns[column] = run.values(name) if "change_time" in run else empty
        columns["kinds"] = tuple(map(str, columns["kinds"]))
        return cls(names, rows, of, statuses, reactions, **columns)

    @cached_property
    def records(self) -> tuple[TransitionRecord, ...]:
        """All records, in order."""
        first = self.times.tolist(), self.causes.tolist(), self.kinds, self.impulses, self.energy_lost.tolist()
        return tuple(map(TransitionRecord, *first, self.after, self.q, self.u_before, self.u))

    def selected(self, chosen: NDArray[Any]) -> ContactLog:
        """Return the log with some of its records, given by a mask or by indices."""
        columns = {name: getattr(self, name)[chosen] for name in _COLUMNS if name != "kinds"}
        kinds = tuple(np.array(self.kinds, dtype=object)[chosen].tolist())
        return replace(self, kinds=kinds, **columns)

    def forces(self, constraint: int) -> Array:
        """Return the forces along the rows of a constraint at the recorded times, (times, rows)."""
        return self.reactions[:, self.of == constraint]

    def occurrences(self) -> list[Occurrence]:
        """Return the records in the public form, with the impulses of the own constraint only."""
        names, own = self.intermittents, [self.of == k for k in range(len(self.intermittents))]
        return [
            Occurrence(names[r.cause], r.time, r.q, r.u, r.kind, r.impulses[own[r.cause]], r.energy_lost)
            for r in self.records
        ]

    def active_intervals(self, time: Vector) -> dict[str, list[ActiveInterval]]:
        """Return the intervals of each constraint that is active at some time; ``time`` has the recorded times."""
        if not len(self.times) and not self.statuses.any():
            return {}
        edges = np.concatenate([time[:1], self.times, time[-1:]])
        statuses, found = np.concatenate([self.statuses[:1], self.after]), {}
        for name, column in zip(self.intermittents, statuses.T, strict=True):
            parts = zip(edges[:-1].tolist(), edges[1:].tolist(), column.tolist(), strict=True)
            intervals = [
                ActiveInterval(begin, end, CONSTRAINT_STATUSES[status] == "sliding")
                for begin, end, status in parts
                if status
            ]
            if intervals:
                found[name] = intervals
        return found

    def variables(self) -> dict[str, XarrayVariable]:
        """Return the log as dataset variables; records are omitted if there are none."""
        found: dict[str, XarrayVariable] = {
            "status": (("time", "candidate"), self.statuses, {"long_name": ", ".join(CONSTRAINT_STATUSES)}),
            "reaction": (("time", "contact_row"), self.reactions, {"units": EFFORT}),
            "contact_row_of": ("contact_row", self.of, {"long_name": "index of the row's constraint"}),
        }
        if len(self.times):
            for column, (name, dimensions, attributes) in _COLUMNS.items():
                values = getattr(self, column)
                values = np.array(values, dtype=object) if column == "kinds" else values
                found[name] = ("change", *dimensions), values, dict(attributes)
        return found

    def coordinates(self) -> dict[str, XarrayVariable]:
        """Return the names of constraints and rows as dataset coordinates."""
        return {
            "candidate": ("candidate", np.array(self.intermittents, dtype=object), {}),
            "contact_row": ("contact_row", np.array(self.rows, dtype=object), {}),
        }


class ForcesByName(dict[str, NDArray[Any]]):
    """Reactions by constraint name; an unknown name raises an error that suggests known ones."""

    def __missing__(self, name: Any) -> NDArray[Any]:
        parts = parts_named(name, list(self)) if isinstance(name, str) else []
        if parts:
            raise ModelError(f"{name!r} has the parts {', '.join(map(repr, parts))}: ask for the reactions of one part")
        raise ModelError(f"there is no {INTERMITTENT_KINDS} {shown(name)}; {near(name, list(self))}")


def places_named(name: Any, names: Sequence[str]) -> list[int]:
    """Return the indices in ``names`` of a constraint or of all its parts.

    Raises:
        ModelError: no constraint has this name.
    """
    parts = parts_named(name, names) if isinstance(name, str) else []
    return [index_of_name(x, names, INTERMITTENT_KINDS) for x in parts or [name]]


def table(events: Sequence[Occurrence], length: float, push: float, speed: float) -> str:
    """Return the events as a text table, one event per line.

    Impulses below NEGLIGIBLE_FRACTION times P print as blank, energies below NEGLIGIBLE_FRACTION times E as zero. P is
    the largest impulse or ``length * push``, whichever is larger; E is the largest energy or ``P * speed``.

    Args:
        events: events of a run.
        length: duration of the run [s].
        push: largest reaction during the run [N or N m].
        speed: largest speed during the run [m/s or rad/s].
    """
    hardest = max(length * push, *(float(np.abs(event.impulse).max(initial=0.0)) for event in events))
    most = max(hardest * speed, *(abs(event.energy_lost) for event in events))
    decimals = max(6, 5 - math.floor(math.log10(length))) if length > 0.0 else 6
    rows = [("time [s]", "event", "cause", "impulse", "energy lost [J]")]
    left = max(len(events) - FIRST_EVENTS - LAST_EVENTS, 0)
    for event in (*events[:FIRST_EVENTS], *events[-LAST_EVENTS:]) if left else events:
        felt = np.where(np.abs(event.impulse) > NEGLIGIBLE_FRACTION * hardest, event.impulse, 0.0)
        impulse = " ".join(f"{x:.4g}" for x in felt) if felt.any() else ""
        lost = event.energy_lost if abs(event.energy_lost) > NEGLIGIBLE_FRACTION * most else 0.0
        rows.append((f"{event.time:.{decimals}f}", event.name, event.cause, impulse, f"{lost:.4g}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(x.ljust(width) for x, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if left:
        lines.insert(1 + FIRST_EVENTS, f"... {left} more ...")
    return "\n".join(lines)
