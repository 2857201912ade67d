"""Log of a run's unilateral and other intermittent constraints: status, reactions and transitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.dynamics.compiled_modes import CONSTRAINT_STATUSES
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, shown
from kane.model.checks import near
from kane.model.contacts.intermittent_constraint import parts_named
from kane.model.named_vector import index_of_name
from kane.simulation.events.event import Occurrence

INTERMITTENT_KINDS = "contact, stop, stick, latch or switch"
EFFORT, IMPULSE = "N or N m", "N s or N m s"
# Cause recorded when the friction of a sliding contact leaves no consistent normal force (Painleve's paradox).
JAMS = "jams"
# Impulses and energies smaller than this fraction of the largest in the run are rounding and print as zero.
NEGLIGIBLE_FRACTION = 1e-14
# A long event table shows the first FIRST_EVENTS and the last LAST_EVENTS events.
FIRST_EVENTS, LAST_EVENTS = 30, 10


class ActiveInterval(NamedTuple):
    """Time interval [s] in which an intermittent constraint is active, and whether it slides."""

    begin: float
    end: float
    slides: bool


@dataclass(frozen=True)
class ContactLog:
    """Status, reactions and transitions of the intermittent constraints during a run.

    Simultaneous transitions of several constraints are consecutive entries; the first one is the cause.

    Attributes:
        intermittents: names of the constraints.
        rows: names of the constraint rows.
        of: index of each row's constraint, (rows,).
        statuses: index into CONSTRAINT_STATUSES at each recorded time, (times, constraints).
        reactions: force of each row at each recorded time, (times, rows) [N or N m].
        times: times of the transitions, (changes,) [s].
        causes: index of the constraint that changes, (changes,).
        kinds: what the constraint does, for example "bounces", (changes,).
        energy_lost: kinetic energy before minus after, (changes,) [J]; zero for all but the first of simultaneous
            transitions.
        impulses: impulse of each row, (changes, rows) [N s or N m s].
        after: index into CONSTRAINT_STATUSES after each transition, (changes, constraints).
        q: coordinates at each transition, (changes, nq).
        u_before, u: speeds before and after each transition, (changes, n).
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

    def variables(self) -> dict[str, Any]:
        """Return the log as dataset variables; transitions are omitted if there are none."""
        found: dict[str, Any] = {
            "status": (("time", "candidate"), self.statuses, {"long_name": ", ".join(CONSTRAINT_STATUSES)}),
            "reaction": (("time", "contact_row"), self.reactions, {"units": EFFORT}),
            "contact_row_of": ("contact_row", self.of, {"long_name": "index of the row's constraint"}),
        }
        if not len(self.times):
            return found
        return found | {
            "change_time": ("change", self.times, {"units": "s"}),
            "change_of": ("change", self.causes, {"long_name": "index of the constraint that changes"}),
            "change_kind": ("change", np.array(self.kinds, dtype=object), {}),
            "change_energy_lost": ("change", self.energy_lost, {"units": "J"}),
            "change_impulse": (("change", "contact_row"), self.impulses, {"units": IMPULSE}),
            "change_status": (("change", "candidate"), self.after, {"long_name": "status after the transition"}),
            "change_q": (("change", "coordinate"), self.q, {"long_name": "coordinates at the transition"}),
            "change_u_before": (("change", "speed"), self.u_before, {"long_name": "speeds before the transition"}),
            "change_u": (("change", "speed"), self.u, {"long_name": "speeds after the transition"}),
        }

    def coordinates(self) -> dict[str, Any]:
        """Return the names of constraints and rows as dataset coordinates."""
        return {
            "candidate": ("candidate", np.array(self.intermittents, dtype=object), {}),
            "contact_row": ("contact_row", np.array(self.rows, dtype=object), {}),
        }

    def occurrences(self) -> Iterator[Occurrence]:
        """Yield the transitions as events."""
        variables = self.variables() | self.coordinates()
        values: dict[str, Any] = {name: value for name, (_, value, _) in variables.items()}
        return occurrences(values.__getitem__) if len(self.times) else iter(())


class ForcesByName(dict[str, NDArray[Any]]):
    """Reactions by constraint name; an unknown name raises an error that suggests known ones."""

    def __missing__(self, name: Any) -> NDArray[Any]:
        parts = parts_named(name, list(self)) if isinstance(name, str) else []
        if parts:
            raise ModelError(f"{name!r} has the parts {', '.join(map(repr, parts))}: ask for the reactions of one part")
        raise ModelError(f"there is no {INTERMITTENT_KINDS} {shown(name)}; {near(name, list(self))}")


def occurrences(values: Callable[[str], NDArray[Any]]) -> Iterator[Occurrence]:
    """Yield the transitions of a dataset as events; ``values`` returns a variable by its name."""
    names, of = values("candidate"), values("contact_row_of")
    columns = ("of", "time", "q", "u", "kind", "impulse", "energy_lost")
    for cause, time, q, u, kind, impulse, lost in zip(*(values(f"change_{word}") for word in columns), strict=True):
        yield Occurrence(str(names[cause]), float(time), q, u, str(kind), impulse[of == cause], float(lost))


def active_bands(dataset: Any) -> dict[str, list[ActiveInterval]]:
    """Return the intervals in which each constraint of a run is active, without constraints that never are."""
    if "status" not in dataset or ("change_time" not in dataset and not dataset["status"].any()):
        return {}
    time, at_start = dataset["time"].to_numpy(), dataset["status"].to_numpy()[:1]
    times, after = [time[:1]], [at_start]
    if "change_time" in dataset:
        times.append(dataset["change_time"].to_numpy())
        after.append(dataset["change_status"].to_numpy())
    edges, statuses = np.concatenate([*times, time[-1:]]), np.concatenate(after)
    found = {}
    for name, column in zip(dataset["candidate"].to_numpy(), statuses.T, strict=True):
        parts = zip(edges[:-1].tolist(), edges[1:].tolist(), column.tolist(), strict=True)
        bands = [
            ActiveInterval(begin, end, CONSTRAINT_STATUSES[status] == "sliding")
            for begin, end, status in parts
            if status
        ]
        if bands:
            found[str(name)] = bands
    return found


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
