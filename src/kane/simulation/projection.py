"""Projection of states onto the constraints, in runs and at their start, and checks of the residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.codegen.jit.function import ArrayFunction
from kane.dynamics.compiled_modes import in_words
from kane.dynamics.dynamics import Dynamics, Residuals
from kane.engine.memory.constraint_codes import KEPT
from kane.engine.memory.loop_arguments import NO_NOTES, Projection, StateEquation, Vector
from kane.engine.memory.run_codes import PROJECT
from kane.engine.memory.views import (
    constraint_header_at,
    constraint_lists_at,
    projection_notes_at,
    projection_notes_size,
    projection_residuals_size,
)
from kane.errors import ModelError
from kane.simulation.mode_table import stage_in_force

# Residuals below this come from rounding, for example in a file; such a state is projected without a message.
ROUNDED_STATE_TOLERANCE = 1e-6
# Warn if projection moves a state by more than this many tolerances; without loss of digits it moves by less than 300.
LARGE_PROJECTION_MOVE = 1e3
# Warn if rounding at one nearly singular state costs more than this many tolerances. The limit is lower than
# LARGE_PROJECTION_MOVE, because the losses at several states add up.
REPORTED_PROJECTION_LOSS = 1e2
# Residuals above this, for states of the order of one, mean that projection did not converge.
UNPROJECTED = 1e-8


def new_projection(program: int, project: ArrayFunction | None, speeds: int) -> Projection:
    """Allocate the projection arrays of a run; the diagnostics are empty if there is no projection."""
    if project is None:
        return Projection(program, np.zeros(0), np.zeros(0, dtype=np.int64), NO_NOTES, NO_NOTES)
    choice = np.zeros(1 + speeds, dtype=np.int64)
    notes = np.zeros(projection_notes_size())
    projection_notes_at(notes, 0).conditioning[0] = 1.0  # value before the first speed selection
    least = np.ones(1 + project.n_state) if program == PROJECT else NO_NOTES
    return Projection(program, np.zeros(project.n_out), choice, notes, least)


def selection_in(stage: Vector) -> NDArray[np.int64]:
    """Return the rank and the order of the speeds of the selection in a stage array, (1 + n,)."""
    head = constraint_header_at(stage, 0)
    return np.concatenate([head.rank, constraint_lists_at(stage, head.end, head.speeds, 0, 0).order])


def put_selection(stage: Vector, selection: NDArray[np.int64]) -> None:
    """Write the rank and the order of the speeds into a stage array."""
    head = constraint_header_at(stage, 0)
    head.rank[:], constraint_lists_at(stage, head.end, head.speeds, 0, 0).order[:] = selection[:1], selection[1:]


def project_once(project: ArrayFunction, system: StateEquation, state: Vector) -> Vector:
    """Project [t, q, u] onto the constraints; return x = [q, u] and keep the speed selection in ``system``."""
    stage, projection = stage_in_force(system, PROJECT, project), system.projection
    found = project(state, system.inputs, stage)
    projection.notes[: projection_residuals_size()] = found[len(state) - 1 :]
    projection.kept[:] = selection_in(stage)
    return np.array(found[: len(state) - 1])


@dataclass(frozen=True)
class Constraints:
    """Constraint checks of states.

    Attributes:
        dyn: dynamics with the constraints.
        parameters: values.
    """

    dyn: Dynamics
    parameters: Vector

    def residuals(self, states: Array) -> Residuals:
        """Return the residuals at states [t, q, u], (states, 1 + nq + n)."""
        from kane.dynamics.constraint_terms import ConstraintTerms

        nq = len(self.dyn.equations.q)
        q, u = states[:, 1 : 1 + nq], states[:, 1 + nq :]
        return ConstraintTerms.of(self.dyn, q, u, t=states[:, 0], parameters=self.parameters).residuals

    def modes(self, states: Array, switches: Vector) -> tuple[str, ...]:
        """Return the names of the speed selections of a run; empty if the selection is fixed.

        Args:
            states: [t, q, u], (states, 1 + nq + n).
            switches: number of changes of the selection before each state.
        """
        eqs, project = self.dyn.equations, self.dyn.project
        if eqs.intermittents or eqs.embedding.choice.in_runs != KEPT or project is None:
            return ()
        named, fresh = [], project.stage(self.parameters)
        for state in states[np.diff(switches, prepend=-1.0) != 0.0]:
            stage = fresh.copy()
            project(state, np.zeros(len(eqs.inputs)), stage)
            rank, *order = selection_in(stage).tolist()
            named.append(in_words([eqs.u[j].name for j in sorted(order[:rank])]))
        return tuple(dict.fromkeys(named))

    def require_satisfied(self, state: Vector) -> None:
        """Raise if a state [t, q, u] does not satisfy the constraints.

        Raises:
            ModelError: names the constraint with the largest residual.
        """
        worst = self.worst(state, ROUNDED_STATE_TOLERANCE)
        if worst:
            raise ModelError(
                f"{self.dyn.equations.name!r} cannot start there: {worst}; state = kane.assemble(dyn, q=..., u=..., "
                "fixed=[...]) finds a consistent state near a guess: start with q=state.q, u=state.u"
            )

    def lost(self, least: Vector, rtol: float, atol: float) -> str:
        """Describe a state at which rounding alone far exceeds the tolerances; an empty text if there is none.

        Projection divides the rounding error of the state by the conditioning c twice, for coordinates and for speeds.
        The relative error 2 eps / c^2 is therefore unavoidable, whatever the tolerance.

        Args:
            least: smallest conditioning and the state there, as in ``Settling``.
            rtol, atol: tolerances of the run.
        """
        from kane.engine.linear.factorizations import ROUNDING

        conditioning, state = float(least[0]), least[1:]
        size = max(1.0, float(np.abs(state[1:]).max(initial=0.0)))
        moved, allowed = 2.0 * ROUNDING / conditioning**2 * size if conditioning > 0.0 else np.inf, atol + rtol * size
        if not moved > REPORTED_PROJECTION_LOSS * allowed:
            return ""
        return (
            f"{self.dyn.equations.name!r} passed a state at t = {state[0]:.9g} s where {self._dependent(state)} nearly "
            f"depends on the others (conditioning {conditioning:.2g}): rounding alone may move the state by "
            f"{moved:.2g} there, but the tolerances allow {allowed:.2g}; relax rtol and atol, or avoid such states"
        )

    def _dependent(self, state: Vector) -> str:
        """Name the constraint with the largest part in the left singular vector of the least nonzero singular value."""
        from kane.dynamics.constraint_terms import ConstraintTerms
        from kane.engine.linear.factorizations import RANK_TOLERANCE

        nq = len(self.dyn.equations.q)
        terms = ConstraintTerms.of(
            self.dyn, state[1 : 1 + nq], state[1 + nq :], t=float(state[0]), parameters=self.parameters
        )
        U, sizes, _ = np.linalg.svd(terms.A)
        rank = int(np.sum(sizes > RANK_TOLERANCE * sizes[0]))
        return f"the constraint {terms.names[int(np.argmax(np.abs(U[:, rank - 1])))]!r}"

    def require_followed(self, states: Array) -> None:
        """Raise if a motion [t, q, u], (times, 1 + nq + n), does not satisfy the constraints.

        Raises:
            ModelError: names the constraint with the largest residual, and the time of the largest residual.
        """
        for largest in self.residuals(states).largest:
            state = states[int(np.argmax(largest))]
            worst = self.worst(state, ROUNDED_STATE_TOLERANCE)
            if worst:
                raise ModelError(
                    f"{self.dyn.equations.name!r} cannot follow this motion: at t = {state[0]:.9g} s {worst}; "
                    "prescribe coordinates that keep the constraints (kane.assemble finds them at each time)"
                )

    def worst(self, state: Vector, tolerance: float) -> str:
        """Describe the constraint with the largest residual at a state; an empty text if all constraints hold.

        Args:
            state: [t, q, u].
            tolerance: allowed residual, relative to the largest coordinate or speed, or to 1 if that is larger.
        """
        found, rows, nq = self.residuals(state[None, :]), self.dyn.equations.constraints, len(self.dyn.equations.q)
        closing = [row.name for row in self.dyn.equations.closing]
        parts = (
            ("configuration", found.configuration[0], closing, state[1 : 1 + nq]),
            ("motion", found.motion[0], [row.name for row in rows], state[1 + nq :]),
        )
        for what, residuals, names, values in parts:
            largest = float(np.abs(residuals).max(initial=0.0))
            if not largest <= tolerance * max(1.0, float(np.abs(values).max(initial=0.0))):
                name = names[int(np.argmax(np.abs(residuals)))]
                return f"the {what} does not satisfy the constraint {name!r}, whose residual is {largest:.6g}"
        return ""
