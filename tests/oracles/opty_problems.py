"""Problems in SymPy whose constraints, Jacobians and objectives opty and kane.compat.opty compute alike.

opty 1.5 has no wheel with a solver, so its values are stored in opty_values.json. To write them again:

    pip install --no-deps --target /tmp/opty opty==1.5.0
    mkdir /tmp/opty/cyipopt && echo "class Problem: pass" > /tmp/opty/cyipopt/__init__.py
    PYTHONPATH=/tmp/opty:tests python -m oracles.opty_problems
"""

import importlib
import json
from pathlib import Path

import numpy as np
import sympy as sm
from sympy.physics.mechanics import dynamicsymbols
from sympy.physics.mechanics.models import n_link_pendulum_on_cart

STORED = Path(__file__).with_name("opty_values.json")
NODES = 6
T = dynamicsymbols._t
H, K, M, A = sm.symbols("h k m a")
X, Y, F, G, W = dynamicsymbols("x y F G W")
R = sm.Function("r")(X)


def _square(free):
    return free[:NODES] ** 2


def _sine(free):
    return np.sin(free[:NODES])


def _cosine(free):
    return np.cos(free[:NODES])


def _cart():
    """Return the equations of motion and states of a pendulum of two links on a cart."""
    found = n_link_pendulum_on_cart(2, cart_force=True, joint_torques=False)
    states = (*found.q, *found.u)
    return found.mass_matrix_full * sm.Matrix(states).diff(T) - found.forcing_full, states


def problems():
    """Return arguments of ConstraintCollocator by name, but for the number of nodes and the method."""
    oscillator, states = sm.Matrix([X.diff() - Y, M * Y.diff() + K * X - F]), (X, Y)
    cart, moving = _cart()
    at = NODES - 1
    return {
        "instances": (oscillator, states, 0.1, {
            "known_parameter_map": {K: 2.0, M: 1.5},
            "instance_constraints": (X.func(0.0) - 1, Y.func(0.5) * X.func(0.2) - K * X.func(0.2) ** 2, F.func(0.1)),
        }),
        "free interval": (oscillator, states, H, {
            "known_parameter_map": {M: 1.5},
            "instance_constraints": (X.func(0 * H) - 1, X.func(at * H) - Y.func(2 * H)),
        }),
        "functions and names": (
            sm.Matrix([M * Y.diff() + sm.sin(A * X) ** 2 - F * G * W * sm.exp(-K * sm.Symbol("B2")), X.diff() - Y]),
            (Y, X), H, {"known_trajectory_map": {G: _square, W: np.linspace(-1.0, 2.0, NODES)}},
        ),
        "slope of a known function": (
            sm.Matrix([X.diff() - Y, Y.diff() + K * R**2 - F]), states, 0.1,
            {"known_trajectory_map": {R: _sine, R.diff(X): _cosine}},
        ),
        "more equations than states": (
            sm.Matrix([X.diff() - Y, Y.diff() + K * X - F, X**2 + Y**2 - A]), states, H,
            {"known_parameter_map": {K: 2.0}},
        ),
        "cart": (cart, moving, 0.05, {"known_parameter_map": {
            p: 0.5 + 0.25 * i for i, p in enumerate(sorted(cart.free_symbols - {T}, key=str)[:-1])
        }}),
    }  # fmt: skip


def objectives():
    """Return objectives by name."""
    return {
        "effort": sm.Integral(F**2, T),
        "sum": sm.Integral(X**2 + K, T) + 5 * sm.Integral(F * Y, T) + K**2,
        "product": K * sm.Integral(X * F, T),
    }


def collocator(module, name, method):
    """Return the collocator of a problem, from opty or kane.compat.opty."""
    equations, states, h, others = problems()[name]
    return module.ConstraintCollocator(
        equations, states, NODES, h, integration_method=method, backend="numpy", **others
    )


def objective(module, name, method):
    """Return the functions of an objective."""
    return module.create_objective_function(objectives()[name], (X, Y), (F,), (K,), NODES, 0.1, method)


def free_vector(length):
    """Return a free vector without special values; the last number, which may be a time interval, is 0.1 or larger."""
    z = np.sin(np.arange(1.0, length + 1.0))
    z[-1] = 0.1 + abs(z[-1])
    return z


def values(module):
    """Return the values of all problems and objectives."""
    found = {}
    for method in ("backward euler", "midpoint"):
        for name in problems():
            c = collocator(module, name, method)
            z = free_vector(c.num_free)
            found[f"{name}, {method}"] = {
                "constraints": c.generate_constraint_function()(z).tolist(),
                "jacobian": c.generate_jacobian_function()(z).tolist(),
                "rows": np.asarray(c.jacobian_indices()[0]).tolist(),
                "columns": np.asarray(c.jacobian_indices()[1]).tolist(),
                "unknown": [str(x) for x in (*c.unknown_input_trajectories, *c.unknown_parameters)],
            }
        for name in objectives():
            f, slope = objective(module, name, method)
            z = free_vector(3 * NODES + 1)
            found[f"objective {name}, {method}"] = {"value": float(f(z)), "gradient": slope(z).tolist()}
    return found


if __name__ == "__main__":
    STORED.write_text(json.dumps(values(importlib.import_module("opty"))).replace("}, ", "},\n") + "\n", "utf-8")
