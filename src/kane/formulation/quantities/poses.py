"""Poses of frames fixed in bodies, and Jacobians of points that are fixed in these frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kane.deferred import NamedTuple
from kane.expression.node import Expr
from kane.formulation.recursive.kinematics import orientations, origins
from kane.formulation.recursive.measures import position_in_K
from kane.formulation.tree.spatial import plus, rotated, times
from kane.formulation.tree.system import System
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import NumberMatrix, Triple, cross


class FixedFrame(NamedTuple):
    """A frame P fixed in a body B: index of B, p_BoPo in B [m], and R_BP."""

    body: int
    position: Triple
    orientation: Rotation


def poses(system: System, frames: Iterable[FixedFrame]) -> list[Any]:
    """Return R_NP by rows and p_NoPo in N of each frame: 12 expressions per frame."""
    R = orientations(system)
    p = origins(system, R)
    out: list[Any] = []
    for body, at, R_BP in frames:
        place = system.places[body]
        R_KP = system.steps[place.link].R_LK.inverse() @ place.R_LB @ R_BP
        for row in R[place.link]:
            out.extend(R_KP.apply_inverse(row))
        out.extend(_point(p[place.link], R[place.link], position_in_K(system, body, at)))
    return out


def point_jacobian(system: System, frame: FixedFrame, point: tuple[Expr, ...]) -> list[Any]:
    """Return partial angular velocities and partial velocities of a point Q given in a frame P, measured in N.

    w_NP = sum w_NP_u[r] u[r] + w_NP_t and v_NQ = sum v_NQ_u[r] u[r] + v_NQ_t.

    Args:
        system: links and speeds.
        frame: P.
        point: p_PoQ in P [m].

    Returns:
        6 n expressions: six rows (w, then v) of n entries.
    """
    body, at, R_BP = frame
    link = system.places[body].link
    R = orientations(system)
    p = origins(system, R)
    Q = _point(p[link], R[link], position_in_K(system, body, plus(at, R_BP.apply(point))))
    n = len(system.speeds.u)
    columns: list[list[Any]] = [[0.0] * 6 for _ in range(n)]
    while link:
        step = system.steps[link]
        foot = _point(p[link], R[link], times(-1.0, step.d))
        arm = plus(Q, times(-1.0, foot))
        for k, w_u, v_u in zip(system.columns(link), step.w_u, step.v_u, strict=True):
            w, v = rotated(R[link], w_u), rotated(R[link], v_u)
            v = plus(v, cross(w, arm))
            for j, c in system.speeds.C[k].items():
                columns[j] = [x + c * y for x, y in zip(columns[j], (*w, *v), strict=True)]
        link = system.links[link].parent
    return [columns[j][i] for i in range(6) for j in range(n)]


def _point(p: Triple, R: NumberMatrix, r: Triple) -> Triple:
    return plus(p, rotated(R, r))
