"""Arrays of passive midpoint steps."""

from __future__ import annotations

from kane.deferred import NamedTuple
from kane.engine.memory.loop_arguments import Indices, Matrix, Vector
from kane.engine.memory.views import MidpointTerms, PassiveLedger, StepEndTerms

# Programs of a passive step, see ``Passive.programs``.
MIDPOINT, STEP_END, RATES_OF_Q = range(3)


class Passive(NamedTuple):
    """Arrays of passive steps of a mechanism with n speeds.

    Attributes:
        programs: addresses, with state [t, q, u] and rest = inputs: MIDPOINT with out = ``MidpointTerms``, STEP_END
            with out = ``StepEndTerms``, RATES_OF_Q with out = dq/dt.
        stages: constants of all programs.
        places: index in ``stages`` at which the constants of each program begin.
        midpoint, step_end, rates: outputs of the programs.
        work: scratch memory of the programs.
        L: factor of the mass matrix, (n, n).
        A: matrix of the linear system, (n, n).
        pivots: row exchanges of its elimination, (n,).
        w: L^T u at the start of the step, (n,).
        middle: right-hand side, then solution of the linear system, (n,).
        force: loads without a potential, (n,).
        coupling: J L^-T by rows, (6, n).
        push: wrench of the coupler if the handle did not move in the step, (6,).
        turns: scratch memory for two quaternions.
        axes: 1 for each axis about which the coupler acts, (3,).
        ledger: energy balance at the start of the step.
        trial, end: energy balance and w at the end of a step before it is accepted.
        place: position of the handle and its rotation matrix at the start of the step, (12,).
        rubbing: generalized forces of kinetic friction, (n,).
        rows: orthonormal active rows, see ``kane.engine.realtime.tangent_rows``, (n, n).
        forces: forces of all constraint rows.
        parabola: interpolant of a step, see ``_store_slopes``.
        inputs: index of the first input of the coupler.
        permanent: number of rows that are always active.
        reactions: address of the program of the row forces; zero without intermittent constraints.
    """

    programs: Indices
    stages: Vector
    places: Indices
    midpoint: MidpointTerms
    step_end: StepEndTerms
    rates: Vector
    work: Vector
    L: Matrix
    A: Matrix
    pivots: Indices
    w: Vector
    middle: Vector
    force: Vector
    coupling: Matrix
    push: Vector
    turns: Vector
    axes: Vector
    ledger: PassiveLedger
    trial: PassiveLedger
    end: Vector
    place: Vector
    rubbing: Vector
    rows: Matrix
    forces: Vector
    parabola: Matrix
    inputs: int
    permanent: int
    reactions: int
