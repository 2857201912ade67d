"""Singularity monitor for fixed steps, which have no error estimate: warn of divisors near zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.deferred import dataclass
from kane.engine.memory.loop_arguments import Vector
from kane.expression.node import Expr
from kane.formulation.search.best_speeds import where_zero
from kane.simulation.integrator_state import IntegratorState, Status
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.monitors.failure import divisors

if TYPE_CHECKING:
    from kane.simulation.initial_value_problem import InitialValueProblem

# A divisor that would vanish within this many steps is near zero. A method of order 4, with a step of a tenth of the
# distance to a singularity, errs by about 1e-5 in this step and by far more in the next.
NEAR_SINGULARITY_STEPS = 10.0
# Largest number of steps between two checks; a check costs about as much as a step.
APART = 200


@dataclass
class SingularityMonitor:
    """Divisors of constraints and speeds, checked over single steps, more often if they are close to zero.

    Attributes:
        divisors: divisors with the names of their constraints; divisors of speeds have no names.
        function: program of their values.
        stage: constants of the program.
        left: number of steps before the next check.
    """

    divisors: dict[Expr, list[str]]
    function: CompiledFunction
    stage: Vector
    left: int = 0

    @classmethod
    def of(cls, problem: InitialValueProblem) -> SingularityMonitor | None:
        """Return the monitor of a problem; None if no divisor depends on the state."""
        e, found = problem.dyn.equations, divisors(problem.dyn.equations)
        if not found:
            return None
        state = (e.t, *e.q, *e.u)
        program = Program("divisors", list(found), state=state, rest=e.inputs, parameters=e.parameters)
        function = problem.dyn.compile(program)
        return cls(found, function, function.stage(problem.parameters))

    def advance(self, method: Integrator, integration: IntegratorState, steps: int) -> Status:
        """Call the method's ``advance``, with identical results, and write warnings to ``integration.near``."""
        status = Status.GOING
        while steps > 0 and status is Status.GOING and not integration.finished:
            taken = min(steps, max(1, self.left))
            before, mode = (
                None if self.left or integration.near else self._values(integration),
                integration.mode.key[0],
            )
            status = method.advance(integration, taken)
            self.left = max(0, self.left - taken)
            steps -= taken
            if integration.mode.key[0] != mode:
                return status
            if before is not None:
                self._look(integration, before)
        return status

    def _look(self, integration: IntegratorState, before: Vector) -> None:
        after = self._values(integration)
        with np.errstate(all="ignore"):
            ahead = np.where(after * before > 0.0, np.abs(after / (after - before)), 0.0)
        k = int(np.argmin(ahead))
        if ahead[k] < NEAR_SINGULARITY_STEPS:
            divisor, rows = list(self.divisors.items())[k]
            of = f"the constraint {rows[0]!r}" if rows else "the speed selection"
            vanishes = f"where {where_zero(divisor)}, and {of} cannot be solved"
            integration.near = (
                f"the run passes near a state at t = {integration.time:.9g} s {vanishes}: this divisor is "
                f"{after[k]:.2g} there and changes by {abs(after[k] - before[k]):.2g} in a step, so that later states "
                "may be wrong; give shorter steps (dt), kane.RK8() (step-size control), or end the run before"
            )
        # Motion accelerates near a singularity: check again after an eighth of the remaining steps.
        self.left = int(np.clip(ahead[k] / 8.0 - 1.0, 0.0, APART)) if np.isfinite(ahead[k]) else APART

    def _values(self, integration: IntegratorState) -> Vector:
        state = np.concatenate([[integration.time], integration.x])
        return np.asarray(self.function(state, integration.system.inputs, self.stage))
