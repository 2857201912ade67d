"""The native loop over the states of a batch."""

from __future__ import annotations

from kane.engine.call import call_program, native_loop
from kane.engine.memory.loop_arguments import GivenMatrix, Matrix, Vector


@native_loop
def each_state(
    address: int, states: GivenMatrix, rests: GivenMatrix, stages: GivenMatrix, out: Matrix, work: Vector
) -> None:
    """Call a program for every row of ``out``.

    Args:
        address: address of the program.
        states: [t, q, u] of each state, (n, 1 + nq + n).
        rests: inputs, or udot, of each state.
        stages: constants of each state, or one row for all states.
        out: outputs, written.
        work: scratch memory of the program.
    """
    for i in range(out.shape[0]):
        call_program(address, states[i], rests[i], stages[i if stages.shape[0] > 1 else 0], out[i], work)
