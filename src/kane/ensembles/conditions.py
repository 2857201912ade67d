"""Initial states, inputs and parameters of the trajectories, as arrays with one row per trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.deferred import dataclass
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.inertia_left import require_inertia
from kane.engine.memory.loop_arguments import Course, Trajectories
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import numbers
from kane.model.joints.joint import Joint
from kane.model.named_vector import index_of_name, named_vector
from kane.simulation.inputs.input_plan import Samples
from kane.simulation.inputs.sampled import Sampled
from kane.simulation.state_layout import Layout


def course_of(course: Course, trajectories: Trajectories, i: int) -> Course:
    """Return the course of one trajectory, which has its own stops."""
    return course._replace(stops=trajectories.stops[i if len(trajectories.stops) > 1 else 0])


@dataclass(frozen=True)
class Conditions:
    """Initial states, inputs and parameters of n trajectories.

    Attributes:
        q, u: initial coordinates and speeds, (n, nq) and (n, nu).
        inputs: constants, (n, inputs) or (1, inputs); the default for inputs driven by an expression.
        parameters: values, (n, parameters) or (1, parameters).
    """

    q: Array
    u: Array
    inputs: Array
    parameters: Array

    @classmethod
    def of(cls, layout: Layout, q: Any, u: Any, inputs: Any, parameters: Any) -> Conditions:
        """Build the rows from the user's arguments; ``inputs`` has no expressions.

        Raises:
            ModelError: an unknown name, a wrong shape, values that are not numbers, or numbers of trajectories that
                differ or are not given.
        """
        tables = {
            "q": _rows(q, layout.coordinates, layout.neutral, "coordinate"),
            "u": _rows(u, layout.speeds, [0.0] * len(layout.speeds), "speed"),
            "inputs": _rows(inputs, layout.inputs, layout.input_defaults, "input"),
            "parameters": _rows(parameters, layout.parameters, layout.parameter_defaults, "parameter"),
        }
        lengths = {word: len(rows) for word, (rows, many) in tables.items() if many}
        if not lengths:
            raise ModelError(
                "the number of trajectories is unknown: give q, u, inputs or parameters one row (or, by name, "
                "one number) per trajectory; use kane.simulate for a single one"
            )
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{length} of {word}" for word, length in lengths.items())
            raise ModelError(f"the numbers of trajectories differ: {found}")
        n = next(iter(lengths.values()))
        values = {word: rows for word, (rows, _) in tables.items()}
        for word in ("q", "u"):
            values[word] = np.array(np.broadcast_to(values[word], (n, values[word].shape[1])))
        return cls(**values)

    def __len__(self) -> int:
        """Number of trajectories."""
        return len(self.q)

    def row(self, word: str, i: int) -> Array:
        """Return the row of trajectory i in "inputs" or "parameters"."""
        rows: Array = getattr(self, word)
        return rows[i if len(rows) > 1 else 0]

    def project(self, layout: Layout, dyn: Dynamics) -> dict[int, str]:
        """Normalize quaternions; return by index the trajectories that cannot start, each with the reason.

        The reason is the message of the error that ``simulate`` would raise.
        """
        doubtful = ~np.isfinite(np.concatenate([self.q, self.u], axis=1)).all(axis=1)
        for rows in (self.inputs, self.parameters):
            doubtful |= ~np.isfinite(rows).all(axis=1)
        bounds = dyn.equations.parameter_bounds
        doubtful |= ~bounds.allows(self.parameters) | bounds.weightless(self.parameters)
        if layout.quaternions or any(type(joint).singular_at is not Joint.singular_at for joint in layout.joints):
            doubtful[:] = True
        failures: dict[int, str] = {}
        for i in np.flatnonzero(doubtful).tolist():
            try:
                x = layout.initial_state(self.q[i], self.u[i])
                named_vector(self.row("inputs", i), layout.inputs, (), "input")
                require_inertia(dyn, dyn.equations.parameter_bounds.given(self.row("parameters", i)))
            except ModelError as error:
                failures[i] = str(error)
            else:
                self.q[i] = x[: self.q.shape[1]]
        return failures


def split_inputs(inputs: Any) -> tuple[Any, dict[str, Expr]]:
    """Split inputs into constants and expressions by name.

    Raises:
        ModelError: samples, sampled laws or Python functions, which SIMD lanes cannot evaluate.
    """
    given = inputs if isinstance(inputs, Mapping) else {"": inputs}
    for name, value in given.items():
        if callable(value) or isinstance(value, Samples | Sampled) or (isinstance(value, tuple) and _nested(value)):
            what = f"the input {name!r}" if name else "inputs"
            raise ModelError(
                f"{what} of many trajectories must be numbers or expressions of the model, not {type(value).__name__}; "
                "give kane.spline(model.time, times, values) instead of samples, or use kane.simulate for each run"
            )
    if not isinstance(inputs, Mapping):
        return inputs, {}
    expressions = {name: value for name, value in inputs.items() if isinstance(value, Expr)}
    return {name: value for name, value in inputs.items() if name not in expressions}, expressions


def _nested(pair: tuple[Any, ...]) -> bool:
    """Check for a pair (times, values), which ``simulate`` interpolates."""
    return len(pair) == 2 and all(np.ndim(part) > 0 for part in pair)


def _rows(values: Any, names: Sequence[str], default: Sequence[float], what: str) -> tuple[Array, bool]:
    """Return rows of values, and whether the user gave one row per trajectory."""
    if isinstance(values, Mapping):
        return _named_rows(values, names, default, what)
    if values is None:
        return np.array(default, dtype=float).reshape(1, len(names)), False
    rows = numbers(values, f"the {what}s must be numbers")
    if rows.ndim not in (1, 2) or rows.shape[-1] != len(names):
        raise ModelError(
            f"the {what}s have shape {rows.shape}; give ({len(names)},) for all trajectories or (trajectories, "
            f"{len(names)}): {', '.join(names)}"
        )
    return rows.reshape(-1, len(names)), rows.ndim == 2


def _named_rows(
    values: Mapping[str, Any], names: Sequence[str], default: Sequence[float], what: str
) -> tuple[Array, bool]:
    columns = {
        index_of_name(name, names, what): numbers(value, f"the {what} {name!r} must be numbers")
        for name, value in values.items()
    }
    for column, array in columns.items():
        if array.ndim > 1:
            raise ModelError(f"the {what} {shown(names[column])} has shape {array.shape}; give one per trajectory")
    lengths = {names[column]: len(array) for column, array in columns.items() if array.ndim}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length} of {name!r}" for name, length in lengths.items())
        raise ModelError(f"the {what}s have different numbers of trajectories: {found}")
    n = next(iter(lengths.values()), 1)
    rows = np.tile(np.array(default, dtype=float), (n, 1))
    for column, array in columns.items():
        rows[:, column] = array
    return rows, bool(lengths)
