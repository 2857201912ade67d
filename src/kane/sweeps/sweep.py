"""``kane.sweep``: compute a study of many runs, and store or resume it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from kane.dynamics.dynamics import Dynamics
from kane.expression.number_arguments import list_argument, require
from kane.simulation.events.event import Event
from kane.simulation.integrators.integrator import Integrator, require_integrator
from kane.simulation.integrators.rk8 import RK8
from kane.simulation.schedule.course import Span
from kane.sweeps.arguments import chosen_outputs, narrow_intervals, split_values, table_of_runs
from kane.sweeps.identity import store_of
from kane.sweeps.results import Sweep
from kane.sweeps.running import Running
from kane.sweeps.study import Study


def sweep(
    dyn: Dynamics,
    *,
    until: float,
    q: Any = None,
    u: Any = None,
    inputs: Any = None,
    parameters: Any = None,
    outputs: Any = None,
    events: Event | Sequence[Event] = (),
    runs: Any = None,
    seed: int | None = None,
    store: Any = None,
    times: Any = None,
    integrator: Integrator | None = None,
    start: float = 0.0,
    chunk: int | None = None,
    precision: Mapping[str, float] | None = None,
    executor: Executor | None = None,
    scheduler: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Sweep:
    """Compute many runs of one model: a table, all combinations of values, or random draws.

    Runs are computed in chunks by ``simulate_many``. Studies with events or sampled inputs are computed by single runs
    in threads. Each run equals ``kane.simulate`` to the last bit, for any number of workers. A run that fails is
    recorded with the reason, and the others continue. With ``store=`` a finished chunk is never computed again: repeat
    an interrupted call to resume it, or extend it with more runs.

    Args:
        dyn: returned by ``kane.build``.
        until: last time [s].
        q, u, inputs, parameters: as for ``simulate_many``: numbers for all runs, or one per run. Inputs may also be
            ``kane.Sampled`` and samples.
        outputs: results at the end of each run, a dict from names to expressions of the model, or a list of names of
            coordinates, speeds, inputs and parameters. By default all coordinates and speeds, unless ``times`` is
            given.
        events: one or several; the first time of each event [s] is a result with the event's name, NaN if it did not
            happen. A terminal event ends its run; outputs are evaluated there.
        runs: ``kane.grid(...)``, ``kane.sample(...)`` or a dict of lists of equal length, by names of coordinates,
            speeds, inputs and parameters.
        seed: seed of ``kane.sample``.
        store: path of a folder in the format zarr 3; by default the results are kept in memory.
        times: times [s] at which coordinates and speeds are recorded, in addition to the first and the last as in
            ``simulate``; by default no trajectories are recorded.
        integrator: with step-size control; RK8(), with a relative tolerance of 1e-9, unless given.
        start: first time [s].
        chunk: runs per chunk; by default a 16th of the runs, 256 to 4096.
        precision: half-widths of the 95 % confidence intervals of means, by output: the study stops after the first
            chunk at whose end all intervals are narrow enough.
        executor: executor of concurrent.futures that computes the chunks; by default this process does, in threads.
        scheduler: instead, the address of a scheduler of Dask distributed, such as "tcp://127.0.0.1:8786".
        progress: function of the completed fraction; by default progress is shown as by ``simulate``.

    Returns:
        The results. Ctrl-C ends the study early with a warning.

    Raises:
        ModelError: an argument is invalid for all runs, or the store has another study.
        FileError: the store cannot be written, or the disk is too small for it.
        SimulationError: the workers ended.
    """
    require(dyn, Dynamics, "sweep needs Dynamics, as kane.build(equations) returns")
    fixed, varied, drivers = split_values(dyn, dict(q=q, u=u, inputs=inputs, parameters=parameters))
    table = table_of_runs(dyn, fixed, varied, runs, seed)
    events = (events,) if isinstance(events, Event) else list_argument(events, "events", "kane.Event(expression, ...)")
    method, recorded = require_integrator(RK8() if integrator is None else integrator), times is not None
    span = Span.of(start, until, None, times if recorded else ())
    chosen = chosen_outputs(dyn, outputs, recorded)
    study = Study(dyn, span, method, fixed, drivers, chosen, tuple(events), recorded)
    study.prepare()
    place = store_of(study, table, store, chunk)
    running = Running(study, table, place, narrow_intervals(study, precision))
    running.run(executor, scheduler, progress)
    return Sweep(place, study, table)
