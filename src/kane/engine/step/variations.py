"""How small changes pass the steps of a run, forwards and backwards, given the derivatives of slopes at all stages.

    dK_i = f_x (S + h sum_j a_ij dK_j) + f_p,   S+ = S + h sum_i b_i dK_i
    l = l+ + sum_i n_i,   n_i = f_x^T m_i,   m_i = h b_i l+ + h sum_j a_ji n_j

A step's end is then settled, S+ = A_x S+ + A_p, where settling moves it.

Source: Hager 2000; Sanz-Serna 2016, Sec. 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.engine.call import native_inline, native_loop
from kane.engine.memory.loop_arguments import IndexRows, Indices, Matrices, Matrix, Vector


class StepSlopes(NamedTuple):
    """Steps with their derivatives, the stages of each one after the other.

    Attributes:
        h: lengths, (steps,) [s].
        coefficients: of the method, (stages, stages); its row ``last`` is the result.
        last: see above.
        by_x, by_p: of slopes by the state, and by what is varied directly, (steps * stages, nx, .).
        projected_x, projected_p: of ends of steps by the same, (steps, nx, .); nothing where none are settled.
    """

    h: Vector
    coefficients: Matrix
    last: int
    by_x: Matrices
    by_p: Matrices
    projected_x: Matrices
    projected_p: Matrices


class Looks(NamedTuple):
    """What is wanted within steps and at their ends.

    Attributes:
        first: number of the first look within each step, and behind the last, (steps + 1,).
        weights: of the slopes, (looks, stages).
        end: for each step the place of its end in ``found``, or -1, (steps,).
        places: those of looks.
        found: S there, (., nx, columns).
    """

    first: Indices
    weights: Matrix
    end: Indices
    places: Indices
    found: Matrices


@native_inline
def add_product(A: Any, B: Any, scale: float, C: Any) -> None:
    """C += scale A B."""
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            a = scale * A[i, k]
            if a != 0.0:
                for j in range(B.shape[1]):
                    C[i, j] += a * B[k, j]


@native_inline
def add_choice(A: Any, B: Any, spans: Any, C: Any) -> None:
    """C += A B, where row k of B is zero but from column spans[k, 0] to before spans[k, 1]."""
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            a = A[i, k]
            if a != 0.0:
                for j in range(spans[k, 0], spans[k, 1]):
                    C[i, j] += a * B[k, j]


@native_inline
def add_transposed(A: Any, b: Any, c: Any) -> None:
    """c += A^T b."""
    for i in range(A.shape[0]):
        if b[i] != 0.0:
            for k in range(A.shape[1]):
                c[k] += A[i, k] * b[i]


@native_inline
def combine(S: Any, weights: Any, dK: Any, scale: float, count: int, out: Any) -> None:
    """``out`` = S + scale times the weighted sum of the first slopes."""
    for r in range(S.shape[0]):
        for c in range(S.shape[1]):
            out[r, c] = S[r, c]
    for j in range(count):
        w = scale * weights[j]
        if w != 0.0:
            for r in range(S.shape[0]):
                for c in range(S.shape[1]):
                    out[r, c] += w * dK[j, r, c]


@native_inline
def clear(A: Any) -> None:
    """All entries zero."""
    for r in range(A.shape[0]):
        for c in range(A.shape[1]):
            A[r, c] = 0.0


class SpannedColumns(NamedTuple):
    """The derivatives of what is varied directly, (direct, columns), and where each row of them is not zero.

    Attributes:
        by: the derivatives; where one name is one column most of them are zero.
        spans: the first column that is not zero, and the one behind the last, (direct, 2).
    """

    by: Matrix
    spans: IndexRows


@native_loop
def vary_forwards(
    of: StepSlopes, begin: int, end: int, chosen: SpannedColumns, S: Matrix, looks: Looks, dK: Matrices, moved: Matrix
) -> None:
    """S from the beginning of a step to the end of the last; ``dK`` (stages, nx, columns) and ``moved`` are scratch."""
    stages = of.coefficients.shape[0]
    for k in range(begin, end):
        h = of.h[k]
        for i in range(stages):
            combine(S, of.coefficients[i], dK, h, i, moved)
            clear(dK[i])
            add_product(of.by_x[k * stages + i], moved, 1.0, dK[i])
            add_choice(of.by_p[k * stages + i], chosen.by, chosen.spans, dK[i])
        for look in range(looks.first[k], looks.first[k + 1]):
            combine(S, looks.weights[look], dK, 1.0, stages, looks.found[looks.places[look]])
        combine(S, of.coefficients[of.last], dK, h, stages, moved)
        if of.projected_x.shape[0] > 0:
            clear(S)
            add_product(of.projected_x[k], moved, 1.0, S)
            add_choice(of.projected_p[k], chosen.by, chosen.spans, S)
        else:
            combine(moved, of.coefficients[0], dK, h, 0, S)
        if looks.end[k] >= 0:
            combine(S, of.coefficients[0], dK, h, 0, looks.found[looks.end[k]])


@native_loop
def vary_backwards(
    of: StepSlopes, begin: int, end: int, weight: Vector, direct: Vector, shares: Matrices, n: Matrix, m: Matrix
) -> None:
    """The weight of the state from the end of the last step to the beginning of the first.

    Args:
        of: the steps.
        begin, end: which of them.
        weight: of the state, (nx,), is changed.
        direct: of what is varied directly, is added to.
        shares: of that by stages, (steps, last, direct), are filled in.
        n, m: scratch, (last, nx) and (1, nx).
    """
    stages = of.coefficients.shape[0]
    for k in range(end - 1, begin - 1, -1):
        h = of.h[k]
        if of.projected_x.shape[0] > 0:
            add_transposed(of.projected_p[k], weight, direct)
            clear(m)
            add_transposed(of.projected_x[k], weight, m[0])
            for r in range(weight.size):
                weight[r] = m[0, r]
        clear(n)
        clear(shares[k])
        for i in range(of.last - 1, -1, -1):
            for r in range(weight.size):
                total = of.coefficients[of.last, i] * weight[r]
                for j in range(i + 1, of.last):
                    total += of.coefficients[j, i] * n[j, r]
                m[0, r] = h * total
            add_transposed(of.by_x[k * stages + i], m[0], n[i])
            add_transposed(of.by_p[k * stages + i], m[0], shares[k, i])
        for i in range(of.last):
            for r in range(weight.size):
                weight[r] += n[i, r]
            for d in range(direct.size):
                direct[d] += shares[k, i, d]
