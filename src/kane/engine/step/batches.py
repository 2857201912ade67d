"""The native loop over the states of a batch."""

from __future__ import annotations

from kane.engine.call import call_program, native_loop
from kane.engine.memory.loop_arguments import GivenMatrix, Matrix, Vector


@native_loop
def each_state(
    address: int, states: GivenMatrix, rests: GivenMatrix, stages: GivenMatrix, out: Matrix, work: Vector
) -> None:
    """Call a program for every row of ``out``; ``stages`` has as many rows, or one for all."""
    for i in range(out.shape[0]):
        call_program(address, states[i], rests[i], stages[i if stages.shape[0] > 1 else 0], out[i], work)
