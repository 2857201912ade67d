"""Equations from a mass matrix, a forcing vector and kinematics that were derived elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kane.errors import ExpressionError, ModelError
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.operations import ACCELERATION, INPUT, RATE, SPEED
from kane.expression.traverse import leaves
from kane.formulation.equations import Equations
from kane.formulation.matrix_route import GivenMatrices
from kane.formulation.tree.body_tree import body_tree
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.speeds import Speeds, leaves_of
from kane.formulation.tree.system import System
from kane.model.model import Model

# Largest relative difference of M[i][j] and M[j][i] at random states that counts as rounding.
SYMMETRY_TOLERANCE = 1e-9
# Seeds of these random states.
MATRIX_SEEDS = (0, 1)
ANY_COORDINATE_UNIT, ANY_SPEED_UNIT = "m or rad", "m/s or rad/s"


def equations_of_matrices(
    model: Model,
    q: Sequence[Expr],
    u: Sequence[Expr],
    *,
    kinematics: Sequence[Expr],
    mass: Sequence[Sequence[Expr]],
    forcing: Sequence[Expr],
) -> Equations:
    """Return Equations of M udot = forcing, dq/dt = kinematics.

    Args:
        model: name, parameters and inputs; it has no bodies.
        q, u: leaves of the coordinates and speeds.
        kinematics: expressions of q, u and t, linear in u.
        mass: M by rows, n x n, in q and t. It need not be symmetric.
        forcing: n expressions of q, u, t and the inputs.

    Raises:
        ModelError: the kinematics are not linear in u, M depends on speeds or inputs, or M is singular at random
            states.
    """
    try:
        linear_coefficients(kinematics, u)
    except ExpressionError as error:
        raise ModelError(f"the kinematics of {model.name!r} are not linear in the speeds: {error}") from None
    entries = [x for row in mass for x in row]
    wrong = [leaf for leaf in leaves(entries) if leaf.op in (SPEED, INPUT)]
    if wrong:
        raise ModelError(f"the mass matrix of {model.name!r} depends on {wrong[0].name!r}, a speed or an input")
    given = GivenMatrices(tuple(map(tuple, mass)), tuple(forcing), _is_symmetric(model, mass))
    parameters, inputs, t = leaves_of(model)
    speeds = _speeds(model, q, u, kinematics)
    return Equations(
        model=model,
        system=System(model.arena, [], {}, speeds, [], [], model.gravity),
        tree=body_tree(model, speeds),
        route_of=given,
        parameters=parameters,
        inputs=inputs,
        t=t,
        defaults={**model.parameters, **model.inputs},
        bodies=(model.ground.name,),
        frames={},
        coordinate_units=(ANY_COORDINATE_UNIT,) * len(q),
        speed_units=(ANY_SPEED_UNIT,) * len(u),
        neutral=(0.0,) * len(q),
        quaternions=(),
    )


def _speeds(model: Model, q: Sequence[Expr], u: Sequence[Expr], kinematics: Sequence[Expr]) -> Speeds:
    """Return speeds in which each generalized speed is a natural speed of its own."""
    arena = model.arena
    return Speeds(
        q=tuple(q),
        u=tuple(u),
        udot=tuple(arena.leaf(ACCELERATION, leaf.name) for leaf in u),
        kinematics=tuple(kinematics),
        motion={},
        first={},
        natural=list(u),
        C=[{j: arena.one} for j in range(len(u))],
        a_t=[arena.zero] * len(u),
        rates={arena.leaf(RATE, leaf.name): x for leaf, x in zip(q, kinematics, strict=True)},
    )


def _is_symmetric(model: Model, mass: Sequence[Sequence[Expr]]) -> bool:
    """Check whether M is symmetric at random states with the default parameters.

    Raises:
        ModelError: M is singular there.
    """
    n, symmetric = len(mass), True
    for seed in MATRIX_SEEDS:
        M = Probe(model.parameters, seed=seed)([x for row in mass for x in row]).reshape(n, n)
        if np.isfinite(M).all() and np.linalg.matrix_rank(M) < n:
            raise ModelError(
                f"the mass matrix of {model.name!r} is singular at random states with the default parameters: its rank "
                f"is {np.linalg.matrix_rank(M)} of {n}; correct the parameters, or leave out speeds without inertia"
            )
        symmetric &= bool(np.abs(M - M.T).max(initial=0.0) <= SYMMETRY_TOLERANCE * np.abs(M).max(initial=0.0))
    return symmetric
