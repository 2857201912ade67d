"""Motion with contacts and its derivatives, by saltation matrices at impacts, slip changes and separations.

A row of data near an impact may be measured before and simulated after it, or conversely, because the impact times
differ. Such a row is compared with the simulated motion of the side where it was measured, extended beyond the impact.
Residuals and their derivatives are then continuous functions of the parameters.

Source: Saccon, van de Wouw & Nijmeijer 2014, for motions that are extended beyond their impacts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.analysis.identification.variational import Instead, Stretches, Variational, tangents
from kane.analysis.sensitivities.contact_motions import ContactMotions, held
from kane.analysis.sensitivities.force_jumps import require_smooth
from kane.analysis.sensitivities.mode_changes import mode_changes, pieces_of
from kane.analysis.sensitivities.run_replay import require_no_step_over
from kane.analysis.sensitivities.saltation import AT_ONCE
from kane.analysis.sensitivities.variations import (
    ForwardResults,
    Leg,
    ModeSlopes,
    integrated,
    through_piece,
    through_pieces,
)
from kane.analysis.sensitivities.zero_order_hold import HeldAnswers
from kane.array_types import Array
from kane.deferred import NamedTuple, dataclass
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.contact_codes import STICKING
from kane.errors import ModelError, SimulationError
from kane.formulation.constraints.rows import Equation
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.integrators.explicit import Explicit, scheme
from kane.simulation.modes.set_up import set_up

# Number of simulated rows before and after an impact that the data may have on its other side.
BEYOND = 4


@dataclass(frozen=True, eq=False)
class ContactVariational(Variational):
    """Initial value problem with contacts, and its derivatives.

    Attributes:
        closed: rows of closed or sticking constraints at each shooting node, by its time [s].
    """

    closed: Mapping[float, tuple[Equation, ...]]

    @classmethod
    def among(
        cls,
        dyn: Dynamics,
        inputs: Any,
        parameters: Array,
        names: Sequence[str],
        closed: Mapping[float, tuple[Equation, ...]],
    ) -> ContactVariational:
        """Create the problem with derivatives by the named parameters."""
        return cls(set_up(dyn, inputs, parameters, (), None), tuple(names), closed)

    def at_begin(self, t: float) -> Dynamics:
        return held(self.problem.dyn, self.closed[t])

    def run(self, begins: Array, times: Sequence[Array], parameters: Array, method: Explicit) -> Stretches:
        """See ``Variational``.

        Raises:
            ModelError: a shooting interval has no derivative, or cannot start.
        """
        found = [self._stretch(x, own, parameters, method) for x, own in zip(begins, times, strict=True)]
        free = max(own.freedoms for own in found)
        moves = np.array([np.pad(own.S[0, :, : own.freedoms], ((0, 0), (0, free - own.freedoms))) for own in found])
        firsts = np.cumsum([0, *(len(own) for own in times)]).tolist()
        instead = [
            Instead(first + other.row, other.x, _widened(other.S, own.freedoms, free))
            for first, own in zip(firsts, found, strict=False)
            for other in own.instead
            if other.row > 0
        ]
        S = [_widened(own.S, own.freedoms, free) for own in found]
        return Stretches(np.concatenate([own.x for own in found]), np.concatenate(S), moves, instead)

    def _integrated(self, x0: Array, times: Array, parameters: Array, method: Explicit) -> IntegratorState:
        try:
            return super()._integrated(x0, times, parameters, method)
        except ModelError as error:
            raise SimulationError(f"the interval from t = {times[0]:.9g} s on cannot be simulated: {error}") from error

    def _stretch(self, x0: Array, times: Array, parameters: Array, method: Explicit) -> _Stretch:
        """Simulate and differentiate one shooting interval."""
        integration = self._integrated(x0, times, parameters, method)
        contact_log = integration.problem.record(integration).contact_log
        assert contact_log is not None
        require_no_step_over(integration.problem.layout.model, contact_log.times, contact_log.kinds)
        motion = self._motion(parameters)
        motions = ContactMotions(motion.dyn, motion.plan, parameters, self.names)
        pieces, jumps = pieces_of(motions, method, integration.states(), contact_log)
        for piece in pieces:
            require_smooth(piece)
        first, _ = mode_changes(contact_log, times[0])
        T = self._begins(motion, first, times[0], x0)
        chosen = self._chosen(motion, T.shape[1])
        S = self._starts(T[None])[0]
        out = ForwardResults(times[1:], [pieces[0].x[0]], [S], HeldAnswers.of(()))
        along = zip(pieces, (*(jump.derived() for jump in jumps), None), strict=True)
        ends = [_End(*found) for found in through_pieces(along, method, S, chosen, out)]
        instead = list(_beyond_impacts(ends, times, chosen, method))
        return _Stretch(np.array(out.x), np.array(out.S), T.shape[1], instead)

    def _begins(self, motion: ModeSlopes, statuses: NDArray[np.int8], t: float, x: Array) -> Array:
        """Return a basis, (nx, freedoms), of the changes of x that keep closed gaps closed and contacts sticking."""
        closed = {row.name for row in self.closed[t]}
        intermittents = motion.dyn.equations.intermittents
        sticking = {
            row.name for c, status in zip(intermittents, statuses, strict=True) if status == STICKING for row in c.rows
        }
        rows = [row for c in intermittents for row in c.rows if row.name in closed | sticking]
        there = replace(motion, dyn=held(motion.dyn, rows))
        return tangents(there, np.array([t]), x[None])[0]


class _Stretch(NamedTuple):
    """States of one interval, their derivatives by its initial freedoms and the parameters, and extended states."""

    x: Array
    S: Array
    freedoms: int
    instead: list[Instead]


class _End(NamedTuple):
    """Steps in one mode, with the derivatives of the states at their start and end."""

    leg: Leg
    before: Array
    after: Array


def _widened(S: Array, own: int, freedoms: int) -> Array:
    """Pad derivatives (..., own + names) with zeros for missing freedoms."""
    return np.concatenate([S[..., :own], np.zeros((*S.shape[:-1], freedoms - own)), S[..., own:]], axis=-1)


def _beyond_impacts(ends: Sequence[_End], times: Array, chosen: Array, method: Explicit) -> Iterator[Instead]:
    """Yield alternative states of the rows near each impact: the motion extended from the other side of the impact."""
    jumps = [(int(np.searchsorted(times, a.leg.t[-1])), k) for k, (a, _) in enumerate(pairwise(ends))]
    for row, group in groupby(jumps, key=lambda jump: jump[0]):
        of = [k for _, k in group]
        a, b = ends[of[0]], ends[of[-1] + 1]
        if 0 < row < len(times) and any(_jumps(ends[k].leg.x[-1], ends[k + 1].leg.x[0]) for k in of):
            behind, before = range(row, min(row + BEYOND, len(times))), range(row - 1, max(row - 1 - BEYOND, -1), -1)
            end, begin = (a.leg.t[-1], a.leg.x[-1], a.after), (b.leg.t[0], b.leg.x[0], b.before)
            for motion, at, rows in ((a.leg.motion, end, behind), (b.leg.motion, begin, before)):
                found = _beyond(motion, at, times[list(rows)], chosen, method)
                yield from (Instead(k, x, S) for k, x, S in zip(rows, *found, strict=True))


def _jumps(before: Array, after: Array) -> bool:
    """Check whether a state jumps by more than round-off. Where a slip ends or reverses, the jump is only round-off."""
    return bool(np.abs(after - before).max() > AT_ONCE * np.abs(before).max(initial=1.0))


def _beyond(
    motion: ModeSlopes, begin: tuple[float, Array, Array], times: Array, chosen: Array, method: Explicit
) -> tuple[list[Array], list[Array]]:
    """Extend the motion of a mode and its derivatives from a state to given times, ignoring guards.

    It takes one step from each time to the next.
    """
    start, x, S = begin
    out = ForwardResults(times, [], [], HeldAnswers.of(()))
    through_piece(integrated(motion, np.array([start, *times]), x, scheme(method), {}), method, S, chosen, out)
    return out.x, out.S
