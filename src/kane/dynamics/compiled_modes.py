"""Modes that are compiled in advance, and the names of modes that users read and write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kane.formulation.equations import Equations

if TYPE_CHECKING:
    from kane.formulation.projection_step import ProjectedSelection
    from kane.model.speed_choice import Near

DEPENDENT_SUFFIX = " dependent"
# Status of an intermittent constraint, by number, and the name of a mode without active constraints.
CONSTRAINT_STATUSES, FREE_MODE = ("open", "held", "sliding"), "free"


class CompiledModes(NamedTuple):
    """Modes that have their own compiled equations.

    Attributes:
        dependent: names of the dependent speeds of each mode, in the order of u.
        near: a state that satisfies the constraints; needed if some rows are redundant.
        statuses: statuses of the intermittent constraints in each mode, as indices into CONSTRAINT_STATUSES.
        intermittents: names of the intermittent constraints.
        met: whether modes that runs encounter are compiled too, in the background.
    """

    dependent: tuple[tuple[str, ...], ...] = ()
    near: Near | None = None
    statuses: tuple[tuple[int, ...], ...] = ()
    intermittents: tuple[str, ...] = ()
    met: bool = False

    def chosen(self, equations: Equations) -> list[ProjectedSelection]:
        """Return the speed selections of the modes of closed loops."""
        from kane.formulation.projection_step import ProjectedSelection

        return [ProjectedSelection(equations, names, self.near) for names in self.dependent]

    @property
    def words(self) -> tuple[str, ...]:
        """Names of the modes, as in ``Trajectory.modes``."""
        coming_and_going = (statuses_in_words(each, self.intermittents) for each in self.statuses)
        return (*(in_words(names) for names in self.dependent), *coming_and_going)


NO_COMPILED_MODES = CompiledModes()


def in_words(dependent: Sequence[str]) -> str:
    """Return the name of a mode of closed loops: its dependent speeds."""
    return ", ".join(dependent) + DEPENDENT_SUFFIX


def statuses_in_words(statuses: Sequence[int], names: Sequence[str]) -> str:
    """Return the name of a mode of intermittent constraints: the active ones, or "free"."""
    active = [f"{name} {CONSTRAINT_STATUSES[status]}" for name, status in zip(names, statuses, strict=True) if status]
    return ", ".join(active) or FREE_MODE


def statuses_of(mode: str, names: Sequence[str]) -> tuple[int, ...] | None:
    """Parse the name of a mode to statuses; None if it contains an unknown name, or a name twice."""
    words = [] if mode == FREE_MODE else [re.fullmatch(r"(.+) (held|sliding)", x) for x in _parts(mode)]
    found = dict.fromkeys(names, 0)
    for word in words:
        if word is None or word[1] not in found or found[word[1]]:
            return None
        found[word[1]] = CONSTRAINT_STATUSES.index(word[2])
    return tuple(found.values())


def _parts(mode: str) -> list[str]:
    """Split the name of a mode into one part per constraint; constraint names may contain commas."""
    return re.findall(r"\s*(.+?(?: held| sliding|$))(?:,|$)", mode) or [mode]
