"""Arguments of the native loops: equations, inputs, course, events, integrator state, and lanes of ensembles.

A loop receives NamedTuples of arrays. Arrays with several quantities are regions (``run_regions``), whose generated
views name each quantity.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from kane.deferred import NamedTuple

# Types of arrays with their number of dimensions, which native loops need.
Vector = Annotated[NDArray[np.float64], 1]
Matrix = Annotated[NDArray[np.float64], 2]
GivenMatrix = Annotated[NDArray[np.float64], 2, "only read"]
Matrices = Annotated[NDArray[np.float64], 3]
Indices = Annotated[NDArray[np.int64], 1]
IndexRows = Annotated[NDArray[np.int64], 2]

# Numbers of lanes for which loops are compiled: the doubles in a register of the processors.
LANE_WIDTHS = (1, 4, 8)

# Largest number of transitions at one state; more are reported as ENDLESS.
AT_ONCE = 100

# Number of equal parts of a step at whose ends events are sampled.
PROBES = 4
# Fractions of a step at which guards are sampled to bracket their minima: the probes, and two points near the ends,
# which show the slopes there. An array, because an index of a loop into a tuple could raise an exception.
SAMPLES: Vector = np.array([0.0, 1e-5, 0.25, 0.5, 0.75, 1.0 - 1e-5, 1.0])
# Diagnostics of the projection of a model without constraints.
NO_NOTES: Vector = np.zeros(0)


class Projection(NamedTuple):
    """Projection of states onto the constraints.

    Attributes:
        program: PROJECT or ASIDE, with out = [q, u, configuration residual, motion residual, conditioning].
        out: outputs of the program.
        kept: the previous selection of independent speeds: its rank, then the order of the columns.
        notes: ProjectionNotes; empty for unconstrained models.
        least: the smallest conditioning of the run, then [t, q, u] there; empty if it is not recorded.
    """

    program: int
    out: Vector
    kept: Indices
    notes: Vector
    least: Vector


class Watch(NamedTuple):
    """Expressions whose sign changes are located: events or guards.

    Attributes:
        program: EVENTS or GUARDS, with out = the expressions.
        out: values of the expressions.
        signs: last nonzero sign of each event, initially 0; guards do not use it.
        directions: 1 to detect only changes to positive, -1 only to negative, 0 both.
        terminal: 1 if the event ends the run.
        roots: scratch: for events the fractions of the step at sign changes; for guards their values at SAMPLES.
    """

    program: int
    out: Vector
    signs: Vector
    directions: Vector
    terminal: Vector
    roots: Vector


class Automaton(NamedTuple):
    """Known modes of a run, and the arrays of its transitions.

    Attributes:
        table: ModePrograms of each mode, (modes, 13).
        guards: the mode ends if one of them is negative; of length zero if there is one mode for all states.
        slope: x' where GUARDS returns it after the guards, a view of their memory; else of length zero.
        changed: outputs of TRANSITION.
    """

    table: IndexRows
    guards: Watch
    slope: Vector
    changed: Vector


class StateEquation(NamedTuple):
    """x' = f(t, x, inputs), x = [q, u], evaluated by the compiled programs of the active mode.

    Programs receive state = [t, q, u] and the inputs; RHS returns x' (nq + n).

    Attributes:
        mode: ModePrograms of the active mode, a copy of its row in the table.
        state: scratch for [t, x], length 1 + nx.
        inputs: values of the inputs; inputs without a table are constant.
        stages: constants of all programs of all modes, with their headers.
        headers: the same memory as 64-bit integers.
        work: scratch memory of the programs.
        quaternions: index in q of the first component of each unit quaternion.
        projection: projection of step ends; its selection of speeds is active.
        aside: projection of states within a step, with its own selection, so that the run does not change.
        automaton: the modes.
    """

    mode: Indices
    state: Vector
    inputs: Vector
    stages: Vector
    headers: Indices
    work: Vector
    quaternions: Indices
    projection: Projection
    aside: Projection
    automaton: Automaton


class Tables(NamedTuple):
    """Sampled inputs: table i has the samples first[i] <= k < last[i].

    Attributes:
        column: index of the input that table i drives.
        first, last: range of its samples in ``times`` and ``values``.
        cursor: sample of the previous look-up, from which the next search starts.
        times, values: samples of all tables [s, unit of the input].
    """

    column: Indices
    first: Indices
    last: Indices
    cursor: Indices
    times: Vector
    values: Vector


class Sampling(NamedTuple):
    """Sampled laws, evaluated at ticks, whose outputs fill tables of held inputs (``step/sampling.py``).

    Attributes:
        address: program of each law, with state [t, q, u], the inputs, and out = the inputs that it drives.
        constants: constants of the programs of all laws.
        first_constant: index of the first constant of each law, and of the end.
        out, work: scratch of the programs.
        table: first table of held inputs of each law, and one past the last table.
        times: times of the ticks, increasing [s].
        law: index of the law of each tick.
        place: sample in its tables that each tick fills.
        next: index of the next tick, (1,).
        slack: ticks that are at most this far ahead count as due, (1,) [s].
    """

    address: Indices
    constants: Vector
    first_constant: Indices
    out: Vector
    work: Vector
    table: Indices
    times: Vector
    law: Indices
    place: Indices
    next: Indices
    slack: Vector


# Held inputs, interpolated inputs, and the sampled laws that fill held inputs.
InputTables = tuple[Tables, Tables, Sampling]


class Course(NamedTuple):
    """Time interval of a run, its steps, records and stops.

    Fixed steps end at t_k = start + k step, the last one at ``until``. Times are products, not sums: they do not drift,
    and do not depend on the division into chunks.

    Attributes:
        start, until: first and last time [s].
        step: length of fixed steps [s], negative if time runs backwards; 0 if the integrator selects the length.
        steps: number of fixed steps.
        every: number of steps between records; the last state is always recorded. 0: records are at ``times``.
        times: times of the records, the first one included, in the order of the run [s].
        stops: times at which steps must end, where an input or an expression of time is not smooth; the last is
            ``until`` [s].
    """

    start: float
    until: float
    step: float
    steps: int
    every: int
    times: Vector
    stops: Vector


class Store(NamedTuple):
    """Integrator state and records of a run; all that chunks of steps hand on.

    Attributes:
        x: the state [q, u].
        y, z: scratch of the same length.
        slopes: slopes of the stages of a step, (stages, nx); the first is x' at x if ``RunCounts.slope_known``.
        clock: RunClock, with GuardHistory and SlipMemory.
        counts: RunCounts.
        rows: recorded states [t, q, u], then ProjectionNotes if the model has constraints.
        found: located events [index of the event, t, q, u].
        transitions: each row a TransitionNote.
    """

    x: Vector
    y: Vector
    z: Vector
    slopes: Matrix
    clock: Vector
    counts: Indices
    rows: Matrix
    found: Matrix
    transitions: Matrix


class Scheme(NamedTuple):
    """Explicit Runge-Kutta method as arrays, with the tolerances of a run.

    Attributes:
        coefficients: row s has the weights of the earlier slopes in stage s, (stages, stages). Row ``last`` gives the
            end of the step, whose slope is the first one of the next step; later rows serve the interpolant.
        nodes: fractions of the step at which the stages are evaluated, (stages,).
        last: index of the stage at the end of the step.
        errors: weights of the slopes in two error estimates, (2, stages); zero for fixed steps.
        dense: coefficients of the interpolant, see ``state_equation.between``, (stages, powers).
        exponent: the step length is proportional to the error to the power -exponent.
        memory: weight of the previous error in PI control, relative to the exponent.
        rtol, atol: tolerances.
        largest: longest step [s].
    """

    coefficients: Matrix
    nodes: Vector
    last: int
    errors: Matrix
    dense: Matrix
    exponent: float
    memory: float
    rtol: float
    atol: float
    largest: float


class TimeStep(NamedTuple):
    """Program of a Moreau-Jean time step, see ``kane.engine.hybrid.moreau_jean``.

    Attributes:
        program: address; zero without intermittent constraints.
        given: argument of the program, a TimeStepGiven.
        out: output of the program, a Transition.
        constraints, rows, speeds, coordinates: sizes nc, m, n and nq of the Transition.
        normals: row along the gap of each constraint, or NONE, (nc,).
        statuses: statuses after the last step of the run, (nc,); NaN before the first one.
        dense: coefficients of the dense output: states within a step are on the line between its ends.
        asks: 1 if inputs are Python functions, which the program RHS evaluates.
        forces: mean force of each row over the step that ends at each record, (records, m).
    """

    program: int
    given: Vector
    out: Vector
    constraints: int
    rows: int
    speeds: int
    coordinates: int
    normals: Indices
    statuses: Vector
    dense: Matrix
    asks: int
    forces: Matrix


class Block(NamedTuple):
    """Trajectories in lanes. Arrays have the first component of all lanes, then the second component, ...

    Attributes:
        lanes: a tuple with one entry per lane; its length is a constant of the compiled loop.
        address: program x' = f for all lanes, a LaneCode's.
        state: [t, y], read by the program.
        inputs, constants: inputs and constants of the program.
        each: 1 if each lane has its own constants, 0 if all lanes share them.
        work: scratch of the program.
        x, y, z: the state, the end of the step, its error.
        slopes: slopes of the stages, (stages, nx lanes).
        weights, chosen: scratch of sums over slopes, (stages, lanes) and (stages,).
        steps: start, length and end of the step of each lane, (3, lanes) [s].
        sizes: the two error estimates of each lane, relative to the tolerance, (2, lanes).
        clock, counts: RunClock and RunCounts of each lane, one row per lane.
        carries: index of the trajectory in each lane, or NO_TRAJECTORY.
        accepted: 1 if the step of a lane is accepted.
    """

    lanes: tuple[int, ...]
    address: int
    state: Vector
    inputs: Vector
    constants: Vector
    each: int
    work: Vector
    x: Vector
    y: Vector
    z: Vector
    slopes: Matrix
    weights: Matrix
    chosen: Indices
    steps: Matrix
    sizes: Matrix
    clock: Matrix
    counts: IndexRows
    carries: Indices
    accepted: Indices


class Trajectories(NamedTuple):
    """All trajectories of an ensemble; each thread writes to its own ones.

    Attributes:
        order: indices of the trajectories that are computed, in this order.
        starts: initial states [q, u], (n, nx).
        inputs: (n, inputs), or one row for all.
        stages: constants of the programs, (n, n_stage), or one row for all.
        stops: times at which steps must end, padded by ``until``, (n, most), or one row for all [s].
        rows: records [t, q, u], (n, times, 1 + nx).
        last: last state [t, q, u], (n, 1 + nx).
        steps, rejected: numbers of accepted and rejected steps, (n,).
        status: WAITING, FINISHED, or the result of the last chunk, (n,).
    """

    order: Indices
    starts: Matrix
    inputs: Matrix
    stages: Matrix
    stops: Matrix
    rows: Matrices
    last: Matrix
    steps: Indices
    rejected: Indices
    status: Indices
