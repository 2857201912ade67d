"""Numerical values of equations by the slow interpreter, the reference for expressions; random states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.expression.interpret import interpret
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import quantity


@dataclass(frozen=True)
class State:
    """State in the order of the equations, with accelerations and inputs."""

    q: np.ndarray
    u: np.ndarray
    udot: np.ndarray
    inputs: np.ndarray
    t: float = 0.0


def random_state(equations: Equations, random: np.random.Generator) -> State:
    """Return a state of standard normal numbers, with unit quaternions."""
    q = random.normal(size=len(equations.q))
    for start in equations.quaternions:
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    u, udot = random.normal(size=(2, len(equations.u)))
    return State(q, u, udot, random.normal(size=len(equations.inputs)), float(random.normal()))


def values_of(equations: Equations, state: State) -> dict[Any, float]:
    """Return a value for every leaf; parameters have their defaults."""
    e = equations
    leaves = (e.t, *e.q, *e.u, *e.udot, *e.inputs)
    numbers = (state.t, *state.q, *state.u, *state.udot, *state.inputs)
    return dict(zip(leaves, numbers, strict=True)) | {p: e.defaults[p.name] for p in e.parameters}


def evaluated(equations: Equations, name: str, state: State, rest: Any = None) -> np.ndarray:
    """Return the outputs of a named program; ``rest`` replaces its arguments other than t, q and u."""
    found = quantity(equations, name)
    values = values_of(equations, state)
    if rest is not None:
        values.update(zip(found.rest, rest, strict=True))
    return interpreted(equations, found.outputs, values)


def interpreted(equations: Equations, outputs: Any, values: dict[Any, float]) -> np.ndarray:
    """Return the values of expressions or numbers."""
    lift = equations.system.arena.lift
    return np.array([float(x) for x in interpret([lift(x) for x in outputs], values)])


def mass_matrix(equations: Equations, state: State) -> np.ndarray:
    """Return M with all entries, (n, n)."""
    n = len(equations.u)
    entries = [x for row in equations.mass_matrix for x in row]
    return interpreted(equations, entries, values_of(equations, state)).reshape(n, n)


def input_matrix(equations: Equations, state: State) -> np.ndarray:
    """Return the input matrix, (n, m)."""
    return evaluated(equations, "input_matrix", state).reshape(len(equations.u), len(equations.inputs))


def close(ours: Any, theirs: Any, tolerance: float) -> None:
    """Assert equality within ``tolerance`` times the largest entry, since rounding in all entries has its magnitude."""
    scale = max(float(np.abs(theirs).max(initial=0.0)), 1e-300)
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=tolerance * scale)
