"""States on their constraints: where a run starts, what keeps it there, and what is left over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kane.codegen.jit.function import ArrayFunction
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.dynamics.dynamics import Dynamics, Residuals
from kane.errors import ModelError
from kane.native.arrays import NO_NOTES, SWITCHES, Settling, Vector
from kane.native.header import HEADER, RANK

# A state this close to its constraints is one that was rounded, in a file or by a sum; it is settled in silence.
TOLERANCE = 1e-6
# Residuals above this, for states of the order of one, are more than settling leaves.
UNSETTLED = 1e-8

NOTHING = np.zeros(0)
NO_CHOICE = np.zeros(0, dtype=np.int64)
NO_SETTLING = Settling(0, NOTHING, NOTHING, NOTHING, NO_CHOICE, NO_CHOICE, NO_NOTES)


def new_settling(settle: ArrayFunction | None, speeds: int, parameters: Vector) -> Settling:
    """The arrays of a run for what puts states onto constraints; of address zero where there is nothing to settle."""
    if settle is None:
        return NO_SETTLING
    stage = settle.stage(parameters)
    choice = stage.view(np.int64)[RANK : HEADER + speeds]
    out, work = np.zeros(settle.n_out), np.zeros(settle.n_work)
    return Settling(settle.address, stage, out, work, choice, choice.copy(), np.zeros(SWITCHES + 1))


def settle_once(settle: ArrayFunction, settling: Settling, state: Vector, inputs: Vector) -> Vector:
    """The state x = [q, u] on its constraints, from [t, q, u]; the choice of speeds that it needs is kept."""
    found = settle(state, inputs, settling.stage)
    settling.notes[:SWITCHES] = found[len(state) - 1 :]
    settling.kept[:] = settling.choice
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
