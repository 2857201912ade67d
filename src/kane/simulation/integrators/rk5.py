"""Runge-Kutta method of order 5(4) of Dormand and Prince."""

from __future__ import annotations

import math
from typing import ClassVar

from kane.deferred import dataclass
from kane.simulation.integrators.explicit import Adaptive, Tableau

TABLEAU = Tableau(
    nodes=(0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    rows=(
        {},
        {0: 1 / 5},
        {0: 3 / 40, 1: 9 / 40},
        {0: 44 / 45, 1: -56 / 15, 2: 32 / 9},
        {0: 19372 / 6561, 1: -25360 / 2187, 2: 64448 / 6561, 3: -212 / 729},
        {0: 9017 / 3168, 1: -355 / 33, 2: 46732 / 5247, 3: 49 / 176, 4: -5103 / 18656},
        {0: 35 / 384, 2: 500 / 1113, 3: 125 / 192, 4: -2187 / 6784, 5: 11 / 84},
    ),
    last=6,
    errors=(
        {0: 71 / 57600, 2: -71 / 16695, 3: 71 / 1920, 4: -17253 / 339200, 5: 22 / 525, 6: -1 / 40},
        {},
    ),
    interpolant=(
        {
            0: -12715105075 / 11282082432,
            2: 87487479700 / 32700410799,
            3: -10690763975 / 1880347072,
            4: 701980252875 / 199316789632,
            5: -1453857185 / 822651844,
            6: 69997945 / 29380423,
        },
    ),
    exponent=1 / 5,
)


@dataclass(frozen=True)
class RK5(Adaptive):
    """Method with step-size control: order five, six evaluations per step, an interpolant of order four.

    Use it for tolerances of 1e-3 to 1e-7, and for motions that are not very smooth.

    Attributes:
        rtol, atol: the error of a step stays below atol + rtol |x| in every component, orientations as angles.
        max_step: longest step [s].

    Raises:
        ModelError: a tolerance or step is not positive, or the tolerances are below rounding.

    Source: Dormand & Prince 1980; interpolant of Shampine 1986 as in Hairer, Norsett & Wanner I, II.6.
    """

    rtol: float = 1e-6
    atol: float = 1e-8
    max_step: float = math.inf

    order: ClassVar[int] = 5

    @property
    def tableau(self) -> Tableau:
        return TABLEAU
