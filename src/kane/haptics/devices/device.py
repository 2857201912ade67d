"""The contract that every device fulfils."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from kane.errors import ModelError
from kane.expression.arguments import number
from kane.native.arrays import Vector
from kane.native.haptics.sample import COMMAND, SAMPLE

_CODE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)


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
    """

    rate: float
    mass: float
    damping: float = 0.0
    friction: float = 0.0
    quantum: float = 0.0
    delay: float = 0.0
    force: float
    reach: float = 1.0

    def __post_init__(self) -> None:
        for word in ("rate", "mass", "force", "reach"):
            if not number(getattr(self, word), f"{word} of a device") > 0.0:
                raise ModelError(f"{word} of a device must be positive, not {getattr(self, word)!r}")
        for word in ("damping", "friction", "quantum", "delay"):
            if not number(getattr(self, word), f"{word} of a device") >= 0.0:
                raise ModelError(f"{word} of a device must not be negative: {getattr(self, word)!r}")

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

    def push(self, t: float, force: Vector, torque: Vector | None = None) -> None:
        """Write a force [N] and torque [N m] at time t [s]."""
        given = np.zeros(COMMAND)
        given[0], given[1:4] = t, force
        if torque is not None:
            given[4:] = torque
        self._call(self.write, given)

    def _call(self, address: int, state: Vector) -> None:
        arrays = (state, self.table, self.settings, self._out, self.memory)
        _CODE(address)(*(array.ctypes.data for array in arrays))


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
        channel.push(t, np.zeros(3))
        vars(self)["_in_use"] = False
