"""The contract that every joint fulfils."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.arguments import listed, number
from kane.expression.node import Expr, Scalar
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Triple
from kane.model.joints.chart import Chart

ZERO: Triple = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class JointMotion:
    """Motion of M in F as expressions of the joint's coordinates q and natural speeds u.

    w_FM = sum_r w_FM_u[r] u[r],  v_FMo = sum_r v_FM_u[r] u[r], both expressed in M; their derivatives are
    alpha_FM = sum_r w_FM_u[r] udot[r] + alpha_t and a_FMo = sum_r v_FM_u[r] udot[r] + a_t.

    Attributes:
        R_FM: orientation of M in F.
        p_FM: position of Mo from Fo, in F [m].
        w_FM_u, v_FM_u: partial (angular) velocities, nu vectors in M.
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
    """A kind of joint: how many coordinates and speeds, how M moves in F, how coordinates advance.

    Its numbers of coordinates and natural speeds are those of their units.
    """

    @classmethod
    def examples(cls, name: str, axis: tuple[float, float, float]) -> Sequence[Joint]:
        """Joints of this kind in general position, from which tests and ``kane.library.random_tree`` draw.

        Unless a kind says otherwise: one, its first field the name, its field ``axis`` the axis.

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
        """One unit for every coordinate."""

    @property
    @abstractmethod
    def speed_units(self) -> tuple[str, ...]:
        """One unit for every natural speed."""

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
        """The coordinates that a simulation starts from: M coincides with F there, but for joints of the user's own."""
        return (0.0,) * self.nq

    @property
    def quaternion_at(self) -> int | None:
        """Position of a unit quaternion (w, x, y, z) among the coordinates, if there is one."""
        return None

    @property
    @abstractmethod
    def label(self) -> str | tuple[str, ...] | Expr | None:
        """The name of the joint or its coordinate, a name for each coordinate, or an expression in its place."""

    @abstractmethod
    def coordinate_names(self, name: str) -> tuple[str, ...]:
        """Names of the nq coordinates: made from ``name`` (the label where it is one name, else the connection's)."""

    @abstractmethod
    def speed_names(self, name: str) -> tuple[str, ...]:
        """Names of the nu speeds, likewise."""

    @abstractmethod
    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        """The motion of M in F."""

    def check(self, q: Sequence[Expr], parameters: Mapping[Expr, float], who: str) -> None:
        """Refuse a joint that cannot move as its coordinates say; called by ``connect`` before anything is added.

        Args:
            q: the coordinates, leaves or an expression.
            parameters: default values of the model's parameters.
            who: the joint, in words.

        Raises:
            ModelError: naming the joint and the cure.
        """
        return

    def recorded(self, q: Sequence[Expr]) -> Joint:
        """The same joint, said without functions of Python, which files cannot hold; q are its coordinates."""
        return self

    def singular_at(self, q: np.ndarray, *, within: float = 1e-6) -> str | None:
        """Why the motion is undetermined at or near the coordinates q, shape (nq,), and the cure; None where it is not.

        Args:
            within: how near [rad or m]. At 1e-6 the mass matrix has lost twelve of its sixteen digits.
        """
        return None

    @property
    def other_chart(self) -> Chart | None:
        """Coordinates of the same motion that are regular where these are singular; None where there are none."""
        return None

    def integrate(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        """The coordinates reached from q by the small motion du = u dt: shapes (..., nq), (..., nu).

        To first order in du that is q + qdot dt; beyond it any motion will do that stays on the coordinates' manifold.
        """
        return q + du

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The du with integrate(q0, du) = q1, shape (..., nu)."""
        return q1 - q0


def axis_components(axis: str | Sequence[float]) -> tuple[float, float, float]:
    """A unit vector from "x", "y", "z", "-x", ... or three numbers, normalised.

    Raises:
        ModelError: unknown letter, wrong length, zero or not finite.
    """
    if isinstance(axis, str):
        unit, letter = (-1.0, axis[1:]) if axis.startswith("-") else (1.0, axis)
        if letter not in ("x", "y", "z"):
            raise ModelError(f"the axis {shown(axis)} is not one of x, y, z, -x, -y, -z; or give three numbers")
        components = [0.0, 0.0, 0.0]
        components["xyz".index(letter)] = unit
    else:
        try:
            components = [number(c, "a component") for c in listed(axis, "the axis", "three numbers")]
        except ModelError:
            raise ModelError(f"the axis {shown(axis)} must be three finite numbers") from None
        length = math.hypot(*components) if len(components) == 3 else 0.0
        if not (np.isfinite(length) and length > 0.0):
            raise ModelError(f"the axis {shown(axis)} must be three finite numbers, not all zero")
        components = [c / length for c in components]
    return components[0], components[1], components[2]


def default_speed_name(coordinate: str) -> str:
    """u3 for q3, otherwise the coordinate's name with _dot."""
    return "u" + coordinate[1:] if coordinate[:1] == "q" and coordinate[1:].isdigit() else coordinate + "_dot"
