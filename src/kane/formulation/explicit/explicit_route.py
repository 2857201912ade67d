"""Explicit route: Kane's dynamical equations from partial velocities, with udot in evidence.

    M_rs = sum over bodies of m v_NBcm_u[r] . v_NBcm_u[s] + w_NB_u[r] . I w_NB_u[s],   M udot + bias = -(F_r + F*_r)

Vectors are in the user's own body frames, inertias are central. The route shares only the joints' motion and the speeds
with the recursive route.

Source: Kane & Levinson 1983, Eqs. 23, 44, 78-79, 88-90, 117.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from kane.expression.node import Expr
from kane.formulation.explicit.acceleration_forms import Accelerations
from kane.formulation.explicit.generalized_forces import (
    about_mass_centre,
    applied_wrenches,
    inertia_torque,
    project_joint_efforts,
    resolve_loads,
)
from kane.formulation.explicit.measure_rows import MeasureRows
from kane.formulation.explicit.vector_bases import with_cheapest_bases
from kane.formulation.explicit.velocity_forms import Velocities
from kane.formulation.route import Route
from kane.formulation.tree.body_tree import BodyTree
from kane.formulation.tree.loads import per_input, without_inputs
from kane.formulation.tree.sparse import Sparse, solve
from kane.formulation.tree.spatial import times
from kane.formulation.tree.system import System
from kane.geometry.scalars import Triple, is_zero

# Measure rows of the three components of a vector, None for zero components. A vector, with the row of each component.
_Places: TypeAlias = Sequence["int | None"]
_OnRows: TypeAlias = tuple[_Places, Triple]


class ExplicitRoute(Route):
    """Route to M and bias in O(n^3) operations from partial velocities; easier to read than the recursions for few
    bodies.

    Args:
        system: source of the speeds and of gravity.
        tree: bodies and loads as declared.
        inputs: leaves of the inputs.
    """

    name = "explicit"

    def __init__(self, system: System, tree: BodyTree, inputs: Sequence[Expr]) -> None:
        self._speeds, self._tree, self._inputs = system.speeds, tree, inputs
        x, y, z = system.gravity
        self._ground = (-x, -y, -z)

    @cached_property
    def velocities(self) -> Velocities:
        """Return the velocities of the bodies, in the bases of least cost."""
        return with_cheapest_bases(self._tree, self._speeds, self._ground)

    @cached_property
    def _loaded(self) -> BodyTree:
        return resolve_loads(self.velocities, self._tree)

    @cached_property
    def _standing(self) -> tuple[MeasureRows, list[_Places], list[_Places]]:
        """Return the measure rows, and for every member the rows of its w and of the v of its mass centre.

        The rows hold the measure numbers of all partial velocities, weighted by masses and inertias; equal rows are
        merged.
        """
        motion, rows = self.velocities, MeasureRows()
        turning: list[_Places] = [(None,) * 3]
        pushing: list[_Places] = [(None,) * 3]
        for k, member in enumerate(self._tree.members[1:], start=1):
            turning.append(rows.places(motion.angular(k, k)))
            pushing.append(rows.places(motion.point(k, member.body.com)))
            rows.weigh(turning[k], member.body.inertia)
            m = member.body.mass
            rows.weigh(pushing[k], ((m, 0.0, 0.0), (0.0, m, 0.0), (0.0, 0.0, m)))
        return rows, turning, pushing

    @cached_property
    def mass(self) -> Sparse:
        return self._standing[0].mass_entries()

    def passive(self, udot: Sequence[Any]) -> list[Any]:
        return self._needed(udot, without_inputs(self._loaded.replaced, self._inputs))

    def loaded(self, udot: Sequence[Any]) -> list[Any]:
        return self._needed(udot, self._loaded)

    def forward(self) -> list[Any]:
        needed = self.loaded([0.0] * len(self._speeds.u))
        order = list(dict.fromkeys(r for row in self._speeds.C for r in row))
        return solve(self.mass, [-x for x in needed], order, [leaf.name for leaf in self._speeds.u])

    def input_columns(self) -> list[list[Any]]:
        forces = [-x for x in self._less_efforts(list(self._applied(self._loaded)), self._loaded)]
        return per_input([leaf.arena.lift(x) for leaf, x in zip(self._speeds.u, forces, strict=True)], self._inputs)

    def _needed(self, udot: Sequence[Any], tree: BodyTree) -> list[Any]:
        """Return -(F_r + F*_r) for given accelerations, under the loads of a tree."""
        return self._less_efforts([*self._inertia(udot), *self._applied(tree)], tree)

    def _less_efforts(self, forces: Iterable[_OnRows], tree: BodyTree) -> list[Any]:
        rows = self._standing[0]
        loads: list[Any] = [0.0] * len(rows)
        for places, v in forces:
            for place, x in zip(places, v, strict=True):
                if place is not None and not is_zero(x):
                    loads[place] = loads[place] + x
        totals = rows.projected(loads, len(self._speeds.u))
        for _, _, efforts in project_joint_efforts(self.velocities, tree):
            totals = [a - b for a, b in zip(totals, efforts, strict=True)]
        return totals

    def _inertia(self, udot: Sequence[Any]) -> Iterator[_OnRows]:
        """Yield I alpha + w x I w on the rows of w, and m a on the rows of v."""
        speeds, (_, turning, pushing) = self._speeds, self._standing
        motion = Accelerations(self.velocities, speeds.natural_accelerations(udot), self._ground)
        for k, member in enumerate(self._tree.members[1:], start=1):
            yield turning[k], inertia_torque(motion, k)
            if not is_zero(member.body.mass):
                yield pushing[k], times(member.body.mass, motion.point(k, member.body.com))

    def _applied(self, tree: BodyTree) -> Iterator[_OnRows]:
        """Yield -t on the rows of w, and -f on the rows of v."""
        _, turning, pushing = self._standing
        for applied in applied_wrenches(self.velocities, tree):
            force, torque = about_mass_centre(self.velocities, applied)
            yield pushing[applied.member], times(-1.0, force)
            yield turning[applied.member], times(-1.0, torque)
