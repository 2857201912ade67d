"""Derivatives under numerically embedded constraints, by implicit differentiation at each state.

A_d are the columns of A that belong to dependent speeds. If independent speeds and other variables vary,

    A_d du_d = -d(A u + b),   A_d dudot_d = -d(A udot + remainder),   R^T (df + M dudot) = 0.

On the right sides d includes du, and holds udot and the multipliers constant. In the last equation f is M udot + h -
A^T lambda. For redundant rows the minimum-norm solutions are used: they equal the derivatives of the motion if q
satisfies the constraints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from kane.array_types import Array
from kane.deferred import NamedTuple
from kane.dynamics.embedded.embedded_quantity import Embedded, symmetric
from kane.dynamics.least_solution import solve_minimum_norm
from kane.engine.memory.views import constraint_rows_at, unconstrained_terms_at
from kane.errors import ModelError
from kane.formulation.derivatives.constrained import ALL_SPEED_PROGRAMS, DRIVEN, ConstrainedTerms
from kane.formulation.derivatives.program_derivative import REACTIONS, derivative_program

if TYPE_CHECKING:
    from kane.dynamics.dynamics import Dynamics

# Quantities that do not depend on the inputs, by definition.
UNDRIVEN = ("inverse", "bias", *ALL_SPEED_PROGRAMS)


class _State(NamedTuple):
    """Embedding, M, A_d and h at states; A_d is (..., m, n), with zeros in the columns of independent speeds."""

    at: Embedded
    M: Array
    A_d: Array
    h: Array


class Solved(NamedTuple):
    """States with the solution of the differentiated equations.

    Attributes:
        state: the states.
        read: inputs, udot and multipliers, concatenated.
        values, entries: values and derivatives of the terms, with all speeds treated as independent.
        total: derivatives of f, outputs and rows along the variables, including du, (..., values, columns).
        du, dudot: derivatives of all speeds and accelerations, (..., n, columns).
        needed: M udot + h.
    """

    state: _State
    read: Array
    values: Array
    entries: Array
    total: Array
    du: Array
    dudot: Array
    needed: Array


@final
class ConstrainedColumns:
    """Values and derivative columns of outputs of constrained equations.

    Args:
        dyn: dynamics of the equations.
        terms: derivatives of the terms, with all speeds treated as independent.
    """

    def __init__(self, dyn: Dynamics, terms: ConstrainedTerms) -> None:
        self._dyn, self._terms = dyn, terms
        found = terms.derivative
        self._function = dyn.compile(derivative_program(dyn.equations, found))
        places = np.array(list(found.entries), dtype=np.intp).reshape(-1, 2)
        self._rows, self._columns = places[:, 0], places[:, 1]
        self._shape = len(found.values), len(found.labels)

    def at(self, q: Any, u: Any, rest: Any, t: Any, parameters: Any) -> tuple[Array, Array]:
        """Return values (..., outputs) and derivative columns (..., outputs, columns) at states."""
        found, terms = self.solved(q, u, rest, t, parameters), self._terms
        values, total = found.values[..., terms.at_outputs], found.total[..., terms.at_outputs, :]
        if not terms.forces:
            return values, total
        if terms.derivative.name in UNDRIVEN:
            R_T = np.swapaxes(found.state.at.R, -1, -2)
            return found.state.at.forces(found.needed), R_T @ (
                found.total[..., terms.at_forces, :] + found.state.M @ found.dudot
            )
        if terms.derivative.name == REACTIONS:
            return values, total
        first, n = len(self._dyn.equations.inputs), found.dudot.shape[-2]
        udot = found.read[..., first : first + n]
        return np.concatenate([values, udot], axis=-1), np.concatenate([total, found.dudot], axis=-2)

    def solved(self, q: Any, u: Any, rest: Any, t: Any, parameters: Any) -> Solved:
        """Solve the differentiated equations at states."""
        e, name, given = self._dyn.equations, self._terms.derivative.name, {"t": t, "parameters": parameters}
        driven = name in DRIVEN
        inputs = np.zeros(len(e.inputs)) if rest is None or name in UNDRIVEN else np.asarray(rest, float)
        if rest is None and name not in UNDRIVEN:
            self._require_idle_inputs()
        state = self._state(q, u, inputs, given)
        if driven:
            udot = self._dyn.forward(q, u, inputs, **given)
        else:
            udot = state.at.accelerations(np.asarray(rest, float)) if name == "inverse" else state.at.e_t
        needed = np.einsum("...ij,...j->...i", state.M, udot) + state.h
        dependent = np.where(state.at.independent, 0.0, needed)
        multipliers = solve_minimum_norm(np.swapaxes(state.A_d, -1, -2), dependent[..., None])[..., 0]
        batch = multipliers.shape[:-1]
        read = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (inputs, udot, multipliers)]
        found = self._dyn.evaluate(self._function, q, state.at.u, np.concatenate(read, axis=-1), **given)
        values, entries = found[..., : self._shape[0]], np.zeros((*found.shape[:-1], *self._shape))
        entries[..., self._rows, self._columns] = found[..., self._shape[0] :]
        return self._followed(state, needed, np.concatenate(read, axis=-1), (values, entries))

    def _require_idle_inputs(self) -> None:
        """Raise if inputs were omitted on which the derivatives depend."""
        read = [leaf.name for leaf in self._dyn.equations.inputs if leaf in self._function.reads]
        if read:
            raise ModelError(f"{self._function.name} depend on {', '.join(read)}; give inputs as the third argument")

    def _state(self, q: Any, u: Any, inputs: Array, given: dict[str, Any]) -> _State:
        dyn, e = self._dyn, self._dyn.equations
        n, m = len(e.u), len(e.constraints)
        at = Embedded.of(dyn.evaluate(dyn.function("embedding"), q, u, inputs, **given), n)
        free = dyn.evaluate(dyn.function("unconstrained"), q, at.u, inputs, **given)
        rows = dyn.evaluate(dyn.function("constraints"), q, at.u, **given)
        terms = unconstrained_terms_at(free, 0, m, n, len(e.q))
        A_d = np.where(at.independent[..., None, :], 0.0, constraint_rows_at(rows, 0, m, n).A)
        return _State(at, symmetric(terms.M, n), A_d, terms.h)

    def _followed(self, state: _State, needed: Array, read: Array, found: tuple[Array, Array]) -> Solved:
        """Compute the derivatives of speeds and accelerations from ``found``, the values and entries of the terms."""
        values, entries = found
        terms, n = self._terms, len(self._dyn.equations.u)
        asked, free = self._expanded(entries[..., : -2 * n]), entries[..., -2 * n : -n]
        du = solve_minimum_norm(state.A_d, -asked[..., terms.at_motion, :])
        at_u, at_udot = self.columns_of("u"), self.columns_of("udot")
        if at_u is not None:
            du[..., at_u] = state.at.R
        total = asked + free @ du
        if not terms.forces:
            return Solved(state, read, values, entries, total, du, np.zeros_like(du), needed)
        dudot = solve_minimum_norm(state.A_d, -total[..., terms.at_acceleration, :])
        if at_udot is not None:
            dudot[..., at_udot] = state.at.R
        if terms.derivative.name not in UNDRIVEN:
            R_T = np.swapaxes(state.at.R, -1, -2)
            reduced = R_T @ (total[..., terms.at_forces, :] + state.M @ dudot)
            dudot = dudot - state.at.R @ np.linalg.solve(reduced_mass(state.at, state.M), reduced)
        if terms.derivative.name == REACTIONS:
            total[..., terms.at_outputs, :] += entries[..., terms.at_outputs, -n:] @ dudot
        return Solved(state, read, values, entries, total, du, dudot, needed)

    def columns_of(self, word: str) -> slice | None:
        start = 0
        for variable in self._terms.varied:
            if variable.word == word:
                return slice(start, start + len(variable.labels))
            start += len(variable.labels)
        return None

    def _expanded(self, columns: Array) -> Array:
        """Insert zero columns for u and udot into the columns of the other variables."""
        parts, start = [columns[..., :0]], 0  # at least one part, in case there are no variables
        for variable in self._terms.varied:
            width = len(variable.labels)
            if variable.word in ("u", "udot"):
                parts.append(np.zeros((*columns.shape[:-1], width)))
            else:
                parts.append(columns[..., start : start + width])
                start += width
        return np.concatenate(parts, axis=-1)


def reduced_mass(at: Embedded, M: Array) -> Array:
    """Return R^T M R, with ones on the diagonal at dependent speeds."""
    n = M.shape[-1]
    return np.swapaxes(at.R, -1, -2) @ M @ at.R + np.where(at.independent, 0.0, 1.0)[..., None] * np.eye(n)
