"""A device made of numbers, in a hand made of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.arguments import number, numbers, whole
from kane.haptics.devices.device import Channel, Device, Traits
from kane.native.haptics import simulated as native

# Forces on their way are kept in a ring; so many periods of delay at most.
LONGEST_DELAY = 200


@final
@dataclass(frozen=True, kw_only=True)
class Arm:
    """A hand and arm that hold the handle: k (xi - x) + c (dxi/dt - dx/dt) pulls it along, and m moves with it.

    Attributes:
        mass: m [kg].
        damping: c [N s/m].
        stiffness: k [N/m].
        path: the intention xi(t): rows of a time [s] and a position [m], (t, x, y, z), straight in between, constant
            before and after. At the origin unless given.
    """

    mass: float = 0.0
    damping: float = 0.0
    stiffness: float = 0.0
    path: Sequence[Sequence[float]] = ()

    def __post_init__(self) -> None:
        for word in ("mass", "damping", "stiffness"):
            if not number(getattr(self, word), f"{word} of an arm") >= 0.0:
                raise ModelError(f"{word} of an arm must not be negative: {getattr(self, word)!r}")
        rows = self.rows
        if not (np.isfinite(rows).all() and (np.diff(rows[:, 0]) > 0.0).all()):
            raise ModelError("the path of an arm has rows (t, x, y, z) of finite numbers, with times that grow")

    @property
    def rows(self) -> np.ndarray:
        """The path, (points, 4)."""
        rows = numbers(self.path, "the path of an arm has rows (t, x, y, z)") if len(self.path) else np.zeros((0, 4))
        if rows.ndim != 2 or rows.shape[1] != 4:
            raise ModelError(f"the path of an arm has rows (t, x, y, z), not {shown(self.path)}")
        return rows


@final
@dataclass(frozen=True, kw_only=True)
class Simulated(Device):
    """A handle of three axes, a mass with viscous and dry friction on each, moved by its motors and by a hand.

    It ticks by its own clock: at each tick its encoders are read, and a force acts when its delay is over. Between
    these it moves as its equations say, to rounding. Whoever reads it at a time t finds it there: in simulated time it
    is exact and always the same, in real time it moves on with the clock.

    Attributes:
        rate: ticks a second [Hz].
        mass, damping, friction: of the handle [kg], [N s/m], [N]; friction acts on each axis by itself.
        quantum: step of the encoders [m]; none where zero.
        delay: from a force that is written until it acts [s].
        force: the motors give no more [N].
        reach: half the width of the workspace [m]; nothing stops the handle at its edge.
        loss: the part of samples that get lost, 0 to 1.
        patience: a force that is not renewed for so long ends [s]: the device's own watchdog.
        arm: that holds the handle; none unless given.
        seed: of the samples that get lost.
    """

    rate: float = 1000.0
    mass: float = 0.1
    damping: float = 0.1
    friction: float = 0.0
    quantum: float = 0.0
    delay: float = 0.0
    force: float = 10.0
    reach: float = 1.0
    loss: float = 0.0
    patience: float = 0.02
    arm: Arm | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        traits = self.traits
        if not 0.0 <= number(self.loss, "loss") < 1.0:
            raise ModelError(f"loss is the part of samples that get lost, from 0 to below 1, not {shown(self.loss)}")
        if not number(self.patience, "patience", "seconds") > 0.0:
            raise ModelError(f"patience must be positive, not {shown(self.patience)}")
        if traits.delay > LONGEST_DELAY * traits.period:
            raise ModelError(f"a delay of {traits.delay:g} s is more than {LONGEST_DELAY} samples; give a shorter one")
        if self.arm is not None and not isinstance(self.arm, Arm):
            raise ModelError(f"the arm is {shown(self.arm)}; give a kane.haptics.Arm(...)")
        whole(self.seed, "seed", 1)

    @property
    def traits(self) -> Traits:
        return Traits(
            rate=self.rate,
            mass=self.mass,
            damping=self.damping,
            friction=self.friction,
            quantum=self.quantum,
            delay=self.delay,
            force=self.force,
            reach=self.reach,
        )

    def open(self) -> Channel:
        arm = self.arm or Arm()
        rows = arm.rows
        settings, memory = np.zeros(native.SETTINGS), np.zeros(native.MEMORY)
        settings[native.MASS], settings[native.LOSS] = self.mass + arm.mass, self.damping
        settings[native.SPRING], settings[native.DAMPER] = arm.stiffness, arm.damping
        settings[native.FRICTION], settings[native.QUANTUM] = self.friction, self.quantum
        settings[native.TICKS], settings[native.LATE] = 1.0 / self.rate, self.delay
        settings[native.LIMIT], settings[native.PART] = self.force, self.loss
        settings[native.PATIENCE], settings[native.POINTS] = self.patience, len(rows)
        memory[native.SEED] = 1.0 + self.seed % (native.MODULUS - 1)
        if len(rows):
            memory[native.X : native.X + 3] = rows[0, 1:]
        return Channel(
            native.read_simulated(), native.write_simulated(), np.ascontiguousarray(rows).ravel(), settings, memory
        )
