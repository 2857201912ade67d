"""Derivatives of accelerations by a numerical solution: the terms that are expressions.

With many speeds, a symbolic M^-1 takes more operations than all other terms. Therefore one program computes the forces'
derivatives df at udot and the entries of M. M dudot = -df is solved at each state, along the tree's branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.program import Program
from kane.expression.arena import Arena
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.operations import INPUT, PARAMETER
from kane.formulation.constraints.embedding import NoConstraints
from kane.formulation.derivatives.forces import force_entries
from kane.formulation.derivatives.implicit_rule import independent_speeds, mass_factor, needed_forces
from kane.formulation.derivatives.program_derivative import IMPLICIT
from kane.formulation.derivatives.variables import Variable, variables
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import quantity
from kane.formulation.tree.sparse import TriangularFactor, solved

# Number of multiplications above which the solution is numerical, with several columns in SIMD lanes.
WORTH_CALLS = 3000


@dataclass(frozen=True)
class SolvedTerms:
    """Terms from which native code solves for the derivatives.

    Attributes:
        names: names of the outputs; udot comes last.
        varied: variables of the differentiation.
        order: the speed of each unknown, parents before children.
        entries: (unknown, column) of the entries of df.
        outputs: number of outputs before udot.
        slopes: (output, column) of their derivatives that are not identically zero.
        program: reads [inputs, udot]; computes the factor of M, df, outputs, slopes, udot.
        solution: computes the unknowns of right-hand sides, with the factor as parameters.
    """

    names: tuple[str, ...]
    varied: tuple[Variable, ...]
    order: tuple[int, ...]
    entries: tuple[tuple[int, int], ...]
    outputs: int
    slopes: tuple[tuple[int, int], ...]
    program: Program
    solution: Program


def is_long(equations: Equations, of: str, wrt: Sequence[str]) -> bool:
    """Return whether a numerical solution is better for the derivatives of a program of accelerations."""
    if of not in IMPLICIT or not isinstance(equations.embedding, NoConstraints) or not equations.u:
        return False
    with collector_paused():
        columns = sum(len(x.labels) for x in variables(equations, wrt, equations.inputs))
        rows, _ = mass_factor(equations)
    return 2 * columns * sum(map(len, rows)) > WORTH_CALLS


def solved_terms(equations: Equations, of: str, wrt: Sequence[str]) -> SolvedTerms:
    """Return the terms of "forward" or "rhs"; arguments as in ``derivative``.

    Raises:
        ModelError: as ``derivative``.
    """
    with collector_paused():
        asked = quantity(equations, of)
        first = len(asked.outputs) - len(equations.u)
        varied = variables(equations, wrt, asked.rest)
        directions = [d for variable in varied for d in variable.directions]
        order = independent_speeds(equations)
        place = {speed: k for k, speed in enumerate(order)}
        M = mass_factor(equations)
        solution, used = _solution(M)
        lift = equations.system.arena.lift
        kept = [*(lift(x) for row in M[0] for x in row.values()), *(lift(x) for x in M[1])]
        needed = needed_forces(equations, equations.udot)
        forces = force_entries(equations, needed, varied, inputs=True, beside=kept)
        slopes = jacobian(asked.outputs[:first], directions)
        roots = [*(kept[k] for k in used), *forces.values(), *asked.outputs[:first], *slopes.values()]
        roots += equations.udot
        state, rest = (equations.t, *equations.q, *equations.u), (*equations.inputs, *equations.udot)
        name = f"terms of derivatives of {of} by {', '.join(x.word for x in varied)}"
        program = Program(name, factor(roots), state=state, rest=rest, parameters=equations.parameters)
    entries = tuple((place[i], j) for i, j in forces)
    return SolvedTerms(tuple(asked.names), varied, tuple(order), entries, first, tuple(slopes), program, solution)


def _solution(M: TriangularFactor) -> tuple[Program, list[int]]:
    """Return the program that solves for one right-hand side, and the entries of the factor that it reads, in order."""
    arena, n = Arena(), len(M[1])
    b = [arena.leaf(INPUT, f"b{k + 1}") for k in range(n)]
    rows = [{j: arena.leaf(PARAMETER, f"L{i + 1},{j + 1}") for j in row} for i, row in enumerate(M[0])]
    inverses = [arena.leaf(PARAMETER, f"1/D{i + 1}") for i in range(n)]
    leaves = [*(x for row in rows for x in row.values()), *inverses]
    found = solved((rows, inverses), b, range(n))
    program = Program("solution with a factored mass matrix", found, state=b, rest=(), parameters=leaves)
    places = {leaf: k for k, leaf in enumerate(leaves)}
    return program, [places[leaf] for leaf in program.stage_outputs]
