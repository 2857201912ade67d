"""Abstract class of all joints."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields

import numpy as np

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr, Scalar
from kane.expression.number_arguments import list_argument, number
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Triple
from kane.model.joints.chart import Chart


@dataclass(frozen=True)
class JointMotion:
    """Motion of M in F as expressions of the joint's coordinates q and natural speeds u.

    Angular velocity and velocity, and their derivatives, all expressed in M:

        w_FM = sum_r w_FM_u[r] u[r]        alpha_FM = sum_r w_FM_u[r] udot[r] + alpha_t
        v_FMo = sum_r v_FM_u[r] u[r]       a_FMo = sum_r v_FM_u[r] udot[r] + a_t

    Attributes:
        R_FM: orientation of M in F.
        p_FM: position of Mo from Fo, in F [m].
        w_FM_u, v_FM_u: partial angular velocities and partial velocities, nu vectors in M.
        alpha_t, a_t: remainders, free of udot, in M [rad/s^2, m/s^2].
        kinematics: dq/dt, nq expressions.
    """

    R_FM: Rotation
    p_FM: Triple
    w_FM_u: tuple[Triple, ...]
    v_FM_u: tuple[Triple, ...]
    alpha_t: Triple
    a_t: Triple
    kinematics: tuple[Scalar, ...]


@dataclass(frozen=True)
class Joint(ABC):
    """Kind of joint: its coordinates and speeds, the motion of M in F, and the integration of coordinates.

    The numbers of coordinates and natural speeds follow from the numbers of their units.
    """

    @classmethod
    def examples(cls, name: str, axis: tuple[float, float, float]) -> Sequence[Joint]:
        """Return joints of this kind in general position, for tests and ``kane.library.random_tree``.

        By default one joint, whose first field is the name and whose field ``axis`` is the axis.

        Args:
            name: of the joint or its coordinate.
            axis: three numbers, not along a coordinate axis.
        """
        words = [f.name for f in fields(cls) if f.init]
        given = {words[0]: name} if words else {}
        return (cls(**given, **({"axis": axis} if "axis" in words else {})),)

    @property
    @abstractmethod
    def coordinate_units(self) -> tuple[str, ...]:
        """Units of the coordinates, one each."""

    @property
    @abstractmethod
    def speed_units(self) -> tuple[str, ...]:
        """Units of the natural speeds, one each."""

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinate_units)

    @property
    def nu(self) -> int:
        """Number of natural speeds."""
        return len(self.speed_units)

    @property
    def one_dof(self) -> bool:
        """Whether the joint has one coordinate whose rate is its speed."""
        return self.nq == self.nu == 1

    @property
    def neutral(self) -> tuple[float, ...]:
        """Default coordinates at the start of a simulation. M coincides with F there, except for custom joints."""
        return (0.0,) * self.nq

    @property
    def quaternion_at(self) -> int | None:
        """Index of the first entry of a unit quaternion (w, x, y, z) in the coordinates; None without quaternion."""
        return None

    @property
    @abstractmethod
    def label(self) -> str | tuple[str, ...] | Expr | None:
        """Name of the joint or its coordinate, a name for each coordinate, or the expression that replaces it."""

    @abstractmethod
    def coordinate_names(self, name: str) -> tuple[str, ...]:
        """Return the names of the nq coordinates, made from ``name``: a label that is a name, or the connection's."""

    @abstractmethod
    def speed_names(self, name: str) -> tuple[str, ...]:
        """Return the names of the nu speeds, made from ``name`` in the same way."""

    @abstractmethod
    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        """Return the motion of M in F."""

    def check(self, q: Sequence[Expr], parameters: Mapping[Expr, float], who: str) -> None:
        """Raise ModelError if the coordinates describe no valid motion; ``connect`` calls this before adding the joint.

        Args:
            q: the coordinates, leaves or an expression.
            parameters: default values of the model's parameters.
            who: the joint, for messages.

        Raises:
            ModelError: names the joint and a remedy.
        """
        return

    def recorded(self, q: Sequence[Expr]) -> Joint:
        """Return an equal joint without Python functions, which files cannot hold; q are its coordinates."""
        return self

    def singular_at(self, q: np.ndarray, *, within: float = 1e-6) -> str | None:
        """Return a message with cause and remedy if the motion is undetermined at or near q, (nq,); otherwise None.

        Args:
            within: largest distance from the singularity [rad or m]. At 1e-6 the mass matrix has lost 12 of its 16
                digits.
        """
        return None

    @property
    def other_chart(self) -> Chart | None:
        """Coordinates of the same motion that are regular where these are singular, or None."""
        return None

    def integrate(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        """Return the coordinates reached from q by the small motion du = u dt: shapes (..., nq), (..., nu).

        The result agrees with q + qdot dt to first order in du, and stays on the manifold of the coordinates.
        """
        return q + du

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the du with integrate(q0, du) = q1, shape (..., nu)."""
        return q1 - q0


def axis_components(axis: str | Sequence[float]) -> tuple[float, float, float]:
    """Return the unit vector along "x", "y", "z", "-x", ... or three numbers.

    Raises:
        ModelError: an unknown letter, a wrong length, a zero vector, or a number that is not finite.
    """
    if isinstance(axis, str):
        unit, letter = (-1.0, axis[1:]) if axis.startswith("-") else (1.0, axis)
        if letter not in ("x", "y", "z"):
            raise ModelError(f"the axis {shown(axis)} is not one of x, y, z, -x, -y, -z; or give three numbers")
        components = [0.0, 0.0, 0.0]
        components["xyz".index(letter)] = unit
    else:
        try:
            components = [number(c, "a component") for c in list_argument(axis, "the axis", "three numbers")]
        except ModelError:
            raise ModelError(f"the axis {shown(axis)} must be three finite numbers") from None
        length = math.hypot(*components) if len(components) == 3 else 0.0
        if not (np.isfinite(length) and length > 0.0):
            raise ModelError(f"the axis {shown(axis)} must be three finite numbers, not all zero")
        components = [c / length for c in components]
    return components[0], components[1], components[2]


def default_speed_name(coordinate: str) -> str:
    """Return the default name of a speed: u3 for q3, otherwise the coordinate's name with _dot."""
    return "u" + coordinate[1:] if coordinate[:1] == "q" and coordinate[1:].isdigit() else coordinate + "_dot"
