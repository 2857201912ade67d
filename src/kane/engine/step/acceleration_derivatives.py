"""Derivatives of the accelerations at a state, M dudot = -df, as native programs that solve for blocks of columns.

f = M udot + bias - B inputs, and df is its derivative at constant udot. ``out`` contains the expressions asked for,
their derivatives row by row, udot, and the derivatives of udot in blocks of columns. A block has its first row in all
columns, then its second row.

The constants begin with a header of integers, see the places below. Two lists follow: places of the entries of df in
the blocks, and places of the derivatives of the expressions in their rows. After them are the constants of two
programs, "forward" and the terms. The terms read [inputs, udot], and write the factor of M, df, the expressions, their
derivatives, and udot. A third program solves for one block, with the factor in place of its constants.

Source: Carpentier & Mansard 2018, Eq. 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.engine.call import call_program, integers_at, native_inline, native_program, vector_at
from kane.engine.memory.loop_arguments import Indices, Vector

# Places in the header: addresses of three programs and places of the constants of two; numbers of speeds, inputs,
# columns, blocks, columns in a block, numbers in the factor, entries of df, expressions, and their derivatives; place
# of the arrays in ``work``.
FORWARD, TERMS_PROGRAM, SOLVE, FORWARD_CONSTANTS, TERMS_CONSTANTS = range(5)
SPEEDS, INPUTS, COLUMNS, BLOCKS, BLOCK_WIDTH = range(5, 10)
FACTOR_SIZE, ENTRIES, OUTPUTS, DERIVATIVES, WORK = range(10, 15)
HEADER_SIZE = 15


class ListPlaces(NamedTuple):
    """Places of the two lists after the header, and of their end."""

    entries: int
    slopes: int
    end: int


@native_inline
def lists_at(head: Indices) -> ListPlaces:
    """Return the places of the lists for a header."""
    slopes = HEADER_SIZE + head[ENTRIES]
    return ListPlaces(HEADER_SIZE, slopes, slopes + head[DERIVATIVES])


class DerivativeScratch(NamedTuple):
    """Places in ``work`` after the scratch of the programs: [inputs, udot], outputs of the terms, blocks of -df."""

    inputs: int
    terms: int
    forces: int
    end: int


@native_inline
def scratch_at(head: Indices) -> DerivativeScratch:
    """Return the places in ``work`` for a header."""
    n = head[SPEEDS]
    terms = head[WORK] + head[INPUTS] + n
    forces = terms + head[FACTOR_SIZE] + head[ENTRIES] + head[OUTPUTS] + head[DERIVATIVES] + n
    return DerivativeScratch(head[WORK], terms, forces, forces + head[BLOCKS] * n * head[BLOCK_WIDTH])


@native_program
def acceleration_derivatives(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Write the expressions, udot, and their derivatives."""
    head = integers_at(constants, 0, HEADER_SIZE)
    scratch, n = scratch_at(head), head[SPEEDS]
    more, given = vector_at(work, scratch.inputs, head[INPUTS] + n), vector_at(inputs, 0, head[INPUTS])
    for i in range(head[INPUTS]):
        more[i] = given[i]
    udot, here, memory = more[head[INPUTS] :], vector_at(state, 0, 0), vector_at(work, 0, 0)
    call_program(head[FORWARD], here, given, vector_at(constants, head[FORWARD_CONSTANTS], 0), udot, memory)
    terms = vector_at(work, scratch.terms, scratch.forces - scratch.terms)
    call_program(head[TERMS_PROGRAM], here, more, vector_at(constants, head[TERMS_CONSTANTS], 0), terms, memory)
    _solve_blocks(constants, head, terms, out, work)


@native_program
def solved_derivatives(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Write the same from outputs of the terms in place of ``inputs``, which lanes have computed for many states."""
    head = integers_at(constants, 0, HEADER_SIZE)
    scratch = scratch_at(head)
    _solve_blocks(constants, head, vector_at(inputs, 0, scratch.forces - scratch.terms), out, work)


@native_inline
def _solve_blocks(constants: Any, head: Indices, terms: Vector, out: Any, work: Any) -> None:
    """Write ``out`` from the outputs of the terms."""
    at, scratch, n = lists_at(head), scratch_at(head), head[SPEEDS]
    whole, memory = integers_at(constants, 0, at.end), vector_at(work, 0, 0)
    forces, found = vector_at(work, scratch.forces, scratch.end - scratch.forces), terms[head[FACTOR_SIZE] :]
    for e in range(forces.size):
        forces[e] = 0.0
    for e in range(head[ENTRIES]):
        forces[whole[at.entries + e]] = -found[e]
    first, columns = head[OUTPUTS], head[COLUMNS]
    result = vector_at(out, 0, first * (1 + columns) + n + forces.size)
    _write_expressions(found[head[ENTRIES] :], whole[at.slopes : at.end], result, first, columns)
    for k in range(n):
        result[first * (1 + columns) + k] = terms[terms.size - n + k]
    solution, size = result[first * (1 + columns) + n :], n * head[BLOCK_WIDTH]
    for block in range(head[BLOCKS]):
        call_program(head[SOLVE], forces[block * size :], terms, terms, solution[block * size :], memory)


@native_inline
def _write_expressions(found: Vector, places: Indices, result: Vector, first: int, columns: int) -> None:
    """Write the values of ``first`` expressions and their derivatives."""
    for i in range(first):
        result[i] = found[i]
    for e in range(first * columns):
        result[first + e] = 0.0
    for e in range(places.size):
        result[first + places[e]] = found[first + e]
