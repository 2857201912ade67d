"""Arguments of ``kane.sweep``: values for all runs, tables of runs, outputs and precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import numbers, require, words
from kane.model.checks import require_known
from kane.model.named_vector import index_of_name
from kane.simulation.inputs.input_plan import Samples
from kane.simulation.inputs.sampled import Sampled
from kane.simulation.state_layout import Layout
from kane.sweeps.run_tables import RunTable, Sample, listed
from kane.sweeps.study import Study

GROUPS = {"q": "coordinate", "u": "speed", "inputs": "input", "parameters": "parameter"}
Values = dict[str, dict[str, Any]]


def names_by_group(layout: Layout) -> dict[str, tuple[str, ...]]:
    """Return the names of coordinates, speeds, inputs and parameters, by group."""
    each = (layout.coordinates, layout.speeds, layout.inputs, layout.parameters)
    return dict(zip(GROUPS, each, strict=True))


def split_values(dyn: Dynamics, groups: Mapping[str, Any]) -> tuple[Values, dict[str, Any], Any]:
    """Split the user's values into numbers for all runs, columns with one number per run, and drivers of inputs.

    Returns:
        Numbers by group and name, columns by name, and drivers: a dict by name, or one driver of all inputs.

    Raises:
        ModelError: an unknown name, a wrong shape, or values that are not numbers.
    """
    known = names_by_group(Layout.of(dyn.equations))
    fixed: Values = {group: {} for group in GROUPS}
    columns: dict[str, Any] = {}
    drivers: Any = {}
    for group, given in groups.items():
        if group == "inputs" and _drives(given):
            drivers = given
            continue
        for name, value in _by_name(given, known[group], GROUPS[group]).items():
            if group == "inputs" and _drives(value):
                drivers[name] = value
            elif np.ndim(value):
                columns[name] = value
            else:
                fixed[group][name] = float(numbers(value, f"the {GROUPS[group]} {name!r} must be a number"))
    return fixed, columns, drivers


def _drives(value: Any) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2 and all(np.ndim(part) > 0 for part in value)
    return pair or callable(value) or isinstance(value, Expr | Samples | Sampled)


def _by_name(values: Any, names: tuple[str, ...], what: str) -> Mapping[str, Any]:
    if values is None:
        return {}
    if isinstance(values, Mapping):
        for name in values:
            index_of_name(name, names, what)
        return values
    rows = numbers(values, f"the {what}s must be numbers")
    if rows.ndim not in (1, 2) or rows.shape[-1] != len(names):
        raise ModelError(
            f"the {what}s have shape {rows.shape}; give ({len(names)},) for all runs or (runs, {len(names)}): "
            f"{', '.join(names)}"
        )
    return dict(zip(names, rows.T, strict=True))


def table_of_runs(dyn: Dynamics, fixed: Values, columns: Mapping[str, Any], runs: Any, seed: Any) -> RunTable:
    """Return the table of the runs.

    Raises:
        ModelError: no table or two, an unknown name, a name that is also given for all runs, a missing seed, or
            columns of different lengths.
    """
    if runs is None and not columns:
        raise ModelError(
            "the number of runs is unknown: give runs=kane.grid(...) or kane.sample(...), or one number per run in q, "
            "u, inputs or parameters"
        )
    if runs is not None and columns:
        raise ModelError(f"{shown(next(iter(columns)))} has one value per run, and runs= is a table too; give one")
    if runs is None or isinstance(runs, Mapping):
        runs = listed(columns if runs is None else runs)
    require(runs, RunTable, "runs= takes kane.grid(...), kane.sample(...) or a dict of columns")
    groups = names_by_group(Layout.of(dyn.equations))
    known = [name for group in groups.values() for name in group]
    for name in runs.names:
        require_known(name, known, "coordinate, speed, input or parameter")
        if any(name in values for values in fixed.values()):
            raise ModelError(f"{name!r} is in the table of the runs, and has a value for all runs; leave one out")
    return runs.seeded(seed) if isinstance(runs, Sample) else runs


def chosen_outputs(dyn: Dynamics, outputs: Any, recorded: bool) -> dict[str, Expr]:
    """Return the outputs by name; by default coordinates and speeds, unless states are recorded.

    Raises:
        ModelError: an unknown name, or an output that is not an expression.
    """
    e = dyn.equations
    leaves = {leaf.name: leaf for leaf in (*e.q, *e.u, *e.inputs, *e.parameters)}
    if outputs is None:
        return {} if recorded else {leaf.name: leaf for leaf in (*e.q, *e.u)}
    if not isinstance(outputs, Mapping):
        outputs = {name: name for name in words(outputs, "outputs", "names")}
    found = {}
    for name, value in outputs.items():
        if isinstance(value, str):
            require_known(value, leaves, "coordinate, speed, input or parameter")
            value = leaves[value]
        require(value, Expr, f"the output {shown(name)} must be an expression of the model or a name")
        found[name] = value
    return found


def narrow_intervals(study: Study, precision: Mapping[str, float] | None) -> dict[str, float]:
    """Return the half-widths of confidence intervals at which the study stops, by result.

    Raises:
        ModelError: an unknown name, or a half-width that is not positive.
    """
    require(precision, Mapping | None, "precision= takes a dict of half-widths by output")
    for name, width in (precision or {}).items():
        require_known(name, study.result_names, "output")
        if not isinstance(width, int | float) or not width > 0.0:
            raise ModelError(f"the precision of {name!r} is {shown(width)}; give a positive half-width")
    return dict(precision or {})
