"""Initial value problem with intermittent constraints, in the coordinates of its equations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kane.array_types import Array
from kane.dynamics.contacts.charted_contacts import ChartPrograms
from kane.dynamics.contacts.contact_functions import ContactFunctions, contact_functions
from kane.dynamics.mode_cache import ModeCache
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.inputs.closed_loop import with_laws


class PosedContacts:
    """Initial value problem and native functions of its equations, to which compiled modes are added over time.

    Attributes:
        posed: the problem without intermittent constraints.
        functions: current native functions.
    """

    def __init__(self, posed: InitialValueProblem, charts: ChartPrograms | None = None) -> None:
        """Take a problem, and the programs that change its charts, if any."""
        dyn, laws = posed.dyn, posed.plan.expressions
        functions = contact_functions(with_laws(dyn, laws) if laws else dyn)
        assert functions is not None
        # Equations that contain input expressions belong to this run only.
        self._met = ModeCache(functions) if laws else dyn.derived("met modes", lambda: ModeCache(functions))
        self.posed, self._charts = posed, charts
        self._taken, self.functions = functions, functions
        self._take(self._met.functions)

    def _take(self, functions: ContactFunctions) -> None:
        self._taken = functions
        self.functions = functions.in_charts(self._charts) if self._charts else functions

    def renewed(self) -> bool:
        """Use the newest native functions; return whether there are newer ones."""
        newest = self._met.functions
        if newest is self._taken:
            return False
        self._take(newest)
        return True

    def meet(self, modes: Iterable[tuple[int, ...]]) -> None:
        """Have the modes compiled that a run encountered; see ``ModeCache.meet``."""
        self._met.meet(modes)

    def begun(self, states: Array, inputs: Array, parameters: Array) -> Array:
        """Project states [t, q, u] onto the permanent constraints; return x = [q, u]."""
        permanent = self.posed.project
        assert permanent is not None
        return np.array(permanent(states, inputs, permanent.stage(parameters))[..., : states.shape[-1] - 1])
