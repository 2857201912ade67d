"""Derivatives of accelerations as a program in parts that solves for them numerically, for any unconstrained model.

With many speeds, a symbolic M^-1 takes more operations than all other terms. Therefore the first part computes udot,
the forces' derivatives df at udot and the factor of M. Wide routines solve M dudot = -df along the tree's branches,
one column per lane.

Source: Carpentier & Mansard 2018, Eq. 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.parts import RESULT, PartsBuilder, Places, ProgramInParts, Routine
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.embedding import NoConstraints
from kane.formulation.derivatives.forces import force_entries
from kane.formulation.derivatives.implicit_rule import independent_speeds, mass_factor, needed_forces
from kane.formulation.derivatives.inverse_factor import elimination, read_factor
from kane.formulation.derivatives.inverse_in_parts import DerivativeParts, Entry
from kane.formulation.derivatives.program_derivative import IMPLICIT
from kane.formulation.derivatives.variables import variables
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import program, quantity
from kane.formulation.tree.sparse import TriangularFactor

# Number of multiplications above which the solution is numerical, with several columns in SIMD lanes.
WORTH_CALLS = 3000
# Multiplications per routine: longer functions compile more slowly.
_ROUTINE = 1500


def is_long(equations: Equations, of: str, wrt: Sequence[str]) -> bool:
    """Return whether a numerical solution is better for the derivatives of a program of accelerations."""
    if of not in IMPLICIT or not isinstance(equations.embedding, NoConstraints) or not equations.u:
        return False
    with collector_paused():
        columns = sum(len(x.labels) for x in variables(equations, wrt, equations.inputs))
        rows, _ = mass_factor(equations)
    return 2 * columns * sum(map(len, rows)) > WORTH_CALLS


def solved_parts(equations: Equations, of: str, wrt: Sequence[str], width: int) -> DerivativeParts:
    """Return the derivatives of "forward" or "rhs"; ``width`` is the number of doubles per register.

    Raises:
        ModelError: as ``derivative``.
    """
    with collector_paused():
        asked, udot = quantity(equations, of), program(equations, "forward").outputs
        outputs = asked.outputs[: len(asked.outputs) - len(udot)]
        varied = variables(equations, wrt, asked.rest)
        directions = [d for variable in varied for d in variable.directions]
        columns = [(variable.word, j) for variable in varied for j in range(len(variable.labels))]
        L, lift = mass_factor(equations), equations.system.arena.lift
        kept = [lift(x) for x in (*L[1], *(x for row in L[0] for x in row.values()))]
        forces = force_entries(equations, needed_forces(equations, equations.udot), varied, inputs=True, beside=kept)
        slopes = jacobian(outputs, directions)
        solution = _Solution(L, independent_speeds(equations), columns, width)
        solution.put_factor(kept)
        solution.put_forces(forces)
        start = solution.put_results([*outputs, *udot, *slopes.values()])
        values = tuple(range(start, start + len(outputs) + len(udot)))
        entries = {(columns[j][0], i, columns[j][1]): values[-1] + 1 + k for k, (i, j) in enumerate(slopes)}
        entries |= solution.entries(len(outputs))
        found = substitute_nodes(solution.parts.values, dict(zip(equations.udot, udot, strict=True)))
        leaves = {"state": (equations.t, *equations.q, *equations.u), "rest": equations.inputs}
        name = f"derivatives of {of} by {', '.join(x.word for x in varied)}"
        whole = ProgramInParts(name, factor(found), solution.parts, **leaves, parameters=equations.parameters)
    return DerivativeParts(whole, values, entries)


class _Solution:
    """Writer of the parts that solve M dudot = -df.

    Attributes:
        parts: calls of routines, and their memory, constants and results.
    """

    def __init__(
        self, L: TriangularFactor, order: Sequence[int], columns: Sequence[tuple[str, int]], width: int
    ) -> None:
        """Allocate the right-hand sides.

        Args:
            L: factor of M.
            order: speed of each unknown.
            columns: variable of each column of df, and the column among those of the variable.
            width: number of columns per block.
        """
        self._L, self._order, self._columns = L, order, columns
        self.parts = PartsBuilder(width)
        self._starts = [self.parts.take(len(order)) for _ in range(0, len(columns), width)]
        self._factor = 0

    def put_factor(self, values: Sequence[Expr]) -> None:
        """Let the first part write the inverses of D and the rows of L."""
        self._factor = self._put(values)

    def put_forces(self, forces: dict[tuple[int, int], Expr]) -> None:
        """Let the first part write df, and copy -df to the right-hand sides, which are zero elsewhere."""
        cleared = Routine("kane_cleared")
        cleared.write("to", [0.0] * len(self._order))
        for start in self._starts:
            self.parts.call(cleared, self.parts.width, {"to": start})
        width, row = self.parts.width, {speed: k for k, speed in enumerate(self._order)}
        start, moved = self._put(forces.values()), Routine("kane_right_sides", wide=False, swept=("of", "to"))
        moved.write("to", [-moved.read("of", 0)[0]])
        places = [self._starts[j // width] + row[i] * width + j % width for i, j in forces]
        rounds = [({"of": start + k, "to": place}, (0,)) for k, place in enumerate(places)]
        if rounds:
            self.parts.call(moved, 1, {}, rounds=rounds)

    def put_results(self, values: Sequence[Expr]) -> int:
        """Let the first part compute results, and return the place of the first one."""
        start, result = self._put(values), self.parts.give(len(values))
        copied = Routine("kane_results", wide=False, swept=("of", "to"))
        copied.write("to", copied.read("of", 0))
        rounds: list[tuple[Places, tuple[int]]] = [
            ({"of": start + k, "to": (RESULT, result + k)}, (0,)) for k in range(len(values))
        ]
        self.parts.call(copied, 1, {}, rounds=rounds)
        return result

    def _put(self, values: Sequence[Expr] | Any) -> int:
        values = [*values]
        start = self.parts.take(-(-len(values) // self.parts.width))
        self.parts.put(start, values)
        return start

    def entries(self, first: int) -> dict[Entry, int]:
        """Solve for dudot, and return the places of its entries; ``first`` is the row of the first acceleration."""
        width, found = self.parts.width, {}
        routines = [*self._routines()]
        for b, start in enumerate(self._starts):
            columns = self._columns[b * width : (b + 1) * width]
            result = self.parts.give(len(self._order) * width)
            arrays: Places = {"factor": self._factor, "b": start, "x": (RESULT, result)}
            for routine in routines:
                self.parts.call(routine, len(columns), arrays)
            for k, i in enumerate(self._order):
                for lane, (word, j) in enumerate(columns):
                    found[word, first + i, j] = result + k * width + lane
        return found

    def _routines(self) -> Iterator[Routine]:
        """Yield the routines of L^-T b and of L^-1 D^-1 b, each for consecutive unknowns."""
        groups: list[list[int]] = [[]]
        size = 0
        for k, row in enumerate(self._L[0]):
            if size > _ROUTINE:
                groups.append([])
                size = 0
            groups[-1].append(k)
            size += 1 + len(row)
        for g, group in reversed([*enumerate(groups)]):
            yield elimination(f"kane_eliminated{g}", self._L, group)
        for g, group in enumerate(groups):
            yield self._substitution(f"kane_substituted{g}", group)

    def _substitution(self, name: str, group: Sequence[int]) -> Routine:
        """Return the routine that computes x of some unknowns from b and from x of the unknowns before them."""
        at = Routine(name, plain={"factor": 1})
        rows, inverses = read_factor(at, "factor", 0, self._L)
        x: dict[int, Any] = {}
        for k in group:
            x[k] = at.read("b", k)[0] * inverses[k]
            for i, m in rows[k].items():
                x[k] = x[k] - m * (x[i] if i in x else at.read("x", i)[0])
        at.write("x", [x[k] for k in group], group[0])
        return at
