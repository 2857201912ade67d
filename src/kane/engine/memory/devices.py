"""Regions of the haptic devices that the loop calls.

A device is two programs, "read" and "write", so that the loop calls it by addresses, without Python.
"""

from __future__ import annotations

from kane.engine.memory.declare import MemoryRegion, Room, integer, real

# Units of poses, rates, wrenches, stiffnesses and dampings, see ``kane.engine.memory.realtime``.
POSE, RATES, WRENCH = "m and -", "m/s and rad/s", "N and N m"
STIFFNESS_UNIT, DAMPING_UNIT = "N/m and N m/rad", "N s/m and N m s/rad"
# Writers of samples.
DEVICES = "simulated_device, shared_slot, pointer_device, recorded_device"
SCALAR, PAIR, THREE, FOUR, SIX, SEVEN = ("1",), ("2",), ("3",), ("4",), ("6",), ("7",)

DEVICE_SAMPLE = MemoryRegion(
    "DeviceSample",
    "Sample, output of the program read of a device: state = [t], rest = table, stage = settings, work = memory.",
    (),
    (
        real("sequence", SCALAR, "-", DEVICES, "number of the sample, which grows with each new one"),
        real("measured", SCALAR, "s", DEVICES, "time of the measurement on the clock of the loop"),
        real("position", THREE, "m", DEVICES, "position of the device handle"),
        real("orientation", FOUR, "-", DEVICES, "orientation of the device handle, a unit quaternion"),
        real("buttons", SCALAR, "-", DEVICES, "pressed buttons as bits of a whole number"),
        real("force", THREE, "N", DEVICES, "measured force of the operator on the device handle, or zero"),
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
        real("position", THREE, "m", "tick", "position that a device which measures force takes"),
        real("moves", SCALAR, "-", "tick", "1 if it takes this position; 0 if it holds its handle where it is"),
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
        real("lag", SCALAR, "s", "simulated", "time constant of the position servo; zero for a device that is pushed"),
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
        real("reference", THREE, "m", "simulated_device", "position that the servo follows"),
        real("slope", THREE, "m/s", "simulated_device", "its rate"),
        real("arrives", SCALAR, "s", "simulated_device", "time at which the reference is at the commanded position"),
        real("moves", SCALAR, "-", "simulated_device", "1 if the servo moves; 0 if it holds the device handle"),
        real("acceleration", THREE, "m/s^2", "simulated_device", "acceleration of the device handle on the servo"),
        Room("last", DEVICE_SAMPLE, ()),
        real("renewed", SCALAR, "s", "simulated_device", "time of the last command"),
        real("seed", SCALAR, "-", "simulated_device", "state of the random numbers"),
        real("pending", SCALAR, "-", "simulated_device", "number of commands that do not act yet"),
        real("queue", ("waiting", "7"), "s and SI", "simulated_device", "these commands: time of effect, efforts"),
    ),
)
