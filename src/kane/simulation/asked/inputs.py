"""Inputs over time, in the forms in which users give them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.arguments import numbers, takes
from kane.expression.node import Expr
from kane.model.named_vector import named_vector, position
from kane.native.arrays import Tables, Vector
from kane.simulation.asked.sampled import Sampled

# Times that differ by less than this share are one time, rounded differently.
SAME_TIME = 1e-9

InputFunction = Callable[[float, Vector, Vector], Any]


@dataclass(frozen=True, eq=False)
class Samples(ABC):
    """Samples of an input, or of all inputs, over time. A run must not begin before the first.

    Attributes:
        times: strictly increasing, (m,) [s].
        values: (m,) for one input, (m, inputs) for all of them [N m or N].

    Raises:
        ModelError: no samples, shapes that do not match, times that do not increase, a value that is not finite.
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
            raise ModelError("a sample is not finite; leave such samples out")
        if not (np.diff(times) > 0.0).all():
            raise ModelError("the times of samples must increase strictly; sort them and drop repeated ones")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    @property
    @abstractmethod
    def end(self) -> float:
        """Until when they say what the input is [s]."""

    @abstractmethod
    def at(self, t: Vector, middle: Vector) -> Vector:
        """The value at times t, each in a step whose middle is given, (times,) or (times, inputs)."""


@dataclass(frozen=True, eq=False)
class Held(Samples):
    """Each sample holds until the next one (zero-order hold): what a digital controller puts out.

    The last one holds for good. Within a step of an integrator the value is constant, the one in force at the middle of
    the step; so the switching of samples that lie on the grid of steps is exact, and elsewhere it is off by half a step
    at most.
    """

    @property
    def end(self) -> float:
        return math.inf

    def at(self, t: Vector, middle: Vector) -> Vector:
        k = np.searchsorted(self.times, middle, side="right") - 1
        return self.values[np.maximum(k, 0)]


@dataclass(frozen=True, eq=False)
class Interpolated(Samples):
    """The straight line from each sample to the next. A run must not go on after the last."""

    @property
    def end(self) -> float:
        return float(self.times[-1])

    def at(self, t: Vector, middle: Vector) -> Vector:
        if self.values.ndim == 1:
            return np.interp(t, self.times, self.values)
        return np.stack([np.interp(t, self.times, column) for column in self.values.T], axis=-1)


@dataclass
class InputPlan:
    """What drives each input.

    Attributes:
        names: of the inputs.
        constants: their values where nothing else is said.
        samples: column to samples.
        functions: column to Python function of (t, q, u).
        function: a Python function of (t, q, u) that gives all of them.
        expressions: name to expression.
        sampled_laws: columns to what drives them by samples.
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
        """Whether a Python function has to be called in every stage of every step."""
        return self.function is not None or bool(self.functions)

    def tables(self) -> tuple[Tables, Tables]:
        """The samples for native loops, held and interpolated."""
        return _packed(self.samples, Held), _packed(self.samples, Interpolated)

    def require_cover(self, start: float, until: float) -> None:
        """Refuse samples that do not say what an input is from start to until.

        Raises:
            ModelError: the input is named, and the cure.
        """
        first, last = min(start, until), max(start, until)
        rounding = SAME_TIME * max(1.0, abs(first), abs(last))
        for column, samples in self.samples.items():
            if samples.times[0] > first + rounding or samples.end < last - rounding:
                raise ModelError(
                    f"the samples of the input {self.names[column]!r} lie between t = {samples.times[0]:.9g} s and "
                    f"{samples.times[-1]:.9g} s, and the run goes from {start:.9g} s to {until:.9g} s; add samples at "
                    "its ends, or give kane.Held(times, values), whose last sample holds for good"
                )

    def sampled(self, t: Vector, middle: Vector) -> Vector:
        """Constants and samples at times t, each in a step whose middle is given, (times, inputs)."""
        values = np.tile(self.constants, (len(t), 1))
        for column, samples in self.samples.items():
            values[:, column] = samples.at(t, middle)
        return values

    def jumps(self, t: float) -> bool:
        """Whether held samples change at a time: then what they bring about comes at that time, whatever is varied."""
        apart = SAME_TIME * max(1.0, abs(t))
        before, after = self.sampled(np.full(2, t), np.array([t - apart, t + apart]))
        return bool((before != after).any())

    def slopes(self, t: float) -> Vector:
        """The rates of constants and samples just before a time, (inputs,)."""
        before = t - SAME_TIME**0.5 * max(1.0, abs(t))
        values = self.sampled(np.array([before, t]), np.full(2, 0.5 * (before + t)))
        return np.asarray((values[1] - values[0]) / (t - before))


def plan_inputs(inputs: Any, names: Sequence[str], defaults: Sequence[float]) -> InputPlan:
    """Sort out what the user gave.

    Args:
        inputs: None, an array of constants, samples of all inputs, a Python function of (t, q, u) for all of them, or
            a mapping from some of the names to a number, samples, an expression, a Sampled or a Python function.
            Samples are a Held, an Interpolated or a plain pair (times, values), which is interpolated.
        names, defaults: of the inputs.

    Raises:
        ModelError: unknown name, wrong shape, a value that is not finite or of no known form.
    """
    plan = InputPlan(tuple(names), np.array(defaults, dtype=float))
    if isinstance(inputs, Mapping):
        for name, value in inputs.items():
            _plan_one(plan, position(name, names, "input"), value)
        return plan
    whole = _as_samples(inputs)
    if whole is not None:
        if whole.values.shape[1:] != (len(names),):
            raise ModelError(
                f"samples of all inputs have shape {whole.values.shape}; (times, {len(names)}) is needed: "
                f"{', '.join(names) or 'the model has no inputs'}"
            )
        plan.samples = {i: type(whole)(whole.times, column) for i, column in enumerate(whole.values.T)}
    elif isinstance(inputs, Sampled):
        if isinstance(inputs.law, Expr):
            raise ModelError(
                f"the expression of a Sampled drives one input; give a dict from names to one each: {', '.join(names)}"
            )
        plan.sampled_laws[tuple(range(len(names)))] = inputs
    elif callable(inputs):
        plan.function = _of_state(inputs, "what is given for all inputs")
    else:
        plan.constants = named_vector(inputs, names, defaults, "input")
    return plan


def _of_state(function: Any, what: str) -> InputFunction:
    if not takes(function, len(("t", "q", "u"))):
        raise ModelError(f"{what} is {shown(function)}; give a function of three arguments, (t, q, u)")
    return cast(InputFunction, function)


def _plan_one(plan: InputPlan, column: int, value: Any) -> None:
    name = plan.names[column]
    samples = _as_samples(value)
    if isinstance(value, Expr):
        plan.expressions[name] = value
    elif isinstance(value, Sampled):
        plan.sampled_laws[(column,)] = value
    elif samples is not None:
        if samples.values.ndim != 1:
            raise ModelError(f"samples of the input {name!r} have shape {samples.values.shape}; give one value a time")
        plan.samples[column] = samples
    elif callable(value):
        plan.functions[column] = _of_state(value, f"the input {name!r}")
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
