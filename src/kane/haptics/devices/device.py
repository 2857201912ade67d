"""Common interface of all devices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from typing import Any

import numpy as np

from kane.deferred import dataclass
from kane.engine.memory.devices import DEVICE_SAMPLE
from kane.engine.memory.fill import record_dtype
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import device_command_size, device_sample_size
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number, require
from kane.haptics.system_calls import NATIVE_PROGRAM

# Traits of rotations; all are zero for a device that does not turn.
TURNING = ("inertia", "turning_damping", "turning_friction", "turning_quantum", "torque")


def require_axes(value: Any, what: str, *, some: bool) -> None:
    """Raise unless the value contains letters of "xyz", each at most once, and at least one if ``some`` is True.

    Raises:
        ModelError: the value has another form.
    """
    if (
        not isinstance(value, str)
        or not set(value) <= set("xyz")
        or len(set(value)) < len(value)
        or (some and not value)
    ):
        raise ModelError(f"{what} must be some of 'xyz', not {shown(value)}")


@dataclass(frozen=True, kw_only=True)
class Traits:
    """Properties of a device on which a coupler depends.

    Attributes:
        rate: samples per second [Hz].
        mass: effective mass of the device handle [kg].
        damping: viscous damping of the device handle [N s/m].
        friction: Coulomb friction of the device handle [N].
        quantum: one encoder step at the device handle [m].
        delay: delay from a measured position to the resulting force, in addition to the hold of one sample [s].
        force: largest force [N].
        reach: largest distance of a position from the centre of the workspace along an axis [m].
        axes: axes of the ground along which the device can push: some of "xyz".
        turns: axes of the ground about which the device can turn: some of "xyz", empty by default.
        inertia, turning_damping, turning_friction, turning_quantum, torque: like mass, damping, friction, quantum and
            force, about each axis of ``turns`` [kg m^2], [N m s/rad], [N m], [rad], [N m].
        pushes: whether the operator feels the force; if it is only drawn, any coupler is stable.
        measures_force: whether the device measures the force of the operator and takes positions (admittance display).
            Then ``mass`` is the mass on the force sensor, ``delay`` the delay from a command to the motion of the
            device, and ``force`` the largest force that the sensor measures.
        lag: time constant of the first-order lag with which this device follows a position [s].
    """

    rate: float
    mass: float
    damping: float = 0.0
    friction: float = 0.0
    quantum: float = 0.0
    delay: float = 0.0
    force: float
    reach: float = 1.0
    axes: str = "xyz"
    turns: str = ""
    inertia: float = 0.0
    turning_damping: float = 0.0
    turning_friction: float = 0.0
    turning_quantum: float = 0.0
    torque: float = 0.0
    pushes: bool = True
    measures_force: bool = False
    lag: float = 0.0

    def __post_init__(self) -> None:
        for word in ("rate", "mass", "force", "reach"):
            if not number(getattr(self, word), f"{word} of a device") > 0.0:
                raise ModelError(f"{word} of a device must be positive, not {getattr(self, word)!r}")
        for word in ("damping", "friction", "quantum", "delay", "lag", *TURNING):
            if not number(getattr(self, word), f"{word} of a device") >= 0.0:
                raise ModelError(f"{word} of a device must not be negative: {getattr(self, word)!r}")
        require_axes(self.axes, "the axes of a device", some=True)
        require_axes(self.turns, "the turns of a device", some=False)
        require(self.measures_force, bool, "measures_force of a device takes True or False")
        if self.measures_force != (self.lag > 0.0):
            cure = "give the lag= of its position servo [s]" if self.measures_force else "give measures_force=True too"
            raise ModelError(f"a device has measures_force={self.measures_force} and lag={self.lag:g}; {cure}")
        if self.measures_force and self.turns:
            raise ModelError(f"a device that measures force displays no torques; leave out turns={self.turns!r}")
        turning = [word for word in TURNING if getattr(self, word)]
        if not {"inertia", "torque"} <= set(turning) if self.turns else turning:
            raise ModelError(
                f"a device has turns={self.turns!r} and {', '.join(turning) or 'neither inertia nor torque'}; give "
                "turns=, such as 'xyz', with inertia= and torque=, or leave out all traits of rotations"
            )

    @property
    def period(self) -> float:
        """Period of the samples [s]."""
        return 1.0 / self.rate


def require_pushed(traits: Traits, caller: str) -> None:
    """Raise if the device measures force.

    Raises:
        ModelError: the device measures force, so that a coupler cannot push it.
    """
    if traits.measures_force:
        raise ModelError(
            f"{caller} is for devices that apply a force, and this one measures force; use "
            "kane.haptics.admittance_limits"
        )


@dataclass(frozen=True)
class Channel:
    """Open device: two native programs and their arrays, see ``kane.engine.memory.devices``.

    Attributes:
        read, write: addresses of the programs.
        table: argument ``rest`` of both programs.
        settings: argument ``stage`` of both programs.
        memory: argument ``work`` of both programs.
    """

    read: int
    write: int
    table: Vector
    settings: Vector
    memory: Vector
    _out: Vector = field(default_factory=lambda: np.zeros(device_sample_size()), repr=False)

    def sample(self, t: float) -> Any:
        """Return the latest sample at time t [s], a record with the fields of ``DeviceSample``."""
        self._call(self.read, np.array([t]))
        return self._out.copy().view(record_dtype(DEVICE_SAMPLE))[0]

    def release(self, t: float) -> None:
        """Write zero force and torque at time t [s], or let the device hold its handle if it measures force.

        Only the loop writes other values, after clamping them.
        """
        self._call(self.write, np.array([t, *np.zeros(device_command_size() - 1)]))

    def _call(self, address: int, state: Vector) -> None:
        arrays = (state, self.table, self.settings, self._out, self.memory)
        NATIVE_PROGRAM(address)(*(array.ctypes.data for array in arrays))


class Device(ABC):
    """Haptic device, which measures the position of its handle and applies a force to it (impedance display).

    A device whose traits have ``measures_force`` also measures the force of the operator, and takes positions instead
    of forces (admittance display).
    """

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """Properties of the device."""

    @abstractmethod
    def open(self) -> Channel:
        """Open the device."""

    def begin(self) -> Channel:
        """Open the device for exclusive use by a session.

        Raises:
            ModelError: another session uses the device.
        """
        if vars(self).get("_in_use"):
            raise ModelError(f"another session uses this {type(self).__name__}; close that session first")
        channel = self.open()
        vars(self)["_in_use"] = True
        return channel

    def end(self, channel: Channel, t: float) -> None:
        """Release the device, with a last command of zero at time t [s]."""
        channel.release(t)
        vars(self)["_in_use"] = False
