"""Derivatives through changes of charts, in which gimbals use other angles near their singularities.

The motion continues in other coordinates x' = C(x), so that S' = C_x S at each change. Records, the first and the last
state are in declared coordinates. Angles a, b, c and a + pi, -b or pi - b, c + pi give the same orientation; records
and runs use the family that is nearest to the angles before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kane.analysis.sensitivities.step_check import require_same_steps
from kane.analysis.sensitivities.variations import Affine, Array, Leg, ModeSlopes, steps_between
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.integrators.explicit import Explicit
from kane.simulation.modes.atlas import Atlas
from kane.simulation.modes.chart_switching import ChartSwitching
from kane.simulation.modes.charts import Charts
from kane.simulation.results.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class ChartChange:
    """Change of the state from one combination of charts to another.

    Attributes:
        motion: motion in the charts before.
        atlas: charts of the run.
        before, after: keys of both combinations.
        t, x, x_after: time, and the states before and after.
    """

    motion: ModeSlopes
    atlas: Atlas
    before: int
    after: int
    t: float
    x: Array
    x_after: Array

    def derived(self) -> Affine:
        """Return S' as an affine function of S."""
        keys, t = (self.before, self.after), np.array([self.t])
        by_x = chart_slopes(self.motion, self.atlas, keys, (t, self.x[None]), self.x_after[None])[0]
        return Affine(by_x, np.zeros((len(self.x), self.motion.widths[2])))


@dataclass(frozen=True, eq=False)
class ChartedLeg(Leg):
    """Steps in the charts of a key."""

    atlas: Atlas
    key: int

    def declared(self, t: Array, x: Array, S: Array, last: Array) -> tuple[Array, Array]:
        """Return states (times, nx) and derivatives (times, nx, columns) in declared coordinates.

        Angles continue from ``last``.
        """
        found = self.atlas.declared(x, self.key, last)
        return found, chart_slopes(self.motion, self.atlas, (self.key, 0), (t, x), found) @ S


def chart_slopes(
    motion: ModeSlopes, atlas: Atlas, keys: tuple[int, int], at: tuple[Array, Array], after: Array
) -> Array:
    """Return C_x of the map from the charts of one key to those of another, (times, nx, nx).

    Args:
        motion: motion in the first charts.
        atlas: charts of the run.
        keys: both keys.
        at: times, and states in the first charts.
        after: the same states in the second charts, whose family of angles they determine.
    """
    e, (nq, _, _), (t, x) = motion.dyn.equations, motion.widths, at
    leaves = [*e.q, *e.u]
    found = list(leaves)
    for place in atlas.places:
        elsewhere = place.is_elsewhere(keys[0])
        if elsewhere != place.is_elsewhere(keys[1]):
            q, u = place.chart(elsewhere).carry(leaves[place.q], [] if place.u is None else leaves[place.u])
            found[place.q] = [e.t.arena.lift(value) for value in q]
            if place.u is not None:
                found[place.u] = [e.t.arena.lift(value) for value in u]
    J = motion.dyn.derivatives(found, wrt=("coordinates", "u"))(
        x[:, :nq], x[:, nq:], motion.inputs(t, t), t, parameters=motion.values
    )
    by_x = np.concatenate([J["coordinates"], J["u"]], axis=2)
    for place in atlas.places:
        first = place.q.start
        other = np.cos(after[:, first] - J.value[:, first]) < 0.0
        for middle in (first + 1, *(() if place.u is None else (place.u.start + 1,))):
            by_x[other, middle] *= -1.0
    return by_x


def charts_of(run: Trajectory) -> Charts | None:
    """Return the charts of a run for the joints that changed them; None if no joint did."""
    joints = tuple(dict.fromkeys(joint for _, joint, _ in run.chart_switches))
    within = run._run.attributes.get("charts_within")
    return None if within is None or not joints else Charts(within=float(within), joints=joints)


def charted_pieces(
    run: Trajectory, integration: IntegratorState, method: Explicit, motion: Callable[[int], ModeSlopes]
) -> tuple[list[Leg], list[ChartChange]]:
    """Return the steps of a run in the charts of each stretch, and the changes of charts between them.

    The run begins and ends in declared coordinates.

    Args:
        run: the recorded run.
        integration: the repeated run with all steps.
        method: integrator of the steps.
        motion: function that returns the motion in the charts of a key.
    """
    source, states, stretches = integration.problem.mode_source, integration.states(), integration.stretches()
    assert isinstance(source, ChartSwitching)
    first, last = (
        Leg(motion(0), np.array([float(run.time[k])]), np.concatenate([run.q[k], run.u[k]])[None]) for k in (0, -1)
    )
    pieces, keys = [first] if stretches[0].key else [], [0] if stretches[0].key else []
    for stretch in stretches:
        steps = steps_between(states[stretch.rows], stretch.begin, stretch.end)
        pieces.append(ChartedLeg(motion(stretch.key), steps[:, 0], steps[:, 1:], source.atlas, stretch.key))
        keys.append(stretch.key)
    for piece, key in zip(pieces, keys, strict=True):
        require_same_steps(piece, method, ", in another chart" if key else "")
    pieces, keys = [*pieces, last], [*keys, 0]
    pairs = zip(pairwise(pieces), pairwise(keys), strict=True)
    return pieces, [ChartChange(a.motion, source.atlas, *of, float(a.t[-1]), a.x[-1], b.x[0]) for (a, b), of in pairs]
