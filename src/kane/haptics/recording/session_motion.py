"""Conversion of a session to a trajectory and to a recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.engine.memory.views import loop_command_at, taken_command_at
from kane.errors import ModelError
from kane.haptics.coupling.handle import COUPLER_INPUT_NAMES
from kane.haptics.coupling.rigid_coupler import AnyCoupler
from kane.haptics.devices.device import Traits
from kane.haptics.loop.loop import Loop
from kane.haptics.recording.recording import Recording
from kane.haptics.safety.force_limits import Safety
from kane.simulation.inputs.input_plan import Held
from kane.simulation.results.trajectory import Trajectory


def trajectory_of(loop: Loop) -> Trajectory:
    """Return the motion up to now; the inputs of the coupler follow the user's inputs, as set by commands."""
    problem, log = loop.problem, loop.log
    times = np.arange(len(log)) * loop.period
    columns = np.hstack([log[name] for name in ("proxy", "rates", "stiffness", "damping")])
    n = len(problem.plan.names) - len(COUPLER_INPUT_NAMES)
    samples = {n + k: Held(times, column) for k, column in enumerate(columns.T)}
    samples |= {k: _held(loop, k) for k in range(n)}
    plan = replace(problem.plan, samples={**samples, **problem.plan.samples})
    told = replace(problem, plan=plan)
    record = told.record(replace(loop.integration, problems={told.key: told}))
    attributes = {"integrator": loop.method.name, "dt": loop.period, "interrupted": 0}
    return Trajectory(record.labelled(attributes), loop.coupled.dyn)


def _held(loop: Loop, k: int) -> Held:
    """Return a user's input over time: its initial value, then the values set by commands."""
    values = {0.0: float(loop.problem.plan.constants[k])}
    taken, n = _taken(loop), loop.circuit.handle.inputs
    rows = taken_command_at(taken, 0, n)
    inputs = loop_command_at(taken, rows.command, n).inputs
    values |= dict(zip((rows.tick[:, 0] * loop.period).tolist(), inputs[:, k].tolist(), strict=True))
    return Held(list(values), list(values.values()))


def _taken(loop: Loop) -> Matrix:
    taken = loop.circuit.messages.taken
    return taken[: min(int(loop.circuit.counts.taken[0]), len(taken))]


def recording_of(loop: Loop, start: Vector, settings: tuple[AnyCoupler, Safety, Traits]) -> Recording:
    """Return the recording of a session that started at the state [q, u].

    Raises:
        ModelError: there was no tick yet, the handle's position or an input is an expression or samples, or there
            were too many commands.
    """
    if not loop.ticks:
        raise ModelError("the session has not run yet, so there is nothing to replay; call run(seconds) first")
    coupler, safety, traits = settings
    plan, layout, place = loop.problem.plan, loop.problem.layout, coupler.handle.position_in_body
    if plan.samples or plan.expressions or not all(isinstance(x, int | float) for x in place):
        raise ModelError(
            "the handle or an input of this session is an expression or samples, which a file of a session cannot "
            "contain; give both as numbers"
        )
    taken, count = _taken(loop), int(loop.circuit.counts.taken[0])
    if count > len(taken):
        raise ModelError(
            f"the session had {count} commands, but only {len(taken)} are kept, so it cannot be saved; "
            "save a session before that"
        )
    nq = len(layout.coordinates)
    head: Mapping[str, Any] = {
        "model": layout.model,
        "coordinates": list(layout.coordinates),
        "speeds": list(layout.speeds),
        "inputs": plan.constants[: -len(COUPLER_INPUT_NAMES)].tolist(),
        "parameters": loop.problem.parameters.tolist(),
        "q": start[:nq].tolist(),
        "u": start[nq:].tolist(),
        "handle": [coupler.handle.body.name, list(place)],
        "coupler": {word: value for word, value in vars(coupler).items() if word != "handle"},
        "safety": vars(safety),
        "device": vars(traits),
        "method": loop.method.name,
        "predict": loop.predict,
        "lengths": loop.lengths,
    }
    return Recording(head, loop.rows, taken, loop.integration.states())
