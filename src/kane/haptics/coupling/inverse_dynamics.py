"""Steps of inverse dynamics: the handle follows the device, and the required force is computed."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.deferred import NamedTuple, dataclass
from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.engine.memory.views import (
    follower_at,
    follower_size,
    loop_counts_at,
    loop_counts_size,
    prescribed_terms_at,
)
from kane.engine.realtime.loop_arrays import Circuit
from kane.engine.realtime.prescribed_motion import Rigid
from kane.errors import ModelError
from kane.expression.derivative import linear_coefficients, total_time_derivative
from kane.expression.node import Expr
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.constraints.rows import Equation
from kane.formulation.quantities.programs import quantity
from kane.haptics.coupling.handle import Coupled
from kane.haptics.coupling.rigid_coupler import RigidCoupler

# Relative length of the independent part of a row below which the row counts as linearly dependent.
LEAST_DIRECTION_RATIO = 1e-9


@final
@dataclass(frozen=True)
class InverseDynamics:
    """Method of the steps of a session with a RigidCoupler."""

    fixed = True
    name = "InverseDynamics"


class RigidSteps(NamedTuple):
    """Arrays of inverse dynamics for the loop, their program, and the inertia at the handle at the start [kg]."""

    arrays: Rigid
    function: CompiledFunction
    inertia: float

    @property
    def carried(self) -> tuple[Vector, Vector, Vector]:
        """Arrays that persist from step to step."""
        return self.arrays.follower.whole, self.arrays.known, self.arrays.reaction

    def carrying(self, follower: Vector, known: Vector, reaction: Vector) -> RigidSteps:
        """Return the steps with other persistent arrays."""
        arrays = self.arrays._replace(follower=follower_at(follower, 0), known=known, reaction=reaction)
        return self._replace(arrays=arrays)

    def of(self, circuit: Circuit) -> tuple[RigidSteps, Circuit]:
        """Return the steps and the circuit of a loop with shared arrays, so that the loop reads the reaction."""
        handle = circuit.handle._replace(reaction=self.arrays.reaction)
        return self._replace(arrays=self.arrays._replace(counts=circuit.counts)), circuit._replace(handle=handle)


def rigid_steps(coupled: Coupled, coupler: RigidCoupler, x: Vector, parameters: Vector, inputs: Vector) -> RigidSteps:
    """Compile the program of inverse dynamics, and return it with the arrays for the loop.

    Args:
        coupled: mechanism with its coupler.
        coupler: the rigid coupler.
        x: [q, u] at the start.
        parameters, inputs: values of parameters and inputs.

    Raises:
        ModelError: the handle does not determine the motion, or cannot move along an axis.
    """
    e = coupled.dyn.equations
    if e.intermittents or any(row.configuration is None for row in e.constraints):
        raise ModelError(
            f"{e.name!r} has intermittent constraints, or constraints that hold a velocity and no configuration, such "
            "as rolling, which a rigid coupler does not support; use kane.haptics.Coupler"
        )
    axes = [k for k, on in enumerate(coupler.coupled_axes[:3]) if on]
    rows = _chosen(coupled, axes, (np.concatenate([[0.0], x]), parameters, inputs))
    outputs = _outputs(coupled, axes, rows)
    if any(e.t in leaves([out]) for out in outputs):
        raise ModelError(f"{e.name!r} has a quantity prescribed in time; use kane.haptics.Coupler")
    function = _compiled(coupled, "rigid", outputs)
    n, m = len(e.u), len(axes)
    arrays = Rigid(
        program=function.address,
        constants=function.stage(parameters).copy(),
        terms=prescribed_terms_at(np.zeros(len(outputs)), 0, n, len(e.q)),
        work=np.zeros(function.n_work),
        axes=np.array(axes, dtype=np.int64),
        follower=follower_at(np.zeros(follower_size()), 0),
        follow=coupler.follow,
        known=np.zeros(1),
        A=np.zeros((n, n)),
        pivots=np.zeros(n, dtype=np.int64),
        b=np.zeros(n),
        reaction=np.zeros(6),
        counts=loop_counts_at(np.zeros(loop_counts_size()), 0),
        inputs=len(inputs) - len(coupled.inputs),
    )
    found = function(np.concatenate([[0.0], x]), inputs, arrays.constants)
    terms, M = prescribed_terms_at(found, 0, n, len(e.q)), np.zeros((n, n))
    M[np.tril_indices(n)] = terms.M
    M += np.tril(M, -1).T
    along = np.linalg.inv(terms.C)[:, :m]
    return RigidSteps(arrays, function, float(np.linalg.eigvalsh(along.T @ M @ along).max()))


def _compiled(coupled: Coupled, name: str, outputs: list[Expr]) -> CompiledFunction:
    e = coupled.dyn.equations
    state = (e.t, *e.q, *e.u)
    return coupled.dyn.compile(Program(name, tuple(outputs), state=state, rest=e.inputs, parameters=e.parameters))


def _chosen(coupled: Coupled, axes: list[int], values: tuple[Vector, Vector, Vector]) -> list[Equation]:
    """Return the independent rows of the constraints; raise unless they and the handle determine the motion."""
    e, n = coupled.dyn.equations, len(coupled.dyn.equations.u)
    at, parameters, inputs = values
    zero = e.system.arena.zero
    J, _ = linear_coefficients([coupled.motion.rates[k] for k in axes], e.u)
    A = [[row.coefficients.get(j, zero) for j in range(n)] for row in e.constraints]
    function = _compiled(coupled, "rows", list(e.baked_in([x for row in (*A, *J) for x in row])))
    found = function(at, inputs, function.stage(parameters)).reshape(-1, n)
    kept = _independent(found)
    rows = [k for k in kept if k < len(A)]
    freedoms = n - len(rows)
    if len(kept) - len(rows) < len(axes):
        raise ModelError(
            f"the handle of {e.name!r} is to be held along {len(axes)} axes and moves along {len(kept) - len(rows)} of "
            f"them at the start; the mechanism has {freedoms} freedom{'s' * (freedoms != 1)}: give axes= with as many"
        )
    if len(kept) < n:
        raise ModelError(
            f"{e.name!r} has {freedoms} freedoms, of which the handle determines {len(axes)}; the others must be "
            "integrated: use kane.haptics.Coupler"
        )
    return [e.constraints[k] for k in rows]


def _independent(rows: Matrix) -> list[int]:
    """Return the indices of rows that are linearly independent of earlier rows."""
    kept: list[int] = []
    basis = np.zeros((0, rows.shape[1]))
    for k, row in enumerate(rows):
        rest = row - basis.T @ (basis @ row)
        rest -= basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > LEAST_DIRECTION_RATIO * np.linalg.norm(row):
            kept.append(k)
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
    return kept


def _outputs(coupled: Coupled, axes: list[int], rows: list[Equation]) -> list[Expr]:
    """Return [p, g, C, r, M, h, dq/dt] as expressions, without the load of the coupler."""
    e = coupled.dyn.equations
    zero, rates = e.system.arena.zero, dict(zip(e.q, e.system.speeds.kinematics, strict=True))
    speeds = [coupled.motion.rates[k] for k in axes]
    J, _ = linear_coefficients(speeds, e.u)
    free = e.unconstrained
    parts: list[list[Any]] = [
        [coupled.where[k] for k in axes],
        [row.configuration for row in rows],
        [x for row in J for x in row],
        [row.coefficients.get(j, zero) for row in rows for j in range(len(e.u))],
        total_time_derivative(speeds, rates),
        [row.remainder for row in rows],
        list(quantity(free, "mass_matrix").outputs),
        list(free.baked_in(free.route.loaded([0.0] * len(e.u)))),
        list(e.kinematics),
    ]
    found = e.baked_in([x for part in parts for x in part])
    return list(substitute_nodes(list(found), dict.fromkeys(coupled.inputs, zero)))
