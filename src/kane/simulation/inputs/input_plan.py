"""Inputs over time, in the forms in which users give them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kane.engine.memory.loop_arguments import Tables, Vector
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import numbers, takes
from kane.model.checks import is_symbolic
from kane.model.named_vector import index_of_name, named_vector

if TYPE_CHECKING:
    from kane.simulation.inputs.sampled import Sampled

# Times that differ by less than this fraction are equal up to rounding.
INPUT_TIME_TOLERANCE = 1e-9

InputFunction = Callable[[float, Vector, Vector], Any]


@dataclass(frozen=True, eq=False)
class Samples(ABC):
    """Samples of one input, or of all inputs, over time. A run must not begin before the first sample.

    Attributes:
        times: strictly increasing, (m,) [s].
        values: (m,) for one input, (m, inputs) for all inputs [N m or N].

    Raises:
        ModelError: no samples, shapes that do not match, times that do not increase, or a value that is not finite.
    """

    times: Any
    values: Any

    def __post_init__(self) -> None:
        times = np.array(numbers(self.times, "the times of samples must be numbers"))
        values = np.array(numbers(self.values, "the values of samples must be numbers"))
        if times.ndim != 1 or times.size == 0 or values.ndim not in (1, 2) or len(values) != len(times):
            raise ModelError(
                f"samples need times of shape (m,) and values of shape (m,) or (m, inputs), m > 0; their shapes are "
                f"{times.shape} and {values.shape}"
            )
        if not (np.isfinite(times).all() and np.isfinite(values).all()):
            raise ModelError("a sample is not finite; remove it")
        if not (np.diff(times) > 0.0).all():
            raise ModelError("the times of samples must increase strictly; sort them and drop repeated ones")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    @property
    @abstractmethod
    def end(self) -> float:
        """Last time at which the samples define the input [s]."""

    @abstractmethod
    def at(self, t: Vector, middle: Vector) -> Vector:
        """Return the values at times t, each in a step with the given midpoint, (times,) or (times, inputs)."""


@dataclass(frozen=True, eq=False)
class Held(Samples):
    """Samples with zero-order hold: each is constant until the next one, like the output of a digital controller.

    The last sample stays in effect without end. Within a step of an integrator the value is constant; it is the sample
    at the midpoint of the step. Changes of samples at step boundaries are therefore exact; others are off by at most
    half a step.
    """

    @property
    def end(self) -> float:
        return math.inf

    def at(self, t: Vector, middle: Vector) -> Vector:
        k = np.searchsorted(self.times, middle, side="right") - 1
        return self.values[np.maximum(k, 0)]


@dataclass(frozen=True, eq=False)
class Interpolated(Samples):
    """Samples with linear interpolation. A run must not continue after the last sample."""

    @property
    def end(self) -> float:
        return float(self.times[-1])

    def at(self, t: Vector, middle: Vector) -> Vector:
        if self.values.ndim == 1:
            return np.interp(t, self.times, self.values)
        return np.stack([np.interp(t, self.times, column) for column in self.values.T], axis=-1)


@dataclass
class InputPlan:
    """Sources of the inputs.

    Attributes:
        names: names of the inputs.
        constants: values of inputs without another source.
        samples: samples by column.
        functions: Python functions of (t, q, u) by column.
        function: Python function of (t, q, u) that returns all inputs.
        expressions: expressions by name.
        sampled_laws: sampled laws by their columns.
    """

    names: tuple[str, ...]
    constants: Vector
    samples: dict[int, Samples] = field(default_factory=dict)
    functions: dict[int, InputFunction] = field(default_factory=dict)
    function: InputFunction | None = None
    expressions: dict[str, Expr] = field(default_factory=dict)
    sampled_laws: dict[tuple[int, ...], Sampled] = field(default_factory=dict)

    @property
    def needs_python(self) -> bool:
        """Whether a Python function must be called in every stage of every step."""
        return self.function is not None or bool(self.functions)

    @cached_property
    def driven(self) -> frozenset[str]:
        """Names of the inputs that samples, expressions or functions determine."""
        sampled = [column for columns in self.sampled_laws for column in columns]
        columns = range(len(self.names)) if self.function else [*self.samples, *self.functions, *sampled]
        return frozenset([*self.expressions, *(self.names[column] for column in columns)])

    def tables(self) -> tuple[Tables, Tables]:
        """Return the samples for native loops, as one table with zero-order hold and one with interpolation."""
        return (_packed(self.samples, Held), _packed(self.samples, Interpolated)) if self.samples else NO_SAMPLES

    def require_cover(self, start: float, until: float) -> None:
        """Raise if samples do not cover the time from start to until.

        Raises:
            ModelError: names the input and the cure.
        """
        first, last = min(start, until), max(start, until)
        rounding = INPUT_TIME_TOLERANCE * max(1.0, abs(first), abs(last))
        for column, samples in self.samples.items():
            if samples.times[0] > first + rounding or samples.end < last - rounding:
                raise ModelError(
                    f"the samples of the input {self.names[column]!r} cover t = {samples.times[0]:.9g} s to "
                    f"{samples.times[-1]:.9g} s, but the run goes from {start:.9g} s to {until:.9g} s; add samples, "
                    "or give kane.Held(times, values), which keeps the last one"
                )

    def sampled(self, t: Vector, middle: Vector) -> Vector:
        """Return constants and samples at times t, each in a step with the given midpoint, (times, inputs)."""
        values = np.tile(self.constants, (len(t), 1))
        for column, samples in self.samples.items():
            values[:, column] = samples.at(t, middle)
        return values

    def jumps(self, t: float) -> bool:
        """Check whether held samples jump at a time; the times of events due to the jump depend on no parameter."""
        apart = INPUT_TIME_TOLERANCE * max(1.0, abs(t))
        before, after = self.sampled(np.full(2, t), np.array([t - apart, t + apart]))
        return bool((before != after).any())

    def slopes(self, t: float) -> Vector:
        """Return the rates of constants and samples just before a time, (inputs,)."""
        before = t - INPUT_TIME_TOLERANCE**0.5 * max(1.0, abs(t))
        values = self.sampled(np.array([before, t]), np.full(2, 0.5 * (before + t)))
        return np.asarray((values[1] - values[0]) / (t - before))


def plan_inputs(inputs: Any, names: Sequence[str], defaults: Sequence[float]) -> InputPlan:
    """Sort the user's inputs by kind.

    Args:
        inputs: None, an array of constants, samples of all inputs, or a Python function of (t, q, u) for all inputs.
            Or a dict from names to numbers, samples, expressions, Sampled laws or Python functions. Samples are a Held,
            an Interpolated, or a pair (times, values), which is interpolated.
        names, defaults: names and default values of the inputs.

    Raises:
        ModelError: an unknown name, a wrong shape, or a value that is not finite or of an unknown form.
    """
    from kane.simulation.inputs.sampled import Sampled

    plan = InputPlan(tuple(names), np.array(defaults, dtype=float))
    if isinstance(inputs, Mapping):
        for name, value in inputs.items():
            _plan_one(plan, index_of_name(name, names, "input"), value)
        return plan
    whole = _as_samples(inputs)
    if whole is not None:
        if whole.values.shape[1:] != (len(names),):
            raise ModelError(
                f"samples of all inputs have shape {whole.values.shape}; give (times, {len(names)}): "
                f"{', '.join(names) or 'the model has no inputs'}"
            )
        plan.samples = {i: type(whole)(whole.times, column) for i, column in enumerate(whole.values.T)}
    elif isinstance(inputs, Sampled):
        if isinstance(inputs.law, Expr):
            raise ModelError(
                f"a Sampled expression drives one input; give a dict from names to one Sampled each: {', '.join(names)}"
            )
        plan.sampled_laws[tuple(range(len(names)))] = inputs
    elif callable(inputs):
        plan.function = _of_state(inputs, "the function for all inputs")
    else:
        plan.constants = named_vector(inputs, names, defaults, "input")
    return plan


def _of_state(function: Any, what: str) -> InputFunction:
    if not takes(function, len(("t", "q", "u"))):
        raise ModelError(f"{what} is {shown(function)}; give a function of three arguments, (t, q, u)")
    return cast(InputFunction, function)


def _plan_one(plan: InputPlan, column: int, value: Any) -> None:
    from kane.simulation.inputs.sampled import Sampled

    name = plan.names[column]
    samples = _as_samples(value)
    if isinstance(value, Expr):
        plan.expressions[name] = value
    elif isinstance(value, Sampled):
        plan.sampled_laws[(column,)] = value
    elif samples is not None:
        if samples.values.ndim != 1:
            raise ModelError(f"samples of the input {name!r} have shape {samples.values.shape}; give one per time")
        plan.samples[column] = samples
    elif callable(value):
        plan.functions[column] = _of_state(value, f"the input {name!r}")
    elif is_symbolic(value):
        raise ModelError(
            f"the input {name!r} is the SymPy expression {shown(value)}; give "
            "kane.expression_from_sympy(equations, expression)"
        )
    elif isinstance(value, str) or np.ndim(value):
        raise ModelError(
            f"the input {name!r} is {shown(value)}; give a number, samples such as kane.Interpolated(times, values), "
            "or an expression of the model such as kane.sin(model.time)"
        )
    else:
        plan.constants[column] = named_vector({name: value}, [name], [0.0], "input")[0]


def _as_samples(value: Any) -> Samples | None:
    if isinstance(value, Samples):
        return value
    if isinstance(value, tuple) and len(value) == 2 and all(np.ndim(part) > 0 for part in value):
        return Interpolated(*value)
    return None


def _packed(samples: Mapping[int, Samples], kind: type[Samples]) -> Tables:
    chosen = {column: s for column, s in samples.items() if isinstance(s, kind)}
    last = np.cumsum([len(s.times) for s in chosen.values()], dtype=np.int64)
    first = np.concatenate([[0], last[:-1]]).astype(np.int64) if chosen else np.zeros(0, np.int64)
    times, values = ([getattr(s, word) for s in chosen.values()] for word in ("times", "values"))
    empty = np.zeros(0)
    return Tables(
        np.array(list(chosen), dtype=np.int64),
        first,
        last,
        first.copy(),
        np.concatenate([empty, *times]),
        np.concatenate([empty, *values]),
    )


NO_SAMPLES = _packed({}, Held), _packed({}, Interpolated)
