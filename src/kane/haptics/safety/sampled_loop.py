"""Spring and damper rendered by a computer through a device: exact eigenvalues of the sampled loop, and passivity.

The device handle moves by m x'' + b x' = -F. The wall computes F_k = K x_k + B (x_k - x_(k-1))/T with x_k = x(k T).
F_k acts from k T + td to (k + 1) T + td: a zero-order hold with the delay td. A wall with a lead uses the extrapolated
position x_k + lead (x_k - x_(k-1))/T, which increases its damping to B + K lead.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial.chebyshev import chebder, chebroots, chebtrim, chebval

from kane.array_types import Array
from kane.deferred import dataclass

# Grid of w T for Llewellyn's criterion; its first point represents the limit at 0.
FREQUENCIES = np.concatenate([np.geomspace(1e-4, 1e-2, 100), np.linspace(1e-2, 1.0, 4000)]) * math.pi
# Factor between tested stiffnesses, and relative width at which the bisection ends.
STIFFNESS_SCAN_FACTOR, BISECTION_TOLERANCE = 1.05, 1e-9
# Relative size below which trailing coefficients of a derivative are dropped before its roots are computed. Dropping
# them changes a minimum by 1e-18. Rounding errors, divided by 1e-9, move a root by 2e-7.
TRAILING_COEFFICIENT_CUTOFF = 1e-9
# Number of stiffnesses tested up to the passive limit if the damping depends on the stiffness (lead > 0).
STIFFNESS_PARTS = 40


@dataclass(frozen=True)
class SampledLoop:
    """Device handle at a rendered wall.

    Attributes:
        mass, damping: m [kg] and b [N s/m] of the device handle.
        period: T [s].
        delay: td [s].
        lead: time by which the wall extrapolates the position [s].
    """

    mass: float
    damping: float
    period: float
    delay: float
    lead: float = 0.0

    def matrix(self, stiffness: float, damping: float) -> Array:
        """Return the exact transition matrix of [x, v, x one sample ago, earlier forces] over one sample."""
        damping += stiffness * self.lead
        T, late = self.period, self.late
        free, pushed = self.pushed()
        size = 4 + late
        force = np.zeros((late + 2, size))  # F of this sample, of the one before, ...
        force[0, 0], force[0, 2] = stiffness + damping / T, -damping / T
        force[1:, 3:] = np.eye(late + 1)
        A = np.zeros((size, size))
        A[:2, :2] = free
        A[:2] -= pushed @ force
        A[2, 0] = 1.0
        A[3:] = force[: late + 1]
        return A

    @property
    def late(self) -> int:
        """Number of whole samples in the delay."""
        return int(self.delay / self.period + 1e-9)

    @property
    def part(self) -> float:
        """Remainder of the delay, less than one sample [s]."""
        return max(0.0, self.delay - self.late * self.period)

    def pushed(self) -> tuple[Array, Array]:
        """Return the one-sample transition matrix of [x, v], and the decrease of [x, v] per force, newest first."""
        part = self.part
        before, push_before = self._free(part)
        after, push_after = self._free(self.period - part)
        taken = np.zeros((2, self.late + 2))
        taken[:, self.late], taken[:, self.late + 1] = push_after, after @ push_before
        return after @ before, taken

    def _free(self, h: float) -> tuple[Array, Array]:
        """Return the transition matrix of [x, v] without force over h seconds, and the effect of a constant force."""
        m, b = self.mass, self.damping
        s = b * h / m
        if s < 1e-6:  # series, because rounding errors dominate the closed form here
            fall = h * (1 - s / 2)
            return np.array([[1.0, fall], [0.0, 1 - s + s * s / 2]]), np.array([h * h / m * (0.5 - s / 6), fall / m])
        lost = -math.expm1(-s)
        return np.array([[1.0, m / b * lost], [0.0, 1 - lost]]), np.array([(h - m / b * lost) / b, lost / b])

    def is_stable(self, stiffness: float, damping: float) -> bool:
        """Check whether all eigenvalues are inside the unit circle."""
        return bool(np.abs(np.linalg.eigvals(self.matrix(stiffness, damping))).max() < 1.0)

    def rule(self, damping: float) -> float:
        """Return K = (b + B)/(T/2 + td), the stability limit for a large mass or a short sample time [N/m].

        Source: Gil, Avello, Rubio & Florez 2004; Hulin, Preusche & Hirzinger 2006.
        """
        return (self.damping + damping) / (self.period / 2 + self.delay)

    def largest_stable(self, damping: float) -> float:
        """Return the largest K for which the loop is stable with this B [N/m]; zero if it is never stable."""
        low = 1e-3 * self.rule(damping)
        if low == 0.0 or not self.is_stable(low, damping):
            return 0.0
        while self.is_stable(STIFFNESS_SCAN_FACTOR * low, damping):
            low *= STIFFNESS_SCAN_FACTOR
        high = STIFFNESS_SCAN_FACTOR * low
        while high - low > BISECTION_TOLERANCE * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.is_stable(middle, damping) else (low, middle)
        return low

    def largest_passive(self, damping: float) -> float:
        """Return the largest K for which no passive operator draws energy from the wall [N/m]; zero if B is too large.

        Let td = (k + f) T with 0 <= f < 1 and H = K + B (1 - e^(-jwT))/T. The exact condition for 0 <= w <= pi/T is

            b > T/2 / (1 - cos wT) Re{(1 - e^(-jwT)) H e^(-jkwT) (1 - f + f e^(-jwT))} + f (1 - f) T^2 |H|^2 / (4 b).

        It means that b int v^2 dt + sum F_k (x(kT + T + td) - x(kT + td)) is positive for every motion. For given
        x(kT) and x(kT + td), motions with constant velocity in between lose the least energy to b. For f = 0 this is
        the condition of Colgate and Schenkel; for td = 0 it reads b > K T/2 + |B|.

        The condition is a polynomial in cos wT, so that its minimum is at a root of its derivative or at an end. At one
        w it holds for an interval of K, which is reduced at the worst w until the condition holds at all w.

        Source: Colgate & Schenkel 1997.
        """
        if self.damping == 0.0:
            return 0.0
        rows = self._passivity(damping / self.damping)
        if _least(rows[0])[1] < 0.0:
            return 0.0
        ratio, cut = math.inf, 1.0  # K T/(2 b), at most 1: the mean of the condition over all w demands it
        while cut < ratio * (1.0 - BISECTION_TOLERANCE):
            ratio = cut
            x, least = _least(rows[0] + ratio * (rows[1] + ratio * rows[2]))
            if least < 0.0:
                alone, linear, square = (float(chebval(x, row)) for row in rows)
                cut = 2.0 * alone / (math.sqrt(linear * linear - 4.0 * alone * square) - linear)
        return 2.0 * self.damping / self.period * cut

    def _passivity(self, damper: float) -> Array:
        """Return Chebyshev coefficients, in cos wT, of the passivity condition, (3, k + 3).

        Row i is multiplied by (K T/(2 b))^i. The condition holds if the sum is not negative.

        Args:
            damper: B/b.
        """
        k, part, lead = self.late, self.part / self.period, 2.0 * self.lead / self.period
        rows, spring, shift, slow = np.zeros((3, k + 3)), np.zeros(k + 3), np.zeros(k + 3), np.zeros(k + 3)
        spring[0], spring[1 : k + 1], spring[k + 1] = 0.5, 1.0, part
        shift[k + 1], shift[k + 2] = 1.0 - part, part
        slow[:2] = 1.0, -1.0
        mixed = part * (1.0 - part)
        rows[0] = damper * shift - mixed * damper**2 / 2.0 * slow
        rows[0, 0] += 1.0
        rows[1] = lead * shift - 2.0 * spring - mixed * damper * (1.0 + lead) * slow
        rows[2] = -mixed * lead * (1.0 + lead / 2.0) * slow
        rows[2, 0] -= mixed
        return rows

    def largest_unconditional(self, damping: float) -> float:
        """Return the largest K for which device and coupler are stable with any passive operator and environment [N/m].

        Llewellyn's criterion treats the hold as a filter, which is wrong near half the sample rate. A fixed wall is a
        passive environment, for which Colgate and Schenkel's condition is exact. The smaller limit is returned.
        """
        passive = self.largest_passive(damping)
        if self.lead == 0.0:
            return min(self.llewellyn(damping), passive)
        found = 0.0
        # Each stiffness K has its own damping, B + K lead.
        for stiffness in passive * np.arange(1, STIFFNESS_PARTS + 1) / STIFFNESS_PARTS:
            if stiffness > self.llewellyn(damping + stiffness * self.lead):
                break
            found = float(stiffness)
        return found

    def llewellyn(self, damping: float) -> float:
        """Return the largest K for which Llewellyn's criterion holds [N/m].

        For the two-port [[Z_d, Z], [-1, 1/Z_c]] of an impedance display it reads Re 1/Z_c >= |Z| (1 - cos arg Z)/(2 b).
        The minimum of Re Z_d is b, and Z = (1 + e^(-jwT))/2 e^(-jw td) is the hold. The coupler is a spring and damper
        with sampled positions, Z_c = K T/2 (z + 1)/(z - 1) + B (z + 1)/(2 z).

        Source: Adams & Hannaford 1999.
        """
        z = np.exp(1j * FREQUENCIES[:-1])
        hold = (1 + 1 / z) / 2 * z ** (-self.delay / self.period)
        if self.damping == 0.0 or damping == 0.0:
            return 0.0
        least = (np.abs(hold) - hold.real) / (2 * self.damping)
        spring, damper = self.period / 2 * ((z + 1) / (z - 1)).imag, damping * (z + 1) / (2 * z)
        # Re 1/Z_c = Re Z_c / |Z_c|^2 with Z_c = damper + j K spring, so |Z_c| must not exceed sqrt(Re Z_c / least).
        room = damper.real / np.maximum(least, 1e-300) - damper.real**2
        if (room < damper.imag**2 * (1 - 1e-12)).any():
            return 0.0
        return float(((np.sqrt(room) + np.sign(spring) * -damper.imag) / np.abs(spring)).min())


def _least(coefficients: Array) -> tuple[float, float]:
    """Return the minimizer of a Chebyshev series on [-1, 1], and the minimum."""
    slope = chebder(coefficients)
    roots = chebroots(chebtrim(slope, TRAILING_COEFFICIENT_CUTOFF * np.abs(slope).max()))
    x = np.concatenate([[-1.0, 1.0], np.clip(roots.real, -1.0, 1.0)])  # real parts of complex roots do no harm
    values = chebval(x, coefficients)
    return float(x[values.argmin()]), float(values.min())
