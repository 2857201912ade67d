"""The arrays of the loop of a haptic session, and what lies where in them."""

from __future__ import annotations

from typing import NamedTuple

from kane.engine.memory.loop_arguments import Indices, Matrix, StateEquation, Store, Vector

# Of six numbers three belong to forces along x, y and z of the ground and three to torques about them; of two one to
# forces and one to torques; of seven three to a position and four to an orientation, a unit quaternion (w, x, y, z).
#
# Places in RULES, what does not change in a session: PERIOD of the ticks [s]; the most POWER [W]; the workspace's REACH
# [m]; the age at which a sample is STALE [s], how long a force takes to end (RAMP) and to begin (SOFT) [s], how many
# ticks in a row may be MISSED; how much of the age of samples is made up for (LEAD), and by how much forces act late
# (BEHIND) [s]. Two numbers each: SCALE and FORCE_SCALE between hand and simulation; CAP [N, N m], SLEW
# [N/s, N m/s]; the speed that is too FAST for a spring, and that only a broken sample has (LEAP) [m/s, rad/s]; the
# largest damping that may TAKE away energy that the coupler made [N s/m, N m s], and the speed that is rounding of the
# encoders (CRAWL); by how much the pull of the hand as it was foreseen may miss that of the hand as it is where it is
# taken, steps of the encoders apart (FELT) [N, N m]: minus infinity where nothing is foreseen. Six: which axes are
# coupled (AXES).
PERIOD, POWER, REACH, STALE, RAMP, SOFT, MISSED, LEAD, BEHIND = range(9)
SCALE, FORCE_SCALE, CAP, SLEW, FAST, LEAP, TAKE, CRAWL, FELT, AXES = range(9, 29, 2)
RULES = AXES + 6
# Places in a command of the user: as the how manieth wish it was last to ARM and to DISARM, whether to STOP, whether
# the CLUTCH is held, what the coupler is set to (STIFFNESS, DAMPING, two each), and the inputs of the model from GIVEN
# on.
ARM, DISARM, STOP, CLUTCH, STIFFNESS, DAMPING, GIVEN = 0, 1, 2, 3, 4, 6, 8
# Places in the numbers that move: the LEVEL to which forces have risen, when they began to end (ENDS) and from where
# (FROM, six); of the hand where it was last (HAND, seven), its velocities SPEED (six), when it was MEASURED and when
# it came in (FRESH); what takes it to its IMAGE in the simulation (OFFSET), which is seven numbers too; what was
# WRITTEN last and the PULL of the coupler on the mechanism (six each); energy given to the hand (GIVEN_OUT, two) and
# to the mechanism (GIVEN_IN) [J]; from where the handle moved (HANDLE, seven); the stiffness and damping in force
# (SPRING, DAMPER, two each); the energy in the spring (STORED) and what the coupler has MADE and not yet been taken
# away [J]; where the hand will be when the force acts (AHEAD, seven); the velocities of the image as they are held in
# the step (RATE, six); what the inputs of the coupler will be in the next tick if all goes on as it goes (FORESEEN: the
# image, its velocities, stiffness, damping).
LEVEL, ENDS, FROM, HAND, SPEED, MEASURED, FRESH, OFFSET, IMAGE = 0, 1, 2, 8, 15, 21, 22, 23, 30
WRITTEN, PULL, GIVEN_OUT, GIVEN_IN, HANDLE, SPRING, DAMPER, STORED, MADE, AHEAD = 37, 43, 49, 51, 52, 59, 61, 63, 64, 65
RATE = AHEAD + 7
FORESEEN = RATE + 6
MOVING = FORESEEN + 17
# Places in the counts: ticks DONE; STATUS; the FAULT that ended the force; the SEQUENCE of the last sample; how often
# it was armed and disarmed; whether the clutch is HELD; how the steps ended (MARCHED); ticks LOST for good; commands
# taken (TAKEN); the number of the snapshot (PUBLISHED), odd while it is written; whether the watchdog has stepped in
# (SEIZED); which slot of commands is the loop's (OWN), and which lies between (BETWEEN), with FULL added while it has
# not been read; whether somebody writes to the device now (WRITING); whether the watchdog is to go on (WATCHING);
# how far the next tick was TRIED, in how many parts (TRIED_PARTS); whether the hand is where it was foreseen (AGREES),
# and in how many ticks it was (AGREED) and what was tried was ADOPTED.
TICKS, STATUS, FAULT, NUMBER, ARMED_BY, DISARMED_BY, HELD, MARCHED, LOST, TAKEN, PUBLISHED = range(11)
SEIZED, OWN, BETWEEN, WRITING, WATCHING, TRIED, TRIED_PARTS, AGREES, AGREED, ADOPTED = range(11, 21)
COUNTERS = 21
# How far a tick was tried: not, in part, to its end, or to where it cannot go on.
UNTRIED, TRYING, FORETOLD, REFUSED = range(4)
FULL = 4
# Statuses: no force; a force by the coupler; a force that ends.
IDLE, ARMED, ENDING = range(3)
# Faults: none; no new sample for too long; a sample that is no number, out of the workspace, too far from the last
# one, or older than it; too many ticks missed; the simulation could not go on; a force that is no number; the
# watchdog stepped in.
SOUND, NO_SAMPLE, NO_NUMBER, OUTSIDE, LEAPED, OLDER, OVERRUN, NO_STEP, NO_FORCE, WATCHED = range(10)
# Columns of the log: the time of the tick, how LATE it began and how long it WORKED [s]; the AGE that the sample has
# when the force acts; status, fault; the level; what was written; the pull of the coupler on the mechanism; the image
# of the hand; the handle; the velocities of the image; stiffness and damping; energies given to the hand by forces and
# to the mechanism, kinetic and potential energy of the mechanism, energy given to the hand by torques; the sample as it
# was read.
AT, LATE, WORKED, AGE, OF_STATUS, OF_FAULT, OF_LEVEL = range(7)
OF_FORCE, OF_PULL, OF_IMAGE, OF_HANDLE, OF_HAND = 7, 13, 19, 26, 33
OF_SETTINGS, OF_ENERGIES, OF_SAMPLE = 39, 43, 48
LOGGED = OF_SAMPLE + 10
# Places in the outputs of the program of the handle: position, velocities (six), and its rotation matrix by rows.
PLACE, MOTION, MATRIX = 0, 3, 9
# Places in the scratch of a tick, behind what calls of the machine take: the time; the hand before; the force before;
# the one wanted; two quaternions.
NOW, BEFORE, FORCED, WANTED, TURNED, TWISTED = 1, 2, 9, 15, 21, 25
SCRATCH = 32
# Places among the system calls, each an address: a loop of steps, the clock, sleep, a fence, an exchange.
STEP, CLOCK, SLEEP, FENCE, EXCHANGE = range(5)
# A step that was cut into too many parts.
TOO_MANY = -1
# Where a tick gets its time from: it is what the tick is; the clock of the machine; what was recorded.
IN_STEP, BY_CLOCK, AS_RECORDED = range(3)
# Places in the pace: HOW (see above); the clock at tick ZERO, the period (EVERY), how long before a tick to SPIN, how
# much time was lost (GONE), and how long before that to try the tick (EARLY), all [ns].
HOW, ZERO, EVERY, SPIN, GONE, EARLY = range(6)
PACE = 6


class Port(NamedTuple):
    """The device as the loop has it, see ``kane.engine.realtime.device_sample``.

    Attributes:
        programs: addresses of read and write.
        table, settings, memory: the device's own.
        sample: as it was read.
        command: as it is written.
    """

    programs: Indices
    table: Vector
    settings: Vector
    memory: Vector
    sample: Vector
    command: Vector


class Grip(NamedTuple):
    """Where the coupler takes hold of the mechanism.

    Attributes:
        programs: addresses with state [t, q, u] and rest = inputs: of the handle in the ground, see MATRIX, and of
            kinetic and potential energy.
        constants, stage_of_energy: of the programs.
        work: scratch of the programs.
        out: of the first; ``energy`` of the other.
        turn: the orientation in ``out`` as a unit quaternion.
        reaction: force and torque on the handle that its prescribed motion takes, (6,); zero where it moves freely.
        inputs: where among the inputs of the system those of the coupler begin: its image (seven numbers), the
            velocities of that (six), stiffness and damping (two each).
    """

    programs: Indices
    constants: Vector
    stage_of_energy: Vector
    work: Vector
    out: Vector
    turn: Vector
    energy: Vector
    reaction: Vector
    inputs: int


class Desk(NamedTuple):
    """What Python and the loop hand each other.

    Attributes:
        slots: three commands; the loop has one, Python one, and one lies between.
        taken: the commands that were taken, each behind the tick from which it holds.
        snapshot: [tick, time, status, fault, what was written (6), energies as a row of the log has them (5), as of the
            end of the tick but for those given to the hand, t, q, u].
        log: a row each tick, LOGGED numbers.
        script: commands to be taken at their ticks, as ``taken`` has them; none but in replays.
        recorded: rows of a log whose times and lateness are taken in replays.
    """

    slots: Matrix
    taken: Matrix
    snapshot: Vector
    log: Matrix
    script: Matrix
    recorded: Matrix


class Calls(NamedTuple):
    """The machine, as addresses of the one convention, see ``kane.haptics.system_calls``.

    Attributes:
        addresses: STEP, CLOCK, SLEEP, FENCE, EXCHANGE.
        step: the address of the loop that takes a step and that of its arguments, as 64-bit integers.
        words, doubles: scratch of SCRATCH 64-bit words; the same memory as doubles.
    """

    addresses: Indices
    step: Vector
    words: Indices
    doubles: Vector


class SteppingOver(NamedTuple):
    """A step of Moreau and Jean, see ``kane.engine.hybrid.moreau_jean``.

    Attributes:
        program: its address; zero where nothing comes and goes.
        state: [t, q, u] and the length of the step.
        out: of the program.
    """

    program: int
    state: Vector
    out: Vector


class Foresight(NamedTuple):
    """Where the next tick is tried before it is due: arrays of its own for what moves, the loop's for scratch.

    Attributes:
        system, store: of the march that is tried.
        step: as ``Calls.step``, but of that march.
        moves, copies: what moves besides in steps of their own, passive ones or inverse dynamics, and its copies here.
    """

    system: StateEquation
    store: Store
    step: Vector
    moves: tuple[Vector, Vector, Vector]
    copies: tuple[Vector, Vector, Vector]


class Circuit(NamedTuple):
    """Everything that the loop of a session reads and writes, beside the system.

    Attributes:
        rules, moving, counts: see above.
        numbers: the memory of ``counts`` as doubles.
        port, grip, desk, calls, passing, ahead: see there.
    """

    rules: Vector
    moving: Vector
    counts: Indices
    numbers: Vector
    port: Port
    grip: Grip
    desk: Desk
    calls: Calls
    passing: SteppingOver
    ahead: Foresight
