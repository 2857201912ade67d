"""Second derivatives under numerically embedded constraints, by adjoint multipliers at each state.

The terms g(x, z) = 0 determine z = (u_d, udot, lambda) as a function of x. With weights w of the outputs y,

    sum of w d2y = [1; z_x]^T H [1; z_x],   H the second derivatives of w . y + mu . g,   g_z^T mu = -y_z^T w.

Only first derivatives of z are therefore needed.

Source: Griewank & Walther 2008, Sec. 15.2; Singh, Russo & Wensing 2023, Sec. V.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from kane.array_types import Array
from kane.dynamics.derivatives.constrained_derivatives import UNDRIVEN, ConstrainedColumns, Solved, reduced_mass
from kane.dynamics.least_solution import solve_minimum_norm
from kane.formulation.derivatives.constrained import ConstrainedTerms
from kane.formulation.derivatives.program_derivative import IMPLICIT
from kane.formulation.derivatives.second import constrained_hessian

if TYPE_CHECKING:
    from kane.dynamics.dynamics import Dynamics


@final
class ConstrainedHessian:
    """Second derivatives of weighted sums of the outputs.

    Args:
        dyn: dynamics of the equations.
        terms: first derivatives of the terms, with all speeds treated as independent.
        columns: solution of the differentiated equations at states.
    """

    def __init__(self, dyn: Dynamics, terms: ConstrainedTerms, columns: ConstrainedColumns) -> None:
        self._dyn, self._terms, self._columns = dyn, terms, columns
        program, places = constrained_hessian(dyn.equations, terms)
        self._function = dyn.compile(program)
        self._places = np.array(places, dtype=np.intp).reshape(-1, 2).T

    def at(self, state: tuple[Any, Any], rest: Any, t: Any, parameters: Any, weights: Array) -> Array:
        """Return second derivatives, (..., columns, columns), not yet symmetric along q."""
        q, u = state
        found = self._columns.solved(q, u, rest, t, parameters)
        more = self._multipliers(found, weights)
        read = np.broadcast_to(found.read, (*more.shape[:-1], found.read.shape[-1]))
        given = np.concatenate([read, more], axis=-1)
        flat = self._dyn.evaluate(self._function, q, found.state.at.u, given, t, parameters=parameters)
        along = self._along(found)
        width = along.shape[-2]
        whole = np.zeros((*flat.shape[:-1], width, width))
        whole[..., self._places[0], self._places[1]] = flat
        whole = 0.5 * (whole + np.swapaxes(whole, -1, -2))
        return np.asarray(np.swapaxes(along, -1, -2) @ whole @ along)

    def _along(self, found: Solved) -> Array:
        """Return [1; z_x]: derivatives of all arguments of the terms by the variables of differentiation."""
        rows, start = [], 0
        columns = found.du.shape[-1]
        for variable in self._terms.varied:
            end = start + len(variable.labels)
            if variable.word not in ("u", "udot"):
                rows.append(np.broadcast_to(np.eye(columns)[start:end], (*found.du.shape[:-2], end - start, columns)))
            start = end
        return np.concatenate([*rows, found.du, found.dudot, self._forces_of_rows(found)], axis=-2)

    def _forces_of_rows(self, found: Solved) -> Array:
        """Return the derivatives of the multipliers, which balance df + M dudot at dependent speeds."""
        terms, (_, M, A_d, _) = self._terms, found.state
        if not terms.forces:
            return np.zeros((*found.du.shape[:-2], terms.rows, found.du.shape[-1]))
        left = found.total[..., terms.at_forces, :] + M @ found.dudot
        return solve_minimum_norm(np.swapaxes(A_d, -1, -2), np.where(found.state.at.independent[..., None], 0.0, left))

    def _multipliers(self, found: Solved, weights: Array) -> Array:
        """Return the weights of f, of the outputs, of A u + b and of A udot + remainder, (..., values)."""
        terms, n = self._terms, found.du.shape[-2]
        at, M, A_d, _ = found.state
        held, back = at.independent[..., None], np.swapaxes(A_d, -1, -2)
        batch = np.broadcast_shapes(weights.shape[:-1], found.values.shape[:-1])
        w = np.broadcast_to(weights, (*batch, weights.shape[-1]))[..., None]
        of_outputs = w[..., : terms.outputs, :]
        found_weights = np.zeros((*batch, found.values.shape[-1], 1))
        found_weights[..., terms.at_outputs, :] = of_outputs
        if terms.forces:
            if terms.derivative.name in UNDRIVEN:
                pushed, mu = np.zeros((*batch, n, 1)), at.R @ w
            else:
                pushed = np.swapaxes(found.entries[..., terms.at_outputs, -n:], -1, -2) @ of_outputs
                if terms.derivative.name in IMPLICIT:
                    pushed = pushed + w[..., terms.outputs :, :]
                mu = -at.R @ np.linalg.solve(reduced_mass(at, M), np.swapaxes(at.R, -1, -2) @ pushed)
            found_weights[..., terms.at_forces, :] = mu
            found_weights[..., terms.at_acceleration, :] = -solve_minimum_norm(
                back, np.where(held, 0.0, pushed + M @ mu)
            )
        by_u = np.swapaxes(found.entries[..., -2 * n : -n], -1, -2) @ found_weights
        found_weights[..., terms.at_motion, :] = -solve_minimum_norm(back, np.where(held, 0.0, by_u))
        return found_weights[..., 0]
