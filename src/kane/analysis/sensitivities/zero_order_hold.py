"""Differentiable sampled laws: their answers y = g(x, p) at ticks are inputs with derivatives

    dy = g_x S + g_p  at a tick.

The answer y is the input from its begin until the next answer. Other inputs are among the p.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np

from kane.analysis.sensitivities.variations import Array, ModeSlopes
from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import numbers
from kane.simulation.inputs.input_plan import Held, InputPlan
from kane.simulation.inputs.sampler import ON_GRID, Answers, SampledLaw


@dataclass(frozen=True, eq=False)
class Answer:
    """One answer of a sampled law.

    Attributes:
        column: index of its input.
        tick, begin: time of the tick, and time from which the answer is the input [s].
        by_x, by_p: derivatives by the state at the tick and by the direct variables.
    """

    column: int
    tick: float
    begin: float
    by_x: Array
    by_p: Array


@dataclass(frozen=True, eq=False)
class HeldAnswers:
    """Answers of a run, passed once forwards or backwards.

    Attributes:
        asked, begun: answers by the times of their ticks and of their begins.
        kept: derivatives of answers that are not the input yet, or weights of answers whose tick is still to come.
    """

    asked: Mapping[float, Sequence[Answer]]
    begun: Mapping[float, Sequence[Answer]]
    kept: dict[Answer, Array] = field(default_factory=dict)

    @cached_property
    def times(self) -> frozenset[float]:
        """Times at which an answer is given or takes effect."""
        return frozenset((*self.asked, *self.begun))

    @classmethod
    def of(cls, answers: Iterable[Answer]) -> HeldAnswers:
        """Return the answers for a first pass."""
        asked, begun = defaultdict(list), defaultdict(list)
        for answer in answers:
            asked[answer.tick].append(answer)
            begun[answer.begin].append(answer)
        return cls(dict(asked), dict(begun))

    def anew(self) -> HeldAnswers:
        """Return the answers for another pass."""
        return HeldAnswers(self.asked, self.begun)

    def pass_forwards(self, t: float, S: Array, chosen: Array) -> None:
        """Update ``chosen``, the derivatives of the direct variables, (direct, columns), at a time of a state."""
        for answer in self.asked.get(t, ()):
            self.kept[answer] = answer.by_x @ S + answer.by_p @ chosen
        for answer in self.begun.get(t, ()):
            chosen[answer.column] = self.kept.pop(answer)

    def pass_backwards(self, t: float, weight: Array, direct: Array) -> Array:
        """Return the weight of the state before the changes at a time; update the weights ``direct``."""
        for answer in self.begun.get(t, ()):
            self.kept[answer] = np.array(direct[answer.column])
            direct[answer.column] = 0.0
        for answer in self.asked.get(t, ()):
            if answer in self.kept:
                share = self.kept.pop(answer)
                weight = weight + share * answer.by_x
                direct += share * answer.by_p
        return weight


def require_derivatives(laws: Sequence[SampledLaw]) -> None:
    """Raise if a law in Python has no derivatives.

    Raises:
        ModelError: names the law.
    """
    for law in laws:
        if not isinstance(law.sampled.law, Expr) and law.sampled.derivative is None:
            raise ModelError(
                f"the sampled law of {law.names[0]!r} is a function of Python, which has no derivatives; give "
                "kane.Sampled an expression, or with the function derivative=, a function of (t, q, u) that returns "
                "the derivatives by q and by u (of a law without state=)"
            )


def with_answers(plan: InputPlan, found: Sequence[Answers], start: float) -> InputPlan:
    """Return an input plan that holds the recorded answers."""
    samples = dict(plan.samples)
    for law in found:
        for column, values in zip(law.columns, law.values.T, strict=True):
            samples[column] = Held(np.concatenate([[start - 1.0], law.begins]), values)
    return replace(plan, samples=samples, sampled_laws={})


def answers_of(motion: ModeSlopes, found: Sequence[Answers], states: Array) -> Iterator[Answer]:
    """Return the answers with their derivatives, from the states [t, x] at the ends of all steps."""
    width = motion.widths[2]
    for law in found:
        places = np.searchsorted(states[:, 0], law.ticks - _slack(states))
        t, x = states[places, 0], states[places, 1:]
        ends = np.append(states[:, 0], np.inf)
        begins = ends[np.searchsorted(states[:, 0], law.begins - _slack(states))]
        if isinstance(law.sampled.law, Expr):
            by_x, by_p = _of_expression(motion, law.sampled.law, t, x)
        else:
            by_x, by_p = _as_given(motion, law, t, x), np.zeros((len(t), len(law.columns), width))
        for k in range(len(t)):
            for column, along, direct in zip(law.columns, by_x[k], by_p[k], strict=True):
                yield Answer(column, float(t[k]), float(begins[k]), along, direct)


def _of_expression(motion: ModeSlopes, law: Expr, t: Array, x: Array) -> tuple[Array, Array]:
    """Return derivatives of a law at ticks by state, (ticks, 1, nx), and direct variables, (ticks, 1, direct)."""
    nq, _, width = motion.widths
    d = motion.dyn.derivatives([law], wrt=("coordinates", "u", "inputs", *motion.direct))
    before = motion.inputs(t, np.nextafter(t, -np.inf))
    J = d(x[:, :nq], x[:, nq:], before, t, parameters=motion.values)
    by_p = np.empty((len(t), 1, width))
    by_p[..., : before.shape[1]] = J["inputs"]
    for k, name in enumerate(motion.direct):
        by_p[..., before.shape[1] + k] = J[name]
    return np.concatenate([J["coordinates"], J["u"]], axis=2), by_p


def _as_given(motion: ModeSlopes, law: Answers, t: Array, x: Array) -> Array:
    """Return the derivatives from the user's function, (ticks, columns, nx).

    Raises:
        ModelError: they have another shape, or are not finite numbers.
    """
    (nq, nx, _), function = motion.widths, law.sampled.derivative
    assert function is not None
    shapes, found = ((len(law.columns), nq), (len(law.columns), nx - nq)), []
    for time, state in zip(t.tolist(), x, strict=True):
        said = function(time, state[:nq].copy(), state[nq:].copy())
        who = f"the derivative of the sampled law of {motion.plan.names[law.columns[0]]!r} at t = {time:.9g} s"
        if not isinstance(said, tuple) or len(said) != 2:
            raise ModelError(f"{who} is {shown(said)}; return two arrays, the derivatives by q and by u")
        parts = [np.atleast_2d(numbers(part, f"{who} must be numbers")) for part in said]
        if tuple(part.shape for part in parts) != shapes or not all(np.isfinite(part).all() for part in parts):
            got = " and ".join(str(part.shape) for part in parts)
            raise ModelError(
                f"{who} must be finite numbers of shapes {shapes[0]} and {shapes[1]}, by q and by u, got {got}"
            )
        found.append(np.hstack(parts))
    return np.array(found).reshape(len(t), len(law.columns), nx)


def _slack(states: Array) -> float:
    """Return the rounding error of a time [s] by which the end of a step may miss a tick."""
    return ON_GRID * float(np.diff(states[:, 0]).max(initial=0.0))
