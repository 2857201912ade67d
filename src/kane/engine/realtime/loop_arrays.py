"""Arguments of the loop of a haptic session: views of its memory, addresses, and the codes that its integers have.

``kane.engine.memory.realtime`` and ``kane.engine.memory.devices`` declare the arrays.
"""

from __future__ import annotations

from kane.deferred import NamedTuple
from kane.engine.memory.loop_arguments import IndexRows, Matrix, StateEquation, Store, TimeStep, Vector
from kane.engine.memory.views import (
    CouplerInputs,
    DeviceCommand,
    DeviceSample,
    HandleMotion,
    LoopCounts,
    LoopRules,
    LoopScratch,
    LoopState,
)

# Statuses of a session: there is no force; the coupler acts; the force ends.
UNARMED, ARMED, ENDING = range(3)
# Causes of the end of a force: none; no new sample in time; a sample that is not finite, outside the workspace, too far
# from the last one, or older; too many missed ticks; the step failed; the force is not finite; the watchdog; the
# measured force is too large; the position for the device is not finite.
NO_FAULT, NO_SAMPLE, SAMPLE_NOT_FINITE, SAMPLE_OUTSIDE, SAMPLE_LEAPED, SAMPLE_OLDER = range(6)
OVERRUN, STEP_FAILED, FORCE_NOT_FINITE, WATCHDOG_ACTED, FORCE_TOO_LARGE, POSITION_NOT_FINITE = range(6, 12)
# Statuses of the prediction of a tick: not begun, in part, complete, impossible.
UNPREDICTED, PREDICTING, PREDICTED, UNPREDICTABLE = range(4)
# Statuses of an offered loop with revised constraints: missing; waiting; its first step has succeeded in this tick; it
# runs; its first step has failed.
NO_OFFER, OFFERED, SWITCHING, REVISION_ADOPTED, REVISION_REFUSED = range(5)
# Added to the number of the exchanged slot until the loop has read its command.
UNREAD = 4
# Status of a step that transitions cut into too many parts.
TOO_MANY_PARTS = -1
# Sources of the time of a tick: the number of the tick, the clock of the machine, a recording.
IN_STEP, BY_CLOCK, AS_RECORDED = range(3)


class Port(NamedTuple):
    """Device of a loop.

    Attributes:
        read, write: addresses of its programs, see ``DeviceSample`` and ``DeviceCommand``.
        table, settings, memory: arguments of both programs, which belong to the device.
        sample: output of ``read``.
        command: argument of ``write``.
    """

    read: int
    write: int
    table: Vector
    settings: Vector
    memory: Vector
    sample: DeviceSample
    command: DeviceCommand


class HandlePrograms(NamedTuple):
    """Programs of the handle and of the energies, with state [t, q, u] and rest = inputs.

    Attributes:
        motion_program, energy_program: addresses.
        constants, energy_constants: constants of the programs.
        work: scratch memory of the programs.
        motion: output of the first program.
        energy: output of the second program, kinetic and potential energy, (2,) [J].
        orientation: orientation in ``motion`` as a unit quaternion, (4,).
        reaction: wrench on the handle that its prescribed motion requires, (6,) [N, N m]; zero if it moves freely.
        inputs: number of inputs before the inputs of the coupler.
    """

    motion_program: int
    energy_program: int
    constants: Vector
    energy_constants: Vector
    work: Vector
    motion: HandleMotion
    energy: Vector
    orientation: Vector
    reaction: Vector
    inputs: int


class Messages(NamedTuple):
    """Data that Python and the loop exchange.

    Attributes:
        slots: three rows ``LoopCommand``; the loop owns one, Python another, and the third one is exchanged.
        taken: rows ``TakenCommand``, the commands that were applied.
        snapshot: a ``LoopSnapshot``.
        log: rows ``LogRow``, one per tick.
        script: rows ``TakenCommand`` that a replay applies; empty otherwise.
        recorded: rows ``LogRow`` whose times a replay takes.
        running: address of ``run_ticks`` and of its arguments, two 64-bit integers; see ``run_session``.
        offered: addresses of ``begin_revision`` and its arguments, then ``running`` of the offered loop.
    """

    slots: Matrix
    taken: Matrix
    snapshot: Vector
    log: Matrix
    script: Matrix
    recorded: Matrix
    running: Vector
    offered: Vector


class MachineCalls(NamedTuple):
    """Addresses of the system calls, see ``kane.haptics.system_calls``.

    Attributes:
        step, clock, sleep, fence, exchange: addresses.
        arguments: addresses of the loop that takes a step of the mechanism and of its arguments, two 64-bit integers.
        scratch: scratch memory of the tick.
    """

    step: int
    clock: int
    sleep: int
    fence: int
    exchange: int
    arguments: Vector
    scratch: LoopScratch


class TickPrediction(NamedTuple):
    """Copies on which the next tick is computed before it is due; scratch memory is shared with the loop.

    Attributes:
        system, store: copies of the state equation and of the store.
        arguments: as in ``MachineCalls``, for the copies.
        carried, copies: further arrays that a step changes, and their copies.
    """

    system: StateEquation
    store: Store
    arguments: Vector
    carried: tuple[Vector, Vector, Vector]
    copies: tuple[Vector, Vector, Vector]


class RunningArrays(NamedTuple):
    """Arrays of a running loop from which an offered loop takes over the motion.

    Attributes:
        store, inputs, stages: see ``StateEquation`` and ``Store``.
        places: pairs of indices of equal quantities, in ``stages`` of the running and of the offered loop.
        carried: see ``TickPrediction``.
    """

    store: Store
    inputs: Vector
    stages: Vector
    places: IndexRows
    carried: tuple[Vector, Vector, Vector]


class Circuit(NamedTuple):
    """Arguments of the loop of a session, besides the state equation and the store.

    Attributes:
        rules, state, counts: constants, numbers and integers of the session.
        coupling: inputs of the coupler in this tick.
        predicted: inputs of the coupler that the last tick predicted for this one; NaN before the first tick.
        port, handle, messages, calls, moreau_jean, prediction: see these classes.
    """

    rules: LoopRules
    state: LoopState
    counts: LoopCounts
    coupling: CouplerInputs
    predicted: CouplerInputs
    port: Port
    handle: HandlePrograms
    messages: Messages
    calls: MachineCalls
    moreau_jean: TimeStep
    prediction: TickPrediction
