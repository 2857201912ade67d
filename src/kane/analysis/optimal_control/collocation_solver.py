"""Solution of the nonlinear program of a collocation of one or several phases, and a verdict in words."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kane.analysis.optimal_control.collocation_mesh import CollocationMesh
from kane.analysis.optimal_control.ipopt import ACCEPTABLE, OPTIMAL, Bounds, Iteration, Solution, solve_by_ipopt
from kane.analysis.optimal_control.nonlinear_program import ElementProgram
from kane.analysis.optimal_control.problem import Problem
from kane.engine.memory.loop_arguments import Indices, Vector
from kane.errors import ModelError
from kane.progress import ProgressBar

# Largest correction of a coordinate at the end of an interval [rad or m]; of a speed, per length of an interval.
CORRECTION = 0.02
# Objective below which the problem seems to have no least value.
UNBOUNDED = -1e12
TOO_FEW = "no solution: the nodes are too few for the constraints of the mechanism; give more, or a better guess"
# Fraction of the largest correction from which nodes are too few.
NEARLY = 0.9
# Largest residual of a row all of whose unknowns are given.
GIVEN_RESIDUAL = 1e-6
# Approximate minimum degree (6) orders the long bands of collocations several times sooner than the default.
IPOPT_OPTIONS: dict[str, float | int | str] = {
    "print_level": 0,
    "sb": "yes",
    "linear_solver": "mumps",
    "mumps_pivot_order": 6,
}
# A start near a solution: the barrier is small from the first iteration on.
WARM_OPTIONS: dict[str, float | int | str] = {
    "warm_start_init_point": "yes",
    "mu_init": 1e-4,
    "warm_start_bound_push": 1e-6,
    "warm_start_mult_bound_push": 1e-6,
}
# A start from a solution on another mesh: it may be near bounds, and the barrier begins small.
NEAR_OPTIONS: dict[str, float | int | str] = {"mu_init": 1e-3, "bound_push": 1e-5, "bound_frac": 1e-5}
# Several phases: transitions may have equations that a symmetric mechanism satisfies by itself.
PHASE_OPTIONS: dict[str, float | int | str] = {"mu_strategy": "adaptive"}
# A phase: its problem, its mesh, and the places of its unknowns in the program.
PlacedPhase = tuple[Problem, CollocationMesh, Indices]
# Name of a row, by its index and the unknowns.
Described = Callable[[int, Vector], str]


def iterate(
    program: ElementProgram,
    bounds: Bounds,
    start: Solution,
    settings: tuple[float, int],
    *,
    options: Mapping[str, float | int | str],
    bar: ProgressBar,
) -> tuple[Solution, float]:
    """Solve a program by Ipopt; return the solution and the wall time [s].

    Args:
        program: the program.
        bounds: its bounds.
        start: first iterate; with multipliers it is a warm start.
        settings: tolerance and largest number of iterations.
        options: further options of Ipopt for a start without multipliers.
        bar: display of the iterations.
    """

    def told(step: Iteration) -> None:
        bar.name(
            f"iteration {step.number}, objective {step.objective:.6g}, violation {step.infeasibility:.1e}, "
            f"optimality {step.residual:.1e}"
        )

    chosen = WARM_OPTIONS if start.multipliers.any() else options
    given = {**IPOPT_OPTIONS, "tol": settings[0], "max_iter": settings[1], **chosen}
    began = time.perf_counter()
    solution = solve_by_ipopt(program, bounds, start, given, told)
    return solution, time.perf_counter() - began


def judged(
    program: ElementProgram, bounds: Bounds, phases: Sequence[PlacedPhase], described: Described, solution: Solution
) -> tuple[float, float, str]:
    """Return the objective, the largest violation, and a remark.

    The remark names the equation that is no number or is violated most, or notes that nodes are too few.
    """
    values, z = program.all_rows(solution.z), solution.z
    off = np.maximum(np.maximum(bounds.lower - values[:-1], values[:-1] - bounds.upper), 0.0)
    found = float(values[-1]), float(off.max(initial=0.0))
    lost = np.flatnonzero(~np.isfinite(values))
    if len(lost):
        return *found, f"{described(int(lost[0]), z)} is no number"
    failed = solution.result not in (OPTIMAL, ACCEPTABLE)
    if failed and values[-1] < UNBOUNDED:
        return *found, "the objective seems to have no least value; give bounds"
    if failed and found[1] > GIVEN_RESIDUAL:
        worst = int(np.argmax(off))
        return *found, f"{described(worst, z)} is off by {off[worst]:.3g}; relax limits, or try another guess"
    corrected = np.concatenate([where[mesh.corrected].ravel() for _, mesh, where in phases])
    most = bounds.most[corrected]
    return *found, TOO_FEW if (np.abs(z[corrected]) > NEARLY * most).any() else ""


def with_small_corrections(program: ElementProgram, bounds: Bounds, phases: Sequence[PlacedPhase], z: Vector) -> Bounds:
    """Return the bounds with limits of the corrections, so that no loop jumps to another closure."""
    _, columns = program.jacobian_places
    longest = np.zeros(len(z))
    np.maximum.at(longest, columns, np.abs(program.jacobian(z)))
    least, most = bounds.least.copy(), bounds.most.copy()
    for problem, mesh, where in phases:
        places = where[mesh.corrected]
        limits = np.full(places.shape, CORRECTION)
        limits[:, mesh.corrections - mesh.rows :] /= np.diff(mesh.fractions)[:, None] * z[where[mesh.duration]]
        directions = longest[places].max(axis=0)
        closing = problem.transcription.symbols.closing
        directions[len(problem.dyn.equations.closing) : len(closing)] = 1.0  # unit quaternions
        limits /= np.maximum(directions, 1e-9)
        least[places], most[places] = -limits, limits
    return bounds._replace(least=least, most=most)


def without_given_rows(program: ElementProgram, bounds: Bounds, described: Described, model: str) -> Bounds:
    """Return the bounds without limits of rows all of whose unknowns are given.

    Raises:
        ModelError: a row is violated, for example by a start that opens a loop.
    """
    fixed = bounds.least == bounds.most
    places, columns = program.jacobian_places
    given = np.bincount(places, weights=~fixed[columns], minlength=program.rows) == 0
    if not given.any():
        return bounds
    z = np.where(fixed, bounds.least, 0.0)
    values = program.constraints(z)
    off = np.maximum(bounds.lower - values, values - bounds.upper)
    worst = int(np.argmax(np.where(given, off, -np.inf)))
    if not off[worst] <= GIVEN_RESIDUAL:
        loop = bounds.lower[worst] == bounds.upper[worst]
        cure = "kane.assemble closes loops, a quaternion is divided by its length" if loop else "change these values"
        raise ModelError(
            f"start or end of {model!r}: {described(worst, z)} is off by {off[worst]:.3g}; {cure}, or leave some "
            "values free"
        )
    return bounds._replace(lower=np.where(given, -np.inf, bounds.lower), upper=np.where(given, np.inf, bounds.upper))
