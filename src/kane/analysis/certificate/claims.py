"""Claims of a certificate about unconstrained equations: agreement of derivations, and laws of mechanics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from kane.analysis.laws import is_floating, momentum_rates, prescribes_motion
from kane.analysis.power_ledger import formulate_power_ledger
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.derivatives.program_derivative import derivative
from kane.formulation.equations import Equations
from kane.formulation.formulate import explicit, recursive_route
from kane.formulation.quantities.energy import energy
from kane.formulation.random_states import RandomStates, joints_of
from kane.formulation.witnesses.lagrange import lagrange
from kane.formulation.witnesses.path_tables import path_tables
from kane.model.joints.joint import Joint
from kane.model.model import Model

# Result of a claim: number of digits that agree (None if it does not apply), and a remark.
Found: TypeAlias = "tuple[float | None, str]"
Claim: TypeAlias = "Callable[[Model, Equations, RandomStates], Found]"

# Step h of fourth-order central differences: truncation error of order h^4 (1e-12), round-off 1e-16 / h.
DIFFERENCE_STEP = 1e-3
# Shorter step for derivatives of the forces, whose fifth derivatives exceed 1e5 near chart singularities. Both errors
# are then about 1e-11.
SHORT = 1e-4
# Largest number of speeds for which derivatives are checked; in larger models this check would take most of the time.
MOST_DERIVED = 60


def common_digits(a: np.ndarray, b: np.ndarray, scale: np.ndarray | None = None) -> float:
    """Return the number of digits, 0 to 16, to which two arrays agree at the worst column.

    Errors are relative to the largest entry of each column of ``b``, or to ``scale``. A NaN counts as 0 digits.
    """
    size = np.abs(b).max(axis=0) if scale is None else scale
    error = float(np.max(np.abs(a - b).max(axis=0) / np.where(size == 0.0, 1.0, size)))
    if math.isnan(error):
        return 0.0
    return 16.0 if error == 0.0 else min(16.0, max(0.0, -math.log10(error)))


def explicit_agrees(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Compare with Kane's explicit equations: partial velocities dotted with inertia and active forces."""
    return common_digits(at(explicit(equations).inverse), at(equations.inverse)), ""


def path_tables_agree(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Compare with Stoneking's path tables."""
    tables = path_tables(model).matrices
    n = len(equations.u)
    residual = [_sum(tables.COEF[i, j] * equations.udot[j] for j in range(n)) - tables.RHS[i] for i in range(n)]
    loaded = equations.route.loaded(equations.udot)
    return common_digits(at(residual), at(loaded)), ""


def lagrange_agrees(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Compare with Lagrange's equations from energies, which use only R_FM, p_FM and the meaning of the speeds."""
    other = lagrange(model)
    if [leaf.name for leaf in other.u] != [leaf.name for leaf in equations.u]:
        raise ModelError("Lagrange's equations have the speeds in another order than Kane's equations")
    return common_digits(at(other.inverse), at(equations.inverse)), ""


def forward_routes_agree(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Compare accelerations by composite and by articulated inertias.

    The forces M udot are compared, because accelerations of light bodies are large and ill conditioned.
    """
    if not equations.system.speeds.are_natural:
        return None, "coordinates depend on others: only composite inertias apply"
    route, M = recursive_route(equations), _matrices(equations, at)
    a, b = at(route.articulated()), at(route.composite())
    return common_digits(_times(M, a), _times(M, b), _force_scale(equations, at)), ""


def inverse_undoes_forward(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Check that the accelerations of forward dynamics need no forces beyond the loads."""
    moved = at.with_values(equations.udot, at(equations.forward))
    residual = moved(equations.route.loaded(equations.udot))
    return common_digits(residual, 0.0 * residual, _force_scale(equations, at)), ""


def mass_matrix_is_positive(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Check that M is symmetric with positive eigenvalues at every state."""
    M = _matrices(equations, at)
    values = np.linalg.eigvalsh(M)
    largest = np.abs(values).max(axis=1)
    lowest = float((values[:, 0] / np.where(largest == 0.0, 1.0, largest)).min())
    symmetric = common_digits(M.reshape(len(M), -1).T, M.transpose(0, 2, 1).reshape(len(M), -1).T)
    return symmetric if lowest > 0.0 else 0.0, f"smallest / largest eigenvalue {lowest:.1e}"


def energy_follows_power(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Check that the kinetic energy plus the potential energy of gravity changes at the power of the loads."""
    if prescribes_motion(equations):
        return None, "motion is prescribed in time: the prescribed motion does work"
    ledger = formulate_power_ledger(model, equations)
    flows = at([ledger.rate, *ledger.loads.values()])
    forces = at(equations.route.loaded([0.0] * len(at.u)))
    scale = np.abs(flows).max(axis=0) + (np.abs(forces) * np.abs(at.u)).sum(axis=0)
    # Without loads, powers are round-off of the kinetic energy times speed. This product bounds the scale from below.
    kinetic, _ = equations.baked_in(energy(equations.system, equations.system.arena.zero))
    scale = scale + np.abs(at([kinetic]))[0] * np.abs(at.u).max(axis=0)
    many = len(ledger.loads)
    found = common_digits(flows[:1], flows[1:].sum(axis=0, keepdims=True), scale)
    return found, f"{many} load{'s' * (many != 1)}"


def momentum_follows_forces(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Check that linear and angular momentum of a floating system change by the external forces."""
    if not is_floating(equations):
        held = "motion is prescribed in time" if prescribes_motion(equations) else "joints hold bodies on the ground"
        return None, f"{held}: their reactions change the momenta"
    rates, forces = momentum_rates(equations)
    a, b = at(rates), at(forces)
    scale = np.abs(a).max(axis=0) + np.abs(b).max(axis=0) + _force_scale(equations, at)
    return common_digits(a, b, scale), ""


def coordinates_advance(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Check the joints' finite steps along u dt: their slope is dq/dt, and coordinate differences invert them."""
    joints = list(joints_of(equations))
    rates, u = at(equations.kinematics), dict(zip((x.name for x in equations.u), at.u, strict=True))
    worst = 16.0
    for connection, rows in joints:
        q, du = at.q[rows].T, np.stack([u[name] for name in connection.speed_names], axis=-1)
        step = _advance(connection.joint, q, du)
        slope = (8.0 * (step(1.0) - step(-1.0)) - (step(2.0) - step(-2.0))) / (12.0 * DIFFERENCE_STEP)
        back = connection.joint.difference(q, step(1.0))
        worst = min(worst, common_digits(slope.T, rates[rows]), common_digits(back.T / DIFFERENCE_STEP, du.T))
    return worst, f"{len(joints)} joint{'s' * (len(joints) != 1)}"


def _advance(joint: Joint, q: np.ndarray, du: np.ndarray) -> Callable[[float], np.ndarray]:
    return lambda times: joint.integrate(q, times * DIFFERENCE_STEP * du)


def derivatives_are_slopes(model: Model, equations: Equations, at: RandomStates) -> Found:
    """Compare exact derivatives of the forces by q and u with differences of the explicit equations."""
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
    return common_digits(slopes, differences, scale), f"{len(found.entries)} entries"


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


# Claims that require a regular mass matrix; unconstrained massless frames of cut joints make it singular.
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
    """Return the largest generalized force among inertia, bias and inputs at each state."""
    needed = at(equations.route.loaded([0.0] * len(equations.u)))
    inertia = _times(np.abs(_matrices(equations, at)), np.abs(at(equations.forward)))
    return np.maximum(np.abs(needed).max(axis=0), np.abs(inertia).max(axis=0))
