"""Simulated device, moved by a simulated operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kane.engine.memory.loop_arguments import Vector
from kane.engine.realtime import simulated_device as native
from kane.engine.realtime.device_sample import ORIENTATION
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number, numbers, whole
from kane.haptics.devices.device import TURNING, Channel, Device, Traits

# Largest delay in periods; delayed forces are stored in a ring buffer of this size.
LONGEST_DELAY = 200
# Traits of translations.
PUSHING = ("rate", "mass", "damping", "friction", "quantum", "delay", "force", "reach", "axes")


@final
@dataclass(frozen=True, kw_only=True)
class Arm:
    """Simulated hand and arm: they pull the device handle by k (xi - x) + c (dxi/dt - dx/dt), and add the mass m to it.

    Attributes:
        mass: m [kg].
        damping: c [N s/m].
        stiffness: k [N/m].
        path: intended motion xi(t): rows (t, x, y, z) [s, m], interpolated linearly, constant before and after; by
            default at the origin. For device handles that turn, rows (t, x, y, z, a, b, c) with three angles [rad],
            see ``Simulated``.
        inertia, turning_damping, turning_stiffness: corresponding values for each angle [kg m^2], [N m s/rad],
            [N m/rad].
    """

    mass: float = 0.0
    damping: float = 0.0
    stiffness: float = 0.0
    path: Sequence[Sequence[float]] = ()
    inertia: float = 0.0
    turning_damping: float = 0.0
    turning_stiffness: float = 0.0

    def __post_init__(self) -> None:
        for word in ("mass", "damping", "stiffness", "inertia", "turning_damping", "turning_stiffness"):
            if not number(getattr(self, word), f"{word} of an arm") >= 0.0:
                raise ModelError(f"{word} of an arm must not be negative: {getattr(self, word)!r}")
        rows = self.rows
        if not (np.isfinite(rows).all() and (np.diff(rows[:, 0]) > 0.0).all()):
            raise ModelError("the path of an arm must have rows of finite numbers with increasing times")

    @property
    def rows(self) -> np.ndarray:
        """Path with angles, (points, 7)."""
        wanted = "the path of an arm has rows (t, x, y, z) or (t, x, y, z, a, b, c)"
        rows = numbers(self.path, wanted) if len(self.path) else np.zeros((0, 7))
        if rows.ndim != 2 or rows.shape[1] not in (4, 7):
            raise ModelError(f"{wanted}, not {shown(self.path)}")
        return np.hstack([rows, np.zeros((len(rows), 7 - rows.shape[1]))])


@final
class SimulatedChannel(Channel):
    """Channel of a device without a real operator, so that forces may be written without the clamp of a session."""

    def push(self, t: float, force: Vector, torque: Vector | None = None) -> None:
        """Write a force [N] and torque [N m] at time t [s]."""
        self._call(self.write, np.array([t, *force, *(np.zeros(3) if torque is None else torque)]))


@final
@dataclass(frozen=True, kw_only=True)
class Simulated(Device):
    """Simulated device handle with up to six axes, with mass, viscous and dry friction, motors and an operator's arm.

    The device has its own clock: its encoders are read at each tick, and a force acts after its delay. In between, the
    motion is the exact solution of its equations, up to rounding. A read at time t returns the state at that time, so
    that runs in simulated time are reproducible.

    Attributes:
        rate: ticks per second [Hz].
        mass, damping, friction: properties of the device handle [kg], [N s/m], [N]; friction acts on each axis alone.
        quantum: encoder step [m]; zero means no quantization.
        delay: time from writing a force until it acts [s].
        force: largest force of the motors [N].
        reach: half the width of the workspace [m]; nothing stops the device handle at its edge.
        loss: fraction of samples that are lost, 0 to 1.
        patience: time after which a force ends unless it is renewed, by the device's own watchdog [s].
        arm: arm that holds the device handle; None by default.
        seed: seed for the choice of lost samples.
        axes: axes of translation: some of "xyz".
        turns: axes of rotation, empty by default. "z" with axes="xy" is a planar device, "xyz" one with six axes. The
            device turns by a gimbal with the angles a, b, c: R = R_x(a) R_y(b) R_z(c).
        inertia, turning_damping, turning_friction, turning_quantum, torque: properties of each angle, like mass,
            damping, friction, quantum and force [kg m^2], [N m s/rad], [N m], [rad], [N m].
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
    axes: str = "xyz"
    turns: str = ""
    inertia: float = 2e-4
    turning_damping: float = 2e-4
    turning_friction: float = 0.0
    turning_quantum: float = 0.0
    torque: float = 0.5

    def __post_init__(self) -> None:
        traits = self.traits
        if not 0.0 <= number(self.loss, "loss") < 1.0:
            raise ModelError(f"loss is the fraction of lost samples, from 0 to below 1, not {shown(self.loss)}")
        if not number(self.patience, "patience", "seconds") > 0.0:
            raise ModelError(f"patience must be positive, not {shown(self.patience)}")
        if traits.delay > LONGEST_DELAY * traits.period:
            raise ModelError(f"a delay of {traits.delay:g} s is more than {LONGEST_DELAY} samples; give a shorter one")
        if self.arm is not None and not isinstance(self.arm, Arm):
            raise ModelError(f"the arm is {shown(self.arm)}; give a kane.haptics.Arm(...)")
        whole(self.seed, "seed", 1)

    @property
    def traits(self) -> Traits:
        turning = {word: getattr(self, word) for word in TURNING} if self.turns else {}
        return Traits(**{word: getattr(self, word) for word in PUSHING}, turns=self.turns, **turning)

    def open(self) -> SimulatedChannel:
        arm = self.arm or Arm()
        rows = arm.rows
        settings, memory = np.zeros(native.SETTINGS), np.zeros(native.MEMORY)
        of_forces = (
            self.mass + arm.mass,
            self.damping,
            arm.stiffness,
            arm.damping,
            self.friction,
            self.quantum,
            self.force,
        )
        of_torques = self.inertia + arm.inertia, self.turning_damping, arm.turning_stiffness, arm.turning_damping
        settings[: native.AXIS] = of_forces
        settings[native.AXIS : native.TICKS] = *of_torques, self.turning_friction, self.turning_quantum, self.torque
        settings[native.TICKS : native.AXES] = 1.0 / self.rate, self.delay, self.loss, self.patience, len(rows)
        settings[native.AXES :] = [axis in self.axes for axis in "xyz"] + [axis in self.turns for axis in "xyz"]
        memory[native.SEED] = 1.0 + self.seed % (native.MODULUS - 1)
        memory[native.LAST + ORIENTATION] = 1.0
        if len(rows):
            memory[native.X : native.X + 6] = rows[0, 1:] * settings[native.AXES :]
        return SimulatedChannel(
            native.read_simulated(), native.write_simulated(), np.ascontiguousarray(rows).ravel(), settings, memory
        )
