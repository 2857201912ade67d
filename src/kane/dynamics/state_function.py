"""Native functions of a state as users call them, with checked arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast, final

import numpy as np

from kane.codegen.jit.batches import LaneCode
from kane.codegen.jit.function import ArrayFunction, batch_call, common_batch, result_array, single_call
from kane.codegen.jit.python_call import Checks, Single
from kane.dynamics.unit_quaternions import UNIT, require_unit
from kane.errors import ModelError, list_names
from kane.expression.node import Expr
from kane.expression.number_arguments import numbers
from kane.formulation.equations import Equations

EMPTY_ARRAY = np.empty(0)


@final
class StateFunction:
    """A native function of t, q, u and further values: inputs, udot or a point. ``word`` is their name in messages.

    Native code handles the common cases: one state or a small batch as arrays of doubles, and lists of floats. It
    rejects all other arguments without an error. Then this class converts and checks them, and calls the same native
    code through ``function``.
    """

    def __init__(
        self,
        equations: Equations,
        function: ArrayFunction,
        word: str,
        defaults: np.ndarray,
        within: tuple[float, float] = UNIT,
        *,
        shape: tuple[int, ...] = (),
    ) -> None:
        """Prepare calls.

        Args:
            equations: equations whose q, u and inputs the function reads.
            function: function of [t, q, u] and further values.
            word: name of the further values.
            defaults: default parameter values.
            within: smallest and largest allowed length of quaternions.
            shape: shape of the values at one state; (outputs,) unless given.
        """
        self.function, self.stage = function, function.stage(defaults)
        self._equations, self._word, self._within = equations, word, within
        self._lengths = len(equations.q), len(equations.u), function.n_rest
        self._quaternions = tuple(equations.quaternions)
        self._names = [leaf.name for leaf in equations.q]
        starts = [1 + start for start in self._quaternions]
        checks, self._shape = Checks((1, *self._lengths), starts, within), shape or (function.n_out,)
        self._fresh = self._shape  # shape of the last result, which the next one is likely to have
        self._into: Single = single_call(function, checks) if function.address else lambda *arguments: None
        self._own = replace(checks, own=len(self._shape))
        self._small: Single = self._into
        self._most = 0  # largest batch of _small
        self._lanes: LaneCode | None = None  # its code for lanes
        self._renew()
        # Values that replace omitted arguments, set once it is known that the result does not depend on them.
        self._any_time: np.ndarray | None = None
        self._any_inputs: np.ndarray | None = None

    def __call__(self, state: tuple[Any, Any], rest: Any, t: Any, stage: np.ndarray, out: Any = None) -> np.ndarray:
        """Return the values, shape (..., outputs), or (..., *shape) if a shape was given.

        Args:
            state, rest, t: (q, u), the further values, and the time, as users gave them; rest and t may be None.
            stage: constants of the function, (..., n_stage); ``self.stage`` belongs to the default parameters.
            out: array to fill and return, with the shape of the values.

        Raises:
            ModelError: arguments have wrong shapes or are not numbers, batches do not broadcast, a quaternion has the
                wrong length, or an argument is missing on which the values depend.
        """
        q, u = state
        if stage is self.stage:
            # An array with one time is a batch of length one.
            time = np.array((t,)) if t.__class__ is float else self._any_time if t is None else None
            inputs = self._any_inputs if rest is None else rest
            if out is None:
                fresh = np.empty(self._fresh)
                found = self._small(stage, fresh, time, q, u, inputs)
                if found is None and (shape := self._guess(q)) != fresh.shape:
                    fresh, self._fresh = np.empty(shape), shape
                    found = self._small(stage, fresh, time, q, u, inputs)
                if found is fresh:
                    return fresh
                if found is not None:
                    self._fresh = now = self._shape if fresh.ndim > len(self._shape) else (1, *self._shape)
                    return fresh.reshape(now)
            elif len(self._shape) == 1:
                if self._into(stage, out, time, q, u, inputs) is out:
                    return cast(np.ndarray, out)
            else:
                row = self._row(out)
                if row is not None and self._into(stage, row, time, q, u, inputs) is row:
                    return cast(np.ndarray, out)
        nq, n, n_rest = self._lengths
        q, u = checked_array(q, "q", nq), checked_array(u, "u", n)
        given = rest
        rest = self._inputs() if rest is None and self._word == "inputs" else checked_array(rest, self._word, n_rest)
        if (state[0].__class__, state[1].__class__, given.__class__).count(list):  # native code takes their arrays
            return self((q, u), rest, t, stage, out)
        require_unit(q, self._quaternions, self._names, self._within)
        t = self._time() if t is None else numbers(t, "t must be 1 number")[..., None]
        return self._batches((t, q, u), rest, stage, out)

    def _batches(self, parts: Sequence[np.ndarray], rest: Any, stage: np.ndarray, out: Any) -> np.ndarray:
        """Return the values for checked arrays; the parts are t with an axis of length one, q and u."""
        # Check the batches here, because a message of ``join`` would not name the user's arguments.
        batch = common_batch((*parts, rest, stage), ("t", "q", "u", self._word, "parameters"))
        if len(self._shape) == 1:
            result = self.function.join(parts, rest, stage, out=out)
        else:
            result = result_array(out, (*batch, *self._shape), self.function.name)
            self.function.join(parts, rest, stage, out=result.reshape(*batch, self.function.n_out))
        self._renew()
        return result

    def _guess(self, q: Any) -> tuple[int, ...]:
        """Return the shape of the values at these coordinates, or at one state if no native call takes them."""
        if q.__class__ is np.ndarray and q.ndim == 2 and len(q) <= self._most:
            return (len(q), *self._shape)
        return self._shape

    def _renew(self) -> None:
        """Let small batches run in lanes once these have been compiled."""
        lanes = self.function.ready_lanes
        if self.function.address and (not self._most or lanes is not self._lanes):
            self._lanes, (self._small, self._most) = lanes, batch_call(self.function, self._own)

    def _row(self, out: Any) -> np.ndarray | None:
        """Return the user's array as one row of outputs; None if it does not fit a single state."""
        if out.__class__ is np.ndarray and out.flags.carray:
            if out.shape == self._shape:
                return cast(np.ndarray, out.ravel())  # a view, because the array is contiguous
            if out.shape == (1, *self._shape):
                return cast(np.ndarray, out.reshape(1, -1))
        return None

    def _time(self) -> np.ndarray:
        """Return an arbitrary time; raise if the values depend on it."""
        if self._any_time is None:
            self._refuse((self._equations.t,), "the time t [s]")
            self._any_time = np.zeros(1)
        return self._any_time

    def _inputs(self) -> np.ndarray:
        """Return arbitrary inputs; raise if the values depend on them."""
        if self._any_inputs is None:
            names = [leaf.name for leaf in self._equations.inputs]
            self._refuse(self._equations.inputs, f"inputs, an array (..., {len(names)}) of {list_names(names)}")
            self._any_inputs = np.zeros(len(names))
        return self._any_inputs

    def _refuse(self, leaves: Sequence[Expr], cure: str) -> None:
        """Raise ModelError if the values depend on any of these omitted leaves."""
        read = [leaf.name for leaf in leaves if leaf in self.function.reads]
        if read:
            name = f"{self.function.name!r} of {self._equations.name!r}"
            raise ModelError(f"{name} depends on {list_names(read)}; give {cure}")


def checked_array(values: Any, word: str, length: int) -> np.ndarray:
    """Convert values to an array (..., length) of doubles.

    Raises:
        ModelError: the values have another shape, or are not numbers.
    """
    array = values
    if not (values.__class__ is np.ndarray and values.dtype == np.float64):  # formats the message only if needed
        array = numbers(values, f"{word} must be {length} number{'s' * (length != 1)}")
    if array.ndim == 0 or array.shape[-1] != length:
        raise ModelError(f"{word} must have shape (..., {length}), got {array.shape}")
    return array
