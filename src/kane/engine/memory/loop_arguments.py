"""The arrays that native loops read and write: modes, inputs, a course, events, what moves in a run."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Native loops read their dimensions here.
Vector = Annotated[NDArray[np.float64], 1]
Matrix = Annotated[NDArray[np.float64], 2]
GivenMatrix = Annotated[NDArray[np.float64], 2, "only read"]
Matrices = Annotated[NDArray[np.float64], 3]
Indices = Annotated[NDArray[np.int64], 1]
IndexRows = Annotated[NDArray[np.int64], 2]

# How many lanes loops in lanes are compiled for: as many doubles as the registers of a processor hold.
LANE_WIDTHS = (1, 4, 8)

# Places in ``Store.clock``: the time of x, the next step to try, the last error over the tolerance, the step before it
# was cut short to end at a stop, and the length to which a step is cut that ends where a guard is negative, else zero.
# Behind them, where there are guards, PASSED ends of steps in the order of time: the time of each, then the guards.
# Last come directions of slip at the start of the step, see ``slip_directions``.
TIME, NEXT_STEP, LAST_ERROR, UNCUT_STEP, CUT_STEP = range(5)
CLOCK = 5
PASSED = 3
# Places in ``Store.counts``. After REJECTED ones come states of a run: whether it has STARTED and ENDED, whether the
# first slope is KNOWN, how often the step was cut (CUTS), how many cut steps in a row have MISSED the guard at which
# they were to end, and whether x lies WITHIN a step of the grid; then how many changes of modes there are in the store,
# and the key of the mode that is WANTED where the table has none.
DONE, ROWS, FOUND, STOP, EVALUATIONS, REJECTED, STARTED, ENDED, KNOWN, CUTS, MISSED, WITHIN, CHANGED, WANTED = range(14)
COUNTS = 14
# Places in a mode: its key, then the programs in force. Of each there is the address, zero where there is no such
# program, and behind it where in ``StateEquation.stages`` its stage starts. ASIDE is SETTLE with a stage of its own, as
# long, which lies behind that of SETTLE.
KEY, RHS, PROJECT, ASIDE, EVENTS, GUARDS, CHANGE = 0, 1, 3, 5, 7, 9, 11
MODE = 13
# CHANGE has out = [q, u, key of the next mode, notes], with a negative number in place of the key where it finds none.
# A row of ``Store.changes`` is the time, the counts ROWS and FOUND, both keys, the states before and after, the notes.
CHANGE_TIME, CHANGE_ROWS, CHANGE_FOUND, KEY_BEFORE, KEY_AFTER, STATE_BEFORE = range(6)
# So many changes at one state at most, before it is said that they do not end.
AT_ONCE = 100

# An interpolated step is probed for events at this many equal parts.
PROBES = 4
# Where in a step guards are looked at for least values: at its probes, and close to its ends for the way in which they
# begin and end. An array, because a loop's index into a tuple could be out of range and raise.
SAMPLES: Vector = np.array([0.0, 1e-5, 0.25, 0.5, 0.75, 1.0 - 1e-5, 1.0])
# Which of them the first probe is, which the end, which are no probes.
FIRST_PROBE, AT_END, BETWEEN = 2, 6, (0, 1, 5)


# Places in ``Settling.notes``: the largest residuals of configuration and motion as they were found, before the
# correction, the conditioning of the independent speeds, and how often these were chosen anew.
CONFIGURATION, MOTION, CONDITIONING, SWITCHES = range(4)


# How a chunk of steps ended, as native loops say it by a number; STALLED is what only watchers of progress see, WAITING
# a trajectory that has not ended yet. Of modes: the table has no row for the WANTED key; CHANGE finds no next
# mode; a guard is no number; changes at one state do not end.
GOING, NOT_FINITE, STUCK, STALLED, UNKNOWN_MODE, REFUSED, NO_GUARD, ENDLESS = range(8)
WAITING, FINISHED = -1, GOING

# Places in a queue of trajectories, and what a lane carries that is free.
NEXT, END, MORE = range(3)
IDLE = -1

NO_NOTES: Vector = np.zeros(0)


class Projection(NamedTuple):
    """What puts a state onto the constraints.

    Attributes:
        program: of the mode, SETTLE or ASIDE, with out = [q, u, residual of the configuration, residual of the motion,
            conditioning].
        out: its outputs.
        kept: the choice of independent speeds as it was: its rank, and the order of the columns.
        notes: see CONFIGURATION, MOTION, CONDITIONING, SWITCHES; empty where there are no constraints.
        least: the least conditioning of all states that were settled, then its [t, q, u]; empty where none is kept.
    """

    program: int
    out: Vector
    kept: Indices
    notes: Vector
    least: Vector


class Watch(NamedTuple):
    """Expressions whose sign changes are looked for; one entry an event, or a guard.

    Attributes:
        program: of the mode, EVENTS or GUARDS, with out = the expressions.
        out: their values.
        signs: the last sign of each that was not zero; zero before there was one. Guards have none.
        directions: 1 for changes to positive only, -1 to negative only, 0 for both.
        terminal: 1 where the run ends.
        roots: scratch, where in a step each one changes sign; of guards, their values at all looks within a step.
    """

    program: int
    out: Vector
    signs: Vector
    directions: Vector
    terminal: Vector
    roots: Vector


class Automaton(NamedTuple):
    """The modes that are known, and what leads from one to the next.

    Attributes:
        table: a row for each mode, (modes, MODE).
        guards: the mode ends where one is negative; of length zero where there is one mode for all states.
        slope: where GUARDS gives x' too, the memory behind the guards, into which it writes that; else of length zero.
        changed: outputs of CHANGE.
    """

    table: IndexRows
    guards: Watch
    slope: Vector
    changed: Vector


class StateEquation(NamedTuple):
    """x' = f(t, x, inputs), x = [q, u], by the compiled programs of the mode in force, with their arrays.

    Programs have state [t, q, u] and rest = inputs; RHS has out = x' (nq + n).

    Attributes:
        mode: a copy of the row in force of the table of modes, (MODE,).
        state: scratch for [t, x], length 1 + nx.
        inputs: values of the inputs; those without a table stay as they are.
        stages: of all programs of all modes, values that depend on parameters only, and headers.
        headers: the same memory as 64-bit integers.
        work: scratch of the program that needs most.
        quaternions: where in q each unit quaternion starts.
        projection: what puts the end of each step onto the constraints; its choice of speeds is the one in force.
        aside: the same for states looked at within a step, with a choice of its own, so that looking changes nothing.
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
    """Sampled inputs, one after the other: table i has the samples first[i] <= k < last[i].

    Attributes:
        column: the input that table i drives.
        first, last: its samples in ``times`` and ``values``.
        cursor: the sample in force at the previous look-up, from which the next one starts.
        times, values: the samples of all tables [s, N m or N].
    """

    column: Indices
    first: Indices
    last: Indices
    cursor: Indices
    times: Vector
    values: Vector


class Sampling(NamedTuple):
    """Laws that are asked at ticks; what they say is put into tables of held inputs, see ``engine/step/sampling.py``.

    Attributes:
        address: of the program of each law, with state [t, q, u], rest = inputs and out = the inputs that it drives.
        constants: constants of the programs of all laws.
        first_constant: where in ``constants`` each law's begin, and where the last one's end.
        out, work: scratch of the programs.
        table: the first of the tables of held inputs that each law fills, and one past the last of all.
        times: of the ticks, in order [s].
        law: that is asked at each tick.
        place: in its tables of what it says then.
        next: the next tick, (1,).
        slack: ticks that are so near count as come, (1,) [s]: a part of a fixed step.
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


# Held and interpolated inputs, and what fills some of the held ones.
InputTables = tuple[Tables, Tables, Sampling]


class Course(NamedTuple):
    """Where a run goes from, to and through.

    Fixed steps lie at t_k = start + k step, the last one ending at ``until``. Times are products and not sums, so that
    they do not drift and do not depend on where a run was cut in chunks.

    Attributes:
        start, until: first and last time [s].
        step: length of fixed steps [s], negative when time runs backwards; zero where the integrator chooses.
        steps: how many fixed steps.
        every: every how many steps the state is recorded (the last state always is); zero: at ``times``.
        times: of the records, the first one included, in the order of the run [s].
        stops: times at which steps have to end, because an input is not smooth there, or an expression of time bends
            the other way; the last is ``until`` [s].
    """

    start: float
    until: float
    step: float
    steps: int
    every: int
    times: Vector
    stops: Vector


class Store(NamedTuple):
    """What moves in a run, and all that survives from one chunk of steps to the next.

    Attributes:
        x: the state [q, u].
        y, z: scratch of its length.
        slopes: derivatives at the stages of a step, (stages, nx); the first is that at x where ``counts[KNOWN]``.
        clock: time and step sizes, see TIME and what follows.
        counts: see DONE and what follows; KNOWN is whether the first slope is that at x, with the inputs in force.
        rows: recorded states [t, q, u], with the notes of settling behind them where there are constraints.
        found: events [number of the event, t, q, u].
        changes: of modes, see CHANGE_TIME.
    """

    x: Vector
    y: Vector
    z: Vector
    slopes: Matrix
    clock: Vector
    counts: Indices
    rows: Matrix
    found: Matrix
    changes: Matrix


class Scheme(NamedTuple):
    """An explicit Runge-Kutta method as arrays, with the tolerances of a run.

    Attributes:
        coefficients: row s has the weights of the slopes before it in stage s, (stages, stages). Row ``last`` is the
            result of the step, whose slope is the first one of the next step; later rows serve the interpolant.
        nodes: where in the step the stages lie, (stages,).
        last: number of the stage at the end of the step.
        errors: weights of the slopes in two error estimates, (2, stages); zero where steps are fixed.
        dense: the interpolant, see ``state.between``, (stages, powers).
        exponent: the step goes as the error to the power of minus this.
        memory: the share of it by which the error of the step before counts, for PI control.
        rtol, atol: tolerances.
        largest: no step is longer [s].
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


class Block(NamedTuple):
    """Trajectories side by side; arrays are laid out value by value, the first component of all lanes, the second, ...

    Attributes:
        lanes: a tuple as long as there are lanes, which makes their number part of the compiled loop.
        address: of the program x' = f for as many states, a LaneCode's.
        state: [t, y], what the program reads.
        inputs, constants: inputs and parameter stages; where ``each`` is 0 one stage for all.
        each: whether every lane has a stage of its own.
        work: scratch of the program.
        x, y, z: the state, the end of the step, its error.
        slopes: derivatives at the stages, (stages, nx lanes).
        weights, chosen: scratch of sums over slopes, (stages, lanes) and (stages,).
        steps: start, length and end of the step of each lane, (3, lanes) [s].
        sizes: the two error estimates of each lane over the tolerance, (2, lanes).
        clock, counts: as in Store, a row for each lane.
        carries: which trajectory a lane carries, IDLE for none.
        accepted: whether the step of a lane is accepted.
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
    """All of an ensemble; threads write to different ones.

    Attributes:
        order: which are computed, one after the other.
        starts: initial states [q, u], (n, nx).
        inputs: (n, inputs), or one row for all.
        stages: values that depend on parameters only, (n, n_stage), or one row for all.
        stops: times at which steps have to end, ``until`` last and repeated, (n, most), or one row for all [s].
        rows: the record [t, q, u] of each, (n, times, 1 + nx).
        last: the last state reached [t, q, u], (n, 1 + nx).
        steps, rejected: how many, (n,).
        status: WAITING, FINISHED, STUCK or STALLED, (n,).
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
