"""Simulated device, moved by a simulated operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from kane.deferred import dataclass
from kane.engine.memory.devices import SIMULATED_SETTINGS
from kane.engine.memory.fill import filled
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import device_sample_at, simulated_memory_at, simulated_memory_size
from kane.engine.realtime.simulated_device import LONGEST_QUEUE, MODULUS, read_simulated, write_simulated
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number, numbers, whole
from kane.haptics.devices.device import TURNING, Channel, Device, Traits

# Largest delay in periods; delayed forces are stored in a ring buffer of this size.
LONGEST_DELAY = 200
NOTHING = np.zeros(3)
# Traits of translations.
PUSHING = ("rate", "mass", "damping", "friction", "quantum", "delay", "force", "reach", "axes", "measures_force", "lag")
# Factor that separates the first random numbers of neighbouring seeds.
SCATTER = 742_938_285


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

    def push(
        self, t: float, force: Vector = NOTHING, torque: Vector = NOTHING, *, position: Vector | None = None
    ) -> None:
        """Write a force [N] and torque [N m], or a position [m], at time t [s]."""
        moves = position is not None
        self._call(self.write, np.array([t, *force, *torque, *(NOTHING if position is None else position), moves]))


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
        measures_force: whether the device is an admittance display with a force sensor and a position servo. It then
            moves to commanded positions and holds its handle without them. Damping and friction have no effect, and
            ``force`` is the largest force of the sensor.
        lag: time constant h of the position servo, h x' = r - x [s]; its reference r reaches a command within a tick.
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
    measures_force: bool = False
    lag: float = 0.0
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
        axes = [axis in self.axes for axis in "xyz"] + [axis in self.turns for axis in "xyz"]
        settings = filled(
            SIMULATED_SETTINGS,
            mass=(self.mass + arm.mass, self.inertia + arm.inertia),
            viscous=(self.damping, self.turning_damping),
            stiffness=(arm.stiffness, arm.turning_stiffness),
            damping=(arm.damping, arm.turning_damping),
            friction=(self.friction, self.turning_friction),
            quantum=(self.quantum, self.turning_quantum),
            limit=(self.force, self.torque),
            period=1.0 / self.rate,
            delay=self.delay,
            loss=self.loss,
            patience=self.patience,
            points=len(rows),
            axes=axes,
            lag=self.lag,
        ).view(np.float64)
        memory = np.zeros(simulated_memory_size(LONGEST_QUEUE))
        view = simulated_memory_at(memory, 0, LONGEST_QUEUE)
        view.seed[0] = float((1 + self.seed % (MODULUS - 1)) * SCATTER % MODULUS)
        device_sample_at(memory, view.last).orientation[0] = 1.0
        if len(rows):
            view.x[:] = rows[0, 1:] * axes
        view.reference[:] = view.x[:3]
        table = np.ascontiguousarray(rows).ravel()
        return SimulatedChannel(read_simulated(), write_simulated(), table, settings, memory)
