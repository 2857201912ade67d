"""Random motions, which show the parameters that are identifiable at all."""

from __future__ import annotations

import numpy as np

from kane.analysis.identification.measurements import Measurements
from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.formulation.random_states import RandomStates

# Number of random states that show the identifiable parameters: about ten rows per parameter.
PROBE_STATES = 300


def random_motion(dyn: Dynamics, count: int, values: Array, like: Measurements) -> Measurements:
    """Return random states, with accelerations by random inputs or random forces.

    If motions are compared and contacts may act, random multiples of u are added to these accelerations in place of
    contact forces. Some parameters, for example a mass and a spring, are distinguished only by contacts. In constrained
    models the configurations are measured ones, projected onto the constraints, because random ones may be impossible.

    Args:
        dyn: compiled equations.
        count: number of states.
        values: values of all parameters.
        like: the measurements; they show whether inputs, or forces along all speeds, drive the motion.

    Raises:
        ModelError: accelerations with these values are not finite, for example because masses are zero.
    """
    e, random = dyn.equations, np.random.default_rng(0)
    states = RandomStates(e, count, seed=0)
    q, u, t = states.q.T, states.u.T, random.uniform(0.0, 1.0, size=count)
    if dyn.project is not None:
        rows = random.integers(0, len(like), size=count)
        t = like.time[rows]
        state, inputs = (t[:, None], like.q[rows], u), np.zeros((count, dyn.project.n_rest))
        projected = dyn.project.join(state, inputs, dyn.project.stage(values))
        q, u = np.split(projected[:, : len(e.q) + len(e.u)], [len(e.q)], axis=1)
    inputs = random.normal(size=(count, len(e.inputs)))
    if like.forces is not None and dyn.project is None:
        udot = random.normal(size=u.shape)
    else:
        given = dict(zip((leaf.name for leaf in e.parameters), values.tolist(), strict=True))
        udot = dyn.forward(q, u, inputs, t, parameters=given)
        if like.udot is None and e.intermittents:  # along u, which the constraints allow
            udot = udot + random.normal(size=(count, 1)) * u
    found = np.isfinite(udot).all(axis=1)
    if found.sum() < 2:
        given = {leaf.name: float(x) for leaf, x in zip(e.parameters, values, strict=True)}
        raise ModelError(
            f"{e.name!r} has no finite accelerations with the parameters {shown(given)}; start at others (start=), "
            "for example with masses greater than zero"
        )
    parts = [x[found] for x in (q, u, udot, inputs)]
    return Measurements(np.arange(float(found.sum())), *parts)
