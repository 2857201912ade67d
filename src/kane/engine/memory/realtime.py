"""Regions of the haptic loop.

A pose is a position and a unit quaternion (w, x, y, z). Rates are a velocity and an angular velocity. A wrench is a
force and a torque. All are expressed in the axes of the ground. In a pair of numbers the first one belongs to
translations and the second one to rotations. The operator holds the device handle; the handle is a point of the
mechanism.
"""

from __future__ import annotations

from kane.engine.memory.declare import MemoryRegion, Room, integer, real
from kane.engine.memory.devices import (
    DAMPING_UNIT,
    DEVICE_SAMPLE,
    FOUR,
    PAIR,
    POSE,
    RATES,
    SCALAR,
    SEVEN,
    SIX,
    STIFFNESS_UNIT,
    THREE,
    WRENCH,
)

NINE = ("9",)
PASSIVE, PRESCRIBED = "passive_midpoint", "prescribed_motion"

COUPLER_INPUTS = MemoryRegion(
    "CouplerInputs",
    "Inputs that a coupler adds to a model.",
    (),
    (
        real("proxy", SEVEN, POSE, "coupler", "pose of the proxy"),
        real("rates", SIX, RATES, "coupler", "rates of the proxy"),
        real("stiffness", PAIR, STIFFNESS_UNIT, "coupler", "stiffness of the coupler"),
        real("damping", PAIR, DAMPING_UNIT, "coupler", "damping of the coupler"),
    ),
    whole=True,
)
HANDLE_MOTION = MemoryRegion(
    "HandleMotion",
    'Outputs of the program "handle": the motion of the handle in the ground.',
    (),
    (
        real("position", THREE, "m", "handle", "position"),
        real("rates", SIX, RATES, "handle", "velocity, and angular velocity of its body"),
        real("R", NINE, "-", "handle", "orientation of its body in the ground, by rows"),
    ),
    whole=True,
)
LOOP_RULES = MemoryRegion(
    "LoopRules",
    "Constants of a haptic session.",
    (),
    (
        real("period", SCALAR, "s", "circuit", "period T of the ticks"),
        real("power", SCALAR, "W", "circuit", "largest power given to the operator"),
        real("reach", SCALAR, "m", "circuit", "half the width of the workspace"),
        real("stale", SCALAR, "s", "circuit", "age at which a sample is too old"),
        real("ramp_down", SCALAR, "s", "circuit", "time in which a force ends"),
        real("ramp_up", SCALAR, "s", "circuit", "time in which forces reach their full size"),
        real("missed", SCALAR, "-", "circuit", "missed ticks in a row that are allowed"),
        real("lead", SCALAR, "-", "circuit", "fraction of the age of samples that is compensated"),
        real("delay", SCALAR, "s", "circuit", "time from a command to its force"),
        real("scale", PAIR, "-", "circuit", "motion of the proxy per motion of the device handle"),
        real("force_scale", PAIR, "-", "circuit", "wrench on the operator per wrench of the coupler"),
        real("largest", PAIR, WRENCH, "circuit", "largest force and torque on the operator"),
        real("slew", PAIR, "N/s and N m/s", "circuit", "largest rate of change of force and torque"),
        real("fast", PAIR, RATES, "circuit", "speed above which the operator feels damping only"),
        real("leap", PAIR, RATES, "circuit", "speed above which a sample is invalid"),
        real("brake", PAIR, DAMPING_UNIT, "circuit", "largest damping of the passivity controller"),
        real("crawl", PAIR, RATES, "circuit", "speed of one encoder step in a tick"),
        real("tolerance", PAIR, WRENCH, "circuit", "largest error of a predicted pull; -inf without prediction"),
        real("axes", SIX, "-", "circuit", "1 for each axis of force and torque that is coupled"),
        real("measures", SCALAR, "-", "circuit", "1 if the device measures force and takes positions"),
    ),
)
LOOP_STATE = MemoryRegion(
    "LoopState",
    "Numbers that change from tick to tick.",
    (),
    (
        real("level", SCALAR, "-", "safety", "ratio to which forces have ramped up"),
        real("end_time", SCALAR, "s", "safety", "time at which the force began to end"),
        real("end_wrench", SIX, WRENCH, "safety", "wrench at this time"),
        real("device", SEVEN, POSE, "safety", "pose of the device handle"),
        real("device_rates", SIX, RATES, "safety", "its rates"),
        real("measured", SCALAR, "s", "safety", "time of this measurement"),
        real("received", SCALAR, "s", "safety", "time at which the loop got it"),
        real("extrapolated", SEVEN, POSE, "coupler", "pose of the device handle when the force acts"),
        real("offset", SEVEN, POSE, "coupler", "x_0 and R_0, which lead from the device handle to the proxy"),
        real("written", SIX, WRENCH, "safety", "wrench that the clamp allowed"),
        real("force", THREE, "N", "safety", "measured force of the operator"),
        real("placed", THREE, "m", "safety", "position of the device handle that the clamp allowed"),
        real("moves", SCALAR, "-", "safety", "1 if the device takes this position"),
        real("advance", THREE, "m", "safety", "change of this position in the last tick"),
        real("end_advance", THREE, "m", "safety", "this change when the motion began to end"),
        real("pull", SIX, WRENCH, "coupler", "wrench of the coupler on the mechanism"),
        real("to_operator", PAIR, "J", "coupler", "work on the operator by force and by torque"),
        real("to_mechanism", SCALAR, "J", "coupler", "work on the mechanism"),
        real("handle", SEVEN, POSE, "coupler", "pose of the handle at the start of the tick"),
        real("stored", SCALAR, "J", "coupler", "energy in the springs of the coupler"),
        real("made", SCALAR, "J", "coupler", "energy made by the coupler that the brake has not removed"),
    ),
    whole=True,
)
LOOP_COUNTS = MemoryRegion(
    "LoopCounts",
    "Integers that change from tick to tick.",
    (),
    (
        integer("ticks", SCALAR, "tick", "completed ticks"),
        integer("status", SCALAR, "tick, safety", "UNARMED, ARMED or ENDING"),
        integer("fault", SCALAR, "tick, safety", "cause of the end of the force"),
        integer("sequence", SCALAR, "safety", "number of the last sample"),
        integer("armed_by", SCALAR, "tick", "last request to arm"),
        integer("disarmed_by", SCALAR, "tick", "last request to disarm"),
        integer("clutched", SCALAR, "tick", "1 while the clutch decouples device and mechanism"),
        integer("step", SCALAR, "tick", "status of the last step of the mechanism"),
        integer("lost", SCALAR, "tick", "ticks that were dropped"),
        integer("taken", SCALAR, "tick", "commands that were applied"),
        integer("published", SCALAR, "tick", "guard of the snapshot"),
        integer("seized", SCALAR, "tick, watchdog", "1 if the watchdog ended the force"),
        integer("own_slot", SCALAR, "tick", "slot of commands that the loop owns"),
        integer("exchanged_slot", SCALAR, "tick, commands", "slot between the owners, plus UNREAD if it is new"),
        integer("writing", SCALAR, "machine_calls", "1 while a thread writes to the device"),
        integer("watching", SCALAR, "loop", "1 while the watchdog is to continue"),
        integer("prediction", SCALAR, "tick, tick_prediction", "status of the prediction of the next tick"),
        integer("parts", SCALAR, "tick_prediction", "parts into which transitions cut the predicted step"),
        integer("agrees", SCALAR, "coupler", "1 if the device handle is near its predicted position"),
        integer("agreed", SCALAR, "coupler", "ticks in which it was"),
        integer("adopted", SCALAR, "tick_prediction", "ticks that adopted the predicted state"),
        integer("offer", SCALAR, "tick, offered_loop", "status of the offered loop"),
        integer("trial", SCALAR, "tick", "status of the first step of the offered loop"),
    ),
)
LOOP_SCRATCH = MemoryRegion(
    "LoopScratch",
    "Scratch memory of a tick.",
    (),
    (
        integer("word", SCALAR, "system_calls", "argument and result of system calls"),
        real("now", SCALAR, "s", "tick", "time of the tick, state of the program read"),
        real("device_before", SEVEN, POSE, "tick", "pose of the device handle in the last tick"),
        real("wrench_before", SIX, WRENCH, "tick", "wrench since the last tick"),
        real("wanted", SIX, WRENCH, "coupler", "wrench on the operator before the clamp"),
        real("target", THREE, "m", "coupler", "position of the device handle before the clamp"),
        real("rotation", FOUR, "-", "coupler", "unit quaternion from the handle to the proxy"),
        real("displacement", FOUR, "-", "coupler", "unit quaternion of a small rotation"),
    ),
    whole=True,
)
LOOP_PACE = MemoryRegion(
    "LoopPace",
    "Times of the ticks.",
    (),
    (
        integer("clock", SCALAR, "loop", "source of times: IN_STEP, BY_CLOCK or AS_RECORDED"),
        integer("zero", SCALAR, "loop, tick", "clock at tick 0 [ns]"),
        integer("period", SCALAR, "loop", "period [ns]"),
        integer("spin", SCALAR, "loop", "busy waiting before a tick [ns]"),
        integer("lost", SCALAR, "tick", "time of the dropped ticks [ns]"),
        integer("early", SCALAR, "loop", "time before the busy waiting at which the next tick is predicted [ns]"),
    ),
)
LOOP_COMMAND = MemoryRegion(
    "LoopCommand",
    "Command of the user.",
    ("inputs",),
    (
        real("arm", SCALAR, "-", "commands", "number of the last request to arm"),
        real("disarm", SCALAR, "-", "commands", "number of the last request to disarm"),
        real("stop", SCALAR, "-", "commands", "1 to end the run"),
        real("clutch", SCALAR, "-", "commands", "1 to decouple device and mechanism"),
        real("stiffness", PAIR, STIFFNESS_UNIT, "commands", "stiffness of the coupler"),
        real("damping", PAIR, DAMPING_UNIT, "commands", "damping of the coupler"),
        real("inputs", ("inputs",), "SI", "commands", "inputs of the user's model"),
    ),
    whole=True,
)
TAKEN_COMMAND = MemoryRegion(
    "TakenCommand",
    "Command with the tick from which it applies.",
    ("inputs",),
    (
        real("tick", SCALAR, "-", "tick", "first tick of the command"),
        Room("command", LOOP_COMMAND, ("inputs",)),
    ),
)
LOOP_ENERGIES = MemoryRegion(
    "LoopEnergies",
    "Energies of a tick.",
    (),
    (
        real("to_operator", SCALAR, "J", "tick", "work on the operator by forces"),
        real("to_mechanism", SCALAR, "J", "tick", "work of the coupler on the mechanism"),
        real("kinetic", SCALAR, "J", "tick", "kinetic energy of the mechanism"),
        real("potential", SCALAR, "J", "tick", "potential energy of the mechanism"),
        real("to_operator_by_torque", SCALAR, "J", "tick", "work on the operator by torques"),
    ),
)
LOG_ROW = MemoryRegion(
    "LogRow",
    "One tick in the log of a session; energies are taken at the start of the tick.",
    (),
    (
        real("time", SCALAR, "s", "tick", "time of the tick"),
        real("lateness", SCALAR, "s", "tick", "delay with which the tick began"),
        real("work", SCALAR, "s", "tick", "computing time of the tick"),
        real("age", SCALAR, "s", "tick", "age of the sample when the force acts"),
        real("status", SCALAR, "-", "tick", "UNARMED, ARMED or ENDING"),
        real("fault", SCALAR, "-", "tick", "cause of the end of the force"),
        real("level", SCALAR, "-", "tick", "ratio to which forces have ramped up"),
        real("force", THREE, "N", "tick", "force on the operator: written to the device, or measured"),
        real("torque", THREE, "N m", "tick", "torque written to the device"),
        real("pull", SIX, WRENCH, "tick", "wrench of the coupler on the mechanism"),
        real("proxy", SEVEN, POSE, "tick", "pose of the proxy"),
        real("handle", SEVEN, POSE, "tick", "pose of the handle at the start of the tick"),
        real("rates", SIX, RATES, "tick", "rates of the proxy"),
        real("stiffness", PAIR, STIFFNESS_UNIT, "tick", "stiffness of the coupler"),
        real("damping", PAIR, DAMPING_UNIT, "tick", "damping of the coupler"),
        real("position", THREE, "m", "tick", "position written to a device that measures force"),
        real("moves", SCALAR, "-", "tick", "1 if the device takes this position"),
        Room("energies", LOOP_ENERGIES, ()),
        Room("sample", DEVICE_SAMPLE, ()),
    ),
)
LOOP_SNAPSHOT = MemoryRegion(
    "LoopSnapshot",
    "State of a session after a tick; energies given to the operator are as of its start.",
    ("nx",),
    (
        real("tick", SCALAR, "-", "tick", "completed ticks"),
        real("now", SCALAR, "s", "tick", "time of the last tick"),
        real("status", SCALAR, "-", "tick", "UNARMED, ARMED or ENDING"),
        real("fault", SCALAR, "-", "tick", "cause of the end of the force"),
        real("force", THREE, "N", "tick", "force on the operator: written to the device, or measured"),
        real("torque", THREE, "N m", "tick", "torque written to the device"),
        Room("energies", LOOP_ENERGIES, ()),
        real("time", SCALAR, "s", "tick", "time of the mechanism"),
        real("x", ("nx",), "SI", "tick", "coordinates and speeds [q, u]"),
    ),
)
PASSIVE_LEDGER = MemoryRegion(
    "PassiveLedger",
    "Energy balance of passive midpoint steps.",
    (),
    (
        real("coupler", SCALAR, "J", PASSIVE, "work of the coupler"),
        real("other", SCALAR, "J", PASSIVE, "work of loads without a potential"),
        real("owed", SCALAR, "J", PASSIVE, "energy gained beyond the work, which later steps remove"),
        real("kinetic", SCALAR, "J", PASSIVE, "kinetic energy"),
        real("potential", SCALAR, "J", PASSIVE, "potential energy"),
        real("known", SCALAR, "-", PASSIVE, "1 if these energies belong to the state"),
        real("lost", SCALAR, "J", PASSIVE, "energy lost in transitions"),
    ),
    whole=True,
)
MIDPOINT_TERMS = MemoryRegion(
    "MidpointTerms",
    'Outputs of the program "passive 0", at the middle of a step.',
    ("n", "m"),
    (
        real(
            "M",
            ("n * (n + 1) // 2",),
            "kg, kg m, kg m^2",
            PASSIVE,
            "lower triangle of the mass matrix, by rows",
        ),
        real("C", ("n", "n"), "kg/s", PASSIVE, "Coriolis matrix, C + C^T = dM/dt"),
        real("h", ("n",), "N or N m", PASSIVE, "C u + g less all other loads"),
        real("g", ("n",), "N or N m", PASSIVE, "gradient of the potential energy along the speeds"),
        real("J", ("6", "n"), "m or 1", PASSIVE, "rates of the handle per speed"),
        real("v_t", SIX, RATES, PASSIVE, "rates of the handle without speeds"),
        real("A", ("m", "n"), "m or 1", PASSIVE, "coefficients of the constraint rows"),
    ),
    whole=True,
)
STEP_END_TERMS = MemoryRegion(
    "StepEndTerms",
    'Outputs of the program "passive 1", at the end of a step.',
    ("n", "m"),
    (
        real(
            "M",
            ("n * (n + 1) // 2",),
            "kg, kg m, kg m^2",
            PASSIVE,
            "lower triangle of the mass matrix, by rows",
        ),
        real("potential", SCALAR, "J", PASSIVE, "potential energy"),
        real("place", ("12",), "m and -", PASSIVE, "position of the handle, and its rotation matrix by rows"),
        real("A", ("m", "n"), "m or 1", PASSIVE, "coefficients of the constraint rows"),
    ),
    whole=True,
)
PRESCRIBED_TERMS = MemoryRegion(
    "PrescribedTerms",
    'Outputs of the program "rigid" for inverse dynamics.',
    ("n", "nq"),
    (
        real(
            "position", ("n",), "m or rad", "inverse_dynamics", "position of the handle along its axes, then residuals"
        ),
        real("C", ("n", "n"), "m or 1", "inverse_dynamics", "rates of the handle and of the constraint rows per speed"),
        real("r", ("n",), "m/s^2 or rad/s^2", "inverse_dynamics", "accelerations of these rows without udot"),
        real(
            "M",
            ("n * (n + 1) // 2",),
            "kg, kg m, kg m^2",
            "inverse_dynamics",
            "lower triangle of the mass matrix, by rows",
        ),
        real("h", ("n",), "N or N m", "inverse_dynamics", "velocity terms and loads, M udot + h = C^T f"),
        real("rates", ("nq",), "m/s or rad/s", "inverse_dynamics", "dq/dt"),
    ),
    whole=True,
)
FOLLOWER = MemoryRegion(
    "Follower",
    "Point y that follows the proxy smoothly.",
    (),
    (
        real("y", THREE, "m", PRESCRIBED, "position"),
        real("rate", THREE, "m/s", PRESCRIBED, "velocity"),
        real("acceleration", THREE, "m/s^2", PRESCRIBED, "acceleration"),
        real("proxy", THREE, "m", PRESCRIBED, "last position of the proxy"),
    ),
    whole=True,
)
