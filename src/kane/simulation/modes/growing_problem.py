"""Initial value problem whose modes a thread compiles during runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic

from kane.dynamics.dynamics import Dynamics
from kane.dynamics.mode_cache import F, ModeCache
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.run_codes import PROJECT
from kane.engine.step.transitions import enter_mode
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.mode_table import stage_in_force
from kane.simulation.projection import put_selection, selection_in


class GrowingProblem(Generic[F]):
    """Initial value problem and native functions of its equations, to which compiled modes are added over time.

    Attributes:
        posed: the problem without modes.
        functions: current native functions.
    """

    def __init__(
        self,
        posed: InitialValueProblem,
        made: Callable[[Dynamics], F],
        completed: Callable[[F], F] = lambda functions: functions,
    ) -> None:
        """Take a problem, the native functions of its dynamics, and the form of these functions that a run uses."""
        from kane.simulation.inputs.closed_loop import with_laws

        laws = posed.plan.expressions
        dyn = with_laws(posed.dyn, laws) if laws else posed.dyn
        # Equations that contain input expressions belong to this run only.
        self._met: ModeCache[F] = dyn.derived("met modes", lambda: ModeCache(made(dyn)))
        self.posed, self._completed, self._taken = posed, completed, self._met.functions
        self.functions = completed(self._taken)

    def renewed(self) -> bool:
        """Use the newest native functions; return whether there are newer ones."""
        newest = self._met.functions
        if newest is self._taken:
            return False
        self._taken, self.functions = newest, self._completed(newest)
        return True

    def meet(self, modes: Iterable[Any]) -> None:
        """Have the modes compiled that a run encountered; see ``ModeCache.meet``."""
        self._met.meet(modes)


def continue_with(
    integration: IntegratorState, problem: InitialValueProblem, before: Vector, places: tuple[slice, slice]
) -> None:
    """Continue a run with newer programs of its mode, the same speed selection and the same mode constants.

    Args:
        integration: changed in place.
        problem: has the newer programs.
        before: copy of the constants of the older programs.
        places: the constants to keep, in the older and in the newer programs.
    """
    assert problem.project is not None
    problem.join(integration)
    enter_mode(integration.system, len(integration.system.automaton.table) - 1)
    stage = stage_in_force(integration.system, PROJECT, problem.project)
    put_selection(stage, selection_in(before))
    stage[places[1]] = before[places[0]]
    enter_mode(integration.system, len(integration.system.automaton.table) - 1)
