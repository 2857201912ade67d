"""Generalized speeds that make the mass matrix diagonal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.number_arguments import number, numbers, require
from kane.expression.operations import PARAMETER
from kane.expression.traverse import leaves
from kane.formulation.read_model import system_of
from kane.formulation.recursive.recursive_route import cheapest_system, least_mass_matrix
from kane.formulation.search.best_speeds import with_speeds
from kane.formulation.search.speed_candidates import own_speed_definitions
from kane.formulation.tree.sparse import Sparse, triangular_factor
from kane.formulation.tree.system import System
from kane.model.model import Model
from kane.model.named_vector import index_of_name


def decoupling_speeds(
    model: Model, *, q: Sequence[float] | Mapping[str, float] | None = None, t: float | None = None
) -> dict[str, Expr]:
    """Return definitions of speeds that make the mass matrix diagonal, by name.

    ``model.speeds(**decoupling_speeds(model))`` uses them. The kinetic energy is then the sum of D_k u_k^2 / 2, apart
    from motion in N that time prescribes. M = L^T D L over the joints' own speeds w, with ones on the diagonal of L,
    gives u = L w. Every u_k is w_k plus multiples of the speeds of joints nearer to the ground. It has the unit of w_k,
    and its definition fails nowhere. The elimination follows the order of the tree, in which L has no fill-in.
    Eigenvectors of M are not used, because they would mix radians with metres.

    Only the accelerations are decoupled: D_k udot_k = .... The right-hand sides still contain all speeds and become
    longer, so count the operations before using these speeds.

    Args:
        q: None for L as a function of the coordinates, with which M is diagonal everywhere. A state, as an array or as
            a dict with every coordinate, for the numeric L at this state, with parameters at their defaults. M is then
            diagonal at that state and nearly diagonal around it.
        t: time of that state [s], needed if M depends on it.

    Raises:
        ModelError: the model has constraints, which couple the speeds again; q or t is incomplete; M is singular.

    Source: Gillespie 2003, Sections 3 and 6 (an orthogonal basis of partial velocities).
    """
    require(model, Model, "decoupling_speeds takes a kane.Model")
    if model.constraints:
        raise ModelError(
            f"{model.name!r} has constraints, which couple the decoupled speeds again; remove the constraints, or "
            "replace them by joints"
        )
    natural = system_of(with_speeds(model, {}))
    M = least_mass_matrix(cheapest_system(natural))
    if q is not None:
        M = _numerical(M, natural, _coordinates(natural, q), t, model)
    order = list(dict.fromkeys(j for row in natural.speeds.C for j in row))
    rows, _ = triangular_factor(M, order, [leaf.name for leaf in natural.speeds.u])
    own = own_speed_definitions(natural)
    definitions = {}
    for k, j in enumerate(order):
        u = own[j].expression()
        for i, multiple in rows[k].items():
            u = u + multiple * own[order[i]].expression()
        definitions[j] = (own[j].name if not rows[k] else f"{own[j].name}_decoupled", u)
    return dict(definitions[j] for j in sorted(definitions))


def _coordinates(system: System, q: Any) -> np.ndarray:
    names = [leaf.name for leaf in system.speeds.q]
    if isinstance(q, Mapping):
        for name in q:
            index_of_name(name, names, "coordinate")
        missing = [name for name in names if name not in q]
        if missing:
            raise ModelError(f"q has no value for {', '.join(missing)}; give every coordinate, or leave q out")
        q = [q[name] for name in names]
    values = numbers(q, f"q must be {len(names)} finite numbers, for {', '.join(names)}")
    if values.shape != (len(names),) or not np.isfinite(values).all():
        raise ModelError(f"q must be {len(names)} finite numbers, for {', '.join(names)}; got {shown(q)}")
    return values


def _numerical(M: Sparse, system: System, q: np.ndarray, t: float | None, model: Model) -> Sparse:
    """Return the entries of M numerically at a state."""
    entries = [system.arena.lift(x) for x in M.values()]
    if t is None and model.time in leaves(entries):
        raise ModelError(f"the mass matrix of {model.name!r} depends on the time t; give t [s]")
    values: dict[Expr, float] = {leaf: model.parameters[leaf.data] for leaf in leaves(entries) if leaf.op == PARAMETER}
    values |= dict(zip(system.speeds.q, q.tolist(), strict=True))
    values[model.time] = 0.0 if t is None else number(t, "t", "seconds")
    return dict(zip(M, map(float, interpret(entries, values)), strict=True))
