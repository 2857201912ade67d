"""How constraints came and went in a run: what the dataset of a trajectory holds of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.dynamics.ahead import STATUSES
from kane.errors import ModelError, shown
from kane.model.checks import near
from kane.model.contacts.candidate import parts_named
from kane.model.named_vector import position
from kane.native.arrays import Vector
from kane.simulation.asked.events import Occurrence

COMES_AND_GOES = "contact, stop, stick, latch or switch"
EFFORT, IMPULSE = "N or N m", "N s or N m s"
# The cause of events of contacts that slid until their own friction let no normal force hold them.
JAMS = "jams"
# Impulses and losses below this share of what a run is made of are written as zero.
NOTHING = 1e-14
# Of many events so many are written, from the first on and up to the last.
FIRST, LAST = 30, 10


class ActiveBand(NamedTuple):
    """From when to when a constraint was in force [s], and whether it slid."""

    begin: float
    end: float
    slides: bool


@dataclass(frozen=True)
class Story:
    """What happened to constraints that come and go.

    Attributes:
        candidates: their names.
        rows: names of the rows of all of them.
        of: the candidate of each row, by its number, (rows,).
        statuses: at the recorded times, by the number in STATUSES, (times, candidates).
        reactions: forces of the rows at the recorded times, (times, rows) [N or N m].
        times: of the changes, (changes,) [s]; those of several candidates at once are one behind the other, the cause
            first.
        causes: the candidate that is changed, by its number, (changes,).
        kinds: what it did, in a word, (changes,).
        energy_lost: kinetic energy before the change less that behind it, (changes,) [J]; once for what is at once.
        impulses: of all rows, (changes, rows) [N s or N m s].
        after: statuses behind each change, (changes, candidates).
        q, u_before, u: coordinates, and speeds before and behind each change, (changes, nq) and (changes, n) twice.
    """

    candidates: tuple[str, ...]
    rows: tuple[str, ...]
    of: NDArray[np.int64]
    statuses: NDArray[np.int8]
    reactions: NDArray[np.float64]
    times: Vector
    causes: NDArray[np.int64]
    kinds: tuple[str, ...]
    energy_lost: Vector
    impulses: NDArray[np.float64]
    after: NDArray[np.int8]
    q: NDArray[np.float64]
    u_before: NDArray[np.float64]
    u: NDArray[np.float64]

    def variables(self) -> dict[str, Any]:
        """What the dataset holds over time, and of each change; nothing of changes where there were none."""
        found: dict[str, Any] = {
            "status": (("time", "candidate"), self.statuses, {"long_name": ", ".join(STATUSES)}),
            "reaction": (("time", "contact_row"), self.reactions, {"units": EFFORT}),
            "contact_row_of": ("contact_row", self.of, {"long_name": "candidate of the row, by its number"}),
        }
        if not len(self.times):
            return found
        return found | {
            "change_time": ("change", self.times, {"units": "s"}),
            "change_of": ("change", self.causes, {"long_name": "candidate that is changed, by its number"}),
            "change_kind": ("change", np.array(self.kinds, dtype=object), {}),
            "change_energy_lost": ("change", self.energy_lost, {"units": "J"}),
            "change_impulse": (("change", "contact_row"), self.impulses, {"units": IMPULSE}),
            "change_status": (("change", "candidate"), self.after, {"long_name": "statuses behind the change"}),
            "change_q": (("change", "coordinate"), self.q, {"long_name": "coordinates at the change"}),
            "change_u_before": (("change", "speed"), self.u_before, {"long_name": "speeds before the change"}),
            "change_u": (("change", "speed"), self.u, {"long_name": "speeds behind the change"}),
        }

    def coordinates(self) -> dict[str, Any]:
        """Names, as coordinates of the dataset."""
        return {
            "candidate": ("candidate", np.array(self.candidates, dtype=object), {}),
            "contact_row": ("contact_row", np.array(self.rows, dtype=object), {}),
        }

    def occurrences(self) -> Iterator[Occurrence]:
        """The changes as events."""
        variables = self.variables() | self.coordinates()
        values: dict[str, Any] = {name: value for name, (_, value, _) in variables.items()}
        return occurrences(values.__getitem__) if len(self.times) else iter(())


class ForcesByName(dict[str, NDArray[Any]]):
    """Forces by names of constraints that come and go; a name that is none is refused with those that are."""

    def __missing__(self, name: Any) -> NDArray[Any]:
        parts = parts_named(name, list(self)) if isinstance(name, str) else []
        if parts:
            raise ModelError(f"{name!r} has the parts {', '.join(map(repr, parts))}; ask for the reactions of one")
        raise ModelError(f"there is no {COMES_AND_GOES} {shown(name)}; {near(name, list(self))}")


def occurrences(values: Callable[[str], NDArray[Any]]) -> Iterator[Occurrence]:
    """The changes as events, from the variables of a dataset by their names."""
    names, of = values("candidate"), values("contact_row_of")
    columns = ("of", "time", "q", "u", "kind", "impulse", "energy_lost")
    for cause, time, q, u, kind, impulse, lost in zip(*(values(f"change_{word}") for word in columns), strict=True):
        yield Occurrence(str(names[cause]), float(time), q, u, str(kind), impulse[of == cause], float(lost))


def active_bands(dataset: Any) -> dict[str, list[ActiveBand]]:
    """When each constraint was in force, by name, from the dataset of a run; those that never were are left out."""
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
        bands = [ActiveBand(begin, end, STATUSES[status] == "sliding") for begin, end, status in parts if status]
        if bands:
            found[str(name)] = bands
    return found


def places_named(name: Any, names: Sequence[str]) -> list[int]:
    """Where among the candidates stand those that a name means.

    Raises:
        ModelError: there is none of this name.
    """
    parts = parts_named(name, names) if isinstance(name, str) else []
    return [position(x, names, COMES_AND_GOES) for x in parts or [name]]


def table(events: Sequence[Occurrence], length: float, push: float, speed: float) -> str:
    """Events as text, one a line; of many the first and the last ones.

    What is rounding is zero: beside the hardest impulse, or what the reactions come to over the whole run, and beside
    the energy that this gives to what moves.

    Args:
        events: of a run.
        length: of the run [s].
        push: the largest reaction in it [N or N m].
        speed: the largest one in it [m/s or rad/s].
    """
    hardest = max(length * push, *(float(np.abs(event.impulse).max(initial=0.0)) for event in events))
    most = max(hardest * speed, *(abs(event.energy_lost) for event in events))
    decimals = max(6, 5 - math.floor(math.log10(length))) if length > 0.0 else 6
    rows = [("time [s]", "event", "cause", "impulse", "energy lost [J]")]
    left = max(len(events) - FIRST - LAST, 0)
    for event in (*events[:FIRST], *events[-LAST:]) if left else events:
        felt = np.where(np.abs(event.impulse) > NOTHING * hardest, event.impulse, 0.0)
        impulse = " ".join(f"{x:.4g}" for x in felt) if felt.any() else ""
        lost = event.energy_lost if abs(event.energy_lost) > NOTHING * most else 0.0
        rows.append((f"{event.time:.{decimals}f}", event.name, event.cause, impulse, f"{lost:.4g}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(x.ljust(width) for x, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if left:
        lines.insert(1 + FIRST, f"... {left} more ...")
    return "\n".join(lines)
