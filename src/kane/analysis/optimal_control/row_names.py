"""Names of the equations of a collocation, for messages."""

from __future__ import annotations

import numpy as np

from kane.analysis.optimal_control.collocation_mesh import CollocationMesh, Rows
from kane.analysis.optimal_control.problem import Problem
from kane.engine.memory.loop_arguments import Vector


def describe_row(problem: Problem, mesh: CollocationMesh, rows: Rows, row: int, z: Vector) -> str:
    """Return an equation in words, with its time; ``row`` is its index, or the index of the objective."""
    if row == rows.total:
        return "the objective"
    e, layout = problem.dyn.equations, problem.layout
    states = (*layout.coordinates, *layout.speeds)
    moving = [f"the equation of motion of {name!r}" for name in layout.speeds]
    moving += [f"the acceleration of the constraint {x.name!r}" for x in e.constraints]
    closed = [f"the constraint {x.name!r}" for x in e.closing] + ["the length of a quaternion"] * len(e.quaternions)
    closed += [f"the velocity of the constraint {x.name!r}" for x in e.constraints]
    changes = [f"the change of {states[k % len(states)]!r}" for k in range(rows.intervals.shape[1])]
    groups = (
        (rows.motion, moving, mesh.point_fractions),
        (rows.path, problem.path_names, mesh.point_fractions),
        (rows.intervals, changes, mesh.fractions[1:]),
        (rows.nodes, closed, mesh.fractions),
        (rows.conditions, [f"boundary condition {k + 1}" for k in range(rows.conditions.shape[1])], np.zeros(1)),
    )
    for places, names, fractions in groups:
        if places.size and places[0, 0] <= row <= places[-1, -1]:
            place, output = divmod(row - int(places[0, 0]), places.shape[1])
            if places is rows.conditions:
                return names[output]
            time = float(z[mesh.begin] + fractions[place] * z[mesh.duration])
            return f"{names[output]} at t = {time:.6g} s"
    raise AssertionError(row)
