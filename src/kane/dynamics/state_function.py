"""A native function of the state of a machine as users call it: whatever they give is checked, then computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from kane.codegen.jit.function import ArrayFunction, common_batch
from kane.dynamics.unit_quaternions import UNIT, require_unit
from kane.errors import ModelError
from kane.expression.arguments import numbers
from kane.expression.node import Expr
from kane.formulation.equations import Equations

_DOUBLE = np.dtype(np.float64)
NOTHING = np.empty(0)


@final
class StateFunction:
    """A native function with what it reads besides t, q and u, which messages call ``word``.

    One state and many go the same way: arguments are checked here, once, and handed to ``function``.
    """

    def __init__(
        self,
        equations: Equations,
        function: ArrayFunction,
        word: str,
        defaults: np.ndarray,
        within: tuple[float, float] = UNIT,
    ) -> None:
        """Prepare calls.

        Args:
            equations: whose q, u and inputs the function reads.
            function: reads [t, q, u].
            word: for what the function reads besides.
            defaults: of the parameters.
            within: least and largest length of quaternions.
        """
        self.function, self.stage = function, function.stage(defaults)
        self._equations, self._word, self._within = equations, word, within
        self._q, self._u, self._rest = (len(equations.q),), (len(equations.u),), (function.n_rest,)
        self._absent: np.ndarray | None = None  # zeros in the place of inputs, once it is known that none are read
        self._quaternions = tuple(equations.quaternions)
        self._names = [leaf.name for leaf in equations.q]

    def __call__(self, state: tuple[Any, Any], rest: Any, t: Any, stage: np.ndarray, out: Any = None) -> np.ndarray:
        """The values, shape (..., outputs).

        Args:
            state, rest, t: what users gave as (q, u), as what is read besides, and as time; None for the last two where
                they gave nothing.
            stage: of the function, (..., n_stage); ``self.stage`` is that of the defaults.
            out: to be filled and returned.

        Raises:
            ModelError: arguments have another shape or are no numbers, their batches do not broadcast, a quaternion has
                another length, or something is not given on which the values depend.
        """
        q, u = state
        if rest is None:
            rest = self._absent
        # Most calls are of one state of doubles, of which nothing remains to be checked.
        one = (
            q.__class__ is u.__class__ is rest.__class__ is np.ndarray
            and q.dtype is u.dtype is rest.dtype is _DOUBLE
            and q.shape == self._q
            and u.shape == self._u
            and rest.shape == self._rest
        )
        if not one:
            q, u = checked_array(q, "q", self._q[0]), checked_array(u, "u", self._u[0])
            without = rest is None and self._word == "inputs"
            rest = self._unread_inputs() if without else checked_array(rest, self._word, self._rest[0])
        if self._quaternions:
            require_unit(q, self._quaternions, self._names, self._within)
        if t is None:
            t = self._unread_time
        else:
            t = np.array((t,)) if t.__class__ is float else numbers(t, "t must be 1 number")[..., None]
        batch: tuple[int, ...] = ()
        if not (one and t.ndim == stage.ndim == 1):
            batch = common_batch((t, q, u, rest, stage), ("t", "q", "u", self._word, "parameters"))
        return self.function.values((t, q, u, rest), stage, batch, out)

    @cached_property
    def _unread_time(self) -> np.ndarray:
        """Some time, where the values do not depend on it."""
        self._refuse((self._equations.t,), "the time t [s]")
        return np.zeros(1)

    def _unread_inputs(self) -> np.ndarray:
        """Some inputs, where the values do not depend on them."""
        names = [leaf.name for leaf in self._equations.inputs]
        self._refuse(self._equations.inputs, f"inputs, an array (..., {len(names)}) of {', '.join(names)}")
        self._absent = np.zeros(len(names))
        return self._absent

    def _refuse(self, leaves: Sequence[Expr], cure: str) -> None:
        """Leaves that were not given and on which the values depend."""
        read = [leaf.name for leaf in leaves if leaf in self.function.reads]
        if read:
            name = f"{self.function.name!r} of {self._equations.name!r}"
            raise ModelError(f"{name} depends on {', '.join(read)}; give {cure}")


def checked_array(values: Any, word: str, length: int) -> np.ndarray:
    """An array (..., length) of doubles.

    Raises:
        ModelError: it has another shape, or is of no numbers.
    """
    array = numbers(values, f"{word} must be {length} number{'s' * (length != 1)}")
    if array.ndim == 0 or array.shape[-1] != length:
        raise ModelError(f"{word} must have shape (..., {length}), got {array.shape}")
    return array
