"""Whether fixed steps, which do not estimate their errors, pass near a state where something is divided by zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.expression.node import Expr
from kane.formulation.search.best_speeds import where_zero
from kane.native.arrays import KEY, Vector
from kane.simulation.failure import divisors
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.march import March, Status

if TYPE_CHECKING:
    from kane.simulation.problem import Problem

# A divisor that would vanish within so many steps is near: a method of order 4, whose step is a tenth of the way to a
# singularity, errs by some 1e-5 in that step, and by far more in the next.
NEAR = 10.0
# So many steps at most between two looks, which cost about as much as a step.
APART = 200


@dataclass
class Nearness:
    """The divisors of constraints and speeds, looked at over single steps, the more often the nearer they are to zero.

    Attributes:
        divisors: with the names of their constraints, none for those of speeds.
        function: the program of their values.
        stage: of the program.
        left: steps to the next look.
    """

    divisors: dict[Expr, list[str]]
    function: CompiledFunction
    stage: Vector
    left: int = 0

    @classmethod
    def of(cls, problem: Problem) -> Nearness | None:
        """What is to be looked at in a problem; None where nothing that moves is divided by."""
        e, found = problem.dyn.equations, divisors(problem.dyn.equations)
        if not found:
            return None
        state = (e.t, *e.q, *e.u)
        program = Program("divisors", list(found), state=state, rest=e.inputs, parameters=e.parameters)
        function = problem.dyn.compile(program)
        return cls(found, function, function.stage(problem.parameters))

    def advance(self, method: Integrator, march: March, steps: int) -> Status:
        """The method's ``advance``, bit for bit, with looks in between; what is found is kept in ``march.near``."""
        status = Status.GOING
        while steps > 0 and status is Status.GOING and not march.finished:
            taken = min(steps, max(1, self.left))
            before, mode = None if self.left or march.near else self._values(march), march.system.mode[KEY]
            status = method.advance(march, taken)
            self.left = max(0, self.left - taken)
            steps -= taken
            if march.system.mode[KEY] != mode:
                return status
            if before is not None:
                self._look(march, before)
        return status

    def _look(self, march: March, before: Vector) -> None:
        after = self._values(march)
        with np.errstate(all="ignore"):
            ahead = np.where(after * before > 0.0, np.abs(after / (after - before)), 0.0)
        k = int(np.argmin(ahead))
        if ahead[k] < NEAR:
            divisor, rows = list(self.divisors.items())[k]
            of = f"the constraint {rows[0]!r}" if rows else "the choice of speeds"
            vanishes = f"where {where_zero(divisor)}, and {of} cannot be solved"
            march.near = (
                f"the run passes near a state at t = {march.time:.9g} s {vanishes}: it is {after[k]:.2g} there and "
                f"changes by {abs(after[k] - before[k]):.2g} in a step, so what follows may err by anything; give "
                "shorter steps (dt), an integrator that chooses its own (kane.RK8()), or end the run before"
            )
        # Motion near a singularity quickens: an eighth of the way that is left at this pace.
        self.left = int(np.clip(ahead[k] / 8.0 - 1.0, 0.0, APART)) if np.isfinite(ahead[k]) else APART

    def _values(self, march: March) -> Vector:
        state = np.concatenate([[march.time], march.x])
        return np.asarray(self.function(state, march.system.inputs, self.stage))
