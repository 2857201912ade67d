"""Inputs that are sampled: laws that are asked at ticks and whose answers are held."""

from __future__ import annotations

from typing import Any

from kane.engine.call import call_program, native_inline
from kane.engine.step.state_equation import hold, interpolate


@native_inline
def take_samples(tables: Any, system: Any, t: float, x: Any) -> None:
    """Ask the laws whose ticks have come, and put what they say into the tables of held inputs.

    Laws that tick together read the inputs as they were before, whatever the order in which they are asked.

    Args:
        tables: held and interpolated ones, and a Sampling, whose ticks up to ``t`` are due.
        system: a StateEquation; its inputs are those of the time t.
        t: where a step begins [s].
        x: the state.
    """
    held, interpolated, sampling = tables
    k, late = sampling.next[0], t + sampling.slack[0]
    if k >= sampling.times.size or sampling.times[k] > late:
        return
    hold(held, t, system.inputs)
    if interpolated.column.size > 0:
        interpolate(interpolated, t, system.inputs)
    state, out = system.state, sampling.out
    state[0] = t
    for i in range(x.size):
        state[1 + i] = x[i]
    while k < sampling.times.size and sampling.times[k] <= late:
        law = sampling.law[k]
        constants = sampling.constants[sampling.first_constant[law] : sampling.first_constant[law + 1]]
        call_program(sampling.address[law], state, system.inputs, constants, out, sampling.work)
        for j in range(sampling.table[law], sampling.table[law + 1]):
            place = held.first[j] + sampling.place[k]
            held.values[place] = out[j - sampling.table[law]]
            if place + 1 < held.last[j]:  # read at the next tick, should it take effect at once
                held.values[place + 1] = held.values[place]
        k += 1
    sampling.next[0] = k
