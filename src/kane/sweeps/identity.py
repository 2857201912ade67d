"""Identity of a study: whether a store contains the same one, and the store to write."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

from kane.errors import ModelError, list_names, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import whole
from kane.expression.operations import OPERATIONS
from kane.expression.traverse import reachable, substitute_nodes
from kane.files.scipy import scipy_version
from kane.formulation.digest import model_digest
from kane.formulation.recursive.measures import images
from kane.machine.processor import own_target
from kane.machine.sources import kane_version
from kane.simulation.inputs.sampled import Sampled
from kane.sweeps.arguments import names_by_group
from kane.sweeps.run_tables import RunTable
from kane.sweeps.stores import STATUS, STORE_FORMAT, STORE_VERSION, FolderStore, SweepStore, require_names
from kane.sweeps.study import Study

# Settings that must be equal in all calls that continue a store, and the words for them.
SAME = {
    "kane": "the version of kane",
    "model": "the model's name",
    "model_digest": "the model",
    "start": "start",
    "until": "until",
    "times": "times",
    "integrator": "the integrator",
    "fixed": "values for all runs",
    "drivers": "expressions or laws of inputs",
    "outputs": "outputs",
    "events": "events",
    "varied": "names that vary",
    "seed": "the seed",
}
# Default runs per chunk: a study has about CHUNKS chunks, within these limits, and at most CHUNK_BYTES per chunk.
CHUNKS, LEAST_CHUNK, LARGEST_CHUNK, CHUNK_BYTES = 16, 256, 4096, 64e6
CHUNKS_PER_FILE, FILE_BYTES = 64, 16e6  # most chunks of a file, and most bytes of a file with several chunks


def described_study(study: Study, table: RunTable) -> dict[str, Any]:
    """Return the settings of a study for the manifest of a store."""
    span, layout = study.span, study.layout
    drivers = study.drivers if isinstance(study.drivers, Mapping) else {"": study.drivers}
    return {
        "format": STORE_FORMAT,
        "format_version": STORE_VERSION,
        "kane": kane_version(),
        "numpy": np.__version__,
        "scipy": scipy_version(),
        "processor": own_target() or platform.machine(),
        "model": layout.model,
        "model_digest": model_digest(study.dyn.equations),
        "start": span.start,
        "until": span.until,
        "times": span.times.tolist() if study.recorded and span.times is not None else None,
        "integrator": repr(study.method),
        "fixed": {group: dict(values) for group, values in study.fixed.items()},
        "drivers": {name: _digest(study, driver) for name, driver in drivers.items()},
        "outputs": {name: _digest(study, x) for name, x in study.outputs.items()},
        "events": [[e.name, _digest(study, e.expression), e.direction, e.terminal] for e in study.events],
        "varied": list(table.names),
        "seed": getattr(table, "seed", None),
    }


def _digest(study: Study, x: Any) -> str:
    """Return the hash of an expression, a sampled law or samples; a Python function has only its name."""
    if isinstance(x, Expr):
        e = study.dyn.equations
        root = substitute_nodes([x], {**images(e.system, [x]), **e.baked})[0]
        found: dict[Expr, str] = {}
        for node in reachable([root]):
            parts = [OPERATIONS[node.op].name, repr(node.data), *(found[a] for a in node.args)]
            found[node] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return found[root]
    if isinstance(x, Sampled):
        return " ".join([_digest(study, x.law), *map(repr, (x.period, x.delay, x.jitter, x.seed))])
    if callable(x):
        return f"{getattr(x, '__module__', '')}.{getattr(x, '__qualname__', type(x).__qualname__)}"
    samples = x if isinstance(x, tuple) else (x.times, x.values)
    return " ".join(
        [type(x).__name__, *(hashlib.sha256(np.asarray(part, float).tobytes()).hexdigest() for part in samples)]
    )


def digest_of_rows(rows: Any) -> str:
    """Return a short hash of rows of values."""
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()[:16]


def store_of(study: Study, table: RunTable, path: Any, chunk: int | None) -> SweepStore:
    """Return the store of a study: arrays in memory without a path, else a new folder or the one to continue.

    Raises:
        ModelError: the folder has another study, or a name cannot be the name of a variable.
        ImportFileError: the folder has something else.
    """
    shapes, variables = _variables(study, table)
    per_run = 8 * sum(1 if not shape else shape[0] for shape in shapes.values())
    usual = min(max(len(table) // CHUNKS, LEAST_CHUNK), LARGEST_CHUNK, max(1, int(CHUNK_BYTES / per_run)))
    given = None if chunk is None else whole(chunk, "chunk", 1)
    about = {**described_study(study, table), "runs": len(table), "chunk": given or usual, "variables": variables}
    largest = 8 * max(shape[0] if shape else 1 for shape in shapes.values())
    chunks = min(CHUNKS_PER_FILE, -(-len(table) // about["chunk"]), int(FILE_BYTES / (about["chunk"] * largest)))
    about["columns"] = [name for name in shapes if name not in (*study.result_names, STATUS) and not shapes[name]]
    about |= {"results": list(study.result_names), "file_runs": about["chunk"] * max(1, chunks)}
    if path is None:
        return SweepStore(about, shapes, [])
    known = FolderStore.opened(path)
    if known is not None:
        require_same(known, about)
        about |= {key: known.about.get(key) for key in ("chunk", "file_runs", "stopped")}
        if given not in (None, about["chunk"]):
            raise ModelError(f"chunk is {given}, and {about['chunk']} in the store {str(known.path)!r}; leave it out")
        require_rows(known, table)
    return FolderStore(path, about, shapes)


def _variables(study: Study, table: RunTable) -> tuple[dict[str, tuple[int, ...]], dict[str, dict[str, str]]]:
    """Return the shape of each variable of a run, and the attributes of each variable."""
    layout, span = study.layout, study.span
    groups = names_by_group(layout)
    states = (*layout.coordinates, *layout.speeds)
    units = dict(zip(states, (*layout.coordinate_units, *layout.speed_units), strict=True))
    each: list[tuple[str, tuple[int, ...], dict[str, str]]] = []
    for name in table.names:
        initial = name in groups["q"] or name in groups["u"]
        about = {"long_name": f"initial {name}", "units": units[name]} if initial else {"long_name": name}
        each.append((stored_name(name, initial), (), about))
    each += [(name, (), {"long_name": name}) for name in study.outputs]
    each += [
        (name, (), {"long_name": f"first time of {name}", "units": "s"})
        for name in study.result_names[len(study.outputs) :]
    ]
    if study.recorded and span.times is not None:
        each += [(name, (len(span.times),), {"units": units[name]}) for name in states]
    # Last, so that readers who watch the status find results of computed runs.
    each.append((STATUS, (), {"long_name": "0 not computed, 1 computed, 2 failed"}))
    require_names([name for name, _, _ in each])
    variables = {name: about for name, _, about in each}
    variables["time"] = {"units": "s"}
    return {name: shape for name, shape, _ in each}, variables


def stored_name(name: str, initial: bool) -> str:
    """Return the name of the variable with the values of a column; initial values have the prefix "initial "."""
    return f"initial {name}" if initial else name


def require_same(known: FolderStore, about: Mapping[str, Any]) -> None:
    """Raise unless a store has the same study, apart from the number of runs.

    Raises:
        ModelError: names the first difference.
    """
    for key, word in SAME.items():
        there, here = known.about.get(key), about[key]
        if there != here:
            values = (
                ""
                if key in ("model_digest", "drivers", "outputs", "events")
                else f": {shown(there)}, not {shown(here)}"
            )
            raise ModelError(
                f"the store {str(known.path)!r} is of another study: {word} differ{values}; repeat the call that made "
                "it, or give another store"
            )


def require_rows(known: FolderStore, table: RunTable) -> None:
    """Raise unless the runs of a store have the same values in the table.

    Raises:
        ModelError: a value differs, or the table has fewer runs than the store.
    """
    path, runs = str(known.path), known.about["runs"]
    if len(table) < runs:
        raise ModelError(f"the store {path!r} has {runs} runs, and this table {len(table)}; give at least as many runs")
    for entry in known.entries:
        if digest_of_rows(table.rows(entry.first, entry.last)) != entry.rows:
            raise ModelError(
                f"the runs {entry.first} to {entry.last - 1} of the store {path!r} have other values of "
                f"{list_names(table.names)}; only tables that begin with the stored runs can continue it, such as "
                'kane.sample(..., method="random")'
            )
