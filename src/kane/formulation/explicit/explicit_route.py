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
from kane.expression.operations import NEG
from kane.formulation.explicit.acceleration_forms import Accelerations
from kane.formulation.explicit.generalized_forces import (
    about_mass_centre,
    applied_wrenches,
    inertia_torque,
    project_joint_efforts,
    resolve_loads,
)
from kane.formulation.explicit.vector_bases import with_cheapest_bases
from kane.formulation.explicit.velocity_forms import Velocities, VelocityForm
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

MeasureRow = dict[int, Any]


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


class MeasureRows:
    """Measure numbers of partial velocities as distinct rows {speed: coefficient}, with M = rows^T weights rows.

    Two bodies with the same angular velocity, or with a common component of their mass centres' velocities, share a
    row. Their masses or moments of inertia are added before any multiplication.
    """

    def __init__(self) -> None:
        self._rows: list[MeasureRow] = []
        self._known: dict[tuple[tuple[int, Any], ...], int] = {}
        self._weights: dict[tuple[int, int], Any] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def places(self, form: VelocityForm) -> list[int | None]:
        """Return the row of each of the three components of a vector's partial velocities; None for zero components."""
        return [self._place({r: v[i] for r, v in form.u.items() if not is_zero(v[i])}) for i in range(3)]

    def _place(self, row: MeasureRow) -> int | None:
        if not row:
            return None
        key = tuple(sorted((r, ("node", x.id) if x.__class__ is Expr else ("number", x)) for r, x in row.items()))
        if key not in self._known:
            self._known[key] = len(self._rows)
            self._rows.append(row)
        return self._known[key]

    def weigh(self, places: Sequence[int | None], weights: Sequence[Sequence[Any]]) -> None:
        """Add a symmetric 3 x 3 matrix (inertia, or mass) to the weights of three rows."""
        for i, a in zip(places, weights, strict=True):
            for j, x in zip(places, a, strict=True):
                if i is not None and j is not None and not is_zero(x):
                    self._weights[i, j] = self._weights.get((i, j), 0.0) + x

    def mass_entries(self) -> dict[tuple[int, int], Any]:
        """Return M_rs = sum over rows i, j of row_i[r] weight_ij row_j[s], s <= r."""
        coupled = {i for i, j in self._weights if i != j}
        M: dict[tuple[int, int], Any] = {}
        for i, momentum in self._momenta(coupled).items():
            for r, x in self._rows[i].items():
                for s, y in momentum.items():
                    if s <= r and not is_zero(y):
                        M[r, s] = M.get((r, s), 0.0) + x * y
        for (r, s, x, y), weight in self._pairs(coupled).items():
            M[r, s] = M.get((r, s), 0.0) + x * (weight * y)
        return M

    def _momenta(self, coupled: set[int]) -> dict[int, MeasureRow]:
        """Return the sum over j of weight_ij row_j for each row i that weights couple with others."""
        found: dict[int, MeasureRow] = {i: {} for i in sorted(coupled)}
        for (i, j), weight in self._weights.items():
            if i in coupled:
                for s, x in self._rows[j].items():
                    found[i][s] = found[i].get(s, 0.0) + weight * x
        return found

    def _pairs(self, coupled: set[int]) -> dict[tuple[int, int, Any, Any], Any]:
        """Return the weights of the products x y in M_rs of all other rows, added up if several rows give the same
        product.
        """
        found: dict[tuple[int, int, Any, Any], Any] = {}
        for (i, _), weight in self._weights.items():
            if i not in coupled:
                for r, x in self._rows[i].items():
                    for s, y in self._rows[i].items():
                        if s <= r:
                            (a, m), (b, n) = _unsigned(x), _unsigned(y)
                            key = (r, s, m, n)
                            found[key] = found.get(key, 0.0) + (weight if a == b else -weight)
        return found

    def projected(self, loads: Sequence[Any], n: int) -> list[Any]:
        """Return the sum over rows of row[r] load for each of n speeds, adding loads with equal coefficients first."""
        shared: list[dict[Any, Any]] = [{} for _ in range(n)]
        for row, load in zip(self._rows, loads, strict=True):
            if not is_zero(load):
                for r, x in row.items():
                    sign, size = _unsigned(x)
                    shared[r][size] = shared[r].get(size, 0.0) + (load if sign > 0 else -load)
        return [sum((x * load for x, load in terms.items()), 0.0) for terms in shared]


def _unsigned(x: Any) -> tuple[int, Any]:
    """Return sign and size of a number, or of an expression that is the negative of another."""
    if x.__class__ is Expr:
        return (-1, x.args[0]) if x.op == NEG else (1, x)
    return (-1, -x) if x < 0 else (1, x)
