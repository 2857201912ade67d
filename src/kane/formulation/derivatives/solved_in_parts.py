"""Derivatives of accelerations as a program in parts that solves for them numerically, for any unconstrained model.

With many speeds, a symbolic M^-1 takes more operations than all other terms. Therefore the first part computes udot,
the forces' derivatives df at udot and the factor of M. Wide routines solve M dudot = -df along the tree's branches,
one column per lane.

Source: Carpentier & Mansard 2018, Eq. 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.parts import RESULT, PartsBuilder, Places, ProgramInParts, Routine, ValuePlace
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.embedding import NoConstraints
from kane.formulation.derivatives.forces import force_entries
from kane.formulation.derivatives.implicit_rule import independent_speeds, mass_factor, needed_forces
from kane.formulation.derivatives.inverse_factor import elimination, read_factor
from kane.formulation.derivatives.inverse_in_parts import DerivativeParts
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
    if not equations.route.symmetric:
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
        L, order, parts = mass_factor(equations), independent_speeds(equations), PartsBuilder(width)
        kept = [equations.system.arena.lift(x) for x in (*L[1], *(x for row in L[0] for x in row.values()))]
        forces = force_entries(equations, needed_forces(equations, equations.udot), varied, inputs=True, beside=kept)
        slopes = jacobian(outputs, directions)
        right_sides = _right_sides(parts, forces, order, len(columns))
        results = [*outputs, *udot, *slopes.values()]
        start = parts.give(len(results))
        _move("kane_results", parts, results, [(RESULT, start + k) for k in range(len(results))])
        values = tuple(range(start, start + len(outputs) + len(udot)))
        entries = {(columns[j][0], i, columns[j][1]): values[-1] + 1 + k for k, (i, j) in enumerate(slopes)}
        solved = _solve(parts, L, parts.hold(kept), right_sides, len(columns))
        for j, (word, column) in enumerate(columns):
            for k, i in enumerate(order):
                entries[word, len(outputs) + i, column] = solved[j // width] + k * width + j % width
        found = substitute_nodes(parts.values, dict(zip(equations.udot, udot, strict=True)))
        leaves = {"state": (equations.t, *equations.q, *equations.u), "rest": equations.inputs}
        name = f"derivatives of {of} by {', '.join(x.word for x in varied)}"
        whole = ProgramInParts(name, factor(found), parts, **leaves, parameters=equations.parameters)
    return DerivativeParts(whole, values, entries)


def _right_sides(
    parts: PartsBuilder, forces: Mapping[tuple[int, int], Expr], order: Sequence[int], columns: int
) -> list[int]:
    """Write -df to right-hand sides, which are zero elsewhere, and return the place of each block of columns."""
    width, row = parts.width, {speed: k for k, speed in enumerate(order)}
    starts = [parts.take(len(order)) for _ in range(0, columns, width)]
    cleared = Routine("kane_cleared")
    cleared.write("to", [0.0] * len(order))
    for start in starts:
        parts.call(cleared, width, {"to": start})
    places = [starts[j // width] + row[i] * width + j % width for i, j in forces]
    _move("kane_right_sides", parts, [-x for x in forces.values()], places)
    return starts


def _move(name: str, parts: PartsBuilder, values: Sequence[Expr], places: Sequence[int | ValuePlace]) -> None:
    """Let the first part compute values, and copy them to places, in a loop because there are many of them."""
    start, at = parts.hold(values), Routine(name, wide=False, swept=("of", "to"))
    at.write("to", at.read("of", 0))
    if values:
        parts.call(at, 1, {}, rounds=[({"of": start + k, "to": place}, (0,)) for k, place in enumerate(places)])


def _solve(parts: PartsBuilder, L: TriangularFactor, start: int, right_sides: Sequence[int], columns: int) -> list[int]:
    """Solve M x = b for blocks of columns b, and return the place of each block of x in the results."""
    groups: list[list[int]] = [[]]
    size = 0
    for k, row in enumerate(L[0]):
        if size > _ROUTINE:
            groups.append([])
            size = 0
        groups[-1].append(k)
        size += 1 + len(row)
    routines = [elimination(f"kane_eliminated{g}", L, group) for g, group in reversed([*enumerate(groups)])]
    routines += [_substitution(f"kane_substituted{g}", L, group) for g, group in enumerate(groups)]
    found, width = [], parts.width
    for k, b in enumerate(right_sides):
        found.append(parts.give(len(L[1]) * width))
        for routine in routines:
            arrays: Places = {"factor": start, "b": b, "x": (RESULT, found[-1])}
            parts.call(routine, min(width, columns - k * width), arrays)
    return found


def _substitution(name: str, L: TriangularFactor, group: Sequence[int]) -> Routine:
    """Return the routine that computes x of consecutive unknowns from L^-T b and from x of the unknowns before them."""
    at = Routine(name, plain={"factor": 1})
    rows, inverses = read_factor(at, "factor", 0, L)
    x: dict[int, Any] = {}
    for k in group:
        x[k] = at.read("b", k)[0] * inverses[k]
        for i, m in rows[k].items():
            x[k] = x[k] - m * (x[i] if i in x else at.read("x", i)[0])
    at.write("x", [x[k] for k in group], group[0])
    return at
