"""A pendulum of links on a cart in opty and in kane.compat.opty, from the same SymPy equations.

opty needs the package cyipopt only for its solver. Ipopt is called by kane in both programs, so that times of whole
problems differ by functions and derivatives alone; opty has no Hessian, which Ipopt then approximates.
"""

import importlib
import math
import sys
import types
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.toolchain import PeerMissingError

METHOD = "midpoint"


class Pendulum(NamedTuple):
    """Equations of motion, states, values of the constants, input and time."""

    equations: Any
    states: tuple[Any, ...]
    constants: dict[Any, float]
    force: Any
    time: Any


def opty() -> Any:
    """Return the module opty, with a stub of cyipopt if that is missing.

    Raises:
        PeerMissingError: opty or Cython is not installed.
    """
    try:
        importlib.import_module("Cython")
        if importlib.util.find_spec("cyipopt") is None:
            sys.modules["cyipopt"] = stub = types.ModuleType("cyipopt")
            vars(stub)["Problem"] = object
        return importlib.import_module("opty")
    except ImportError as error:
        raise PeerMissingError("opty is not installed (pip install --no-deps opty cython)") from error


def pendulum(links: int) -> Pendulum:
    """Derive the equations of motion by SymPy: links of 1 m and 0.1 kg on a cart of 1 kg."""
    from sympy.physics.mechanics import dynamicsymbols
    from sympy.physics.mechanics.models import n_link_pendulum_on_cart

    found = n_link_pendulum_on_cart(links, cart_force=True, joint_torques=False)
    states, time = (*found.q, *found.u), dynamicsymbols._t
    equations = found.mass_matrix_full * type(found.forcing_full)(states).diff(time) - found.forcing_full
    values = {"g": 9.81, "m0": 1.0}
    constants = {p: values.get(p.name, 0.1 if p.name[0] == "m" else 1.0) for p in equations.free_symbols - {time}}
    return Pendulum(equations, states, constants, dynamicsymbols("F"), time)


def collocator(module: Any, model: Pendulum, nodes: int, duration: float) -> Any:
    """Return the collocator of a swing-up in opty or kane.compat.opty."""
    h = duration / (nodes - 1)
    return module.ConstraintCollocator(
        model.equations,
        model.states,
        nodes,
        h,
        known_parameter_map=model.constants,
        instance_constraints=instances(model, duration),
        integration_method=METHOD,
    )


def instances(model: Pendulum, duration: float) -> tuple[Any, ...]:
    """Return the constraints of a swing-up at rest: angles from -pi/2 to pi/2, the first from the horizontal."""
    count = len(model.states) // 2
    first, last = [0.0] + [-math.pi / 2] * (count - 1), [0.0] + [math.pi / 2] * (count - 1)
    ends = [(0.0, first + [0.0] * count), (duration, last + [0.0] * count)]
    return tuple(x.func(time) - value for time, values in ends for x, value in zip(model.states, values, strict=True))


class OptyProgram:
    """Opty's functions as Ipopt calls them; the objective is h sum F^2 at the nodes after the first one."""

    def __init__(self, found: Any, interval: float) -> None:
        self._values, self._entries = found.generate_constraint_function(), found.generate_jacobian_function()
        self.jacobian_places = found.jacobian_indices()
        self.hessian_places = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self._force = slice(found.num_states * found.num_collocation_nodes, None)
        self._h = interval

    def objective(self, z: np.ndarray) -> float:
        """Return the objective."""
        middle = 0.5 * (z[self._force][1:] + z[self._force][:-1])
        return float(self._h * middle @ middle)

    def objective_gradient(self, z: np.ndarray) -> np.ndarray:
        """Return its gradient."""
        found, middle = np.zeros(len(z)), 0.5 * (z[self._force][1:] + z[self._force][:-1])
        found[self._force][1:] += self._h * middle
        found[self._force][:-1] += self._h * middle
        return found

    def constraints(self, z: np.ndarray) -> np.ndarray:
        """Return the constraints."""
        return np.asarray(self._values(z))

    def jacobian(self, z: np.ndarray) -> np.ndarray:
        """Return the entries of their Jacobian."""
        return np.asarray(self._entries(z))

    def hessian(self, *_: Any) -> np.ndarray:
        """Return nothing: Ipopt approximates the Hessian."""
        return np.zeros(0)
