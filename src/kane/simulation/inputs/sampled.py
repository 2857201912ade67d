"""``Sampled``: a law that is evaluated at ticks and held in between, like a digital controller or a sensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kane.deferred import dataclass
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import number, whole

# Jitter is drawn in blocks of this length, so that the jitter of a tick does not depend on the first requested tick.
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Sampled:
    """Input that a law updates at ticks, with zero-order hold in between: a digital controller, a sensor.

        t_k = start + k period + jitter r_k,  r_k in [0, 1)         ticks, at which the law is evaluated
        input = law(t_k, q(t_k), u(t_k))  from t_k + delay on       until t_(k + 1) + delay

    Steps of every integrator end exactly at ticks and at the start of each new value; fixed steps must divide the
    period and the delay. Before the first value the input has its declared default. Laws that tick at the same time
    read the previous inputs. A sampled input may depend on itself, like the state ``s`` of the controller
    ``{"tau": Sampled(-2 * q - s, period=T), "s": Sampled(s + T * q, period=T)}``.

    Attributes:
        law: an expression of coordinates, speeds, measures, time, parameters and inputs of the model, which runs as
            native code; or a Python function of (t, q, u) that returns the input (or all inputs, if it is given for
            all).
        period: T, time from tick to tick [s].
        delay: time from a tick until the new value takes effect [s]; it may be longer than the period.
        jitter: largest lateness of a tick, less than a period [s].
        seed: seed of the numbers r_k; the same seed gives the same ticks.
        state: initial memory of a Python law, which is then a function of (t, q, u, state) that returns the input and
            the next state. Each run starts with this memory.
        derivative: for ``kane.sensitivities`` of a Python law: a function of (t, q, u) that returns the derivatives of
            the input by q and u, (nq,) and (n,), or of all inputs, (inputs, nq) and (inputs, n). Coordinates vary
            separately, also in a quaternion.

    Raises:
        ModelError: the law is neither an expression nor a function, or period, delay or jitter is out of range.
        ModelError: state= or derivative= is given for an expression, or derivative= for a law with state.
        ModelError: derivative= is not a function.
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
                "derivative= is for a law in Python without state; an expression needs none, and state can be an input "
                "of the model with its own Sampled"
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
