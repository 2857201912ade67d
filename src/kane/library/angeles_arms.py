"""The two arms of Angeles, Ma & Rojas 1988."""

from __future__ import annotations

import math
from typing import Any

from kane.importers.dh.dh import from_dh
from kane.model.model import Model

RIGHT = math.pi / 2

# alpha [rad], a, b [m], joint, mass [kg], mass centre [m], central moments of inertia [kg m^2], in the paper's frames.
STANFORD = (
    (0.0, 0.0, -0.1, "R", 9.0, (0.0, 0.0, -0.1), (0.02, 0.01, 0.01)),
    (RIGHT, 0.0, -0.1, "R", 6.0, (0.0, 0.0, 0.0), (0.05, 0.01, 0.06)),
    (-RIGHT, 0.0, 0.0, "P", 4.0, (0.0, 0.0, 0.0), (0.4, 0.4, 0.01)),
    (0.0, 0.0, -0.6, "R", 1.0, (0.0, 0.0, 0.1), (0.001, 0.0005, 0.001)),
    (RIGHT, 0.0, 0.0, "R", 0.6, (0.0, 0.06, 0.0), (0.0005, 0.0002, 0.0005)),
    (-RIGHT, 0.0, -0.2, "R", 0.5, (0.0, 0.0, 0.0), (0.003, 0.001, 0.002)),
)
SIX_AXIS = (
    (0.0, 0.0, -1.5, "R", 680.0, (0.0, -0.33, 0.0), (62.0, 62.0, 0.0)),
    (RIGHT, 0.0, 0.0, "R", 360.0, (-0.87, 0.0, -0.13), (11.0, 53.0, 44.0)),
    (0.0, 1.02, 0.0, "R", 180.0, (-0.64, 0.04, 0.0), (1.1, 44.0, 44.0)),
    (0.0, 1.02, 0.0, "R", 55.0, (-0.12, 0.04, 0.0), (0.44, 0.91, 0.82)),
    (RIGHT, 0.2, 0.0, "R", 36.0, (0.0, -0.05, -0.08), (0.47, 0.38, 0.18)),
    (RIGHT, 0.0, -0.41, "R", 68.0, (0.0, 0.0, 0.0), (0.44, 0.64, 0.73)),
)


def _arm(name: str, rows: tuple[tuple[Any, ...], ...]) -> Model:
    keys = ("alpha", "a", "b", "joint", "mass", "com", "inertia")
    return from_dh([dict(zip(keys, row, strict=True), theta=0.0) for row in rows], convention="angeles", name=name)


def stanford_arm_dh() -> Model:
    """Return the Stanford Arm of Angeles et al. from its Hartenberg-Denavit parameters: Example 1, Table 2, Fig. 3.

    The paper's theta_i are q1, q2, q4, q5, q6 [rad], its b3 is q3 [m]; a larger b3 retracts the slide. The force tau3
    [N] has the power tau3 db3/dt. Frame 0 is fixed to the ground with Z0 upwards. Initially theta_2 = pi/2.

    Table 2 of the scan is unreadable; ``STANFORD`` in this module has the values used. The arm equals ``stanford_arm``
    except for the first link, which has 0.01 kg m^2 about the vertical instead of 0.02.

    Source: Angeles, Ma & Rojas 1988, section 7.1.
    """
    return _arm("stanford_arm_dh", STANFORD)


def six_axis_arm() -> Model:
    """Return the six-axis industrial arm of Angeles et al.: Example 2, Table 3.

    The paper's theta_i are q1, ..., q6 [rad]. Its initial position is ``SIX_AXIS_START``, with O6 at
    (1.32455, 0, 1.23764) m. No three axes of the wrist intersect in a point, so use ``kane.inverse_kinematics``.

    The printed inertia of link 1, diag(0, 62, 0), is physically impossible. The model has diag(62, 62, 0), which gives
    the same forces: link 1 turns only about Z1. The printed central moment 0 along Z1 is kept.

    Source: Angeles, Ma & Rojas 1988, section 7.2 and Table 3 (data of Thomas & Tesar 1982).
    """
    return _arm("six_axis_arm", SIX_AXIS)


# Table 3: the initial theta [rad].
SIX_AXIS_START = tuple(math.radians(angle) for angle in (0.0, 68.5, -135.0, 39.6, 90.0, 90.0))
