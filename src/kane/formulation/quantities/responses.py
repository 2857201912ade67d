"""How the tree responds to forces of rows: M factored, rows solved by its factor, and the forces of so many rows.

With M = L^T D L of the equations before constraints are embedded, z = -L^-T h, y = L^-T a of each row a of A, and x
what L^-T makes of the generalized forces of a unit force of the row, which is y but for friction,

    udot = L^-1 (D^-1 z + sum_k w_k lambda_k),   w = D^-1 x,
    S lambda = b,   S = Y^T W,   b = -(remainder + Y^T D^-1 z).

Rows come and go, so that those of each candidate are a program of their own, which reads L, and one more where friction
slips; so is the solution for a number of rows, which reads whatever rows are in force. What rows have in common with M
and h, as sines and velocities of bodies, is found once, with these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from typing import Any

from kane.codegen.programs.program import Program
from kane.expression.collector import collector_paused
from kane.expression.construct import absolute, equal, less, less_equal, maximum, select, sqrt
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, COS, INPUT, PARAMETER, SIN
from kane.expression.traverse import reachable, substitute
from kane.formulation.constraints.candidates import CandidateEquations
from kane.formulation.constraints.rows import Equation
from kane.formulation.quantities.programs import Derived, Quantity, scheduled
from kane.formulation.tree.sparse import TriangularFactor, eliminated, triangular_factor
from kane.geometry.scalars import is_zero
from kane.native.contacts.blocks import record_size
from kane.native.contacts.header import KINETIC, MANY_SPEEDS
from kane.native.contacts.quick import AMPLIFIED, BLURRED, INDEPENDENT, REPEATED, SLOW, slip_left


class Responses:
    """The programs of one system of equations.

    Attributes:
        order: of the speeds in which M is factored, parents before children, so that nothing fills in.
    """

    def __init__(self, equations: Derived) -> None:
        self._equations, self._free = equations, equations.unconstrained
        self.order = list(dict.fromkeys(j for row in equations.system.speeds.C for j in row))

    @cached_property
    def factors(self) -> TriangularFactor:
        """L and 1 / D."""
        with collector_paused():
            return triangular_factor(self._free.route.mass, self.order, [leaf.name for leaf in self._equations.u])

    @cached_property
    def _tree(self) -> tuple[Expr, ...]:
        """The entries of L, 1 / D, z / D and z by places in the order; dq/dt."""
        (L, inverses), n = self.factors, len(self.order)
        with collector_paused():
            z = eliminated(L, [-x for x in self._free.route.loaded([0.0] * n)], self.order)
            scaled = [a * b for a, b in zip(z, inverses, strict=True)]
            below = [L[i][j] for i, j in self.entries]
            return (*self._free.baked_in([*below, *inverses, *scaled, *z]), *self._free.kinematics)

    @cached_property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """Row and column of the entries of L below its diagonal that are not zero in every state, by rows."""
        return tuple((i, j) for i, row in enumerate(self.factors[0]) for j, x in sorted(row.items()) if not is_zero(x))

    @cached_property
    def shared(self) -> tuple[Expr, ...]:
        """What is found with the factor for the rows: the nodes at which their graphs meet that of the factor, or the
        part that the rows of all candidates have in common.
        """
        eqs = self._equations
        own = [
            [x for row in c.rows for x in _entries(row)] + [c.numbers[KINETIC], *(row.motion for row in c.tangents)]
            for c in eqs.candidates
        ]
        first = len(eqs.constraints) - sum(len(c.rows) for c in eqs.candidates)
        own.append([x for row in eqs.constraints[:first] for x in _entries(row)])
        with collector_paused():
            read = [self._free.baked_in(group) for group in own if group]
            common = set.intersection(*(set(reachable(group)) for group in read))
            every = [x for group in read for x in group]
            angles = [x for x in reachable(every) if x.op in (SIN, COS)]  # side by side they cost as much as one
            return tuple(_met(every, common.union(reachable([*self._tree, *angles]))))

    def factor(self) -> Program:
        """The entries of L, 1 / D, z / D and z by places in the order; dq/dt; what rows share."""
        return self._scheduled("factor", (*self._tree, *self.shared), self._equations.inputs)

    def held(self, name: str, rows: Sequence[Equation]) -> Program:
        """The records of rows A u + b = 0, see ``_record``, with their columns before them where there are many."""
        columns = self.columns(rows)
        with collector_paused():
            solved = [(self._solved_for(a), rest) for a, rest in map(self._read, rows)]
            outputs = [x for y, rest in solved for x in self._record(y, y, rest, columns)]
            outputs = [*self._list(columns), *outputs]
        return self._scheduled(name, outputs, self._given)

    def sliding(self, name: str, c: CandidateEquations) -> Program:
        """The record of the normal row of a candidate whose contact slides, with its friction; what is left of the
        slip, and the direction that it has. Where friction needs no normal force: z / D with it first.
        """
        with collector_paused():
            (mu, *slip) = self._cut([c.numbers[KINETIC], *(row.motion for row in c.tangents)])
            direction = direction_of(slip, self._along, self._given[-1])
            push: dict[int, Any] = {}
            for d, row in zip(direction, c.tangents, strict=True):
                entries, _ = self._read(row)
                for j, x in entries.items():
                    push[j] = push.get(j, 0.0) - mu * d * x
            if c.normal is None:
                x = self._solved_for(push)
                outputs = [a + b * d for a, b, d in zip(self._scaled, x, self._inverses, strict=True)]
            else:
                entries, rest = self._read(c.normal)
                force = {j: push.get(j, 0.0) + entries.get(j, 0.0) for j in {**push, **entries}}
                columns = self.columns(c.rows)
                outputs = self._record(self._solved_for(entries), self._solved_for(force), rest, columns)
                outputs = [*self._list(columns), *outputs]
            outputs.append(left_of(slip, self._along))
            outputs.extend([*direction, 0.0][:2])
        return self._scheduled(name, outputs, self._given)

    def velocities(self, name: str, rows: Sequence[Equation]) -> Program:
        """A u + b of each row, and the sum of its terms |A_j u_j|, which its rounding is a share of."""
        u = self._equations.u
        with collector_paused():
            sizes = [sum((absolute(a * u[j]) for j, a in row.coefficients.items()), 0.0) for row in rows]
            outputs = [x for row, size in zip(rows, sizes, strict=True) for x in (row.motion, self._lift(size))]
            baked = self._free.baked_in(outputs)
        return self._scheduled(name, baked, self._equations.inputs)

    def solution(self, capacity: int, *, slides: bool) -> Program:
        """udot; the forces of at most so many rows; how many rows are independent, or -1; pivots; what was left of b.

        It reads what ``factor`` gives and, of so many rows, their records. A row whose pivot is under the share
        REPEATED of its square is left out. -1 stands where forces may be so large that digits are lost.
        """
        n = len(self.order)
        records = [self._leaves([f"record {r + 1} {k + 1}" for k in range(record_size(n))]) for r in range(capacity)]
        with collector_paused():
            y, w = [record[:n] for record in records], [record[n : 2 * n] for record in records]
            b, squares, reach = [[record[2 * n + k] for record in records] for k in range(3)]
            found, pivots, left = _solved(y, w, b, squares, symmetric=not slides)
            v = list(self._scaled)
            for one, force in zip(reversed(w), reversed(found), strict=True):  # in the order in which they are found
                v = [a + b * force for a, b in zip(v, one, strict=True)]
            pushed = _dot([absolute(x) for x in found], reach)
            others = sum(map(absolute, self._scaled), 0.0) * (AMPLIFIED / n)
            independent = sum((less(INDEPENDENT * s, p) for s, p in zip(squares, pivots, strict=True)), 0.0)
            within = less_equal(self._lift(pushed), self._lift(others))
            good = select(within, self._lift(independent), self._lift(-1.0))
            outputs = [*self._substituted(v), *found, good, *pivots, *left]
        given = (*self._given, *(leaf for record in records for leaf in record))
        return self._scheduled(f"solution {capacity} {slides}", outputs, given)

    def substitution(self) -> Program:
        """udot of what stands in the place of z / D: D^-1 z + sum_k w_k lambda_k."""
        with collector_paused():
            outputs = self._substituted(list(self._scaled))
        return self._scheduled("substitution", outputs, self._given)

    def columns(self, rows: Sequence[Equation]) -> list[int]:
        """The places in the order that y and D^-1 x of rows can have entries in; all of them where they are few."""
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
        """y and D^-1 x; b; y^T D^-1 y; the largest acceleration that a unit force can make, or more: of what it pushes
        by x, no D^-1 x is larger than the root of x^T D^-1 x times the largest 1 / D, which their sum is no less than;
        the rest, which is the remainder.
        """
        w = [a * d for a, d in zip(x, self._inverses, strict=True)]
        own = [a * d for a, d in zip(y, self._inverses, strict=True)]
        inverses = [d for a, d in zip(x, self._inverses, strict=True) if not is_zero(a)]
        reach = sqrt(self._lift(_dot(x, w) * sum(inverses, 0.0)))
        numbers = -(rest + _dot(y, self._scaled)), _dot(y, own), reach, rest
        return [*(y[k] for k in columns), *(w[k] for k in columns), *numbers]

    def _substituted(self, v: list[Any]) -> list[Any]:
        """udot = L^-1 v, by speeds."""
        udot = [0.0] * len(v)
        for k, unknown in enumerate(self.order):
            for i, x in sorted(self._L[k].items()):
                v[k] = v[k] - x * v[i]
            udot[unknown] = v[k]
        return udot

    def _solved_for(self, a: Mapping[int, Any]) -> list[Any]:
        """L^-T a, by places in the order."""
        return eliminated(self._L, [a.get(j, 0.0) for j in range(len(self.order))], self.order)

    def _read(self, row: Equation) -> tuple[dict[int, Any], Expr]:
        """A row's coefficients, and its remainder, by what it shares with the factor."""
        *entries, remainder = self._cut([*row.coefficients.values(), row.remainder])
        return dict(zip(row.coefficients, entries, strict=True)), remainder

    def _cut(self, expressions: Sequence[Any]) -> list[Expr]:
        """Expressions with leaves for what is found with the factor."""
        return substitute(self._free.baked_in(expressions), dict(zip(self.shared, self._shared, strict=True)))

    @cached_property
    def _given(self) -> tuple[Expr, ...]:
        """Leaves for what ``factor`` gives, then for the direction of slip that a candidate had, and BEGUN."""
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
        """L in leaves, without what is zero in every state."""
        rows: list[dict[int, Expr]] = [{} for _ in self.order]
        for (i, j), leaf in zip(self.entries, self._given, strict=False):
            rows[i][j] = leaf
        return rows

    def _leaves(self, names: Sequence[str]) -> tuple[Expr, ...]:
        return tuple(self._equations.t.arena.leaf(INPUT, name) for name in names)

    def _lift(self, x: Any) -> Expr:
        return self._equations.t.arena.lift(x)

    def _scheduled(self, name: str, outputs: Sequence[Any], rest: Sequence[Expr]) -> Program:
        names = [f"{name} {k + 1}" for k in range(len(outputs))]
        return scheduled(self._equations, name, Quantity(names, [self._lift(x) for x in outputs], rest))


def _entries(row: Equation) -> list[Expr]:
    return [*row.coefficients.values(), row.remainder]


def _met(outputs: Sequence[Expr], made: Set[Expr]) -> list[Expr]:
    """The nodes made elsewhere, of those that depend on more than parameters, from which the outputs follow."""
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
    """What is left of a slip that had this direction before."""
    return slip_left(*before, *slip) if len(slip) == 2 else slip[0] * before[0]


def direction_of(slip: Sequence[Expr], before: Sequence[Expr], begun: Expr) -> list[Expr]:
    """The direction of slip, as ``kane.native.contacts.quick.slip_direction`` finds it."""
    arena, kept, follows = before[0].arena, before[: len(slip)], before[0].arena.one
    if len(slip) == 2:
        along = _dot(slip, kept)
        missing, ahead = maximum(begun - along, arena.zero), maximum(along, begun)
        beside = [x - along * e for x, e in zip(slip, kept, strict=True)]
        square, blur = beside[0] * beside[0] + beside[1] * beside[1], BLURRED * missing
        across = begun * square / ((begun + missing) * (square + blur * blur + SLOW * SLOW))
        slip = [across * x + ahead * e for x, e in zip(beside, kept, strict=True)]
        speed = sqrt(slip[0] * slip[0] + slip[1] * slip[1])
    else:
        speed, follows = absolute(slip[0]), equal(absolute(kept[0]), arena.zero)
    follows = select(less(arena.lift(SLOW), speed), follows, arena.zero)
    return [select(follows, x / speed, e) for x, e in zip(slip, kept, strict=True)]


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Added up in two halves: half as long to wait for."""
    half = len(a) // 2 if len(a) > 5 else 0
    first = sum((x * y for x, y in zip(a[:half], b[:half], strict=True)), 0.0)
    return first + sum((x * y for x, y in zip(a[half:], b[half:], strict=True)), 0.0)


def _solved(
    y: Sequence[Any], w: Sequence[Any], b: Sequence[Any], squares: Sequence[Any], *, symmetric: bool
) -> tuple[list[Any], list[Any], list[Any]]:
    """S x = b with S = Y^T W by elimination without exchanges, x_k zero where the pivot is no share of the square.

    Row by row, so that what the next one is made of is found while this one's pivot is divided by. Where S is symmetric
    it is L D L^T: the shares that eliminate rows are L, by which x is found without waiting for a product with a pivot.

    Returns:
        x, the pivots, and b as it was when each pivot was divided by.
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
            share = row[i] * inverses[i]
            shares[i].append(share)
            for j in range(k if symmetric else i + 1, m):
                row[j] = row[j] - share * S[i][j]
            left[k] = left[k] - share * left[i]
        S.append(row)
        inverses.append(select(less(REPEATED * squares[k], row[k]), 1 / row[k], row[k].arena.zero))
    for k in range(m - 1, -1, -1):
        total, above = (left[k] * inverses[k], shares[k]) if symmetric else (left[k], S[k][k + 1 :])
        for entry, found in zip(reversed(above), reversed(x[k + 1 :]), strict=True):  # what is found last comes last
            total = total - entry * found
        x[k] = total if symmetric else total * inverses[k]
    return x, [S[k][k] for k in range(m)], left
