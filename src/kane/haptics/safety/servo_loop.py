"""Mass and damper rendered by a device that measures force: exact eigenvalues of the sampled loop with an arm.

In tick k the device measures the force F_k of the arm. The mass moves under F_k - b v until the next tick, and its
position p_(k+1) there is commanded at once. The device follows with the delay td and a first-order lag:

    m v' + b v = F_k,    h x' = r(t - td) - x,    F = -(k x + c x' + m_a x'').

The reference r is at p_k at the time k T, and moves along a straight line to the next command within T.
"""

from __future__ import annotations

import math

import numpy as np

from kane.array_types import Array
from kane.deferred import dataclass
from kane.haptics.safety.sampled_loop import BISECTION_TOLERANCE, SampledLoop

# Factor between tested dampings, and smallest damping relative to the stiffness times the delay that is tested.
DAMPING_SCAN_FACTOR, LEAST_TESTED = 1.05, 1e-4


@dataclass(frozen=True)
class ServoLoop:
    """Arm on a device that displays a mass m with a damper b.

    Attributes:
        mass: m [kg].
        period, delay, lag: T, td and h of the device [s].
        arm: k [N/m], c [N s/m] and m_a [kg] of the arm; its mass contains the device handle on the sensor.
    """

    mass: float
    period: float
    delay: float
    lag: float
    arm: tuple[float, float, float]

    @property
    def late(self) -> int:
        """Number of whole samples in the delay."""
        return SampledLoop(self.mass, 0.0, self.period, self.delay).late

    @property
    def part(self) -> float:
        """Remainder of the delay, less than one sample [s]."""
        return SampledLoop(self.mass, 0.0, self.period, self.delay).part

    @property
    def age(self) -> float:
        """Delay D from a force to the measured position that it causes, at constant speed [s]."""
        return 0.5 * self.period + self.delay + self.lag

    def followed(self) -> tuple[Array, Array, Array]:
        """Return x after a sample, and x' and x'' before it, from x and the last three reached commands, (4,) each.

        The commands are u_(j-2), u_(j-1) and u_j of j = k - late. The reference is between the first two for ``part``.
        """
        T, h, (x, before, last, new) = self.period, self.lag, np.eye(4)
        slope, at = (last - before) / T, last - self.part / T * (last - before)
        rate = (at - x) / h
        acceleration = (slope - rate) / h
        for steady, seconds in ((slope, self.part), ((new - last) / T, T - self.part)):
            x = at + (seconds - h) * steady + (x - at + h * steady) * math.exp(-seconds / h)
            at = at + seconds * steady
        return x, rate, acceleration

    def moved(self, damping: float) -> tuple[Array, Array]:
        """Return the one-sample transition matrix of [p, v], and their change per force."""
        free, taken = SampledLoop(self.mass, damping, self.period, 0.0).pushed()
        return free, taken[:, 0]

    def servo_matrix(self, damping: float) -> Array:
        """Return the exact transition matrix of [p, v, x, earlier commands] over one sample."""
        late, (k, c, m) = self.late, self.arm
        size = 5 + late
        (free, push), (x, rate, acceleration) = self.moved(damping), self.followed()
        A, place = np.zeros((size, size)), np.eye(size)
        A[:2, :2] = free
        given = np.stack([place[2], place[4 + late], place[3 + late], place[2 + late]])
        A[:2] -= np.outer(push, k * place[2] + (c * rate + m * acceleration) @ given)
        A[3] = A[0]
        A[4:, 3:-1] = np.eye(1 + late)
        given[3] = A[3] if late == 0 else given[3]
        A[2] = x @ given
        return A

    def is_stable(self, damping: float) -> bool:
        """Check whether all eigenvalues are inside the unit circle."""
        return bool(np.abs(np.linalg.eigvals(self.servo_matrix(damping))).max() < 1.0)

    @property
    def any_spring(self) -> float:
        """Return k D/2 + sqrt((k D/2)^2 + k m), from which on no spring up to k can shake the loop.

        Let G be the response of x_k to F_k. By the circle criterion, the loop is stable with every force from 0 to k x
        against the displacement if Re G > -1/k. The force may change with time in any way. At frequency zero Re G is
        -(m/b + D)/b. It was nowhere smaller in the devices that tests try; this is not proved. Mass and damping of the
        arm are not considered.

        Source: Jury & Lee 1964.
        """
        half = 0.5 * self.arm[0] * self.age
        return half + math.sqrt(half * half + self.arm[0] * self.mass)

    @property
    def least_stable(self) -> float:
        """Return the smallest damping from which on the loop is stable; zero if it is stable with any damping."""
        unit = self.arm[0] * self.age
        high = self.any_spring
        while not self.is_stable(high):
            high *= 2.0
        low = 4.0 * high
        while self.is_stable(low):
            low, high = low / DAMPING_SCAN_FACTOR, low
            if low < LEAST_TESTED * unit:
                return 0.0
        while high - low > BISECTION_TOLERANCE * high:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.is_stable(middle) else (middle, high)
        return high
