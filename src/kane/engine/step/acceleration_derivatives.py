"""Derivatives of accelerations at a state, M dudot = -df, as a native program: several columns at once in registers.

f = M udot + bias - B inputs, df at udot. ``out`` has outputs that are expressions, their derivatives row by row, then
udot, and its derivatives in blocks of columns, laid out value by value: they stay where they are found.

The constants of a program start with a header of integers: the places below; then lists: where the entries of df lie
among the blocks of columns, and where those of the outputs among their rows. Behind them are the constants of two
programs:
"forward", and the terms, which read [inputs, udot] and give the factor of M, df, the outputs, their derivatives, and
udot again. A third program solves for a block of columns, laid out value by value, with the factor as its stage.

Source: Carpentier & Mansard 2018, Eq. 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.engine.call import call_program, integers_at, native_inline, native_program, vector_at

# Places in the header: addresses, and where the stages of the programs start; how many there are of speeds, inputs,
# columns, blocks of columns, columns in a block, numbers in the factor, entries of df, outputs, their derivatives;
# where in ``work`` the arrays lie.
FORWARD, TERMS, SOLVE, FORWARD_STAGE, TERMS_STAGE, SPEEDS, INPUTS, COLUMNS, BLOCKS, WIDTH = range(10)
FACTOR, ENTRIES, OUTPUTS, SLOPES, WORK = range(10, 15)
HEADER = 15


class Lists(NamedTuple):
    """Where the lists behind the header start."""

    entries: int
    slopes: int
    end: int


@native_inline
def lists_at(head: Any) -> Any:
    """The places for a model with this header."""
    slopes = HEADER + head[ENTRIES]
    return Lists(HEADER, slopes, slopes + head[SLOPES])


class Scratch(NamedTuple):
    """Scratch behind that of the programs called: [inputs, udot]; what the terms give; -df in blocks of columns."""

    inputs: int
    terms: int
    forces: int
    end: int


@native_inline
def scratch_at(head: Any) -> Any:
    """The places for a model with this header."""
    n = head[SPEEDS]
    terms = head[WORK] + head[INPUTS] + n
    forces = terms + head[FACTOR] + head[ENTRIES] + head[OUTPUTS] + head[SLOPES] + n
    return Scratch(head[WORK], terms, forces, forces + head[BLOCKS] * n * head[WIDTH])


@native_program
def acceleration_derivatives(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Outputs, udot, and their derivatives."""
    head = integers_at(constants, 0, HEADER)
    scratch, n = scratch_at(head), head[SPEEDS]
    more, given = vector_at(work, scratch.inputs, head[INPUTS] + n), vector_at(inputs, 0, head[INPUTS])
    for i in range(head[INPUTS]):
        more[i] = given[i]
    udot, here, memory = more[head[INPUTS] :], vector_at(state, 0, 0), vector_at(work, 0, 0)
    call_program(head[FORWARD], here, given, vector_at(constants, head[FORWARD_STAGE], 0), udot, memory)
    terms = vector_at(work, scratch.terms, scratch.forces - scratch.terms)
    call_program(head[TERMS], here, more, vector_at(constants, head[TERMS_STAGE], 0), terms, memory)
    _solve(constants, head, terms, out, work)


@native_program
def solved_derivatives(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """The same, ``inputs`` being what the terms give, found before of many states side by side."""
    head = integers_at(constants, 0, HEADER)
    scratch = scratch_at(head)
    _solve(constants, head, vector_at(inputs, 0, scratch.forces - scratch.terms), out, work)


@native_inline
def _solve(constants: Any, head: Any, terms: Any, out: Any, work: Any) -> None:
    """``out``, by what the terms give."""
    at, scratch, n = lists_at(head), scratch_at(head), head[SPEEDS]
    whole, memory = integers_at(constants, 0, at.end), vector_at(work, 0, 0)
    forces, found = vector_at(work, scratch.forces, scratch.end - scratch.forces), terms[head[FACTOR] :]
    for e in range(forces.size):
        forces[e] = 0.0
    for e in range(head[ENTRIES]):
        forces[whole[at.entries + e]] = -found[e]
    first, columns = head[OUTPUTS], head[COLUMNS]
    result = vector_at(out, 0, first * (1 + columns) + n + forces.size)
    _outputs(found[head[ENTRIES] :], whole[at.slopes : at.end], result, first, columns)
    for k in range(n):
        result[first * (1 + columns) + k] = terms[terms.size - n + k]
    solution, size = result[first * (1 + columns) + n :], n * head[WIDTH]
    for block in range(head[BLOCKS]):
        call_program(head[SOLVE], forces[block * size :], terms, terms, solution[block * size :], memory)


@native_inline
def _outputs(found: Any, slopes: Any, result: Any, first: int, columns: int) -> None:
    """Values and derivatives of the outputs that are expressions."""
    for i in range(first):
        result[i] = found[i]
    for e in range(first * columns):
        result[first + e] = 0.0
    for e in range(slopes.size):
        result[first + slopes[e]] = found[first + e]
