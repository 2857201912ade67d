"""Contact mode of a phase: its equations, and its conditions on gaps and contact forces.

The rows of the active constraints join the permanent rows, so that their forces are multipliers of the transcription.

Source: Posa, Cantu & Tedrake 2014, A direct method for trajectory optimization of rigid bodies through contact, for the
conditions; here the sequence of modes is given.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kane.analysis.automaton.mode_edges import statuses_allowed
from kane.analysis.automaton.modes_graph import mode_independent_speeds
from kane.analysis.optimal_control.collocation_arguments import PathConstraint, path_constraints
from kane.analysis.optimal_control.phase import Phase
from kane.analysis.optimal_control.phase_symbols import Symbols
from kane.analysis.sensitivities.contact_motions import held
from kane.dynamics.compile_modes import read_statuses
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.contact_codes import OPEN, SLIDING
from kane.errors import ModelError, list_names
from kane.expression.node import Expr
from kane.expression.number_arguments import words
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.constraints.rows import Equation
from kane.formulation.contact_mode import active_rows
from kane.model.checks import require_known

IN_CONE = "the friction cone of"


@dataclass(frozen=True)
class PhaseMode:
    """Contact mode of one phase.

    Attributes:
        whole: compiled equations of the model.
        phase: the phase as the user describes it.
        number: number of the phase, from 1.
        statuses: status of each intermittent constraint.
        bouncing, passing: names of the contacts that bounce at the end, and of those whose gaps may be negative.
    """

    whole: Dynamics
    phase: Phase
    number: int
    statuses: tuple[int, ...]
    bouncing: tuple[str, ...]
    passing: tuple[str, ...]

    @classmethod
    def of(cls, whole: Dynamics, phase: Phase, number: int) -> PhaseMode:
        """Read the mode of a phase.

        Raises:
            ModelError: the mode or a name is unknown, a named contact is closed, a contact slides with friction, or
                rows are redundant.
        """
        e, who = whole.equations, f"phase {number}"
        try:
            statuses = read_statuses(phase.mode, e)
        except ModelError as error:
            raise ModelError(f"{who}: {error}") from None
        for c, status in zip(e.intermittents, statuses, strict=True):
            if status == SLIDING:
                raise ModelError(
                    f"{who}: {c.name!r} slides; phases with sliding friction do not exist yet: let it stick"
                )
            if status not in statuses_allowed(c):
                raise ModelError(f"{who}: {c.name!r} never opens; add '{c.name} held' to the mode {phase.mode!r}")
        opened = [c.name for c, status in zip(e.intermittents, statuses, strict=True) if status == OPEN and c.normal]
        named = []
        for word, given in (("bounces", phase.bounces), ("passes", phase.passes)):
            found = (given,) if isinstance(given, str) else tuple(words(given, word, "contacts")) if given else ()
            for name in found:
                require_known(name, opened, "open contact", f" in {who}, as {word}= names")
            named.append(found)
        made = cls(whole, phase, number, statuses, *named)
        made._require_independent_rows()
        return made

    def _require_independent_rows(self) -> None:
        """Raise ModelError if forces of the active rows are indeterminate, because rows are linear combinations."""
        e, rows = self.whole.equations, self.active
        free = len(mode_independent_speeds(e, (OPEN,) * len(self.statuses)))
        if free - len(mode_independent_speeds(e, self.statuses)) < len(rows):
            raise ModelError(
                f"{self.who}: the rows {list_names([row.name for row in rows])} are redundant, and their forces "
                "indeterminate; leave out a contact, or the friction of one"
            )

    @property
    def active(self) -> list[Equation]:
        """Active rows of intermittent constraints."""
        return [row for c, status in self.constraints for row in active_rows(c, status)]

    @property
    def who(self) -> str:
        """The phase in messages."""
        return f"phase {self.number} ({self.phase.mode!r})"

    @property
    def constraints(self) -> list[tuple[IntermittentEquations, int]]:
        """Each intermittent constraint with its status."""
        return list(zip(self.whole.equations.intermittents, self.statuses, strict=True))

    @cached_property
    def dyn(self) -> Dynamics:
        """Compiled equations in which the active rows are permanent."""
        return held(self.whole, self.active)

    def symbols(self, laws: Any) -> Symbols:
        """Return the leaves of the phase."""
        inactive = tuple(row.name for c, status in self.constraints for row in c.rows if status == OPEN)
        return Symbols(self.dyn.equations, laws, f"phase {self.number} ", inactive)

    def path(self, symbols: Symbols, touching: tuple[Collection[str], Collection[str]]) -> list[PathConstraint]:
        """Return the path constraints of the phase, then the conditions on gaps and forces.

        Args:
            symbols: leaves of the phase.
            touching: names of the open contacts whose gap is zero at the start, and at the end.

        Raises:
            ModelError: a path constraint is invalid.
        """
        found = path_constraints(symbols, self.phase.path, f" of phase {self.number}")
        for c, status in self.constraints:
            if status == OPEN and c.normal is not None and c.name not in self.passing:
                loose = c.name in touching[0], c.name in touching[1]
                found.append(self._lower(symbols, f"the gap of {c.name!r}", c.numbers.gap, loose))
            elif status != OPEN and not c.constraint.bilateral:
                forces = [symbols.forces_by_row[row.name] for row in c.rows]
                ends = False, c.name in touching[1]
                for who, x in cone(c, forces):
                    found.append(self._lower(symbols, who, x, ends))
        return found

    def _lower(self, symbols: Symbols, who: str, x: Expr, loose: tuple[bool, bool]) -> PathConstraint:
        (given,) = symbols.equations.unconstrained.baked_in([x])
        return PathConstraint(f"{who} in phase {self.number}", given, (0.0, math.inf), loose)


def cone(c: IntermittentEquations, forces: list[Expr]) -> list[tuple[str, Expr]]:
    """Return expressions of forces or impulses of a closed unilateral constraint that are not negative.

    These are the normal force, and the static bound minus and plus a tangential force. With two tangents, they are the
    square of the bound minus the squares of both.
    """
    found, bound, tangential = [], c.numbers.static, forces
    if c.normal is not None:
        normal, *tangential = forces
        found.append((f"the normal force of {c.name!r}", normal))
        bound = bound * normal
    if c.constraint.friction is None or not tangential:
        return found
    if len(tangential) == 1:
        return [*found, *((f"{IN_CONE} {c.name!r}", bound + sign * tangential[0]) for sign in (1.0, -1.0))]
    return [*found, (f"{IN_CONE} {c.name!r}", bound * bound - sum((x * x for x in tangential), bound.arena.zero))]
