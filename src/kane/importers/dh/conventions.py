"""Conventions for the frames of Hartenberg-Denavit tables: one class each, without a default.

Frame i - 1 belongs to the parent, frame i to the child, and Z is the axis of a joint. Parameters of the same name
differ between conventions in meaning, sign and row. So a table is meaningless without the name of its convention.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from kane.errors import ModelError, shown
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Triple

IDENTITY = Rotation.identity()


@dataclass(frozen=True)
class Placement:
    """Joint frames F and M of one row of a table; the joint turns about or slides along ``axis`` of both.

    Attributes:
        at, orientation: pose of F in frame i - 1.
        child_at, child_orientation: pose of M in frame i.
        axis: "z", or "-z" if the convention measures displacements against Z.
    """

    at: Triple
    orientation: Rotation
    child_at: Triple = (0.0, 0.0, 0.0)
    child_orientation: Rotation = IDENTITY
    axis: str = "z"


class DHConvention(ABC):
    """Convention that defines the four parameters alpha, a, d, theta of a row."""

    name: ClassVar[str]

    @abstractmethod
    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        """Return the joint frames for the parameters of a row [rad, m], at which the joint coordinate is zero."""


@dataclass(frozen=True)
class ModifiedDH(DHConvention):
    """Craig's convention: T = Rx(alpha) Tx(a) Rz(theta) Tz(d), alpha and a from Z_{i-1} to Z_i, joint i on Z_i."""

    name: ClassVar[str] = "modified"

    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        turn = Rotation.about("x", alpha)
        along = turn.apply((0.0, 0.0, d))
        return Placement((a, along[1], along[2]), turn @ Rotation.about("z", theta))


@dataclass(frozen=True)
class StandardDH(DHConvention):
    """Denavit's and Paul's convention: T = Rz(theta) Tz(d) Tx(a) Rx(alpha), joint i on Z_{i-1}, joint i + 1 on Z_i."""

    name: ClassVar[str] = "standard"

    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        return Placement(
            (0.0, 0.0, d), Rotation.about("z", theta), (-a, 0.0, 0.0), Rotation.about("x", alpha).inverse()
        )


@dataclass(frozen=True)
class AngelesDH(DHConvention):
    """Convention of Angeles, Ma and Rojas: the modified convention with b = -d.

    O_i is at (a, b sin alpha, -b cos alpha) in frame i - 1. So a prismatic coordinate b grows against Z_i, and its
    force f has the power f db/dt.

    Source: Angeles et al. 1988, Eqs. (7), (8), (19), (20) and (22). Eqs. (35) and (43) have the opposite sign of d.
    """

    name: ClassVar[str] = "angeles"

    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        usual = ModifiedDH().placement(alpha, a, -d, theta, prismatic=prismatic)
        return Placement(usual.at, usual.orientation, axis="-z" if prismatic else "z")


CONVENTIONS: tuple[DHConvention, ...] = (ModifiedDH(), StandardDH(), AngelesDH())


def convention_of(given: str | DHConvention) -> DHConvention:
    """Return the convention of this name, or a given ``DHConvention`` itself.

    Raises:
        ModelError: the name is unknown; the message lists the known names.
    """
    if isinstance(given, DHConvention):
        return given
    for convention in CONVENTIONS:
        if isinstance(given, str) and given == convention.name:
            return convention
    known = ", ".join(f'"{c.name}"' for c in CONVENTIONS)
    raise ModelError(
        f"there is no Hartenberg-Denavit convention {shown(given)}; give one of {known}, or a kane.DHConvention"
    )


def finite(value: object, what: str) -> float:
    """Return a finite number; raise ModelError, which names ``what``, for other values."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, (str, bool)):
        raise ModelError(f"{what} is {shown(value)}; give a finite number")
    return number
