"""Choice of route by cost: base parameters or not, composite or articulated inertias."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import PARAMETER, TIME
from kane.expression.traverse import count, substitute
from kane.formulation.recursive.applied import Applied
from kane.formulation.recursive.articulated import articulated_forward
from kane.formulation.recursive.composite import Sparse, mass_matrix, natural_mass_matrix, solve, unit_columns
from kane.formulation.recursive.inverse import along_u, inertia_wrench, inverse_dynamics
from kane.formulation.recursive.kinematics import accelerations, angular_velocities
from kane.formulation.recursive.symmetric_links import without_turns, wrenches_in
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.spatial import ZERO, minus
from kane.formulation.tree.system import System

# A division takes as long as this many multiplications on current processors.
DIVISION = 8
# Beyond this many natural speeds composite inertias, which cost O(n^2) and more, are not tried.
MANY_SPEEDS = 60


def cost(expressions: Sequence[Any]) -> int:
    """Run-time cost of expressions, in multiplications; what depends on parameters alone is free."""
    totals = count([x for x in expressions if isinstance(x, Expr)], free=(PARAMETER,))
    return totals["mul"] + totals["add"] + DIVISION * totals["div"]


# With no more speeds of choice than this M is tried column by column, which takes O(n^3).
FEW_SPEEDS = 16
# At random states with these seeds, an entry of M this small beside its diagonal ones is zero but for round-off.
STATES, NEGLIGIBLE = (0, 1), 1e-12


def without_vanishing(M: Sparse) -> Sparse:
    """M without what speeds of choice decouple: entries that are zero in every state, whether they look so or not."""
    places = list(M)
    found = [dict(zip(places, Probe({}, seed=seed)(list(M.values())), strict=True)) for seed in STATES]

    def vanishes(i: int, j: int) -> bool:
        if i == j or (i, i) not in M or (j, j) not in M:
            return False
        return all(abs(at[i, j]) <= NEGLIGIBLE * math.sqrt(abs(at[i, i] * at[j, j])) for at in found)

    return {place: x for place, x in M.items() if not vanishes(*place)}


class Routes:
    """The routes through one system, and which of them is cheapest."""

    def __init__(self, system: System) -> None:
        self._plain = system

    @cached_property
    def chosen(self) -> System:
        """The system with base parameters where they save operations, else as it is."""
        regrouped = without_turns(self._plain.regrouped())
        if len(self._plain.speeds.C) > MANY_SPEEDS:
            return regrouped
        udot = self._plain.speeds.udot
        return min((regrouped, self._plain), key=lambda s: cost(inverse_dynamics(s, udot, {})))

    @cached_property
    def mass(self) -> Sparse:
        """M over u: by composite inertias, or from partial velocities where few speeds of choice make that cheaper."""
        system = self.chosen
        composite = mass_matrix(system, natural_mass_matrix(system))
        if system.speeds.plain:
            return composite
        if len(system.speeds.u) > FEW_SPEEDS:
            return without_vanishing(composite)
        return without_vanishing(min((composite, unit_columns(system)), key=lambda M: cost(list(M.values()))))

    def inverse(self, udot: Sequence[Any], applied: Applied) -> list[Any]:
        """M udot + bias under loads."""
        needed = inverse_dynamics(self.chosen, udot, wrenches_in(self.chosen, self._plain, applied.wrenches))
        return [x - y for x, y in zip(needed, along_u(self._plain, applied.efforts), strict=True)]

    def forward(self, applied: Applied) -> list[Any]:
        """udot under loads, by the cheaper of the two routes."""
        speeds = self._plain.speeds
        if not speeds.u:
            return []
        if not speeds.plain:
            return self.with_choice(applied)
        if len(speeds.C) > MANY_SPEEDS:
            return self.articulated(applied)
        return min(self.composite(applied), self.articulated(applied), key=cost)

    def with_choice(self, applied: Applied) -> list[Any]:
        """udot of speeds of choice, by composite inertias or through the joints' own speeds, whichever is cheaper."""
        if not self._plain.definitions:
            return self.composite(applied)
        if len(self._plain.speeds.u) > MANY_SPEEDS:
            return self.through_own_speeds(applied)
        return min(self.composite(applied), self.through_own_speeds(applied), key=cost)

    def through_own_speeds(self, applied: Applied) -> list[Any]:
        """udot of u = Y w + Z as its time derivative, with wdot of the joints' own speeds: for long chains."""
        own, rates = self._plain.own, self._plain.speeds.rates
        assert own is not None
        w, lift = own.speeds, own.arena.lift
        changes = dict(zip(w.q, w.kinematics, strict=True)) | {own.arena.leaf(TIME, "t"): own.arena.one}
        changes |= dict(zip(w.u, map(lift, Routes(own).forward(applied)), strict=True))
        return list(substitute(total_time_derivative(self._plain.definitions, changes), rates))

    def composite(self, applied: Applied) -> list[Any]:
        """udot by composite inertias and a sparse solve; any speeds."""
        system = self.chosen
        M = self.mass
        needed = self.inverse([0.0] * len(system.speeds.u), applied)
        order = list(dict.fromkeys(j for row in system.speeds.C for j in row))
        return solve(M, [-x for x in needed], order, [leaf.name for leaf in system.speeds.u])

    def articulated(self, applied: Applied) -> list[Any]:
        """udot by articulated inertias; each natural speed is one generalized speed."""
        system = self.chosen
        w = angular_velocities(system)
        fields = accelerations(system, w, system.speeds.a_t)
        wrenches = [inertia_wrench(m, f, v) for m, f, v in zip(system.masses, fields, w, strict=True)]
        for link, (f, n) in wrenches_in(system, self._plain, applied.wrenches).items():
            wrenches[link] = minus(wrenches[link][0], f), minus(wrenches[link][1], n)
        natural = articulated_forward(system, applied.efforts, wrenches)
        columns = [next(iter(row)) for row in system.speeds.C]
        udot: list[Any] = [ZERO] * len(columns)
        for j, x in zip(columns, natural, strict=True):
            udot[j] = x
        return udot
