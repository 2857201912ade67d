"""Regions of the haptic loop and of the devices that it calls.

A pose is a position and a unit quaternion (w, x, y, z). Rates are a velocity and an angular velocity. A wrench is a
force and a torque. All are expressed in the axes of the ground. In a pair of numbers the first one belongs to
translations and the second one to rotations. The operator holds the device handle; the handle is a point of the
mechanism.
"""

from __future__ import annotations

from kane.engine.memory.declare import MemoryRegion, Room, integer, real

POSE, RATES, WRENCH = "m and -", "m/s and rad/s", "N and N m"
STIFFNESS_UNIT, DAMPING_UNIT = "N/m and N m/rad", "N s/m and N m s/rad"
SCALAR, PAIR, THREE, FOUR, SIX, SEVEN, NINE = ("1",), ("2",), ("3",), ("4",), ("6",), ("7",), ("9",)

DEVICE_SAMPLE = MemoryRegion(
    "DeviceSample",
    "Sample, output of the program read of a device: state = [t], rest = table, stage = settings, work = memory.",
    (),
    (
        real("sequence", SCALAR, "-", "device", "number of the sample, which grows with each new one"),
        real("measured", SCALAR, "s", "device", "time of the measurement on the clock of the loop"),
        real("position", THREE, "m", "device", "position of the device handle"),
        real("orientation", FOUR, "-", "device", "orientation of the device handle, a unit quaternion"),
        real("buttons", SCALAR, "-", "device", "pressed buttons as bits of a whole number"),
    ),
    whole=True,
)
DEVICE_COMMAND = MemoryRegion(
    "DeviceCommand",
    "Command of a device, the state of its program write; the other arguments are as of the program read.",
    (),
    (
        real("time", SCALAR, "s", "machine_calls", "time of the command on the clock of the loop"),
        real("force", THREE, "N", "tick", "force on the operator"),
        real("torque", THREE, "N m", "tick", "torque on the operator"),
    ),
    whole=True,
)
DEVICE_SLOT = MemoryRegion(
    "DeviceSlot",
    "Memory shared by the loop and a device driver. A guard is odd while somebody writes (sequence lock).",
    (),
    (
        integer("sample_guard", SCALAR, "slot", "guard of the sample"),
        Room("sample", DEVICE_SAMPLE, ()),
        integer("command_guard", SCALAR, "shared_slot", "guard of the command"),
        Room("command", DEVICE_COMMAND, ()),
        Room("kept", DEVICE_SAMPLE, ()),
        real("closing", SCALAR, "-", "slot", "1 if the device driver must end"),
    ),
)
POINTER_SETTINGS = MemoryRegion(
    "PointerSettings",
    "Settings of the pointer device.",
    (),
    (
        integer("fence", SCALAR, "pointer", "address of the memory fence; a slot has this setting only"),
        real("follow", SCALAR, "1/s", "pointer", "natural frequency W with which the device handle follows the mouse"),
        real("fastest", SCALAR, "m/s", "pointer", "largest speed of the device handle"),
        real("patience", SCALAR, "s", "pointer", "silence after which a page counts as closed"),
    ),
)
POINTER_MEMORY = MemoryRegion(
    "PointerMemory",
    "Memory of the pointer device; it begins with the slot that the page fills.",
    (),
    (
        Room("slot", DEVICE_SLOT, ()),
        real("gone", SCALAR, "-", "pointer", "1 if the page is closed"),
        real("last", SCALAR, "-", "pointer_device", "sequence number of the last message of the page"),
        real("heard", SCALAR, "s", "pointer_device", "time at which this message was first seen"),
        real("now", SCALAR, "s", "pointer_device", "time of y and v"),
        real("sequence", SCALAR, "-", "pointer_device", "number of samples given to the loop"),
        real("y", THREE, "m", "pointer_device", "position of the device handle"),
        real("v", THREE, "m/s", "pointer_device", "velocity of the device handle"),
    ),
)
SIMULATED_SETTINGS = MemoryRegion(
    "SimulatedSettings",
    "Settings of a simulated device: of its axes of translation, then of its angles.",
    (),
    (
        real("mass", PAIR, "kg and kg m^2", "simulated", "mass or inertia of device handle and hand together"),
        real("viscous", PAIR, DAMPING_UNIT, "simulated", "viscous damping of the device handle"),
        real("stiffness", PAIR, STIFFNESS_UNIT, "simulated", "stiffness of the arm"),
        real("damping", PAIR, DAMPING_UNIT, "simulated", "damping of the arm"),
        real("friction", PAIR, WRENCH, "simulated", "Coulomb friction of the device handle"),
        real("quantum", PAIR, "m and rad", "simulated", "encoder step; zero without quantization"),
        real("limit", PAIR, WRENCH, "simulated", "largest force or torque of the motors"),
        real("period", SCALAR, "s", "simulated", "period of the encoders"),
        real("delay", SCALAR, "s", "simulated", "time from a command until it acts"),
        real("loss", SCALAR, "-", "simulated", "fraction of samples that are lost"),
        real("patience", SCALAR, "s", "simulated", "age at which the device ends a force that is not renewed"),
        real("points", SCALAR, "-", "simulated", "points of the intended path"),
        real("axes", SIX, "-", "simulated", "1 for each axis and angle that the device has"),
    ),
)
SIMULATED_MEMORY = MemoryRegion(
    "SimulatedMemory",
    "Memory of a simulated device.",
    ("waiting",),
    (
        real("now", SCALAR, "s", "simulated_device", "time of the state"),
        real("tick", SCALAR, "-", "simulated_device", "number of the next tick of the encoders"),
        real("x", SIX, "m and rad", "simulated_device", "position and angles of the device handle"),
        real("v", SIX, RATES, "simulated_device", "their rates"),
        real("effort", SIX, WRENCH, "simulated_device", "present forces and torques of the motors"),
        Room("last", DEVICE_SAMPLE, ()),
        real("renewed", SCALAR, "s", "simulated_device", "time of the last command"),
        real("seed", SCALAR, "-", "simulated_device", "state of the random numbers"),
        real("pending", SCALAR, "-", "simulated_device", "number of commands that do not act yet"),
        real("queue", ("waiting", "7"), "s and SI", "simulated_device", "these commands: time of effect, efforts"),
    ),
)
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
        real("period", SCALAR, "s", "loop", "period T of the ticks"),
        real("power", SCALAR, "W", "loop", "largest power given to the operator"),
        real("reach", SCALAR, "m", "loop", "half the width of the workspace"),
        real("stale", SCALAR, "s", "loop", "age at which a sample is too old"),
        real("ramp_down", SCALAR, "s", "loop", "time in which a force ends"),
        real("ramp_up", SCALAR, "s", "loop", "time in which forces reach their full size"),
        real("missed", SCALAR, "-", "loop", "missed ticks in a row that are allowed"),
        real("lead", SCALAR, "-", "loop", "fraction of the age of samples that is compensated"),
        real("delay", SCALAR, "s", "loop", "time from a command to its force"),
        real("scale", PAIR, "-", "loop", "motion of the proxy per motion of the device handle"),
        real("force_scale", PAIR, "-", "loop", "wrench on the operator per wrench of the coupler"),
        real("largest", PAIR, WRENCH, "loop", "largest force and torque on the operator"),
        real("slew", PAIR, "N/s and N m/s", "loop", "largest rate of change of force and torque"),
        real("fast", PAIR, RATES, "loop", "speed above which the operator feels damping only"),
        real("leap", PAIR, RATES, "loop", "speed above which a sample is invalid"),
        real("brake", PAIR, DAMPING_UNIT, "loop", "largest damping of the passivity controller"),
        real("crawl", PAIR, RATES, "loop", "speed of one encoder step in a tick"),
        real("tolerance", PAIR, WRENCH, "loop", "largest error of a predicted pull; -inf without prediction"),
        real("axes", SIX, "-", "loop", "1 for each axis of force and torque that is coupled"),
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
        real("force", THREE, "N", "tick", "force written to the device"),
        real("torque", THREE, "N m", "tick", "torque written to the device"),
        real("pull", SIX, WRENCH, "tick", "wrench of the coupler on the mechanism"),
        real("proxy", SEVEN, POSE, "tick", "pose of the proxy"),
        real("handle", SEVEN, POSE, "tick", "pose of the handle at the start of the tick"),
        real("rates", SIX, RATES, "tick", "rates of the proxy"),
        real("stiffness", PAIR, STIFFNESS_UNIT, "tick", "stiffness of the coupler"),
        real("damping", PAIR, DAMPING_UNIT, "tick", "damping of the coupler"),
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
        real("force", THREE, "N", "tick", "force written to the device"),
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
        real("coupler", SCALAR, "J", "passive_midpoint", "work of the coupler"),
        real("other", SCALAR, "J", "passive_midpoint", "work of loads without a potential"),
        real("owed", SCALAR, "J", "passive_midpoint", "energy gained beyond the work, which later steps remove"),
        real("kinetic", SCALAR, "J", "passive_midpoint", "kinetic energy"),
        real("potential", SCALAR, "J", "passive_midpoint", "potential energy"),
        real("known", SCALAR, "-", "passive_midpoint", "1 if these energies belong to the state"),
        real("lost", SCALAR, "J", "passive_midpoint", "energy lost in transitions"),
    ),
    whole=True,
)
MIDPOINT_TERMS = MemoryRegion(
    "MidpointTerms",
    'Outputs of the program "passive 0", at the middle of a step.',
    ("n", "m"),
    (
        real("M", ("n * (n + 1) // 2",), "kg, kg m, kg m^2", "passive 0", "lower triangle of the mass matrix, by rows"),
        real("C", ("n", "n"), "kg/s", "passive 0", "Coriolis matrix, C + C^T = dM/dt"),
        real("h", ("n",), "N or N m", "passive 0", "C u + g less all other loads"),
        real("g", ("n",), "N or N m", "passive 0", "gradient of the potential energy along the speeds"),
        real("J", ("6", "n"), "m or 1", "passive 0", "rates of the handle per speed"),
        real("v_t", SIX, RATES, "passive 0", "rates of the handle without speeds"),
        real("A", ("m", "n"), "m or 1", "passive 0", "coefficients of the constraint rows"),
    ),
    whole=True,
)
STEP_END_TERMS = MemoryRegion(
    "StepEndTerms",
    'Outputs of the program "passive 1", at the end of a step.',
    ("n", "m"),
    (
        real("M", ("n * (n + 1) // 2",), "kg, kg m, kg m^2", "passive 1", "lower triangle of the mass matrix, by rows"),
        real("potential", SCALAR, "J", "passive 1", "potential energy"),
        real("place", ("12",), "m and -", "passive 1", "position of the handle, and its rotation matrix by rows"),
        real("A", ("m", "n"), "m or 1", "passive 1", "coefficients of the constraint rows"),
    ),
    whole=True,
)
PRESCRIBED_TERMS = MemoryRegion(
    "PrescribedTerms",
    'Outputs of the program "rigid" for inverse dynamics.',
    ("n", "nq"),
    (
        real("position", ("n",), "m or rad", "rigid", "position of the handle along its axes, then residuals"),
        real("C", ("n", "n"), "m or 1", "rigid", "rates of the handle and of the constraint rows per speed"),
        real("r", ("n",), "m/s^2 or rad/s^2", "rigid", "accelerations of these rows without udot"),
        real("M", ("n * (n + 1) // 2",), "kg, kg m, kg m^2", "rigid", "lower triangle of the mass matrix, by rows"),
        real("h", ("n",), "N or N m", "rigid", "velocity terms and loads, M udot + h = C^T f"),
        real("rates", ("nq",), "m/s or rad/s", "rigid", "dq/dt"),
    ),
    whole=True,
)
FOLLOWER = MemoryRegion(
    "Follower",
    "Point y that follows the proxy smoothly.",
    (),
    (
        real("y", THREE, "m", "prescribed_motion", "position"),
        real("rate", THREE, "m/s", "prescribed_motion", "velocity"),
        real("acceleration", THREE, "m/s^2", "prescribed_motion", "acceleration"),
        real("proxy", THREE, "m", "prescribed_motion", "last position of the proxy"),
    ),
    whole=True,
)
