"""The swing-up of an n-link pendulum on a cart, as a user of CasADi writes it: SX, midpoint rule, MX maps, Ipopt."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.toolchain import PeerMissingError

Array = npt.NDArray[np.float64]
CART, LINK, INERTIA, HALF, LENGTH, GRAVITY = 1.0, 0.3, 0.002, 0.2, 0.4, 9.81


@dataclass(frozen=True)
class Peer:
    """Nonlinear program of CasADi.

    Attributes:
        z: number of unknowns.
        constraints, jacobian, hessian: functions of z, and of multipliers.
        solve: from a start and bounds to objective and iterations.
    """

    z: int
    rows: int
    constraints: Callable[[Any], Any]
    jacobian: Callable[[Any], Any]
    hessian: Callable[[Any, Any, Any], Any]
    solve: Callable[[Any, Any, Any], tuple[float, int]]


def peer(links: int, intervals: int, duration: float) -> Peer:
    """Build the program: unknowns are states at nodes, then states at midpoints, then accelerations and force there."""
    try:
        import casadi as ca
    except ImportError:
        raise PeerMissingError("casadi is not installed") from None
    n = links + 1
    q, u, a, force = (ca.SX.sym(word, size) for word, size in (("q", n), ("u", n), ("a", n), ("F", 1)))
    angles = [sum(q[1 : k + 2].elements(), start=ca.SX(0)) for k in range(links)]
    kinetic, potential, x, z = 0.5 * CART * u[0] ** 2, ca.SX(0), q[0], ca.SX(0)
    for angle in angles:
        place = ca.vertcat(x - HALF * ca.sin(angle), z - HALF * ca.cos(angle))
        speed, turn = ca.jtimes(place, q, u), ca.jtimes(angle, q, u)
        kinetic += 0.5 * LINK * ca.dot(speed, speed) + 0.5 * INERTIA * turn**2
        potential += LINK * GRAVITY * place[1]
        x, z = x - LENGTH * ca.sin(angle), z - LENGTH * ca.cos(angle)
    momentum = ca.gradient(kinetic, u)
    residual = ca.jtimes(momentum, q, u) + ca.jtimes(momentum, u, a) - ca.gradient(kinetic - potential, q)
    residual[0] -= force
    motion = ca.Function("motion", [q, u, a, force], [residual])
    shapes = ((2 * n, intervals + 1), (2 * n, intervals), (n + 1, intervals))
    unknowns = ca.MX.sym("z", sum(rows * columns for rows, columns in shapes))
    ends = [sum(rows * columns for rows, columns in shapes[:k]) for k in range(4)]
    parts = [ca.reshape(unknowns[a:b], *shape) for a, b, shape in zip(ends[:-1], ends[1:], shapes, strict=True)]
    nodes, middle, rates, forces = parts[0], parts[1], parts[2][:n, :], parts[2][n, :]
    h = duration / intervals
    slope = ca.vertcat(middle[n:, :], rates)
    rows = ca.vertcat(
        ca.vec(motion.map(intervals)(middle[:n, :], middle[n:, :], rates, forces)),
        ca.vec(middle - nodes[:, :-1] - 0.5 * h * slope),
        ca.vec(nodes[:, 1:] - nodes[:, :-1] - h * slope),
    )
    effort = h * ca.sumsqr(forces)
    weight, multipliers = ca.MX.sym("w"), ca.MX.sym("l", rows.shape[0])
    lagrangian = weight * effort + ca.dot(multipliers, rows)
    options = {"ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-8}, "print_time": False}
    solver = ca.nlpsol("swing_up", "ipopt", {"x": unknowns, "f": effort, "g": rows}, options)

    def solve(start: Any, least: Any, most: Any) -> tuple[float, int]:
        found = solver(x0=start, lbx=least, ubx=most, lbg=0.0, ubg=0.0)
        stats = solver.stats()
        return (float(found["f"]) if stats["success"] else math.nan), int(stats["iter_count"])

    return Peer(
        unknowns.shape[0],
        rows.shape[0],
        ca.Function("g", [unknowns], [rows]),
        ca.Function("jacobian", [unknowns], [ca.jacobian(rows, unknowns)]),
        ca.Function("hessian", [unknowns, weight, multipliers], [ca.tril(ca.hessian(lagrangian, unknowns)[0])]),
        solve,
    )
