"""The certificate of a model: independent routes agree, laws of nature hold, to how many digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kane.analysis.laws import energy_rate, is_floating, momentum_rates, prescribes_motion
from kane.analysis.random_states import RandomStates
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.formulation.explicit import explicit
from kane.formulation.formulate import formulate
from kane.formulation.lagrange import lagrange
from kane.formulation.path_tables import path_tables
from kane.model.model import Model

# Routes take different paths through the same numbers; in trees of tens of bodies with general inertias they differ by 1e-10
# and less, whatever the seed. A wrong sign or a dropped term costs every digit but one or two.
DIGITS = 8.0


class Finding(NamedTuple):
    """One line of a certificate.

    Attributes:
        claim: what was compared.
        digits: how many digits agree, in the worst of the states; None where the claim does not apply.
        remark: why it does not apply, or what was found.
    """

    claim: str
    digits: float | None
    remark: str = ""

    @property
    def holds(self) -> bool:
        """Whether the claim holds, or does not apply."""
        return self.digits is None or self.digits >= DIGITS


class Certificate(tuple[Finding, ...]):
    """What ``certify`` returns; prints as a table."""

    __slots__ = ()

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(finding.holds for finding in self)

    def __str__(self) -> str:
        rows = []
        for claim, digits, remark in self:
            shown = "  n/a" if digits is None else f"{digits:5.1f}"
            verdict = "" if digits is None else "holds" if digits >= DIGITS else "FAILS"
            rows.append(f"{claim:52}{shown}  {verdict:6}{remark}".rstrip())
        return "\n".join([f"{'claim':52}digits", *rows])


def certify(model: Model, *, states: int = 4, seed: int = 0) -> Certificate:
    """Check the equations of a model against independent derivations and against nature.

    Claims, at random states, speeds, inputs and parameters: the recursive route agrees with Kane's explicit equations, with
    path tables (Stoneking) and with Lagrange's equations, which use only each joint's R_FM and p_FM; composite inertias
    agree with articulated ones; inverse after forward is identity; M is positive definite; the energy changes at the power of
    the loads and inputs; the momenta of a floating system change by the outer forces.

    Args:
        model: a model that formulates.
        states: how many random states.
        seed: of the states; a certificate that fails names it.

    Raises:
        ModelError: the model has no degree of freedom, or does not formulate.
    """
    equations = formulate(model)
    if not equations.u:
        raise ModelError(f"the model {model.name!r} has no degree of freedom: there is nothing to certify")
    at = RandomStates(equations, states, seed)
    claims: tuple[Callable[[Model, Equations, RandomStates], Finding], ...] = (
        _explicit_agrees,
        _path_tables_agree,
        _lagrange_agrees,
        _forward_routes_agree,
        _inverse_undoes_forward,
        _mass_matrix_is_positive,
        _energy_follows_power,
        _momentum_follows_forces,
    )
    with collector_paused():
        return Certificate(claim(model, equations, at) for claim in claims)


def digits(a: np.ndarray, b: np.ndarray, scale: np.ndarray | None = None) -> float:
    """Digits to which two sets of columns agree, relative to the largest entry of each column, at the worst column."""
    size = np.abs(b).max(axis=0) if scale is None else scale
    error = float(np.max(np.abs(a - b).max(axis=0) / np.where(size == 0.0, 1.0, size)))
    return 16.0 if error == 0.0 else -math.log10(error) if error == error else -math.inf


def _explicit_agrees(model: Model, equations: Equations, at: RandomStates) -> Finding:
    other = explicit(equations).inverse
    return Finding("M udot + bias: recursive = explicit (Kane)", digits(at(other), at(equations.inverse)))


def _path_tables_agree(model: Model, equations: Equations, at: RandomStates) -> Finding:
    tables = path_tables(model).matrices
    n = len(equations.u)
    residual = [_sum(tables.COEF[i, j] * equations.udot[j] for j in range(n)) - tables.RHS[i] for i in range(n)]
    lift = equations.system.arena.lift
    loaded = equations.routes.inverse(equations.udot, equations.applied)
    return Finding("M udot + bias - B inputs: recursive = path tables", digits(at(map(lift, residual)), at(loaded)))


def _lagrange_agrees(model: Model, equations: Equations, at: RandomStates) -> Finding:
    other = lagrange(model)
    if [leaf.name for leaf in other.u] != [leaf.name for leaf in equations.u]:
        raise ModelError("Lagrange's equations stand in another order than Kane's")
    return Finding("M udot + bias: recursive = Lagrange", digits(at(other.inverse), at(equations.inverse)))


def _forward_routes_agree(model: Model, equations: Equations, at: RandomStates) -> Finding:
    claim = "udot: composite = articulated inertias"
    if not equations.system.speeds.plain:
        return Finding(claim, None, "coordinates that follow others: composite inertias only")
    routes = equations.routes
    a, b = at(routes.articulated(equations.applied)), at(routes.composite(equations.applied))
    # What counts is the force that the difference stands for: accelerations of light bodies are large and ill determined.
    M = _matrices(equations, at)
    return Finding(claim, digits(_times(M, a), _times(M, b), _force_scale(equations, at)))


def _inverse_undoes_forward(model: Model, equations: Equations, at: RandomStates) -> Finding:
    moved = at.with_values(equations.udot, at(equations.forward))
    loaded = equations.routes.inverse(equations.udot, equations.applied)
    residual = moved(loaded)
    return Finding("inverse after forward is identity", digits(residual, 0 * residual, _force_scale(equations, at)))


def _mass_matrix_is_positive(model: Model, equations: Equations, at: RandomStates) -> Finding:
    lowest = min(float(np.linalg.eigvalsh(M).min() / np.linalg.eigvalsh(M).max()) for M in _matrices(equations, at))
    remark = f"least over largest eigenvalue {lowest:.1e}"
    return Finding("M is symmetric and positive definite", 16.0 if lowest > 0.0 else 0.0, remark)


def _energy_follows_power(model: Model, equations: Equations, at: RandomStates) -> Finding:
    claim = "energy rate = power of loads and inputs"
    if prescribes_motion(equations):
        return Finding(claim, None, "motion is prescribed in time: what prescribes it does work")
    rate, powers = energy_rate(model, equations)
    values = at(
        [rate, *(power for _, power in powers), *equations.routes.inverse([0.0] * len(at.u), equations.applied)]
    )
    flows, forces = values[: 1 + len(powers)], values[1 + len(powers) :]
    scale = np.abs(flows).max(axis=0) + (np.abs(forces) * np.abs(at.u)).sum(axis=0)
    return Finding(claim, digits(flows[:1], flows[1:].sum(axis=0, keepdims=True), scale), f"{len(powers)} loads")


def _momentum_follows_forces(model: Model, equations: Equations, at: RandomStates) -> Finding:
    claim = "momentum rates = outer forces and moments"
    if not is_floating(equations):
        return Finding(claim, None, "bodies are held by the ground")
    rates, forces = momentum_rates(equations)
    a, b = at(rates), at(forces)
    scale = np.abs(a).max(axis=0) + np.abs(b).max(axis=0) + _force_scale(equations, at)
    return Finding(claim, digits(a, b, scale))


def _sum(terms: Any) -> Any:
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
    needed = at(equations.routes.inverse([0.0] * len(equations.u), equations.applied))
    inertia = _times(np.abs(_matrices(equations, at)), np.abs(at(equations.forward)))
    return np.maximum(np.abs(needed).max(axis=0), np.abs(inertia).max(axis=0))
