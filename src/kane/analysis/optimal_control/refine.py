"""``kane.refine``: solve a collocation again on a mesh with smaller errors."""

from __future__ import annotations

import numpy as np

from kane.analysis.optimal_control.between_nodes import BetweenNodes
from kane.analysis.optimal_control.collocation import Collocation, solve_on_mesh
from kane.analysis.optimal_control.phased_collocation import PhasedCollocation, solve_phases
from kane.analysis.optimal_control.verify import violations
from kane.engine.memory.loop_arguments import Vector
from kane.expression.number_arguments import positive, require, whole

# An interval is divided into at most this many parts at once.
MOST_PARTS = 4


def refine(
    collocation: Collocation | PhasedCollocation, tolerance: float = 1e-6, *, rounds: int = 8
) -> Collocation | PhasedCollocation:
    """Solve again on finer meshes until the error of each interval is below a tolerance.

    The error is the larger of two integrals over the interval. One is the integral of |x' - f(x, inputs)|, relative to
    the largest |x| plus one. The other one is the integral of violations of bounds and path constraints, relative to
    the limit plus one. Inputs that jump may therefore exceed their limits for a short time. Intervals with larger
    errors are divided. Each phase has its own mesh, and each solution is the guess of the next one.

    Args:
        collocation: result of ``collocate``.
        tolerance: largest relative error of an interval.
        rounds: largest number of solutions.

    Returns:
        The last solution; the given one if its errors are small. Iterations that fail end the rounds.

    Raises:
        ModelError: an argument is invalid.

    Source: Betts 2010, Practical methods for optimal control and estimation, section 4.7.
    """
    require(collocation, (Collocation, PhasedCollocation), "refine needs a Collocation, as kane.collocate returns")
    allowed = positive(tolerance, "tolerance")
    for _ in range(whole(rounds, "rounds", 1)):
        phases = collocation.phases
        errors = [_errors(phase) for phase in phases]
        if not collocation.solved or all((own <= allowed).all() for own in errors):
            return collocation
        finer = [_finer(phase, own / allowed) for phase, own in zip(phases, errors, strict=True)]
        if isinstance(collocation, PhasedCollocation):
            collocation = solve_phases(collocation.sequence, finer, collocation, phases[0].settings)
        else:
            collocation = solve_on_mesh(collocation.problem, finer[0], collocation, collocation.settings)
    return collocation


def _errors(phase: Collocation) -> Vector:
    """Return the errors of the intervals of a phase."""
    between = BetweenNodes(phase)
    return np.maximum(between.errors, between.integrals(violations(phase, between)))


def _finer(phase: Collocation, errors: Vector) -> Vector:
    """Return the nodes of a mesh whose intervals with relative errors above 1 are divided."""
    ratio = np.maximum(errors, 1.0) ** (1.0 / phase.mesh.method.order)
    parts = np.clip(np.ceil(ratio), 1, MOST_PARTS).astype(int)
    steps = np.repeat(np.diff(phase.mesh.fractions) / parts, parts)
    finer = np.concatenate([[0.0], np.cumsum(steps)])
    finer[-1] = 1.0
    return finer
