"""Where the frames of a Hartenberg-Denavit table lie: one class per convention, no default.

Frame i - 1 is the parent's, frame i the child's. Z is written for the axis of a joint. "Alike" parameters of different
conventions differ in meaning, sign and row, so that a table says nothing without the name of its convention.
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
    """The joint frames of one row of a table; the joint turns about, or slides along, ``axis`` of both.

    Attributes:
        at, orientation: pose of F in frame i - 1.
        child_at, child_orientation: pose of M in frame i.
        axis: "z", or "-z" where the table counts displacements against Z.
    """

    at: Triple
    orientation: Rotation
    child_at: Triple = (0.0, 0.0, 0.0)
    child_orientation: Rotation = IDENTITY
    axis: str = "z"


class DHConvention(ABC):
    """A meaning of the four parameters alpha, a, d, theta of a row."""

    name: ClassVar[str]

    @abstractmethod
    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        """The joint frames for the parameters at zero joint coordinate [rad, m]."""


@dataclass(frozen=True)
class ModifiedDH(DHConvention):
    """Craig's: T = Rx(alpha) Tx(a) Rz(theta) Tz(d), alpha and a leading from Z_{i-1} to Z_i; joint i is on Z_i."""

    name: ClassVar[str] = "modified"

    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        turn = Rotation.about("x", alpha)
        along = turn.apply((0.0, 0.0, d))
        return Placement((a, along[1], along[2]), turn @ Rotation.about("z", theta))


@dataclass(frozen=True)
class StandardDH(DHConvention):
    """Denavit's and Paul's: T = Rz(theta) Tz(d) Tx(a) Rx(alpha); joint i is on Z_{i-1}, frame i at the far end."""

    name: ClassVar[str] = "standard"

    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        return Placement(
            (0.0, 0.0, d), Rotation.about("z", theta), (-a, 0.0, 0.0), Rotation.about("x", alpha).inverse()
        )


@dataclass(frozen=True)
class AngelesDH(DHConvention):
    """Angeles, Ma and Rojas's: as modified, with b = -d: O_i is at (a, b sin alpha, -b cos alpha) in frame i - 1.

    So a prismatic coordinate b grows against Z_i, and its force is the one that works on db/dt.

    Source: Angeles et al. 1988, Eqs. (7), (8), (19), (20) and (22); Eqs. (35) and (43) have the opposite sign (ERRATA).
    """

    name: ClassVar[str] = "angeles"

    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        usual = ModifiedDH().placement(alpha, a, -d, theta, prismatic=prismatic)
        return Placement(usual.at, usual.orientation, axis="-z" if prismatic else "z")


CONVENTIONS: tuple[DHConvention, ...] = (ModifiedDH(), StandardDH(), AngelesDH())


def convention_of(given: str | DHConvention) -> DHConvention:
    """The convention of this name.

    Raises:
        ModelError: there is none; those there are are listed.
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
    """A finite number, or an error that names ``what``."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, (str, bool)):
        raise ModelError(f"{what} is {shown(value)}; give a finite number")
    return number
