"""First guess of contact forces: the equations of motion at each point, solved for udot and lambda."""

from __future__ import annotations

import numpy as np

from kane.analysis.optimal_control.collocation_mesh import CollocationMesh, Rows
from kane.analysis.optimal_control.problem import Problem
from kane.array_types import Array
from kane.engine.memory.loop_arguments import Vector

# Relative singular value below which forces are indeterminate.
FORCE_RANK_TOLERANCE = 1e-10


def guessed_multipliers(problem: Problem, mesh: CollocationMesh, rows: Rows, z: Vector) -> Array:
    """Return lambda at the collocation points, (points, rows), for states and inputs of a first guess.

    The equations M udot + bias - B inputs - A^T lambda = 0, A udot + remainder = 0 are linear in udot and lambda. Zero
    forces would be a bad guess, because the gradient of a friction cone in space vanishes at its tip.
    """
    points, *_ = problem.transcription.elements(mesh, rows, problem.constants)
    count, first = rows.motion.shape[1], mesh.states
    at = z.copy()
    at[mesh.accelerations], at[mesh.point_multipliers] = 0.0, 0.0
    residuals, slopes = points.values(at)[:, :count], points.slopes(at)
    outputs, unknowns = points.functions.slope_places
    chosen = (outputs < count) & (unknowns >= first) & (unknowns < first + count)
    A = np.zeros((mesh.points, count, count))
    A[:, outputs[chosen], unknowns[chosen] - first] = slopes[:, chosen]
    if not (np.isfinite(A).all() and np.isfinite(residuals).all()):
        return np.zeros((mesh.points, mesh.rows))
    found = -np.linalg.pinv(A, rcond=FORCE_RANK_TOLERANCE) @ residuals[..., None]
    return np.asarray(found[:, mesh.speeds :, 0])
