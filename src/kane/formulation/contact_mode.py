"""Expressions of one contact mode: accelerations, guards and measures of lost digits.

With M = L^T D L of the equations before constraints are embedded, z = -L^-T h, and y = L^-T a for each active row a.
Let x be L^-T times the generalized forces of a unit force of the row; without kinetic friction x equals y. Then

    udot = L^-1 D^-1 (z + sum_k x_k lambda_k),   S lambda = -(remainder + Y^T D^-1 z),   S = Y^T D^-1 X,

as in ``kane.formulation.quantities.responses``. The active rows are known here, so that terms that vanish and bodies
that no force couples leave no operations.

Source: Gillespie 2003, section 4; Eqs. 43-46.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from typing import Any

from kane.deferred import NamedTuple, dataclass
from kane.engine.memory.contact_codes import OPEN, SLIDING, STICKING
from kane.engine.project.projection import CANCELLATION
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.construct import build_absolute, build_less, build_maximum, build_minimum, build_select, build_sqrt
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.body_axes import SolvedRows
from kane.formulation.constraints.intermittent_rows import IntermittentEquations, controlled, read_forces
from kane.formulation.constraints.rows import Equation
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import Quantity
from kane.formulation.quantities.responses import Responses, direction_of, left_of
from kane.formulation.tree.sparse import eliminated
from kane.formulation.tree.sparse_vectors import SparseVector, added, eliminated_system, inner, products
from kane.geometry.scalars import is_zero
from kane.model.contacts import Coulomb
from kane.model.reaction import row_force

# Value of a ratio whose pivot is not positive, in place of infinity.
INFINITE_RATIO = 1e300


class Accelerated(NamedTuple):
    """Solution of one contact mode at a state.

    Attributes:
        z, v: by place in the elimination order; udot = L^-1 v.
        forces: forces of the active rows.
        pushed: sum of the magnitudes of their contributions to v, by place.
        dependence: y^T D^-1 y of each row over its pivot.
    """

    z: list[Any]
    v: list[Any]
    forces: list[Any]
    pushed: list[Any]
    dependence: list[Any]


@dataclass(frozen=True)
class ContactMode:
    """Equations in one contact mode: some intermittent constraints are active.

    Attributes:
        open: equations that contain the rows of all intermittent constraints, after the permanent rows.
        tree: response of the system to forces.
        statuses: status of each intermittent constraint.
    """

    open: Equations
    tree: Responses
    statuses: tuple[int, ...]

    @cached_property
    def directions(self) -> dict[str, tuple[Expr, Expr, Expr]]:
        """Leaves of each sliding constraint, by name: its last slip direction (two numbers), and the speed BEGUN [m/s].

        Slip in space slower than BEGUN turns the direction gradually; see ``responses.direction_of``.
        """
        leaf, names = self.open.t.arena.leaf, [c.name for c, status in self._intermittent if status == SLIDING]
        along = {name: (leaf(INPUT, f"{name} along 1"), leaf(INPUT, f"{name} along 2")) for name in names}
        return {name: (*pair, leaf(INPUT, f"{name} begun")) for name, pair in along.items()}

    @property
    def rest(self) -> tuple[Expr, ...]:
        """Leaves that programs read besides t, q and u: inputs, then slip directions, each followed by its BEGUN."""
        return (*self.open.inputs, *(leaf for each in self.directions.values() for leaf in each))

    @property
    def rows(self) -> tuple[Equation, ...]:
        """The active rows."""
        return (
            *self.open.permanent,
            *(row for c, status in self._intermittent for row in active_rows(c, status)),
        )

    @property
    def _intermittent(self) -> list[tuple[IntermittentEquations, int]]:
        return list(zip(self.open.intermittents, self.statuses, strict=True))

    def require_independent(self) -> None:
        """Raise if the active rows leave no freedom, or are redundant in every state (forces then have no expressions).

        Raises:
            ModelError: the mode leaves no freedom, or its rows are redundant.
        """
        if len(self.rows) >= len(self.open.u):
            raise ModelError("the active rows leave no freedom")
        _ = self._motion

    def accelerations(self) -> Quantity:
        """Return dq/dt and udot."""
        with collector_paused():
            return self._quantity("slope", self._slopes)

    def guards(self) -> Quantity:
        """Return two guards per intermittent constraint (normal row, tangents), negative where the mode may end.

        Up to round-off they equal ``kane.engine.hybrid.mode_programs.guards``. Native code handles the round-off of
        closing gaps and the side on which slip begins. The outputs after the guards are dq/dt and udot from the same
        forces, three measures of lost digits, and the forces of all rows, zero for inactive rows.
        """
        with collector_paused():
            forces, found, first = self._motion.forces, [], len(self.rows) - len(self._counted)
            at = dict(zip(self._counted, forces[first:], strict=True))
            rows = [*forces[:first], *self._reactions(at)]
            for c, status in zip(self._with_forces(rows), self.statuses, strict=True):
                found += [self._normal_guard(c, status, at), self._tangent_guard(c, status, at)]
            found += [*self._slopes, *self._digits]
            return self._quantity("guard", [*found, *rows])

    @property
    def projections(self) -> bool:
        """Whether projections have expressions: only in the joints' own speeds, without integrals of active rows."""
        return self.open.system.own is None and all(row.integral is None for row in self.rows)

    def missed(self) -> Quantity:
        """Return the largest residuals of configuration and motion of the active rows."""
        residuals = [row.configuration for row in self.rows if row.configuration is not None]
        with collector_paused():
            found = [self._size(residuals), self._size([row.motion for row in self.rows])]
            return self._quantity("missed", found)

    def step(self) -> Quantity:
        """Return the largest y^T D^-1 y of a row over its pivot, then q after a Newton step towards the active rows."""
        eqs, residuals = self.open, [row.configuration for row in self.rows]
        with collector_paused():
            change, dependence = self._least_change(
                self._solved.along_axes([0.0 if x is None else -x for x in residuals])
            )
            rates = substitute_nodes(
                eqs.unconstrained.kinematics, dict(zip(eqs.u, map(self._lift, change), strict=True))
            )
            return self._quantity("step", [dependence, *(q + x for q, x in zip(eqs.q, rates, strict=True))])

    def projected(self) -> Quantity:
        """Return the largest y^T D^-1 y of a row over its pivot, u projected onto the rows, and the slip velocities.

        A projected speed that is round-off becomes zero, as in the numerical projection. Each sliding
        constraint has two slip velocities; without a second tangent, the second is zero.
        """
        with collector_paused():
            change, dependence = self._least_change([-row.motion for row in self._solved.rows])
            found = [dependence]
            for u, x in zip(self.open.u, change, strict=True):
                left = u + x
                rounding = CANCELLATION * build_absolute(u)
                found.append(
                    u if is_zero(x) else build_select(build_less(rounding, build_absolute(left)), left, self._lift(0.0))
                )
            for c, status in self._intermittent:
                if status == SLIDING:
                    found += [*(row.motion for row in c.tangents), 0.0][:2]
            return self._quantity("settled", found)

    def _least_change(self, b: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return s = M^-1 A^T lambda with A s = b, and the largest y^T D^-1 y of a row over its pivot."""
        Y, scaled = self._responses
        forces, pivots = eliminated_system(products(scaled, Y, True), list(b), symmetric=True)
        squares = [inner(y, own) for y, own in zip(scaled, Y, strict=True)]
        v = [sum(own, 0.0) * d for own, d in zip(self._shares(Y, forces), self.tree.factors[1], strict=True)]
        return self._risen(v), _largest([self._over(a, b) for a, b in zip(squares, pivots, strict=True)])

    @cached_property
    def _slopes(self) -> list[Any]:
        """dq/dt and udot."""
        free = self.open.unconstrained
        if not any(self.statuses) and not self.rows:
            return [*free.kinematics, *free.forward]
        return [*free.kinematics, *self._risen(self._motion.v)]

    @property
    def _digits(self) -> list[Any]:
        """Measures of lost digits.

        The first is the largest y^T D^-1 y of a row over its pivot. The second is the largest contribution of row
        forces to v, with magnitudes added. The third is the largest magnitude in v and in D^-1 z.
        """
        if not self.rows:
            return [0.0, 0.0, 0.0]
        m, inverses = self._motion, self.tree.factors[1]
        without = [a * b for a, b in zip(m.z, inverses, strict=True)]
        return [_largest(m.dependence), _largest(m.pushed), self._size([*without, *m.v])]

    def _risen(self, v: Sequence[Any]) -> list[Any]:
        """Return L^-1 v, by speed."""
        left, found = list(v), [0.0] * len(v)
        for k, (unknown, row) in enumerate(zip(self.tree.order, self.tree.factors[0], strict=True)):
            for i, x in row.items():
                left[k] = left[k] - x * left[i]
            found[unknown] = left[k]
        return found

    def _size(self, values: Sequence[Any]) -> Any:
        """Return max |x|."""
        return _largest([build_absolute(self._lift(x)) for x in values])

    @cached_property
    def _solved(self) -> SolvedRows:
        """The active rows in the form in which they are solved."""
        held, place = {}, len(self.rows) - len(self._counted)
        for c, status in self._intermittent:
            if status == STICKING:
                held[place] = c
            place += len(active_rows(c, status))
        return SolvedRows.of(self.rows, held, self.open.system)

    @property
    def _counted(self) -> list[str]:
        """Names of the active rows of intermittent constraints."""
        return [row.name for c, status in self._intermittent for row in active_rows(c, status)]

    def _reactions(self, at: dict[str, Any]) -> list[Any]:
        """Return the forces of the rows of all intermittent constraints, with friction of sliding contacts."""
        found = []
        for c, status in self._intermittent:
            pair = self._slip(c) if status == SLIDING and c.tangents else ()
            bound = c.numbers.kinetic * (at[c.normal.name] if pair and c.normal is not None else 1.0)
            sliding = dict(zip((row.name for row in c.tangents), (-bound * x for x in pair), strict=False))
            found += [{**sliding, **at}.get(row.name, 0.0) for row in c.rows]
        return found

    def _with_forces(self, forces: Sequence[Any]) -> tuple[IntermittentEquations, ...]:
        """Return the equations with the forces of all rows of this mode in ``on`` and ``off``."""
        if not read_forces(self.open.intermittents):
            return self.open.intermittents
        leaves = (row_force(self.open.t, row.name) for row in self.open.constraints)
        return controlled(self.open.intermittents, dict(zip(leaves, map(self._lift, forces), strict=True)))

    def _normal_guard(self, c: IntermittentEquations, status: int, at: dict[str, Any]) -> Any:
        gap, on, off = c.numbers.gap, c.numbers.on, c.numbers.off
        if status == OPEN and c.constraint.on is not None:
            return -on
        if status == OPEN and c.normal is not None:
            return gap
        if c.constraint.bilateral:
            return 1.0 if c.constraint.off is None else -off
        if c.normal is None:
            return 1.0
        pushes = self._lift(at[c.normal.name])
        return pushes if c.constraint.off is None else build_minimum(pushes, -off)

    def _tangent_guard(self, c: IntermittentEquations, status: int, at: dict[str, Any]) -> Any:
        if status == OPEN or not c.tangents or c.constraint.bilateral:
            return 1.0
        if status == SLIDING:
            return left_of([row.motion for row in c.tangents], self.directions[c.name][:2])
        if c.constraint.friction is None:
            return 1.0
        bound, transmitted = c.numbers.static, [self._lift(at[row.name]) for row in c.tangents]
        if c.normal is not None and isinstance(c.constraint.friction, Coulomb):
            bound = bound * build_maximum(self._lift(at[c.normal.name]), self._lift(0.0))
        return bound - (build_absolute(transmitted[0]) if len(transmitted) == 1 else _length(transmitted))

    @cached_property
    def _motion(self) -> Accelerated:
        with collector_paused():
            (L, inverses), free = self.tree.factors, self.open.unconstrained
            z = eliminated(L, [-x for x in free.route.loaded([0.0] * len(self.open.u))], self.tree.order)
            Y, scaled = self._responses
            X, slides = self._pushes(Y, z)
            b = [
                -(row.remainder + inner(y, dict(enumerate(z))))
                for row, y in zip(self._solved.rows, scaled, strict=True)
            ]
            forces, pivots = eliminated_system(products(scaled, X, not slides), b, symmetric=not slides)
            shares = self._shares(X, forces)
            v = [(a + sum(own, 0.0)) * d for a, own, d in zip(z, shares, inverses, strict=True)]
            sizes = [sum((build_absolute(self._lift(x)) for x in own), 0.0) for own in shares]
            pushed = [size * d for size, d in zip(sizes, inverses, strict=True)]
            squares = [inner(y, own) for y, own in zip(scaled, Y, strict=True)]
            return Accelerated(
                z,
                v,
                self._solved.back(forces),
                pushed,
                [self._over(a, b) for a, b in zip(squares, pivots, strict=True)],
            )

    @cached_property
    def _responses(self) -> tuple[list[SparseVector], list[SparseVector]]:
        """y of the active rows, and D^-1 y."""
        Y, inverses = [self._response(row) for row in self._solved.rows], self.tree.factors[1]
        return Y, [{i: x * inverses[i] for i, x in y.items()} for y in Y]

    def _shares(self, X: Sequence[SparseVector], forces: Sequence[Any]) -> list[list[Any]]:
        """Return the contributions of each force to L^-T times the generalized forces, by place."""
        found: list[list[Any]] = [[] for _ in self.open.u]
        for x, force in zip(X, forces, strict=True):
            for i, entry in x.items():
                found[i].append(entry * force)
        return found

    def _pushes(self, Y: Sequence[SparseVector], z: list[Any]) -> tuple[list[SparseVector], bool]:
        """Return x of each row, with kinetic friction as part of its normal force, and whether any x differs from y.

        Friction that does not depend on a normal force is added to z.
        """
        place = len(Y) - len(self._counted)
        X, slides = list(Y[:place]), False
        for c, status in self._intermittent:
            count = len(active_rows(c, status))
            own = list(Y[place : place + count])
            if status == SLIDING and c.tangents:
                friction = self._friction(c)
                if c.normal is None:
                    for i, x in friction.items():
                        z[i] = z[i] + x
                else:
                    own, slides = [added(own[0], friction)], True
            X, place = [*X, *own], place + count
        return X, slides

    def _over(self, square: Any, inverse: Any) -> Expr:
        """Return y^T D^-1 y times the inverse of its pivot, or INFINITE_RATIO if the pivot is not positive."""
        inverse = self._lift(inverse)
        return build_select(build_less(self._lift(0.0), inverse), square * inverse, self._lift(INFINITE_RATIO))

    def _response(self, row: Equation) -> SparseVector:
        """Return y of a row."""
        n = len(self.open.u)
        y = eliminated(self.tree.factors[0], [row.coefficients.get(j, 0.0) for j in range(n)], self.tree.order)
        return {i: x for i, x in enumerate(y) if not is_zero(x)}

    def _friction(self, c: IntermittentEquations) -> SparseVector:
        """Return L^-T times kinetic friction against the slip; per newton of normal force if friction depends on it."""
        x, y = self._slip(c)
        found: SparseVector = {}
        for ratio, row in zip((x, y), c.tangents, strict=False):
            found = added(found, {i: -c.numbers.kinetic * ratio * a for i, a in self._response(row).items()})
        return found

    def _slip(self, c: IntermittentEquations) -> Sequence[Any]:
        """Return the slip direction of a sliding constraint."""
        *before, begun = self.directions[c.name]
        return direction_of([row.motion for row in c.tangents], before, begun) if len(c.tangents) == 2 else before

    def _lift(self, x: Any) -> Expr:
        return self.open.t.arena.lift(x)

    def _quantity(self, word: str, found: Sequence[Any]) -> Quantity:
        outputs = self.open.unconstrained.baked_in([self._lift(x) for x in found])
        return Quantity([f"{word} {k + 1}" for k in range(len(found))], outputs, self.rest)


def active_rows(c: IntermittentEquations, status: int) -> tuple[Equation, ...]:
    """Return the active rows of an intermittent constraint."""
    if status == SLIDING:
        return () if c.normal is None else (c.normal,)
    return c.rows if status == STICKING else ()


def _length(vector: Sequence[Any]) -> Expr:
    a, b = vector
    return build_sqrt(a * a + b * b)


def _largest(values: Sequence[Any]) -> Any:
    """Return the maximum, pairwise, so that a processor computes pairs in parallel lanes."""
    left = list(values) or [0.0]
    while len(left) > 1:
        left = [reduce(build_maximum, left[k : k + 2]) for k in range(0, len(left), 2)]
    return left[0]
