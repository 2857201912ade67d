"""Sampled: a law that is asked at ticks and whose answer is held, as of a digital controller or a sensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.arguments import number, whole
from kane.expression.node import Expr
from kane.native.arrays import Vector

# So many numbers of a jitter are drawn together, so that those of a tick do not depend on where a run began to be told.
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Sampled:
    """An input that a law gives at ticks, and that is held from one to the next: a digital controller, a sensor.

        t_k = start + k period + jitter r_k,  r_k in [0, 1)         ticks, where the law is asked
        input = law(t_k, q(t_k), u(t_k))  from t_k + delay on       until t_(k + 1) + delay

    Steps of every integrator end at ticks and where answers take effect, exactly; fixed steps have to divide the period
    and the delay. Before the first answer the input has the value that the model declares for it. Laws that tick at the
    same time read inputs as they were before. An input that is sampled may depend on itself: such is the state of a
    controller that is an expression, ``{"tau": Sampled(-2 * q - s, period=T), "s": Sampled(s + T * q, period=T)}``.

    Attributes:
        law: an expression of the model, of coordinates, speeds, measures, time, parameters and inputs, which runs as
            native code; or a Python function of (t, q, u) that returns the input, or all inputs where it is given for
            all of them.
        period: T, time from tick to tick [s].
        delay: time from a tick until the answer takes effect [s]; it may be longer than the period.
        jitter: ticks come up to so much late, less than a period [s].
        seed: of the numbers r_k; the same seed gives the same ticks.
        state: what a Python law remembers, at first: the law is then a function of (t, q, u, state) that returns the
            input and the next state. Each run begins with this one.
        derivative: of a Python law, for ``kane.sensitivities``: a function of (t, q, u) that returns the derivatives
            of the input by q and by u, (nq,) and (n,), or of all inputs, (inputs, nq) and (inputs, n). Each coordinate
            is varied by itself, those of a quaternion too.

    Raises:
        ModelError: a law that is neither an expression nor a function; a period that is not positive, a negative delay,
            a jitter that is not less than the period; a state for an expression; a derivative that is no function, or
            one of an expression, which has its own, or of a law with a state.
    """

    law: Expr | Callable[..., Any]
    period: float
    delay: float = 0.0
    jitter: float = 0.0
    seed: int = 0
    state: Any = None
    derivative: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.law, Expr) and not callable(self.law):
            raise ModelError(
                f"the law of Sampled is {shown(self.law)}; give an expression of the model or a function of (t, q, u)"
            )
        for word in ("period", "delay", "jitter"):
            object.__setattr__(self, word, number(getattr(self, word), f"{word} of Sampled", "seconds"))
        if not self.period > 0.0:
            raise ModelError(f"the period of Sampled is {shown(self.period)} s; give a positive one")
        if self.delay < 0.0:
            raise ModelError(f"the delay of Sampled is {shown(self.delay)} s; give one that is not negative")
        if not 0.0 <= self.jitter < self.period:
            raise ModelError(
                f"the jitter of Sampled is {shown(self.jitter)} s; give one from zero to less than the period, "
                f"{shown(self.period)} s"
            )
        whole(self.seed, "seed of Sampled", 0)
        if self.state is not None and isinstance(self.law, Expr):
            raise ModelError(
                "a law that is an expression has no state; declare an input for it and give that as another Sampled"
            )

        if self.derivative is not None and (isinstance(self.law, Expr) or self.state is not None):
            raise ModelError(
                "derivative= is that of a law in Python without a state; an expression has its own, and what a law "
                "remembers can be an input of the model, whose law is another Sampled"
            )
        if self.derivative is not None and not callable(self.derivative):
            raise ModelError(f"the derivative of Sampled is {shown(self.derivative)}; give a function of (t, q, u)")

    def ticks(self, start: float, first: int, last: int) -> Vector:
        """The times of the ticks first <= k < last of a run that begins at ``start`` [s]."""
        k = np.arange(first, last)
        times = start + self.period * k
        if self.jitter and len(k):
            blocks = range(first // BLOCK, (last - 1) // BLOCK + 1)
            drawn = np.concatenate([np.random.default_rng([self.seed, b]).random(BLOCK) for b in blocks])
            return np.asarray(times + self.jitter * drawn[k - blocks[0] * BLOCK])
        return np.asarray(times)
