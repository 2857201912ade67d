"""The explicit route: Kane's dynamical equations from partial velocities, with udot in evidence.

M_rs = sum over bodies of m v_NBcm_u[r] . v_NBcm_u[s] + w_NB_u[r] . I w_NB_u[s], M udot + bias = -(F_r + F*_r), in the
user's own body frames, with central inertias about mass centres. Of the recursive route it shares the joints' motion
and the speeds, and nothing else.

Source: Kane & Levinson 1983.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any

from kane.errors import ExpressionError, ModelError
from kane.expression.collector import collector_paused
from kane.expression.derivative import linear_coefficients
from kane.formulation.equations import Equations
from kane.formulation.explicit.acceleration_forms import Accelerations
from kane.formulation.explicit.generalized_forces import (
    about_mass_centre,
    applied_wrenches,
    inertia_torque,
    joint_efforts,
    resolved,
)
from kane.formulation.explicit.measure_rows import MeasureRows
from kane.formulation.explicit.vector_bases import with_cheapest_bases
from kane.formulation.formulate import formulate
from kane.formulation.recursive.composite import Sparse, solve
from kane.formulation.tree.body_tree import BodyTree
from kane.formulation.tree.spatial import Vector, dot, is_zero, times
from kane.formulation.tree.system import System
from kane.model.model import Model

# Rows, and the vector whose measure numbers stand on them.
_Standing = tuple[Sequence["int | None"], Vector]


class ExplicitRoute:
    """Kane's equations of one tree.

    Attributes:
        velocities: of its bodies, in the bases of least cost.
        rows: the measure numbers of all partial velocities, equal ones joined, with the masses and inertias on them.
    """

    def __init__(self, system: System, tree: BodyTree) -> None:
        self._system, self._tree = system, tree
        g = system.gravity
        self._ground = (-g[0], -g[1], -g[2])
        self.velocities = with_cheapest_bases(tree, system.speeds, self._ground)
        self.rows = MeasureRows()
        self._turning, self._pushing = self._placed()

    def _placed(self) -> tuple[list[Sequence[int | None]], list[Sequence[int | None]]]:
        """For every member, the rows of its w and of its mass centre's v."""
        motion, rows = self.velocities, self.rows
        turning: list[Sequence[int | None]] = [(None,) * 3]
        pushing: list[Sequence[int | None]] = [(None,) * 3]
        for k, member in enumerate(self._tree.members[1:], start=1):
            turning.append(rows.places(motion.angular(k, k)))
            pushing.append(rows.places(motion.point(k, member.body.com)))
            rows.weigh(turning[k], member.body.inertia)
            m = member.body.mass
            rows.weigh(pushing[k], ((m, 0.0, 0.0), (0.0, m, 0.0), (0.0, 0.0, m)))
        return turning, pushing

    def mass_entries(self) -> Sparse:
        """M, entries (r, s) with s <= r."""
        return self.rows.mass_entries()

    def needed(self, udot: Sequence[Any], tree: BodyTree) -> list[Any]:
        """-(F_r + F*_r) for given accelerations, under the loads of a tree."""
        return self._less_efforts([*self._inertia(udot), *self._applied(tree)], tree)

    def active(self, tree: BodyTree) -> list[Any]:
        """F_r of the loads of a tree, gravity not counted."""
        return [-x for x in self._less_efforts(list(self._applied(tree)), tree)]

    def _less_efforts(self, standing: Iterable[_Standing], tree: BodyTree) -> list[Any]:
        loads: list[Any] = [0.0] * len(self.rows)
        for places, v in standing:
            for place, x in zip(places, v, strict=True):
                if place is not None and not is_zero(x):
                    loads[place] = loads[place] + x
        totals = self.rows.projected(loads, len(self.velocities.speeds.u))
        for _, _, forces in joint_efforts(self.velocities, tree):
            totals = [a - b for a, b in zip(totals, forces, strict=True)]
        return totals

    def _inertia(self, udot: Sequence[Any]) -> Iterator[_Standing]:
        """I alpha + w x I w on the rows of w, m a on those of v."""
        speeds = self.velocities.speeds
        natural = [
            dot(tuple(row.values()), [udot[r] for r in row]) + a for row, a in zip(speeds.C, speeds.a_t, strict=True)
        ]
        motion = Accelerations(self.velocities, natural, self._ground)
        for k, member in enumerate(self._tree.members[1:], start=1):
            yield self._turning[k], inertia_torque(motion, k)
            if not is_zero(member.body.mass):
                yield self._pushing[k], times(member.body.mass, motion.point(k, member.body.com))

    def _applied(self, tree: BodyTree) -> Iterator[_Standing]:
        """-t on the rows of w, -f on those of v."""
        for applied in applied_wrenches(self.velocities, tree):
            force, torque = about_mass_centre(self.velocities, applied)
            yield self._pushing[applied.member], times(-1.0, force)
            yield self._turning[applied.member], times(-1.0, torque)


class ExplicitEquations(Equations):
    """Equations whose mass matrix, bias, inverse and forward dynamics come by the explicit route."""

    @cached_property
    def explicit_route(self) -> ExplicitRoute:
        """The route itself: velocities in their bases, and the rows of their measure numbers."""
        with collector_paused():
            return ExplicitRoute(self.system, self.tree)

    def passive(self, udot: Sequence[Any]) -> list[Any]:
        return self.explicit_route.needed(udot, self._loaded.replaced({i: i.arena.zero for i in self.inputs}))

    def loaded(self, udot: Sequence[Any]) -> list[Any]:
        return self.explicit_route.needed(udot, self._loaded)

    def unconstrained_forward(self) -> list[Any]:
        needed = self.loaded([0.0] * len(self.u))
        order = list(dict.fromkeys(r for row in self.system.speeds.C for r in row))
        return solve(self._mass_entries, [-x for x in needed], order, [leaf.name for leaf in self.u])

    def input_columns(self) -> list[list[Any]]:
        forces = [self.system.arena.lift(x) for x in self.explicit_route.active(self._loaded)]
        try:
            rows, _ = linear_coefficients(forces, self.inputs)
        except ExpressionError as error:
            raise ModelError(
                f"a load is not linear in the inputs ({error}), so that there is no input matrix"
            ) from None
        return [list(column) for column in zip(*rows, strict=True)]

    @cached_property
    def _loaded(self) -> BodyTree:
        return resolved(self.explicit_route.velocities, self.tree)

    @cached_property
    def _mass_entries(self) -> Sparse:
        return self.explicit_route.mass_entries()


def explicit(source: Model | Equations) -> ExplicitEquations:
    """The equations of a model by the explicit route; everything that takes equations takes these.

    The result is that of ``formulate`` to round-off. It costs O(n^3) operations where the recursive route costs O(n) to
    O(n^2), and for a few bodies is read more easily: ``listing()`` follows the analyst's way.

    Args:
        source: a model, or equations made from one.

    Source: Kane & Levinson 1983, Eqs. 23, 44, 78-79, 88-90, 117.
    """
    equations = source if isinstance(source, Equations) else formulate(source)
    return ExplicitEquations(**{f.name: getattr(equations, f.name) for f in fields(Equations)})
