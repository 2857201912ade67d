"""Recursive route: each term in the form with fewest operations (with or without base parameters, ...)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import TIME
from kane.expression.traverse import substitute_nodes
from kane.formulation.recursive.applied import Applied
from kane.formulation.route import Route
from kane.formulation.tree.loads import without_inputs
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.spatial import minus
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR

if TYPE_CHECKING:
    from kane.formulation.tree.sparse import Sparse

# Largest number of natural speeds for which composite inertias, with O(n^2) operations or more, are tried.
MAX_COMPOSITE_INERTIA_SPEEDS = 60
# Largest number of chosen speeds for which M is tried column by column too, with O(n^3) operations.
FEW_SPEEDS = 16
# Seeds of random states, and the size of an entry of M relative to its diagonal entries below which it is round-off.
PATTERN_SEEDS, ZERO_ENTRY_TOLERANCE = (0, 1), 1e-12


def without_vanishing(M: Sparse) -> Sparse:
    """Return M without entries that the chosen speeds decouple: entries that vanish numerically at random states."""
    places = list(M)
    found = [dict(zip(places, Probe({}, seed=seed)(list(M.values())), strict=True)) for seed in PATTERN_SEEDS]

    def vanishes(i: int, j: int) -> bool:
        if i == j or (i, i) not in M or (j, j) not in M:
            return False
        return all(abs(at[i, j]) <= ZERO_ENTRY_TOLERANCE * math.sqrt(abs(at[i, i] * at[j, j])) for at in found)

    return {place: x for place, x in M.items() if not vanishes(*place)}


def cheapest_system(system: System) -> System:
    """Return the system with base parameters if they save operations, else unchanged."""
    from kane.formulation.recursive.inverse import inverse_dynamics
    from kane.formulation.recursive.symmetric_links import without_turns
    from kane.formulation.tree.cost import cost

    regrouped = without_turns(system.regrouped())
    if len(system.speeds.C) > MAX_COMPOSITE_INERTIA_SPEEDS:
        return regrouped
    return min((regrouped, system), key=lambda s: cost(inverse_dynamics(s, system.speeds.udot, {})))


def least_mass_matrix(system: System) -> Sparse:
    """Return M over u by composite inertias, or column by column if this is cheaper for a few chosen speeds."""
    from kane.formulation.recursive.composite import mass_matrix, natural_mass_matrix, unit_columns
    from kane.formulation.tree.cost import cost

    composite = mass_matrix(system, natural_mass_matrix(system))
    if system.speeds.are_natural:
        return composite
    if len(system.speeds.u) > FEW_SPEEDS:
        return without_vanishing(composite)
    return without_vanishing(min((composite, unit_columns(system)), key=lambda M: cost(list(M.values()))))


class RecursiveRoute(Route):
    """Route to M and bias in O(n) to O(n^2) operations: velocities outwards along the tree, forces inwards.

    Args:
        system: system of the model, without base parameters.
        applied: its loads except gravity.
        inputs: leaves of the inputs.
    """

    name = "recursive"

    def __init__(self, system: System, applied: Applied, inputs: Sequence[Expr]) -> None:
        self._declared, self._applied, self._inputs = system, applied, inputs

    @cached_property
    def system(self) -> System:
        """Return the system on which the recursions work: with base parameters if they save operations."""
        return cheapest_system(self._declared)

    @cached_property
    def mass(self) -> Sparse:
        return least_mass_matrix(self.system)

    def passive(self, udot: Sequence[Any]) -> list[Any]:
        return self._needed(udot, without_inputs(self._applied.replaced, self._inputs))

    def loaded(self, udot: Sequence[Any]) -> list[Any]:
        return self._needed(udot, self._applied)

    def _needed(self, udot: Sequence[Any], applied: Applied) -> list[Any]:
        from kane.formulation.recursive.inverse import along_u, inverse_dynamics
        from kane.formulation.recursive.symmetric_links import wrenches_in

        needed = inverse_dynamics(self.system, udot, wrenches_in(self.system, self._declared, applied.wrenches))
        return [x - y for x, y in zip(needed, along_u(self._declared, applied.efforts), strict=True)]

    def resisted(self, *, inputs: bool) -> list[Any]:
        """Return -F_r of all loads except gravity; the inputs are zero unless ``inputs`` is true."""
        from kane.formulation.recursive.inverse import along_u, generalized_forces
        from kane.formulation.recursive.symmetric_links import wrenches_in

        applied = self._applied if inputs else without_inputs(self._applied.replaced, self._inputs)
        wrenches = [(ZERO_VECTOR, ZERO_VECTOR)] * len(self.system.links)
        for link, wrench in wrenches_in(self.system, self._declared, applied.wrenches).items():
            wrenches[link] = wrench
        on_links = generalized_forces(self.system, wrenches)
        return [-(x + y) for x, y in zip(on_links, along_u(self._declared, applied.efforts), strict=True)]

    def input_columns(self) -> list[list[Any]]:
        from kane.formulation.recursive.inverse import along_u, generalized_forces

        columns = []
        for part in self._applied.coefficients(self._inputs):
            none = [(ZERO_VECTOR, ZERO_VECTOR)] * len(self._declared.links)
            for link, wrench in part.wrenches.items():
                none[link] = wrench
            on_joints = along_u(self._declared, part.efforts)
            on_links = generalized_forces(self._declared, none)
            columns.append([a + b for a, b in zip(on_joints, on_links, strict=True)])
        return columns

    def forward(self) -> list[Any]:
        """Return udot by the cheapest of the methods below that apply."""
        from kane.formulation.tree.cost import cost

        speeds = self._declared.speeds
        if not speeds.u:
            return []
        many = len(speeds.u if self._declared.definitions else speeds.C) > MAX_COMPOSITE_INERTIA_SPEEDS
        if speeds.are_natural:
            return self.articulated() if many else min(self.composite(), self.articulated(), key=cost)
        if not self._declared.definitions:
            return self.composite()
        return self.through_own_speeds() if many else min(self.composite(), self.through_own_speeds(), key=cost)

    def through_own_speeds(self) -> list[Any]:
        """Return udot as d/dt (Y w + Z), with wdot of the joints' own speeds; suited to long chains."""
        own, rates = self._declared.own, self._declared.speeds.rates
        assert own is not None
        w, lift = own.speeds, own.arena.lift
        changes = dict(zip(w.q, w.kinematics, strict=True)) | {own.arena.leaf(TIME, "t"): own.arena.one}
        wdot = RecursiveRoute(own, self._applied, self._inputs).forward()
        changes |= dict(zip(w.u, map(lift, wdot), strict=True))
        return list(substitute_nodes(total_time_derivative(self._declared.definitions, changes), rates))

    def composite(self) -> list[Any]:
        """Return udot by composite inertias and a sparse solve, for any speeds."""
        from kane.formulation.tree.sparse import solve

        speeds = self.system.speeds
        M = self.mass
        needed = self.loaded([0.0] * len(speeds.u))
        order = list(dict.fromkeys(j for row in speeds.C for j in row))
        return solve(M, [-x for x in needed], order, [leaf.name for leaf in speeds.u])

    def articulated(self) -> list[Any]:
        """Return udot by articulated inertias; each natural speed must be one generalized speed."""
        from kane.formulation.recursive.articulated import articulated_forward
        from kane.formulation.recursive.inverse import inertia_wrench
        from kane.formulation.recursive.kinematics import acceleration_fields, angular_velocities
        from kane.formulation.recursive.symmetric_links import wrenches_in

        system = self.system
        w = angular_velocities(system)
        fields = acceleration_fields(system, w, system.speeds.a_t)
        wrenches = [inertia_wrench(m, f, v) for m, f, v in zip(system.masses, fields, w, strict=True)]
        for link, (f, n) in wrenches_in(system, self._declared, self._applied.wrenches).items():
            wrenches[link] = minus(wrenches[link][0], f), minus(wrenches[link][1], n)
        natural = articulated_forward(system, self._applied.efforts, wrenches)
        columns = [next(iter(row)) for row in system.speeds.C]
        udot: list[Any] = [ZERO_VECTOR] * len(columns)
        for j, x in zip(columns, natural, strict=True):
            udot[j] = x
        return udot
