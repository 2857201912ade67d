"""Poses of bodies and frames, and Jacobians of their points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.formulation.recursive.kinematics import orientations, origins
from kane.formulation.recursive.measures import position_in_K
from kane.formulation.tree.spatial import ZERO, Square, Vector, cross, dot, is_zero, plus, times
from kane.geometry.rotation import Rotation
from kane.model.checks import near

if TYPE_CHECKING:
    from kane.formulation.equations import Equations


def place_names(equations: Equations) -> tuple[str, ...]:
    """Names of everything that has a pose: bodies but the ground, then named frames."""
    return (*equations.bodies[1:], *equations.frames)


def poses(equations: Equations) -> tuple[Expr, ...]:
    """R_NB by rows and p_NoBo in N of every body and named frame: 12 expressions each, in the order of
    ``place_names``.
    """
    system = equations.system
    R = orientations(system)
    p = origins(system, R)
    out: list[object] = []
    for name in place_names(equations):
        body, at, R_BP = _place(equations, name)
        place = system.places[body]
        R_KP = system.steps[place.link].R_LK.inverse() @ place.R_LB @ R_BP
        for row in R[place.link]:
            out.extend(R_KP.apply_inverse(row))
        out.extend(_point(p[place.link], R[place.link], position_in_K(system, body, at)))
    return equations.baked_in(out)


def jacobian(equations: Equations, name: str) -> tuple[list[Expr], tuple[Expr, ...]]:
    """Partial angular velocities and partial velocities of a point of a body or named frame, in N.

    w_NB = sum w_NB_u[r] u[r] + w_NB_t and v_NP = sum v_NP_u[r] u[r] + v_NP_t.

    Returns:
        6 n expressions, six rows (w then v) of n; and the three leaves that stand for the position of P in B [m].
    """
    system, arena = equations.system, equations.system.arena
    body, at, R_BP = _place(equations, name)
    point = tuple(arena.leaf(INPUT, f"{name}.{axis}") for axis in "xyz")
    link = system.places[body].link
    R = orientations(system)
    p = origins(system, R)
    from_Bo = plus(at, R_BP.apply(point))
    P = _point(p[link], R[link], position_in_K(system, body, from_Bo))
    n = len(equations.u)
    columns: list[list[object]] = [[0.0] * 6 for _ in range(n)]
    while link:
        step = system.steps[link]
        foot = _point(p[link], R[link], times(-1.0, step.d))
        arm = plus(P, times(-1.0, foot))
        for k, w_u, v_u in zip(system.columns(link), step.w_u, step.v_u, strict=True):
            w, v = _turned(R[link], w_u), _turned(R[link], v_u)
            v = plus(v, cross(w, arm))
            for j, c in system.speeds.C[k].items():
                columns[j] = [x + c * y for x, y in zip(columns[j], (*w, *v), strict=True)]
        link = system.links[link].parent
    flat = [columns[j][i] for i in range(6) for j in range(n)]
    return list(equations.baked_in(flat)), point


def _place(equations: Equations, name: str) -> tuple[int, Vector, Rotation]:
    if name in equations.frames:
        frame = equations.frames[name]
        return frame.body.index, frame.position, frame.orientation
    if name in equations.bodies:
        return equations.bodies.index(name), ZERO, Rotation.identity()
    raise ModelError(f"there is no body or frame {name!r}; {near(name, place_names(equations))}")


def _turned(R: Square, v: Sequence[object]) -> Vector:
    return ZERO if all(is_zero(x) for x in v) else tuple(dot(row, v) for row in R)


def _point(p: Vector, R: Square, r: Vector) -> Vector:
    return plus(p, _turned(R, r))
