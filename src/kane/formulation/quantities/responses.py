"""Tree response: accelerations M^-1 A^T by forces of rows, and the forces of several rows together.

With M = L^T D L of the equations before constraints are embedded, z = -L^-T h, and y = L^-T a for each row a of A. Let
x be L^-T times the generalized forces of a unit force of the row; without friction x equals y. Then

    udot = L^-1 (D^-1 z + sum_k w_k lambda_k),   w = D^-1 x,
    S lambda = b,   S = Y^T W,   b = -(remainder + Y^T D^-1 z),

where S is the Delassus matrix. Each intermittent constraint has a program of its rows that reads L, and another program
for sliding, because constraints are active at different times. Each program returns one record per row. A program for a
given number of rows reads the records of the active rows and solves for their forces. Terms that rows share with M and
h, such as sines and velocities of bodies, are computed once, in the program of the factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from typing import Any

from kane.codegen.programs.alike import Unscheduled
from kane.codegen.programs.program import Program
from kane.engine.laws.slip import BLURRED, SLOW, slip_left
from kane.engine.memory.contact_codes import MANY_SPEEDS
from kane.engine.memory.views import row_record_size
from kane.engine.rows.tree_response import AMPLIFIED, INDEPENDENT, REDUNDANT
from kane.expression.collector import collector_paused
from kane.expression.construct import (
    build_absolute,
    build_equal,
    build_less,
    build_less_equal,
    build_maximum,
    build_select,
    build_sqrt,
)
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, COS, INPUT, PARAMETER, SIN
from kane.expression.traverse import reachable, substitute_nodes
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.constraints.rows import Equation
from kane.formulation.quantities.programs import Derived, Quantity, scheduled
from kane.formulation.tree.sparse import TriangularFactor, eliminated, triangular_factor
from kane.geometry.scalars import is_zero


class Responses:
    """Programs of the tree response of one set of equations.

    Attributes:
        order: speeds in the order in which M is factored, parents before children, so that there is no fill-in.
    """

    def __init__(self, equations: Derived) -> None:
        self._equations, self._free = equations, equations.unconstrained
        self.order = list(dict.fromkeys(j for row in equations.system.speeds.C for j in row))
        self._rows: dict[int, tuple[dict[int, Any], Expr]] = {}  # of the equations' rows, by their ids

    @cached_property
    def factors(self) -> TriangularFactor:
        """L and 1 / D."""
        with collector_paused():
            return triangular_factor(self._free.route.mass, self.order, [leaf.name for leaf in self._equations.u])

    @cached_property
    def _tree(self) -> tuple[Expr, ...]:
        """The entries of L, 1 / D, z / D and z by place in the order; dq/dt."""
        (L, inverses), n = self.factors, len(self.order)
        with collector_paused():
            z = eliminated(L, [-x for x in self._free.route.loaded([0.0] * n)], self.order)
            scaled = [a * b for a, b in zip(z, inverses, strict=True)]
            below = [L[i][j] for i, j in self.entries]
            return (*self._free.baked_in([*below, *inverses, *scaled, *z]), *self._free.kinematics)

    @cached_property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """Row and column of the entries of L below the diagonal that are not identically zero, by rows."""
        return tuple((i, j) for i, row in enumerate(self.factors[0]) for j, x in sorted(row.items()) if not is_zero(x))

    @cached_property
    def shared(self) -> tuple[Expr, ...]:
        """Nodes that the program of the factor computes for the rows.

        They are the sines and cosines in rows, and the nodes that rows share with the factor or with all constraints.
        Kinetic friction of joints is another one, because the programs of rows read no inputs.
        """
        eqs = self._equations
        own = [
            [x for row in c.rows for x in _entries(row)] + [c.numbers.kinetic, *(row.motion for row in c.tangents)]
            for c in eqs.intermittents
        ]
        own.append([x for row in eqs.permanent for x in _entries(row)])
        with collector_paused():
            read = [self._free.baked_in(group) for group in own if group]
            common = set.intersection(*(set(reachable(group)) for group in read))
            every = [x for group in read for x in group]
            angles = [x for x in reachable(every) if x.op in (SIN, COS)]  # in SIMD lanes, several cost as much as one
            bounds = self._free.baked_in([c.numbers.kinetic for c in eqs.intermittents if c.normal is None])
            return tuple(_met(every, common.union(bounds, reachable([*self._tree, *angles]))))

    def factor(self) -> Program:
        """Return the program of the entries of L, 1 / D, z / D and z by place in the order; dq/dt; the shared nodes."""
        return self._scheduled("factor", (*self._tree, *self.shared), self._equations.inputs)

    def held(self, name: str, rows: Sequence[Equation]) -> Unscheduled:
        """Return the records of rows (see ``_record``); with many speeds, after their columns."""
        columns = self.columns(rows)
        with collector_paused():
            solved = [(self._solved_for(a), rest) for a, rest in self._read(rows)]
            outputs = [x for y, rest in solved for x in self._record(y, y, rest, columns)]
            outputs = [*self._list(columns), *outputs]
        return self._unscheduled(name, outputs, self._given)

    def sliding(self, name: str, c: IntermittentEquations) -> Unscheduled:
        """Return the outputs of a sliding constraint.

        Outputs: the record of its normal row with friction, the remaining slip and its direction. If friction does not
        depend on a normal force, z / D with this friction replaces the record.
        """
        with collector_paused():
            (mu, *slip) = self._cut([c.numbers.kinetic, *(row.motion for row in c.tangents)])
            direction = direction_of(slip, self._along, self._given[-1])
            push: dict[int, Any] = {}
            for d, (tangent, _) in zip(direction, self._read(c.tangents), strict=True):
                for j, x in tangent.items():
                    push[j] = push.get(j, 0.0) - mu * d * x
            if c.normal is None:
                x = self._solved_for(push)
                outputs = [a + b * d for a, b, d in zip(self._scaled, x, self._inverses, strict=True)]
            else:
                [(entries, rest)] = self._read([c.normal])
                force = {j: push.get(j, 0.0) + entries.get(j, 0.0) for j in {**push, **entries}}
                columns = self.columns(c.rows)
                outputs = self._record(self._solved_for(entries), self._solved_for(force), rest, columns)
                outputs = [*self._list(columns), *outputs]
            outputs.append(left_of(slip, self._along))
            outputs.extend([*direction, 0.0][:2])
        return self._unscheduled(name, outputs, self._given)

    def velocities(self, name: str, rows: Sequence[Equation]) -> Unscheduled:
        """Return A u + b of each row and sum |A_j u_j|, to which its round-off is proportional."""
        u = self._equations.u
        with collector_paused():
            sizes = [sum((build_absolute(a * u[j]) for j, a in row.coefficients.items()), 0.0) for row in rows]
            outputs = [x for row, size in zip(rows, sizes, strict=True) for x in (row.motion, self._lift(size))]
            baked = self._free.baked_in(outputs)
        return self._unscheduled(name, baked, self._equations.inputs)

    def solution(self, capacity: int, *, slides: bool) -> Program:
        """Return the program that solves for udot and the forces of at most ``capacity`` rows.

        It reads the outputs of ``factor`` and one record per row. Outputs: udot, forces, the number of independent
        rows, pivots, and b after the elimination. A row whose pivot is below REDUNDANT y^T D^-1 y is left out. The
        number is -1 if the forces may be so large that digits are lost.
        """
        n = len(self.order)
        records = [
            self._leaves([f"record {r + 1} {k + 1}" for k in range(row_record_size(n))]) for r in range(capacity)
        ]
        with collector_paused():
            y, w = [record[:n] for record in records], [record[n : 2 * n] for record in records]
            b, squares, reach = [[record[2 * n + k] for record in records] for k in range(3)]
            found, pivots, left = _solved(y, w, b, squares, symmetric=not slides)
            v = list(self._scaled)
            for one, force in zip(reversed(w), reversed(found), strict=True):  # the last force is found first
                v = [a + b * force for a, b in zip(v, one, strict=True)]
            pushed = _dot([build_absolute(x) for x in found], reach)
            others = sum(map(build_absolute, self._scaled), 0.0) * (AMPLIFIED / n)
            independent = sum((build_less(INDEPENDENT * s, p) for s, p in zip(squares, pivots, strict=True)), 0.0)
            within = build_less_equal(self._lift(pushed), self._lift(others))
            good = build_select(within, self._lift(independent), self._lift(-1.0))
            outputs = [*self._substituted(v), *found, good, *pivots, *left]
        given = (*self._given, *(leaf for record in records for leaf in record))
        return self._scheduled(f"solution {capacity} {slides}", outputs, given)

    def substitution(self) -> Program:
        """Return the program of udot = L^-1 v, which reads v = D^-1 z + sum_k w_k lambda_k in the place of z / D."""
        with collector_paused():
            outputs = self._substituted(list(self._scaled))
        return self._scheduled("substitution", outputs, self._given)

    def columns(self, rows: Sequence[Equation]) -> list[int]:
        """Return the places where y and D^-1 x of rows can be nonzero, or all places if there are few speeds."""
        if len(self.order) <= MANY_SPEEDS:
            return list(range(len(self.order)))
        place = {unknown: k for k, unknown in enumerate(self.order)}
        found = {place[j] for row in rows for j in row.coefficients}
        for k in range(len(self.order) - 1, -1, -1):
            found.update(self._L[k] if k in found else ())
        return sorted(found)

    def _list(self, columns: Sequence[int]) -> list[Any]:
        return [float(k) for k in columns] if len(self.order) > MANY_SPEEDS else []

    def _record(self, y: Sequence[Any], x: Sequence[Any], rest: Expr, columns: Sequence[int]) -> list[Any]:
        """Return y and D^-1 x by column; b; y^T D^-1 y; a bound of D^-1 x, the effect of a unit force; the remainder.

        The bound is the root of x^T D^-1 x times the sum of 1 / D at nonzero x. It holds because no entry of D^-1 x
        exceeds the root of x^T D^-1 x times the largest of these 1 / D.
        """
        forces, own = ([k for k in columns if not is_zero(entries[k])] for entries in (x, y))
        inverses, scaled = self._inverses, self._scaled
        w = {k: x[k] * inverses[k] for k in forces}
        pushed = _dot([x[k] for k in forces], list(w.values()))
        reach = build_sqrt(self._lift(pushed * sum((inverses[k] for k in forces), 0.0)))
        load = _dot([y[k] for k in own], [scaled[k] for k in own])
        square = _dot([y[k] for k in own], [y[k] * inverses[k] for k in own])
        return [*(y[k] for k in columns), *(w.get(k, 0.0) for k in columns), -(rest + load), square, reach, rest]

    def _substituted(self, v: list[Any]) -> list[Any]:
        """Return udot = L^-1 v, by speed."""
        udot = [0.0] * len(v)
        for k, unknown in enumerate(self.order):
            for i, x in sorted(self._L[k].items()):
                v[k] = v[k] - x * v[i]
            udot[unknown] = v[k]
        return udot

    def _solved_for(self, a: Mapping[int, Any]) -> list[Any]:
        """Return L^-T a, by place in the order."""
        return eliminated(self._L, [a.get(j, 0.0) for j in range(len(self.order))], self.order)

    def _read(self, rows: Sequence[Equation]) -> list[tuple[dict[int, Any], Expr]]:
        """Return the coefficients and remainder of rows, with leaves for the nodes shared with the factor."""
        new = [row for row in rows if id(row) not in self._rows]
        found = iter(self._cut([x for row in new for x in _entries(row)]))
        for row in new:
            self._rows[id(row)] = {j: next(found) for j in row.coefficients}, next(found)
        return [self._rows[id(row)] for row in rows]

    def _cut(self, expressions: Sequence[Any]) -> list[Expr]:
        """Return expressions with leaves in place of the nodes that the program of the factor computes."""
        return substitute_nodes(self._free.baked_in(expressions), dict(zip(self.shared, self._shared, strict=True)))

    @cached_property
    def _given(self) -> tuple[Expr, ...]:
        """Leaves for the outputs of ``factor``, then for a constraint's previous slip direction and BEGUN."""
        n = len(self.order)
        names = [f"L {i + 1} {j + 1}" for i, j in self.entries]
        for word, count in (("1/D", n), ("z/D", n), ("z", n), ("rate", len(self._equations.q))):
            names += [f"{word} {k + 1}" for k in range(count)]
        names += [f"shared {k + 1}" for k in range(len(self.shared))]
        return self._leaves([*names, "along 1", "along 2", "begun"])

    @property
    def _inverses(self) -> Sequence[Expr]:
        return self._given[len(self.entries) :][: len(self.order)]

    @property
    def _scaled(self) -> Sequence[Expr]:
        return self._given[len(self.entries) + len(self.order) :][: len(self.order)]

    @property
    def _shared(self) -> Sequence[Expr]:
        return self._given[len(self._tree) : -3]

    @property
    def _along(self) -> Sequence[Expr]:
        return self._given[-3:-1]

    @cached_property
    def _L(self) -> list[dict[int, Expr]]:
        """L as leaves, without entries that are identically zero."""
        rows: list[dict[int, Expr]] = [{} for _ in self.order]
        for (i, j), leaf in zip(self.entries, self._given, strict=False):
            rows[i][j] = leaf
        return rows

    def _leaves(self, names: Sequence[str]) -> tuple[Expr, ...]:
        return tuple(self._equations.t.arena.leaf(INPUT, name) for name in names)

    def _lift(self, x: Any) -> Expr:
        return self._equations.t.arena.lift(x)

    def _scheduled(self, name: str, outputs: Sequence[Any], rest: tuple[Expr, ...]) -> Program:
        return self._unscheduled(name, outputs, rest).program

    def _unscheduled(self, name: str, outputs: Sequence[Any], rest: tuple[Expr, ...]) -> Unscheduled:
        def schedule(found: Sequence[Expr], numbers: Sequence[Expr]) -> Program:
            names = [f"{name} {k + 1}" for k in range(len(found))]
            return scheduled(self._equations, name, Quantity(names, found, rest), numbers)

        return Unscheduled(name, [self._lift(x) for x in outputs], rest, schedule)


def _entries(row: Equation) -> list[Expr]:
    return [*row.coefficients.values(), row.remainder]


def _met(outputs: Sequence[Expr], made: Set[Expr]) -> list[Expr]:
    """Return the nodes in ``made`` from which the outputs follow, without nodes that depend on parameters alone."""
    fixed: set[Expr] = set()
    for node in reachable(outputs):
        if fixed.issuperset(node.args) if node.args else node.op in (PARAMETER, CONSTANT):
            fixed.add(node)
    met, seen, stack = set(), set(), list(outputs)
    while stack:
        node = stack.pop()
        if node in seen or not node.args or node in fixed:
            continue
        seen.add(node)
        if node in made:
            met.add(node)
        else:
            stack.extend(node.args)
    return sorted(met, key=lambda node: node.id)


def left_of(slip: Sequence[Expr], before: Sequence[Expr]) -> Expr:
    """Return the slip along its previous direction; in space, negative if it is more backward than sideways."""
    return slip_left(*before, *slip) if len(slip) == 2 else slip[0] * before[0]


def direction_of(slip: Sequence[Expr], before: Sequence[Expr], begun: Expr) -> list[Expr]:
    """Return the slip direction by the rule of ``kane.engine.laws.slip.slip_direction``."""
    arena, kept, follows = before[0].arena, before[: len(slip)], before[0].arena.one
    if len(slip) == 2:
        along = _dot(slip, kept)
        missing, ahead = build_maximum(begun - along, arena.zero), build_maximum(along, begun)
        beside = [x - along * e for x, e in zip(slip, kept, strict=True)]
        square, blur = beside[0] * beside[0] + beside[1] * beside[1], BLURRED * missing
        across = begun * square / ((begun + missing) * (square + blur * blur + SLOW * SLOW))
        slip = [across * x + ahead * e for x, e in zip(beside, kept, strict=True)]
        speed = build_sqrt(slip[0] * slip[0] + slip[1] * slip[1])
    else:
        speed, follows = build_absolute(slip[0]), build_equal(build_absolute(kept[0]), arena.zero)
    follows = build_select(build_less(arena.lift(SLOW), speed), follows, arena.zero)
    return [build_select(follows, x / speed, e) for x, e in zip(slip, kept, strict=True)]


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return a . b, summed in two halves, which halves the latency."""
    half = len(a) // 2 if len(a) > 5 else 0
    first = sum((x * y for x, y in zip(a[:half], b[:half], strict=True)), 0.0)
    return first + sum((x * y for x, y in zip(a[half:], b[half:], strict=True)), 0.0)


def _solved(
    y: Sequence[Any], w: Sequence[Any], b: Sequence[Any], squares: Sequence[Any], *, symmetric: bool
) -> tuple[list[Any], list[Any], list[Any]]:
    """Solve S x = b with S = Y^T W by elimination without pivoting; x_k is zero if its pivot is negligible.

    Elimination proceeds row by row, so that the next row is formed while the processor divides by this row's pivot. A
    symmetric S is factored as L D L^T, because back substitution with L needs no products with pivots.

    Returns:
        x, the pivots, and b as it was when each pivot was used.
    """
    m, x, left = len(b), [0.0] * len(b), list(b)
    S: list[list[Any]] = []
    inverses: list[Any] = []
    shares: list[list[Any]] = [[] for _ in b]
    for k in range(m):
        row = (
            [_dot(y[k], w[j]) for j in range(m)]
            if not symmetric
            else [squares[k] if j == k else S[j][k] if j < k else _dot(y[k], w[j]) for j in range(m)]
        )
        for i in range(k):
            ratio = row[i] * inverses[i]
            shares[i].append(ratio)
            for j in range(k if symmetric else i + 1, m):
                row[j] = row[j] - ratio * S[i][j]
            left[k] = left[k] - ratio * left[i]
        S.append(row)
        inverses.append(build_select(build_less(REDUNDANT * squares[k], row[k]), 1 / row[k], row[k].arena.zero))
    for k in range(m - 1, -1, -1):
        total, above = (left[k] * inverses[k], shares[k]) if symmetric else (left[k], S[k][k + 1 :])
        for entry, found in zip(reversed(above), reversed(x[k + 1 :]), strict=True):  # use the latest result last
            total = total - entry * found
        x[k] = total if symmetric else total * inverses[k]
    return x, [S[k][k] for k in range(m)], left
