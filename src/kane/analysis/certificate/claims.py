"""What a certificate claims, claim by claim: to how many digits two derivations agree, or a law of nature holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from kane.analysis.laws import is_floating, momentum_rates, prescribes_motion
from kane.analysis.power_ledger import ledger_of
from kane.analysis.random_states import RandomStates, joints_of
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.derivatives.derivative import derivative
from kane.formulation.equations import Equations
from kane.formulation.formulate import explicit, recursive_route
from kane.formulation.quantities.energy import energy
from kane.formulation.witnesses.lagrange import lagrange
from kane.formulation.witnesses.path_tables import path_tables
from kane.model.joints.joint import Joint
from kane.model.model import Model

# What a claim finds: digits that agree (None where it does not apply), and a remark.
Found: TypeAlias = "tuple[float | None, str]"
Claim: TypeAlias = "Callable[[Model, Equations, RandomStates], Found]"

# Central differences of fourth order err by h^4 times a fifth derivative, 1e-12, and by round-off 1e-16/h.
SMALL = 1e-3
# Along whole motions fifth derivatives are 1e5 and more near singular charts: shorter, err by 1e-11 of both kinds.
SHORT = 1e-4
# With more speeds than this entries of derivatives are so many that checking them takes longer than all else.
MOST_DERIVED = 60


def digits(a: np.ndarray, b: np.ndarray, scale: np.ndarray | None = None) -> float:
    """Digits to which two sets of columns agree, relative to the largest entry of each column, at the worst column.

    From 0 to 16; 0 where one of them is not a number.
    """
    size = np.abs(b).max(axis=0) if scale is None else scale
    error = float(np.max(np.abs(a - b).max(axis=0) / np.where(size == 0.0, 1.0, size)))
    if math.isnan(error):
        return 0.0
    return 16.0 if error == 0.0 else min(16.0, max(0.0, -math.log10(error)))


def explicit_agrees(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Kane's explicit route: partial velocities dotted with inertia and active forces."""
    return digits(at(explicit(equations).inverse), at(equations.inverse)), ""


def path_tables_agree(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Stoneking's path tables."""
    tables = path_tables(model).matrices
    n = len(equations.u)
    residual = [_sum(tables.COEF[i, j] * equations.udot[j] for j in range(n)) - tables.RHS[i] for i in range(n)]
    loaded = equations.route.loaded(equations.udot)
    return digits(at(residual), at(loaded)), ""


def lagrange_agrees(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Lagrange's equations from energies, which use only R_FM, p_FM and the meaning of the speeds."""
    other = lagrange(model)
    if [leaf.name for leaf in other.u] != [leaf.name for leaf in equations.u]:
        raise ModelError("Lagrange's equations stand in another order than Kane's")
    return digits(at(other.inverse), at(equations.inverse)), ""


def forward_routes_agree(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Accelerations by composite and by articulated inertias.

    What counts is the force that a difference stands for: accelerations of light bodies are large and ill determined.
    """
    if not equations.system.speeds.are_natural:
        return None, "coordinates follow others: composite inertias only"
    route, M = recursive_route(equations), _matrices(equations, at)
    a, b = at(route.articulated()), at(route.composite())
    return digits(_times(M, a), _times(M, b), _force_scale(equations, at)), ""


def inverse_undoes_forward(model: Model, equations: Equations, at: RandomStates) -> Found:
    """The forces that the accelerations of forward dynamics need beyond the loads are zero."""
    moved = at.with_values(equations.udot, at(equations.forward))
    residual = moved(equations.route.loaded(equations.udot))
    return digits(residual, 0.0 * residual, _force_scale(equations, at)), ""


def mass_matrix_is_positive(model: Model, equations: Equations, at: RandomStates) -> Found:
    """M = M^T with positive eigenvalues, at every state."""
    M = _matrices(equations, at)
    values = np.linalg.eigvalsh(M)
    largest = np.abs(values).max(axis=1)
    lowest = float((values[:, 0] / np.where(largest == 0.0, 1.0, largest)).min())
    symmetric = digits(M.reshape(len(M), -1).T, M.transpose(0, 2, 1).reshape(len(M), -1).T)
    return symmetric if lowest > 0.0 else 0.0, f"least over largest eigenvalue {lowest:.1e}"


def energy_follows_power(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Kinetic energy and that of gravity change at the power of the loads."""
    if prescribes_motion(equations):
        return None, "motion is prescribed in time: what prescribes it does work"
    ledger = ledger_of(model, equations)
    flows = at([ledger.rate, *ledger.loads.values()])
    forces = at(equations.route.loaded([0.0] * len(at.u)))
    scale = np.abs(flows).max(axis=0) + (np.abs(forces) * np.abs(at.u)).sum(axis=0)
    # Where nothing acts, what turns and drifts in step still adds up to rounding of its energy times its speed.
    kinetic, _ = equations.baked_in(energy(equations.system, equations.system.arena.zero))
    scale = scale + np.abs(at([kinetic]))[0] * np.abs(at.u).max(axis=0)
    many = len(ledger.loads)
    found = digits(flows[:1], flows[1:].sum(axis=0, keepdims=True), scale)
    return found, f"{many} load{'s' * (many != 1)}"


def momentum_follows_forces(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Linear and angular momentum of a floating system change by the outer forces."""
    if not is_floating(equations):
        held = "motion is prescribed in time" if prescribes_motion(equations) else "the ground holds bodies"
        return None, f"{held}: forces of constraint change the momenta"
    rates, forces = momentum_rates(equations)
    a, b = at(rates), at(forces)
    scale = np.abs(a).max(axis=0) + np.abs(b).max(axis=0) + _force_scale(equations, at)
    return digits(a, b, scale), ""


def coordinates_advance(model: Model, equations: Equations, at: RandomStates) -> Found:
    """The step that a joint takes along u dt has the slope dq/dt; the difference of coordinates undoes it."""
    joints = list(joints_of(equations))
    rates, u = at(equations.kinematics), dict(zip((x.name for x in equations.u), at.u, strict=True))
    worst = 16.0
    for connection, rows in joints:
        q, du = at.q[rows].T, np.stack([u[name] for name in connection.speed_names], axis=-1)
        step = _advance(connection.joint, q, du)
        slope = (8.0 * (step(1.0) - step(-1.0)) - (step(2.0) - step(-2.0))) / (12.0 * SMALL)
        back = connection.joint.difference(q, step(1.0))
        worst = min(worst, digits(slope.T, rates[rows]), digits(back.T / SMALL, du.T))
    return worst, f"{len(joints)} joint{'s' * (len(joints) != 1)}"


def _advance(joint: Joint, q: np.ndarray, du: np.ndarray) -> Callable[[float], np.ndarray]:
    return lambda times: joint.integrate(q, times * SMALL * du)


def derivatives_are_slopes(model: Model, equations: Equations, at: RandomStates) -> Found:
    """The exact derivatives of the forces by q and u are differences of Kane's explicit route, along one direction."""
    n = len(equations.u)
    if n > MOST_DERIVED:
        return None, f"more than {MOST_DERIVED} speeds"
    found = derivative(equations, "inverse", ("q", "u"))
    along = np.concatenate([at.u, at(equations.udot)])
    slopes, values = np.zeros((n, at.u.shape[1])), at(found.entries.values())
    for (i, j), row in zip(found.entries, values, strict=True):
        slopes[i] += row * along[j]
    forces, places = explicit(equations).inverse, {leaf: k for k, leaf in enumerate(equations.q)}
    dq = np.zeros_like(at.q)
    for j, direction in enumerate(found.variables[0].directions):
        for leaf, rate in zip(direction, at(direction.values()), strict=True):
            dq[places[leaf]] += rate * along[j]

    def moved(times: float) -> np.ndarray:
        there = at.with_values(equations.q, at.q + times * SHORT * dq)
        return there.with_values(equations.u, at.u + times * SHORT * along[n:])(forces)

    differences = (8.0 * (moved(1.0) - moved(-1.0)) - (moved(2.0) - moved(-2.0))) / (12.0 * SHORT)
    scale = np.abs(slopes).max(axis=0) + np.abs(at(forces)).max(axis=0)
    return digits(slopes, differences, scale), f"{len(found.entries)} entries"


CLAIMS: Mapping[str, Claim] = {
    "M udot + bias: recursive = explicit (Kane)": explicit_agrees,
    "M udot + bias - B inputs: recursive = path tables": path_tables_agree,
    "M udot + bias: recursive = Lagrange": lagrange_agrees,
    "udot: composite = articulated inertias": forward_routes_agree,
    "inverse after forward is identity": inverse_undoes_forward,
    "M is symmetric and positive definite": mass_matrix_is_positive,
    "energy rate = power of loads and inputs": energy_follows_power,
    "momentum rates = outer forces and moments": momentum_follows_forces,
    "coordinates advance at dq/dt": coordinates_advance,
    "derivatives of M udot + bias = slopes (Kane)": derivatives_are_slopes,
}


# Claims that speak of accelerations without constraints, where massless frames of cut joints may move.
OF_REGULAR_MASS = (
    "udot: composite = articulated inertias",
    "inverse after forward is identity",
    "M is symmetric and positive definite",
    "energy rate = power of loads and inputs",
    "momentum rates = outer forces and moments",
)


def _sum(terms: Iterable[Any]) -> Any:
    total: Any = 0.0
    for term in terms:
        total = total + term
    return total


def _matrices(equations: Equations, at: RandomStates) -> np.ndarray:
    n = len(equations.u)
    flat: list[Expr] = [x for row in equations.mass_matrix for x in row]
    return np.moveaxis(at(flat).reshape(n, n, -1), -1, 0)


def _times(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("kij,jk->ik", M, x)


def _force_scale(equations: Equations, at: RandomStates) -> np.ndarray:
    """The largest generalized force among inertia, bias and inputs, at each state."""
    needed = at(equations.route.loaded([0.0] * len(equations.u)))
    inertia = _times(np.abs(_matrices(equations, at)), np.abs(at(equations.forward)))
    return np.maximum(np.abs(needed).max(axis=0), np.abs(inertia).max(axis=0))
