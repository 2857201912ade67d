"""Stability against tipping over: the force-angle measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.analysis.margins.ground_wrench import along, ground_wrench, moved_moment
from kane.analysis.margins.slip import Stand, checked_wheels, require_level, stand_of
from kane.errors import ModelError, shown
from kane.expression.collector import collector_paused
from kane.expression.functions import atan2, minimum, sqrt
from kane.expression.node import Expr
from kane.expression.number_arguments import list_argument
from kane.expression.traverse import substitute_nodes
from kane.files.scipy import load_scipy
from kane.formulation.equations import Equations
from kane.formulation.read_model import probe_of
from kane.formulation.recursive.measures import images
from kane.formulation.tree.spatial import minus, plus, times
from kane.geometry.scalars import Triple, cross, dot
from kane.model.body import Body
from kane.model.wheel import Wheel

if TYPE_CHECKING:
    import xarray

    from kane.simulation.results.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class TipOver:
    """Force-angle measure of a vehicle, as expressions in q, u, t and inputs for ``kane.Event`` and listings.

    If constraints are embedded numerically, the expressions contain udot and are valid along a run only, not in events.

    Attributes:
        equations: equations of the vehicle.
        angles: angle theta by tip-over axis, such as "w0 - w1", from the axis normal to the resultant force [rad];
            positive inwards.
        resultant: |f_r|, magnitude of the force of the wheels on the ground [N].
        measure: min(theta) |f_r| [N rad]; negative when the vehicle begins to tip over.
    """

    equations: Equations
    angles: dict[str, Expr]
    resultant: Expr
    measure: Expr

    def __repr__(self) -> str:
        return f"<TipOver of {self.equations.name!r}: measure [N rad], angles [rad] about {', '.join(self.angles)}>"

    def along(self, run: Trajectory) -> xarray.Dataset:
        """Evaluate ``measure``, ``resultant`` and ``angle w0 - w1``, ... at every recorded state of a run.

        Raises:
            ModelError: the run belongs to another model.
        """
        angles = {f"angle {name}": x for name, x in self.angles.items()}
        return along(self.equations, {"measure": self.measure, "resultant": self.resultant, **angles}, run)


def tip_over(equations: Equations, wheels: Sequence[Wheel], carriage: Sequence[Body]) -> TipOver:
    """Return the force-angle stability measure of a vehicle on three or more wheels.

    Let f_r and n_r be the resultant force and moment of the wheels on the ground about p_c. For the axis a_i from
    contact i to i + 1, counter-clockwise from above:

        l_i = (1 - a a^T)(p_{i+1} - p_c),  f_i = (1 - a a^T) f_r,  n_i = a a^T n_r,  f_i* = f_i + l_i x n_i / |l_i|^2,
        theta_i = the angle from l_i to f_i*, positive about a_i.

    The paper defines f_r as the sum of m (g - a) over platform and wheels plus the manipulator's force on the platform.
    By the balance of the carriage this equals minus the force of the ground.

    Args:
        equations: equations of the vehicle.
        wheels: in any order; wheels inside the polygon of the others span no axis.
        carriage: bodies with the common mass centre p_c: platform and wheels.

    Raises:
        ModelError: wheels span no polygon, have different heights or a tilted axle; a load acts along the joint between
            vehicle and ground.

    Source: Papadopoulos & Rey 1996; Tanner & Kyriakopoulos 2001, Eq. (9).
    """
    wheels = checked_wheels(equations, wheels)
    if len(wheels) < 3:
        raise ModelError(f"{len(wheels)} wheels span no polygon; give three or more")
    carriage = list_argument(carriage, "the carriage", "bodies")
    with collector_paused():
        stands = [stand_of(equations, wheel) for wheel in wheels]
        require_level(equations, wheels, stands)
        order = _polygon(equations, wheels, stands)
        wrench = ground_wrench(equations)
        p_c = _mass_centre(equations, carriage)
        f = tuple(-x for x in wrench[:3])
        n = moved_moment(tuple(-x for x in wrench[3:]), f, p_c)
        angles = {}
        for i, j in zip(order, (*order[1:], order[0]), strict=True):
            name = f"{wheels[i].name} - {wheels[j].name}"
            angles[name] = _angle(stands[i].contact, stands[j].contact, p_c, f, n)
        resultant = sqrt(dot(f, f))
        return TipOver(equations, angles, resultant, reduce(minimum, angles.values()) * resultant)


def _angle(start: Triple, end: Triple, p_c: Triple, f: Triple, n: Triple) -> Expr:
    """Return theta about the axis from ``start`` to ``end``."""
    along_axis = minus(end, start)
    a = times(1.0 / sqrt(dot(along_axis, along_axis)), along_axis)
    l = _across(a, minus(end, p_c))
    turning = times(dot(a, n) / dot(l, l), cross(l, a))
    pressed = plus(_across(a, f), turning)
    return atan2(dot(cross(l, pressed), a), dot(l, pressed))


def _across(a: Triple, v: Triple) -> Triple:
    return minus(v, times(dot(a, v), a))


def _mass_centre(equations: Equations, carriage: Sequence[Body]) -> Triple:
    ground = equations.model.ground
    total: Any = 0.0
    moment: Triple = (0.0, 0.0, 0.0)
    for body in carriage:
        if not isinstance(body, Body) or body not in equations.model.bodies:
            raise ModelError(f"{shown(body)} of the carriage is not a body of {equations.name!r}")
        position = body.point(body.com).position
        given = [position.dot(axis) for axis in (ground.x, ground.y, ground.z)]
        found = substitute_nodes(given, images(equations.system, given))
        total, moment = total + body.mass, plus(moment, times(body.mass, tuple(found)))
    if not carriage:
        raise ModelError("the carriage has no bodies; give the platform and its wheels")
    return equations.baked_in([x / total for x in moment])


def _polygon(equations: Equations, wheels: Sequence[Wheel], stands: Sequence[Stand]) -> list[int]:
    """Return the indices of the contacts on the convex hull, counter-clockwise from above."""
    spatial = load_scipy("spatial")
    probe = probe_of(equations.model)
    corners = np.array([probe(s.contact[:2]) for s in stands])
    try:
        return [int(i) for i in spatial.ConvexHull(corners).vertices]
    except (spatial.QhullError, ValueError):
        names = ", ".join(wheel.name for wheel in wheels)
        raise ModelError(f"the contacts of {names or 'no wheels'} span no polygon; give three that do") from None
