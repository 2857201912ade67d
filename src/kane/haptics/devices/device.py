"""The contract that every device fulfils."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.arguments import number
from kane.haptics.system_calls import NATIVE_PROGRAM
from kane.native.arrays import Vector
from kane.native.haptics.sample import COMMAND, SAMPLE

# What of a device is about turning it; a device that does not turn has none of it.
TURNING = ("inertia", "turning_damping", "turning_friction", "turning_quantum", "torque")


def require_axes(value: Any, what: str, *, some: bool) -> None:
    """Refuse what is not some of "xyz", each at most once; ``some``: whether there must be one.

    Raises:
        ModelError: it is not.
    """
    if (
        not isinstance(value, str)
        or not set(value) <= set("xyz")
        or len(set(value)) < len(value)
        or (some and not value)
    ):
        raise ModelError(f"{what} are some of 'xyz', not {shown(value)}")


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What is known of a device, as far as a coupler depends on it.

    Attributes:
        rate: samples a second [Hz].
        mass: of the handle as it is felt [kg].
        damping: of the handle, viscous [N s/m].
        friction: of the handle, Coulomb's [N].
        quantum: one step of its encoders as the handle sees it [m].
        delay: from the position that is read to the force that answers, beyond the hold of one sample [s].
        force: the largest it can give [N].
        reach: no position lies farther than this from the middle of its workspace, on any axis [m].
        axes: of the ground, along which it can push: some of "xyz".
        turns: axes of the ground about which it can turn: some of "xyz", none unless given.
        inertia, turning_damping, turning_friction, turning_quantum, torque: as mass, damping, friction, quantum and
            force, about each of these axes [kg m^2], [N m s/rad], [N m], [rad], [N m].
        pushes: whether the hand feels the force; a device that only shows it bears any coupler.
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

    def __post_init__(self) -> None:
        for word in ("rate", "mass", "force", "reach"):
            if not number(getattr(self, word), f"{word} of a device") > 0.0:
                raise ModelError(f"{word} of a device must be positive, not {getattr(self, word)!r}")
        for word in ("damping", "friction", "quantum", "delay", *TURNING):
            if not number(getattr(self, word), f"{word} of a device") >= 0.0:
                raise ModelError(f"{word} of a device must not be negative: {getattr(self, word)!r}")
        require_axes(self.axes, "the axes of a device", some=True)
        require_axes(self.turns, "the turns of a device", some=False)
        turning = [word for word in TURNING if getattr(self, word)]
        if not {"inertia", "torque"} <= set(turning) if self.turns else turning:
            raise ModelError(
                f"a device has turns={self.turns!r} and {', '.join(turning) or 'neither inertia nor torque'}; one that "
                "turns needs turns=, such as 'xyz', inertia= and torque=, and one that does not turn takes none "
                "of these"
            )

    @property
    def period(self) -> float:
        """Of its samples [s]."""
        return 1.0 / self.rate


@dataclass(frozen=True)
class Channel:
    """A device that is open: two native programs and their arrays, see ``kane.native.haptics.sample``.

    Attributes:
        read, write: addresses of the programs.
        table: what both are given as ``rest``.
        settings: as ``stage``.
        memory: as ``work``.
    """

    read: int
    write: int
    table: Vector
    settings: Vector
    memory: Vector
    _out: Vector = field(default_factory=lambda: np.zeros(SAMPLE), repr=False)

    def sample(self, t: float) -> Vector:
        """The last sample at time t [s], (SAMPLE,)."""
        self._call(self.read, np.array([t]))
        return self._out.copy()

    def release(self, t: float) -> None:
        """Write no force and no torque at time t [s]. Other forces come from the loop alone, behind its clamp."""
        self._call(self.write, np.array([t, *np.zeros(COMMAND - 1)]))

    def _call(self, address: int, state: Vector) -> None:
        arrays = (state, self.table, self.settings, self._out, self.memory)
        NATIVE_PROGRAM(address)(*(array.ctypes.data for array in arrays))


class Device(ABC):
    """A haptic device: it says where its handle is, and applies a force to it (impedance display)."""

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What is known of it."""

    @abstractmethod
    def open(self) -> Channel:
        """Begin to use it."""

    def begin(self) -> Channel:
        """Begin to use it in a session, alone.

        Raises:
            ModelError: another session uses it.
        """
        if vars(self).get("_in_use"):
            raise ModelError(f"another session uses this {type(self).__name__}; close that first")
        channel = self.open()
        vars(self)["_in_use"] = True
        return channel

    def end(self, channel: Channel, t: float) -> None:
        """End to use it: a last force of zero at time t [s]."""
        channel.release(t)
        vars(self)["_in_use"] = False
