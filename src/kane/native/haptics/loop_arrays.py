"""The arrays of the loop of a haptic session, and what lies where in them."""

from __future__ import annotations

from typing import NamedTuple

from kane.native.arrays import Indices, Matrix, Vector

# Places in RULES, what does not change in a session: PERIOD of the ticks [s]; SCALE and FORCE_SCALE between hand and
# simulation; of the safety CAP [N], SLEW [N/s], POWER [W], the speed that is too FAST for a spring [m/s], the speed
# that only a broken sample has (LEAP) [m/s], REACH of the workspace [m], the age at which a sample is STALE [s], how
# long a force takes to end (RAMP) and to begin (SOFT) [s], how many ticks in a row may be MISSED; the largest damping
# that may TAKE away energy that the coupler made [N s/m], and the speed that is rounding of the encoders (CRAWL)
# [m/s]; which axes are coupled (AXES).
PERIOD, SCALE, FORCE_SCALE, CAP, SLEW, POWER, FAST, LEAP, REACH, STALE, RAMP, SOFT, MISSED, TAKE, CRAWL, AXES = range(
    16
)
RULES = AXES + 3
# Places in a command of the user: as the how manieth wish it was last to ARM and to DISARM, whether to STOP, whether
# the CLUTCH is held, what the coupler is set to (STIFFNESS, DAMPING), and the inputs of the model from GIVEN on.
ARM, DISARM, STOP, CLUTCH, STIFFNESS, DAMPING, GIVEN = range(7)
# Places in the numbers that move: the LEVEL to which forces have risen, when they began to end (ENDS) and from where
# (FROM); of the hand the last good position HAND, its velocity SPEED, when it was MEASURED and when it came in
# (FRESH); the position that belongs to the simulation's origin (OFFSET); the IMAGE of the hand there; the force
# WRITTEN last; the PULL of the coupler on the mechanism; energy given to the hand (GIVEN_OUT) and to the mechanism
# (GIVEN_IN) [J]; from where the handle moved (HANDLE); the stiffness and damping in force (SPRING, DAMPER); the energy
# in the spring (STORED) and what the coupler has MADE and not yet been taken away [J].
LEVEL, ENDS, FROM, HAND, SPEED, MEASURED, FRESH, OFFSET, IMAGE = 0, 1, 2, 5, 8, 11, 12, 13, 16
WRITTEN, PULL, GIVEN_OUT, GIVEN_IN, HANDLE, SPRING, DAMPER, STORED, MADE = 19, 22, 25, 26, 27, 30, 31, 32, 33
MOVING = 34
# Places in the counts: ticks DONE; STATUS; the FAULT that ended the force; the SEQUENCE of the last sample; how often
# it was armed and disarmed; whether the clutch is HELD; how the steps ended (MARCHED); ticks LOST for good; commands
# taken (TAKEN); the number of the snapshot (PUBLISHED), odd while it is written; whether the watchdog has stepped in
# (SEIZED); which slot of commands is the loop's (OWN), and which lies between (BETWEEN), with FULL added while it has
# not been read; whether somebody writes to the device now (WRITING); whether the watchdog is to go on (WATCHING).
TICKS, STATUS, FAULT, NUMBER, ARMED_BY, DISARMED_BY, HELD, MARCHED, LOST, TAKEN, PUBLISHED = range(11)
SEIZED, OWN, BETWEEN, WRITING, WATCHING = range(11, 16)
COUNTERS = 16
FULL = 4
# Statuses: no force; a force by the coupler; a force that ends.
IDLE, ARMED, ENDING = range(3)
# Faults: none; no new sample for too long; a sample that is no number, out of the workspace, too far from the last
# one, or older than it; too many ticks missed; the simulation could not go on; a force that is no number; the
# watchdog stepped in.
SOUND, NO_SAMPLE, NO_NUMBER, OUTSIDE, LEAPED, OLDER, OVERRUN, NO_STEP, NO_FORCE, WATCHED = range(10)
# Columns of the log: the time of the tick, how LATE it began and how long it WORKED [s]; age of the sample; status,
# fault; the level; the force written; the force of the coupler on the mechanism; the image of the hand; the handle;
# energies to hand and mechanism, and of the mechanism; stiffness and damping; the sample as it was read.
AT, LATE, WORKED, AGE, OF_STATUS, OF_FAULT, OF_LEVEL = range(7)
OF_FORCE, OF_PULL, OF_IMAGE, OF_HANDLE = 7, 10, 13, 16
OF_HAND, OF_ENERGIES, OF_SETTINGS, OF_SAMPLE = 19, 22, 26, 28
LOGGED = OF_SAMPLE + 10
# Places among the system calls, each an address: a loop of steps, the clock, sleep, a fence, an exchange.
STEP, CLOCK, SLEEP, FENCE, EXCHANGE = range(5)
# Where a tick gets its time from: it is what the tick is; the clock of the machine; what was recorded.
IN_STEP, BY_CLOCK, AS_RECORDED = range(3)
# Places in the pace: HOW (see above); the clock at tick ZERO, the period (EVERY), how long before a tick to SPIN, how
# much time was lost (GONE), all [ns].
HOW, ZERO, EVERY, SPIN, GONE = range(5)
PACE = 5


class Port(NamedTuple):
    """The device as the loop has it, see ``kane.native.haptics.sample``.

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
        programs: addresses with state [t, q, u] and rest = inputs: of the handle's position and velocity in the ground
            (3 + 3), and of kinetic and potential energy.
        stage, stage_of_energy: of the programs.
        work: scratch of the programs.
        out: positions and velocities; ``energy`` both energies.
        inputs: where among the inputs of the system those of the coupler begin: image (3), its velocity (3), K, B.
    """

    programs: Indices
    stage: Vector
    stage_of_energy: Vector
    work: Vector
    out: Vector
    energy: Vector
    inputs: int


class Desk(NamedTuple):
    """What Python and the loop hand each other.

    Attributes:
        slots: three commands; the loop has one, Python one, and one lies between.
        taken: the commands that were taken, each behind the tick from which it holds.
        snapshot: [tick, time, status, fault, force (3), t, q, u].
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
        words, doubles: scratch of sixteen 64-bit words; the same memory as doubles.
    """

    addresses: Indices
    step: Vector
    words: Indices
    doubles: Vector


class Circuit(NamedTuple):
    """Everything that the loop of a session reads and writes, beside the system.

    Attributes:
        rules, moving, counts: see above.
        numbers: the memory of ``counts`` as doubles.
        port, grip, desk, calls: see there.
    """

    rules: Vector
    moving: Vector
    counts: Indices
    numbers: Vector
    port: Port
    grip: Grip
    desk: Desk
    calls: Calls
