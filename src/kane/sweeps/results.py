"""``Sweep``, the result of ``kane.sweep``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.array_types import Array
from kane.errors import FileError, ModelError, shown
from kane.expression.number_arguments import numbers, whole, words
from kane.files.xarray import load_xarray
from kane.model.named_vector import index_of_name
from kane.simulation.results.trajectory import Trajectory
from kane.simulation.simulate import simulate
from kane.sweeps.effects import VariableEffect, effects_of
from kane.sweeps.run_tables import RunTable
from kane.sweeps.stores import FolderStore, SweepStore
from kane.sweeps.study import Study
from kane.sweeps.tally import Tally, merged

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


class Sweep:
    """Results of a study of many runs.

    ``study["height"]`` is one result of all runs, (runs,): an output, the first time of an event, or a value that
    varied ("mass", "initial q1"). It is NaN for runs that failed or are not computed yet. With ``times=`` coordinates
    and speeds are (runs, times).
    """

    def __init__(self, store: SweepStore, study: Study | None = None, table: RunTable | None = None) -> None:
        """Wrap a store; ``study`` and ``table`` are the runs, if this process knows them."""
        self._store, self._study, self._table = store, study, table

    @classmethod
    def open(cls, path: Any) -> Sweep:
        """Return the results in a store, also while another process computes more of them.

        Raises:
            FileError: there is no store at the path.
            ImportFileError: the folder is not a store of a sweep.
        """
        found = FolderStore.opened(path)
        if found is None:
            raise FileError(f"there is no store of a sweep at {str(path)!r}; check the path")
        return cls(found)

    def __len__(self) -> int:
        """Number of runs, computed or not."""
        return self._store.runs

    @property
    def computed(self) -> int:
        """Number of runs that are computed, with failed ones."""
        return sum(entry.last - entry.first for entry in self._entries)

    @property
    def finished(self) -> bool:
        """Whether all runs are computed."""
        return self.computed == len(self)

    @property
    def growing(self) -> bool:
        """Whether another process computes more runs of the store now."""
        return self._store.busy

    @property
    def failures(self) -> Mapping[int, str]:
        """Reason of each failed run, by its number."""
        return {run: reason for entry in self._entries for run, reason in entry.failures.items()}

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the results with one number per run: outputs, and first times of events."""
        return tuple(self._store.about["results"])

    @property
    def about(self) -> Mapping[str, Any]:
        """Manifest: digest of the model, versions, seed, and settings of the study."""
        return dict(self._store.about)

    @property
    def _entries(self) -> list[Any]:
        return sorted(entry for entry in self._store.entries if entry.last <= len(self))

    def __getitem__(self, name: str) -> Array:
        """Return a variable of all runs.

        Raises:
            ModelError: the name is unknown.
        """
        names = list(self._store.shapes)
        return self._store.read(names[index_of_name(name, names, "result")])

    def statistics(self, name: str) -> Tally:
        """Return count, mean, deviation, confidence interval of the mean, and extremes with their runs.

        They are merged from the log of the chunks, without reading results.

        Raises:
            ModelError: the name is not one of ``results``.
        """
        place = index_of_name(name, self.results, "result")
        return merged([entry.tallies for entry in self._entries] or [[Tally()] * len(self.results)])[place]

    def quantile(self, name: str, probabilities: Any) -> Array:
        """Return quantiles of a result over its finite values, interpolated as by ``numpy.quantile``.

        Args:
            name: one of ``results``.
            probabilities: from 0 to 1.

        Raises:
            ModelError: an unknown name, a probability outside [0, 1], or no values.
        """
        index_of_name(name, self.results, "result")
        p = numbers(probabilities, "probabilities must be numbers")
        if not ((p >= 0.0) & (p <= 1.0)).all():
            raise ModelError(f"the probabilities are {shown(probabilities)}; give numbers from 0 to 1")
        values = self[name]
        values = values[np.isfinite(values)]
        if not len(values):
            raise ModelError(f"no run has a value of {name!r} yet")
        return np.asarray(np.quantile(values, p))

    @property
    def varied(self) -> tuple[str, ...]:
        """Names of the variables that vary from run to run."""
        return tuple(self._store.about["columns"])

    def effects(self, name: str) -> dict[str, VariableEffect]:
        """Return the effect of each value that varies on a result: slope and Sobol index, with standard errors.

        The values must be independent draws of ``kane.sample``, or all combinations of ``kane.grid``.

        Raises:
            ModelError: an unknown name, fewer than 200 finite results, or a value or result that does not vary.
        """
        index_of_name(name, self.results, "result")
        return effects_of({x: self[x] for x in self.varied}, self[name])

    def plot(self, names: Sequence[str] = ()) -> Figure:
        """Plot the histogram of each result, and the result over each value that varies, at most 5,000 runs.

        Args:
            names: some of ``results``; all unless given.

        Raises:
            ModelError: an unknown name, or a sweep without results.
        """
        from kane.sweeps.sweep_plot import scatter_matrix  # imported late: needs matplotlib

        chosen = words(names, "names", "results") or list(self.results)
        for name in chosen:
            index_of_name(name, self.results, "result")
        if not chosen:
            raise ModelError("the sweep has no results with one number per run; give outputs= or events=")
        return scatter_matrix(self, chosen)

    def run(self, k: int) -> Trajectory:
        """Compute run k again, with its trajectory; it equals the run of the study to the last bit.

        Raises:
            ModelError: there is no run k, or the store was opened without its model.
            SimulationError: the run failed.
        """
        if self._study is None or self._table is None:
            raise ModelError(
                "a store does not hold the equations of its model; repeat kane.sweep(...) with the same arguments, and "
                "call run(k) of its result: no stored run is computed again"
            )
        if whole(k, "the number of the run", 0) >= len(self):
            raise ModelError(f"there is no run {k}; the study has {len(self)}")
        study = self._study
        given = study.given(self._table.names, self._table.rows(k, k + 1))
        one: dict[str, Any] = {
            group: values and {name: float(np.ravel(x)[0]) for name, x in values.items()}
            for group, values in given.items()
        }
        if isinstance(study.drivers, Mapping):
            one["inputs"] = {**(one["inputs"] or {}), **study.drivers}
        else:
            one["inputs"] = study.drivers
        span = study.span
        times = span.times if study.recorded else None
        return simulate(
            study.dyn,
            until=span.until,
            start=span.start,
            times=times,
            integrator=study.method,
            events=study.events,
            **one,
        )

    def to_xarray(self) -> xarray.Dataset:
        """Return all variables as an xarray dataset, read into memory.

        ``xarray.open_zarr(path)`` reads the same variables of a store chunk by chunk; it needs the package zarr.
        """
        xarray = load_xarray()

        about, shapes = self._store.about, self._store.shapes
        variables = {
            name: (("run", "time")[: 1 + len(shape)], self[name], about["variables"].get(name, {}))
            for name, shape in shapes.items()
        }
        recorded = any(shapes.values())
        coordinates = {"time": ("time", np.array(about["times"]), {"units": "s"})} if recorded else {}
        return xarray.Dataset(variables, coords=coordinates, attrs={"model": about["model"], "kane": about["kane"]})

    def __str__(self) -> str:
        words = ("mean", "95 % from", "to", "deviation", "least", "most", "in runs")
        lines = [repr(self), f"{'':<16}{'n':>9}" + "".join(f"{word:>13}" for word in words)]
        for name in self.results:
            t = self.statistics(name)
            each = (t.mean, *t.interval, t.deviation, t.minimum, t.maximum)
            row = "".join(f"{x:13.6g}" for x in each)
            where = f"{t.minimum_run}, {t.maximum_run}" if t.n else "none"
            lines.append(f"{name:<16}{t.n:>9}{row}      {where}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        failed = len(self.failures)
        rest = f", {self.computed:,} computed" if not self.finished else ""
        return f"<Sweep of {self._store.about['model']!r}: {len(self):,} runs{rest}, {failed} failed>"
