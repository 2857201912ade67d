"""simulate: from Dynamics and an initial state to a Trajectory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.integrators.rk4 import RK4
from kane.simulation.march import fixed_grid
from kane.simulation.problem import Problem
from kane.simulation.progress import ProgressBar
from kane.simulation.python_march import PythonMarch
from kane.simulation.run import Outcome, run_march
from kane.simulation.trajectory import Trajectory


def simulate(
    dyn: Dynamics,
    *,
    until: float,
    q: Any = None,
    u: Any = None,
    inputs: Any = None,
    dt: float = 1e-3,
    every: int | None = None,
    integrator: Integrator | None = None,
    parameters: Any = None,
    start: float = 0.0,
    progress: Callable[[float], None] | None = None,
) -> Trajectory:
    """Integrate the equations of motion, dq/dt = qdot(t, q, u), du/dt = udot(t, q, u, inputs).

    Args:
        dyn: what ``kane.build`` returned.
        until: last time [s]; before ``start``, time runs backwards.
        q, u: initial coordinates and speeds, an array or a dict from some of the names to numbers; what is not given is
            neutral (zero, identity quaternion) and at rest.
        inputs: None for the defaults; an array of constants; samples of all inputs, ``Held`` or ``Interpolated`` or a
            pair (times, values), which is interpolated; or a dict from some of the names to numbers, samples or
            expressions of the model (controllers, compiled into the equations).
            Also a Python function of (t, q, u) that returns the inputs, in place of all or in the dict: a slow path,
            some hundred times slower, because each of the integrator's stages calls it.
        dt: step of a fixed-step integrator [s]; the last step is shortened to end exactly at ``until``.
        every: every how many steps the state is recorded; by default so that some 10,000 states are.
        integrator: RK4() by default.
        parameters: array, or dict from some of the names to numbers; defaults for the others.
        start: first time [s].
        progress: called with the fraction done every 50 ms or so; by default a bar on terminals, for long runs.

    Returns:
        The trajectory. Ctrl-C ends a run early: what was computed is returned, with a warning, and marked interrupted.

    Raises:
        ModelError: an argument is not meaningful.
        SimulationError: the state stopped being finite; the message has the time and the state before.
    """
    if not isinstance(dyn, Dynamics):
        raise ModelError(f"simulate needs Dynamics, as kane.build(equations) makes them, not {dyn!r}")
    method = RK4() if integrator is None else integrator
    if not isinstance(method, Integrator):
        raise ModelError(f"the integrator is {method!r}; give one such as kane.RK4()")
    problem = Problem.of(dyn, inputs, parameters)
    march = problem.march(fixed_grid(start, until, dt, every), problem.layout.initial_state(q, u))
    slow = PythonMarch(method, problem.rhs, problem.plan, march) if problem.plan.needs_python else None
    with ProgressBar(problem.layout.model) as bar:
        outcome = run_march(march, slow.advance if slow else method.advance, progress or bar)
    if outcome is Outcome.NOT_FINITE:
        raise problem.failure(march)
    attributes = {"integrator": method.name, "dt": float(dt), "interrupted": int(outcome is Outcome.INTERRUPTED)}
    if outcome is Outcome.INTERRUPTED:
        attributes["message"] = f"interrupted at t = {march.time:.9g} s of {until:.9g} s"
        warnings.warn(f"the simulation of {problem.layout.model!r} was {attributes['message']}", stacklevel=2)
    return problem.trajectory(march, slow.input_rows if slow else None, attributes)
