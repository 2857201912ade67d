"""Derivatives of a run through its steps, forwards (tangents S) and backwards (adjoints l).

The derivatives f_x, f_p of the slopes by the state and the parameters are given at all stages.

    dK_i = f_x (S + h sum_j a_ij dK_j) + f_p,   S+ = S + h sum_i b_i dK_i
    l = l+ + sum_i n_i,   n_i = f_x^T m_i,   m_i = h b_i l+ + h sum_j a_ji n_j

If the end of the step is projected, S+ becomes A_x S+ + A_p.

Source: Hager 2000; Sanz-Serna 2016, Sec. 3.
"""

from __future__ import annotations

from kane.deferred import NamedTuple
from kane.engine.call import native_inline, native_loop
from kane.engine.memory.loop_arguments import IndexRows, Indices, Matrices, Matrix, Vector


class StepSlopes(NamedTuple):
    """Steps of a run with their derivatives; the stages of a step are consecutive.

    Attributes:
        h: lengths, (steps,) [s].
        coefficients: coefficients a_ij of the method, (stages, stages); its row ``last`` contains the b_i.
        last: number of stages before the end of the step.
        by_x, by_p: f_x and f_p, (steps * stages, nx, .).
        projected_x, projected_p: A_x and A_p, (steps, nx, .); empty without constraints.
    """

    h: Vector
    coefficients: Matrix
    last: int
    by_x: Matrices
    by_p: Matrices
    projected_x: Matrices
    projected_p: Matrices


class StepOutputs(NamedTuple):
    """Output times within steps and at their ends.

    Attributes:
        first: number of the first output time within each step, and their total number, (steps + 1,).
        weights: weights of the slopes in the dense output, (output times, stages).
        end: place of the end of each step in ``found``, or -1, (steps,).
        places: place of each output time in ``found``.
        found: S at these times, (., nx, columns).
    """

    first: Indices
    weights: Matrix
    end: Indices
    places: Indices
    found: Matrices


@native_inline
def add_product(A: Matrix, B: Matrix, scale: float, C: Matrix) -> None:
    """Add scale A B to C."""
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            a = scale * A[i, k]
            if a != 0.0:
                for j in range(B.shape[1]):
                    C[i, j] += a * B[k, j]


@native_inline
def add_spanned_product(A: Matrix, B: Matrix, spans: IndexRows, C: Matrix) -> None:
    """Add A B to C; row k of B is zero outside the columns spans[k, 0] to spans[k, 1] - 1."""
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            a = A[i, k]
            if a != 0.0:
                for j in range(spans[k, 0], spans[k, 1]):
                    C[i, j] += a * B[k, j]


@native_inline
def add_transposed(A: Matrix, b: Vector, c: Vector) -> None:
    """Add A^T b to c."""
    for i in range(A.shape[0]):
        if b[i] != 0.0:
            for k in range(A.shape[1]):
                c[k] += A[i, k] * b[i]


@native_inline
def combine(S: Matrix, weights: Vector, dK: Matrices, scale: float, count: int, out: Matrix) -> None:
    """Write S + scale sum_j weights[j] dK_j, j < count, into ``out``."""
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
def set_zero(A: Matrix) -> None:
    """Set all entries to zero."""
    for r in range(A.shape[0]):
        for c in range(A.shape[1]):
            A[r, c] = 0.0


class SpannedColumns(NamedTuple):
    """Derivatives dp of the parameters p by the columns of S, and the nonzero part of each row.

    Attributes:
        by: derivatives, (parameters, columns).
        spans: first nonzero column of each row, and the column after the last, (parameters, 2).
    """

    by: Matrix
    spans: IndexRows


@native_loop
def vary_forwards(
    of: StepSlopes,
    begin: int,
    end: int,
    chosen: SpannedColumns,
    S: Matrix,
    outputs: StepOutputs,
    dK: Matrices,
    moved: Matrix,
) -> None:
    """Propagate S from step ``begin`` to the end of step ``end`` - 1.

    Args:
        of: steps of the run.
        begin, end: first step, and the step after the last.
        chosen: derivatives of the parameters.
        S: derivatives of the state, (nx, columns), replaced.
        outputs: output times, and S there.
        dK, moved: scratch, (stages, nx, columns) and (nx, columns).
    """
    stages = of.coefficients.shape[0]
    for k in range(begin, end):
        h = of.h[k]
        for i in range(stages):
            combine(S, of.coefficients[i], dK, h, i, moved)
            set_zero(dK[i])
            add_product(of.by_x[k * stages + i], moved, 1.0, dK[i])
            add_spanned_product(of.by_p[k * stages + i], chosen.by, chosen.spans, dK[i])
        for output in range(outputs.first[k], outputs.first[k + 1]):
            combine(S, outputs.weights[output], dK, 1.0, stages, outputs.found[outputs.places[output]])
        combine(S, of.coefficients[of.last], dK, h, stages, moved)
        if of.projected_x.shape[0] > 0:
            set_zero(S)
            add_product(of.projected_x[k], moved, 1.0, S)
            add_spanned_product(of.projected_p[k], chosen.by, chosen.spans, S)
        else:
            combine(moved, of.coefficients[0], dK, h, 0, S)
        if outputs.end[k] >= 0:
            combine(S, of.coefficients[0], dK, h, 0, outputs.found[outputs.end[k]])


@native_loop
def vary_backwards(
    of: StepSlopes, begin: int, end: int, weight: Vector, direct: Vector, by_stage: Matrices, n: Matrix, m: Matrix
) -> None:
    """Propagate the adjoint from the end of step ``end`` - 1 to the start of step ``begin``.

    Args:
        of: steps of the run.
        begin, end: first step, and the step after the last.
        weight: adjoint l of the state, (nx,), replaced.
        direct: derivatives by the parameters, (parameters,), added to.
        by_stage: contributions of the stages to ``direct``, (steps, last, parameters), written.
        n, m: scratch, (last, nx) and (1, nx).
    """
    stages = of.coefficients.shape[0]
    for k in range(end - 1, begin - 1, -1):
        h = of.h[k]
        if of.projected_x.shape[0] > 0:
            add_transposed(of.projected_p[k], weight, direct)
            set_zero(m)
            add_transposed(of.projected_x[k], weight, m[0])
            for r in range(weight.size):
                weight[r] = m[0, r]
        set_zero(n)
        set_zero(by_stage[k])
        for i in range(of.last - 1, -1, -1):
            for r in range(weight.size):
                total = of.coefficients[of.last, i] * weight[r]
                for j in range(i + 1, of.last):
                    total += of.coefficients[j, i] * n[j, r]
                m[0, r] = h * total
            add_transposed(of.by_x[k * stages + i], m[0], n[i])
            add_transposed(of.by_p[k * stages + i], m[0], by_stage[k, i])
        for i in range(of.last):
            for r in range(weight.size):
                weight[r] += n[i, r]
            for d in range(direct.size):
                direct[d] += by_stage[k, i, d]
