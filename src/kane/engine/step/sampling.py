"""Sampled inputs: digital controllers that are evaluated at their sample times, with zero-order hold."""

from __future__ import annotations

from kane.engine.call import call_program, native_inline
from kane.engine.memory.loop_arguments import InputTables, StateEquation, Vector
from kane.engine.step.state_equation import hold, interpolate


@native_inline
def take_samples(tables: InputTables, system: StateEquation, t: float, x: Vector) -> None:
    """Evaluate the controllers whose sample times have come, and write their outputs into the tables of held inputs.

    Controllers that sample at the same time read the inputs before this time, in any order of evaluation.

    Args:
        tables: held and interpolated Tables, and a Sampling whose sample times up to ``t`` are due.
        system: StateEquation; its inputs are set to those at time t.
        t: start of a step [s].
        x: state.
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
            if place + 1 < held.last[j]:  # read at the next sample time, if the output takes effect at once
                held.values[place + 1] = held.values[place]
        k += 1
    sampling.next[0] = k
