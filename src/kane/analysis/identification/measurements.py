"""Measured motions."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.deferred import dataclass
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.unit_quaternions import UNIT, require_unit
from kane.errors import ModelError
from kane.expression.number_arguments import numbers
from kane.simulation.inputs.input_plan import Held, Interpolated, Samples


@dataclass(frozen=True, eq=False)
class Measurements:
    """A measured motion: states at given times, and the loads that drive it.

        data = kane.Measurements(time, q, u, udot, forces=tau)
        data = kane.Measurements(time, q, u, inputs=voltages)  # without accelerations
        data = kane.Measurements(time, q, inputs=voltages)  # without speeds

    Args:
        time: (k,) [s], increasing.
        q: coordinates (k, nq), in the order of ``equations.q``.
        u: speeds (k, n), in the order of ``equations.u``; without them, only coordinates are compared.
        udot: accelerations (k, n); without them, motions are compared instead of forces.
        inputs: (k, m), in the order of ``equations.inputs``, interpolated linearly; or kane.Held(times, values) of all
            inputs with values (times, m), for the zero-order hold of a digital controller.
        forces: generalized forces along the speeds (k, n) instead of inputs, as returned by ``dyn.inverse``.

    Raises:
        ModelError: times do not increase, arrays have different lengths or entries that are not finite, or both inputs
            and forces are given. Also if forces are given without accelerations, or accelerations without speeds.
    """

    time: Any
    q: Any
    u: Any = None
    udot: Any = None
    inputs: Any = None
    forces: Any = None
    profile: Samples | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        time = numbers(self.time, "the times must be numbers")
        if time.ndim != 1 or len(time) < 2:
            raise ModelError(f"the times must have shape (k,) with at least two states, got {time.shape}")
        _require_finite(time, "the times")
        if not (np.diff(time) > 0.0).all():
            at = int(np.argmin(np.diff(time) > 0.0)) + 1
            raise ModelError(
                f"the times must increase; number {at} is {time[at]:.9g} s, after {time[at - 1]:.9g} s; sort the rows "
                "and remove duplicates"
            )
        object.__setattr__(self, "time", time)
        if isinstance(self.inputs, Samples):
            object.__setattr__(self, "profile", self.inputs)
            object.__setattr__(self, "inputs", self.inputs.at(time, time))
        for word in ("q", "u", "udot", "inputs", "forces"):
            if getattr(self, word) is not None:
                object.__setattr__(self, word, _rows(getattr(self, word), word, len(time)))
        if self.q is None:
            raise ModelError("q is None; give the coordinates that were measured, (k, nq)")
        if self.udot is not None and self.u is None:
            raise ModelError("udot is given without u, and forces depend on both; give u too, or leave udot out")
        if self.inputs is not None and self.profile is None:
            object.__setattr__(self, "profile", Interpolated(time, self.inputs))
        if self.inputs is not None and self.forces is not None:
            raise ModelError("inputs and forces are both given; give only the measured ones")
        if self.forces is not None and self.udot is None:
            raise ModelError(
                "forces are compared with inverse dynamics, which needs accelerations; give udot, or inputs "
                "instead of forces"
            )

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.time)

    def of(self, dyn: Dynamics) -> Measurements:
        """Return these measurements, checked against equations, with empty inputs if the model has none.

        Raises:
            ModelError: the number of columns is wrong, or the model has inputs and neither inputs nor forces are given.
        """
        e = dyn.equations
        leaves = {"q": e.q, "u": e.u, "udot": e.u, "inputs": e.inputs, "forces": e.u}
        for word, names in leaves.items():
            values = getattr(self, word)
            if values is not None and values.shape[1] != len(names):
                listed = ", ".join(leaf.name for leaf in names)
                raise ModelError(f"{word} has {values.shape[1]} columns; {e.name!r} has {len(names)}: {listed}")
        require_unit(self.q, e.quaternions, [leaf.name for leaf in e.q], UNIT)
        if self.inputs is not None or self.forces is not None:
            return self
        if e.inputs:
            listed = ", ".join(leaf.name for leaf in e.inputs)
            raise ModelError(
                f"the measurements have neither inputs nor forces, but {e.name!r} has the inputs {listed}; give their "
                "values as inputs= (zeros if they were zero), or the generalized forces as forces="
            )
        return Measurements(self.time, self.q, self.u, self.udot, Held(self.time, np.zeros((len(self), 0))))

    def rows(self, first: int, last: int) -> Measurements:
        """Return the rows from ``first`` to before ``last``; inputs become samples at these times."""
        parts = (self.time, self.q, self.u, self.udot, self.inputs, self.forces)
        return Measurements(*(None if x is None else x[first:last] for x in parts))

    def __repr__(self) -> str:
        kind = "without u" if self.u is None else "without udot" if self.udot is None else "with udot"
        return f"<Measurements: {len(self)} states from {self.time[0]:.6g} s to {self.time[-1]:.6g} s, {kind}>"


def _rows(values: Any, word: str, count: int) -> Array:
    rows = numbers(values, f"{word} must be an array (k, columns) of numbers")
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or len(rows) != count:
        raise ModelError(f"{word} has shape {rows.shape}; give one row for each of the {count} times")
    _require_finite(rows, word)
    return rows


def _require_finite(values: Array, word: str) -> None:
    if not np.isfinite(values).all():
        place = tuple(int(x) for x in np.argwhere(~np.isfinite(values))[0])
        raise ModelError(f"{word} has {values[place]} in row {place[0]}; leave out rows that were not measured")
