"""Which modes are compiled ahead, in words that users read and write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kane.formulation.equations import Equations
from kane.formulation.settling import SettledChoice
from kane.model.speed_choice import Near

DEPENDENT = " dependent"
# What a constraint that comes and goes may be, by its number, and a mode in which none is in force.
STATUSES, FREE = ("open", "held", "sliding"), "free"


class AheadOfTime(NamedTuple):
    """The modes that have equations of their own.

    Attributes:
        dependent: names of the dependent speeds of each, in the order of u.
        near: a state that satisfies the constraints; needed where some rows imply others.
        statuses: of constraints that come and go, by their numbers in STATUSES.
        candidates: their names.
        met: whether modes that runs meet are compiled besides, while they go on.
    """

    dependent: tuple[tuple[str, ...], ...] = ()
    near: Near | None = None
    statuses: tuple[tuple[int, ...], ...] = ()
    candidates: tuple[str, ...] = ()
    met: bool = False

    def chosen(self, equations: Equations) -> list[SettledChoice]:
        """The modes of equations."""
        return [SettledChoice(equations, names, self.near) for names in self.dependent]

    @property
    def words(self) -> tuple[str, ...]:
        """The modes as ``Trajectory.modes`` has them."""
        coming_and_going = (statuses_in_words(each, self.candidates) for each in self.statuses)
        return (*(in_words(names) for names in self.dependent), *coming_and_going)


IN_NUMBERS = AheadOfTime()


def in_words(dependent: Sequence[str]) -> str:
    """A mode of closed loops: which speeds are dependent."""
    return ", ".join(dependent) + DEPENDENT


def statuses_in_words(statuses: Sequence[int], names: Sequence[str]) -> str:
    """A mode of constraints that come and go: those in force, or that there are none."""
    active = [f"{name} {STATUSES[status]}" for name, status in zip(names, statuses, strict=True) if status]
    return ", ".join(active) or FREE


def statuses_of(mode: str, names: Sequence[str]) -> tuple[int, ...] | None:
    """The statuses that a mode in words means; None where it names something else, or one twice."""
    words = [] if mode == FREE else [re.fullmatch(r"(.+) (held|sliding)", x) for x in _parts(mode)]
    found = dict.fromkeys(names, 0)
    for word in words:
        if word is None or word[1] not in found or found[word[1]]:
            return None
        found[word[1]] = STATUSES.index(word[2])
    return tuple(found.values())


def _parts(mode: str) -> list[str]:
    """Of a mode in words what it says of each; names may have commas."""
    return re.findall(r"\s*(.+?(?: held| sliding|$))(?:,|$)", mode)
