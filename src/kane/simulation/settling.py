"""States on their constraints: where a run starts, what keeps it there, and what is left over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kane.codegen.jit.function import ArrayFunction
from kane.dynamics.ahead import in_words
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.dynamics.dynamics import Dynamics, Residuals
from kane.errors import ModelError
from kane.native.algebra import RANK_TOLERANCE, ROUNDING
from kane.native.arrays import CONDITIONING, NO_NOTES, SETTLE, SWITCHES, Settling, StateEquation, Vector
from kane.native.header import HEADER, KEPT, RANK
from kane.simulation.mode_table import stage_in_force

# A state this close to its constraints is one that was rounded, in a file or by a sum; it is settled in silence.
TOLERANCE = 1e-6
# Settling that moves a state by so many tolerances says that digits were lost; where none are, it is below 300.
FAR = 1e3
# What is lost at one such position counts from so many tolerances on: a run passes several, and what they lose adds up.
LOST = 1e2
# Residuals above this, for states of the order of one, are more than settling leaves.
UNSETTLED = 1e-8


def new_settling(program: int, settle: ArrayFunction | None, speeds: int) -> Settling:
    """The arrays of a run for what puts states onto constraints; without notes where there is nothing to settle."""
    if settle is None:
        return Settling(program, np.zeros(0), np.zeros(0, dtype=np.int64), NO_NOTES, NO_NOTES)
    choice = np.zeros(HEADER + speeds - RANK, dtype=np.int64)
    notes = np.zeros(SWITCHES + 1)
    notes[CONDITIONING] = 1.0  # of a choice that has not been made
    least = np.ones(1 + settle.n_state) if program == SETTLE else NO_NOTES
    return Settling(program, np.zeros(settle.n_out), choice, notes, least)


def settle_once(settle: ArrayFunction, system: StateEquation, state: Vector) -> Vector:
    """The state x = [q, u] on its constraints, from [t, q, u]; the choice of speeds that it needs is kept."""
    stage, settling = stage_in_force(system, SETTLE, settle), system.settling
    found = settle(state, system.inputs, stage)
    settling.notes[:SWITCHES] = found[len(state) - 1 :]
    settling.kept[:] = stage.view(np.int64)[RANK : RANK + len(settling.kept)]
    return np.array(found[: len(state) - 1])


@dataclass(frozen=True)
class Constraints:
    """Whether states keep the constraints.

    Attributes:
        dyn: whose constraints they are.
        parameters: values.
    """

    dyn: Dynamics
    parameters: Vector

    def residuals(self, states: NDArray[np.float64]) -> Residuals:
        """What is left over at states [t, q, u], (states, 1 + nq + n)."""
        nq = len(self.dyn.equations.q)
        q, u = states[:, 1 : 1 + nq], states[:, 1 + nq :]
        return ConstraintTerms.of(self.dyn, q, u, t=states[:, 0], parameters=self.parameters).residuals

    def modes(self, states: NDArray[np.float64], switches: Vector) -> tuple[str, ...]:
        """The choices of dependent speeds that were made for a run, in words; none where there is no choice.

        Args:
            states: [t, q, u], (states, 1 + nq + n).
            switches: how often speeds had been chosen anew at each.
        """
        eqs, settle = self.dyn.equations, self.dyn.settle
        if eqs.candidates or eqs.embedding.choice.in_runs != KEPT or settle is None:
            return ()
        named, fresh = [], settle.stage(self.parameters)
        for state in states[np.diff(switches, prepend=-1.0) != 0.0]:
            stage = fresh.copy()
            settle(state, np.zeros(len(eqs.inputs)), stage)
            rank, *order = stage.view(np.int64)[[RANK, *range(HEADER, HEADER + len(eqs.u))]].tolist()
            named.append(in_words([eqs.u[j].name for j in sorted(order[:rank])]))
        return tuple(dict.fromkeys(named))

    def require_consistent(self, state: Vector) -> None:
        """Refuse a state [t, q, u] that does not satisfy the constraints.

        Raises:
            ModelError: the worst of them is named.
        """
        worst = self.worst(state, TOLERANCE)
        if worst:
            raise ModelError(
                f"{self.dyn.equations.name!r} cannot start there: {worst}; state = kane.assemble(dyn, q=..., u=..., "
                "fixed=[...]) finds a consistent state near a guess: start with q=state.q, u=state.u"
            )

    def lost(self, least: Vector, rtol: float, atol: float) -> str:
        """Where rounding alone moved a state by far more than the tolerances allow, in words; nothing where it did not.

        Rounding of the state is divided by the conditioning c twice, for coordinates and for speeds: 2 eps / c^2 of it
        is lost for good, whatever the tolerance.

        Args:
            least: as ``Settling`` has it.
            rtol, atol: of the run.
        """
        conditioning, state = float(least[0]), least[1:]
        size = max(1.0, float(np.abs(state[1:]).max(initial=0.0)))
        moved, allowed = 2.0 * ROUNDING / conditioning**2 * size if conditioning > 0.0 else np.inf, atol + rtol * size
        if not moved > LOST * allowed:
            return ""
        return (
            f"{self.dyn.equations.name!r} passed a state at t = {state[0]:.9g} s where {self._dependent(state)} nearly "
            f"depends on the others (conditioning {conditioning:.2g}): rounding alone may have moved it by {moved:.2g} "
            f"there, and {allowed:.2g} was asked for; ask for fewer digits, or keep away from such positions"
        )

    def _dependent(self, state: Vector) -> str:
        """The constraint with the largest share in what is nearest to nothing of the rows that are independent."""
        nq = len(self.dyn.equations.q)
        terms = ConstraintTerms.of(
            self.dyn, state[1 : 1 + nq], state[1 + nq :], t=float(state[0]), parameters=self.parameters
        )
        U, sizes, _ = np.linalg.svd(terms.A)
        rank = int(np.sum(sizes > RANK_TOLERANCE * sizes[0]))
        return f"the constraint {terms.names[int(np.argmax(np.abs(U[:, rank - 1])))]!r}"

    def require_followed(self, states: NDArray[np.float64]) -> None:
        """Refuse a motion [t, q, u], (times, 1 + nq + n), that does not satisfy the constraints.

        Raises:
            ModelError: the worst of them is named, where it is farthest from holding.
        """
        for largest in self.residuals(states).largest:
            state = states[int(np.argmax(largest))]
            worst = self.worst(state, TOLERANCE)
            if worst:
                raise ModelError(
                    f"{self.dyn.equations.name!r} cannot follow this motion: at t = {state[0]:.9g} s {worst}; "
                    "prescribe coordinates that keep the constraints (kane.assemble finds them at each time)"
                )

    def worst(self, state: Vector, tolerance: float) -> str:
        """Which constraint is farthest from holding at a state [t, q, u], in words; nothing where all hold.

        Args:
            state: [t, q, u].
            tolerance: share of the state that counts as nothing, of the largest coordinate or speed, at least 1.
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
