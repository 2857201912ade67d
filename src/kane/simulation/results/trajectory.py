"""``Trajectory``, the result of ``simulate``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kane.dynamics.compiled_modes import statuses_in_words
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError
from kane.formulation.matrix_route import require_bodies
from kane.model.named_vector import index_of_name
from kane.simulation.events.event import Occurrence
from kane.simulation.results.labelled import Labelled
from kane.simulation.results.record import (
    MODES,
    NUMERICAL_MODES,
    RESIDUALS,
    SEPARATOR,
    ChartSwitch,
)
from kane.simulation.results.replayed import Replayed

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from kane.dynamics.dynamics import Dynamics
    from kane.simulation.integrators.integrator import Integrator
    from kane.simulation.results.audit import Audit
    from kane.simulation.results.contact_log import ContactLog

DIMENSIONS = {"q": "coordinate", "u": "speed", "inputs": "input"}
ENERGIES = ("kinetic_energy", "potential_energy")


class State(NamedTuple):
    """State at one time; ``simulate(dyn, start=time, q=q, u=u, until=...)`` continues from it."""

    time: float
    q: Vector
    u: Vector


class Trajectory(Replayed):
    """Motion over time: coordinates, speeds, inputs and energies, with names and units.

    ``trajectory["q1"]`` is one coordinate, speed, input, energy or residual over time, by its name.
    """

    def __init__(self, run: Labelled, dyn: Dynamics | None = None, method: Integrator | None = None) -> None:
        """Wrap a record of ``simulate`` or of a file; ``dyn`` and ``method`` are dynamics and integrator of the run."""
        self._run = run
        self._dyn = dyn
        self._method = method
        self._form = ""

    @property
    def time(self) -> Vector:
        """Times of the recorded states [s], (times,)."""
        return self._values("time")

    @property
    def q(self) -> NDArray[Any]:
        """Coordinates, (times, nq); their units are in ``to_xarray().coordinate_units``."""
        return self._values("q")

    @property
    def u(self) -> NDArray[Any]:
        """Generalized speeds, (times, n)."""
        return self._values("u")

    @property
    def inputs(self) -> NDArray[Any]:
        """Inputs in effect from each time on, (times, inputs)."""
        return self._values("inputs")

    @property
    def energy(self) -> Vector:
        """Kinetic plus potential energy [J], (times,).

        Raises:
            ModelError: the equations of the run have no bodies.
        """
        self._require_energy("energy")
        return self._values("kinetic_energy") + self._values("potential_energy")

    def _require_energy(self, *names: Any) -> None:
        """Raise ModelError if a name is that of an energy, and the equations of the run have no bodies."""
        if self._dyn is not None and {*ENERGIES, "energy"}.intersection(x for x in names if isinstance(x, str)):
            require_bodies(self._dyn.equations, "the energy")

    @property
    def final(self) -> State:
        """The last recorded state."""
        return State(float(self.time[-1]), self.q[-1].copy(), self.u[-1].copy())

    @property
    def residuals(self) -> xarray.Dataset:
        """Largest residuals of the configuration and motion constraints at the recorded times.

        ``to_xarray()`` also contains the residuals before projection (``configuration_drift``, ``motion_drift``), the
        ``conditioning`` of the selection of independent speeds, and the number of its changes (``switches``).

        Raises:
            ModelError: the model has no constraints.
        """
        if not all(name in self._run for name in RESIDUALS):
            raise ModelError(f"{self._run.attributes.get('model')!r} has no constraints, and so no residuals")
        found = self.to_xarray()[[name for name in RESIDUALS if name.endswith("_residual")]]
        found.attrs.clear()  # the attributes mark a complete trajectory
        return found

    @property
    def events(self) -> tuple[Occurrence, ...]:
        """Events and transitions of intermittent constraints, in the order of the run."""
        found: list[Occurrence] = []
        if "event_time" in self._run:
            parts = (self._values(f"event_{word}") for word in ("name", "time", "q", "u"))
            found += (Occurrence(str(name), float(time), q, u) for name, time, q, u in zip(*parts, strict=True))
        log = self.contact_log
        if log is not None:
            found += log.occurrences()
            found.sort(key=lambda event: event.time)  # runs with intermittent constraints go forwards
        return tuple(found)

    @property
    def modes(self) -> tuple[str, ...]:
        """Names of the modes that the run encountered, for example "left held, right sliding": the active constraints.

        Without intermittent constraints, the speed selections of closed loops, such as "u2, u3 dependent", at the first
        record and at each record before which the selection changed.

        Raises:
            ModelError: the model has neither intermittent constraints nor closed loops with several selections.
        """
        if MODES in self._run.attributes:
            return tuple(str(self._run.attributes[MODES]).split(SEPARATOR))
        log = self._required_log()
        met = [*log.statuses[:1], *log.after]
        return tuple(dict.fromkeys(statuses_in_words(statuses.tolist(), log.intermittents) for statuses in met))

    @property
    def reactions(self) -> dict[str, NDArray[Any]]:
        """Forces of intermittent constraints by name, along the normal and then the tangents, (times, rows).

        In N, or N m for joints that turn; zero while a constraint is inactive, kinetic friction while it slides. The
        name of a constraint with several parts, such as the two ends of a stop, raises an error that lists the parts.

        Raises:
            ModelError: the model has no intermittent constraints, or none of the requested name.
        """
        from kane.simulation.results.contact_log import ForcesByName

        log = self._required_log()
        return ForcesByName((name, log.forces(k)) for k, name in enumerate(log.intermittents))

    def active(self, name: str) -> NDArray[Any]:
        """Return whether an intermittent constraint, or any of its parts, is active at each recorded time, (times,).

        Raises:
            ModelError: the name is unknown.
        """
        from kane.simulation.results.contact_log import places_named

        log = self._required_log()
        return np.asarray((log.statuses[:, places_named(name, log.intermittents)] > 0).any(axis=1))

    @property
    def contact_log(self) -> ContactLog | None:
        """Transitions, statuses and reactions of intermittent constraints; None without such constraints."""
        from kane.simulation.results.contact_log import ContactLog

        return ContactLog.of_run(self._run)

    def _required_log(self) -> ContactLog:
        log = self.contact_log
        if log is None:
            raise ModelError(
                f"{self._run.attributes.get('model')!r} has no intermittent constraints in this run; "
                "kane.RevealedReactions(dyn, kane.reveal_reactions(dyn.equations, joint))(run) has joint reactions"
            )
        return log

    @property
    def chart_switches(self) -> tuple[ChartSwitch, ...]:
        """Switches of gimbals to other angles, in the order of the run; see ``Charts``."""
        if "chart_switch_time" not in self._run:
            return ()
        parts = (self._values(f"chart_switch_{word}") for word in ("time", "joint", "to"))
        return tuple(ChartSwitch(float(t), str(joint), str(to)) for t, joint, to in zip(*parts, strict=True))

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the run early."""
        return bool(self._run.attributes.get("interrupted", 0))

    def __getitem__(self, name: str) -> Vector:
        """Return the coordinate, speed, input or energy of this name over time, (times,).

        Under constraints also the residual variables of ``to_xarray``: "configuration_residual", "conditioning", ...

        Raises:
            ModelError: the name is unknown.
        """
        self._require_energy(name)
        courses = self._named_courses()
        names = list(courses)
        return courses[names[index_of_name(name, names, "coordinate, speed, input, energy or residual")]]

    def _named_courses(self) -> dict[str, Vector]:
        """Return coordinates, speeds, inputs, energies and residuals over time, by name."""
        courses = {word: self._values(word) for word in (*ENERGIES, *(x for x in RESIDUALS if x in self._run))}
        courses["energy"] = courses[ENERGIES[0]] + courses[ENERGIES[1]]
        for variable, dimension in DIMENSIONS.items():
            courses |= zip(map(str, self._values(dimension)), self._values(variable).T, strict=True)
        return courses

    def __len__(self) -> int:
        """Number of recorded states."""
        return len(self.time)

    def to_xarray(self) -> xarray.Dataset:
        """Return a copy as an xarray dataset, for selection by name, statistics and plots."""
        return self._run.dataset.copy(deep=True)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame: rows are the recorded times [s], columns the quantities that ``run[name]`` knows.

        Raises:
            ModelError: xarray, which brings pandas, is not installed (extra "results").
        """
        from kane.files.xarray import load_xarray

        columns = {name: ("time", values) for name, values in self._named_courses().items()}
        return load_xarray().Dataset(columns, {"time": self.time}).to_dataframe()

    def plot(self, names: str | Sequence[str] = (), *, inputs: bool = False, events: bool = True) -> Figure:
        """Plot over time: quantities of one unit and similar size share axes; events are vertical lines.

        Args:
            names: names of coordinates, speeds, inputs, "kinetic_energy", "potential_energy" and "energy" (their sum);
                by default all except inputs. By default quantities that are zero up to rounding are omitted; the figure
                lists them.
            inputs: also plot all inputs.
            events: mark the events.

        Raises:
            ModelError: an unknown name.
        """
        from kane.simulation.results.trajectory_plot import picture  # imported late: needs matplotlib

        self._require_energy(*([names] if isinstance(names, str) or not isinstance(names, Iterable) else names))
        return picture(self, names, inputs=inputs, events=events)

    def audit(self, dyn: Dynamics | None = None) -> Audit:
        """Find constants of motion from the equations, and measure how well this run conserved them.

        Contacts, stops, sticks, latches and switches change energy and momentum. The result therefore covers only the
        times when none of them is active.

        Args:
            dyn: dynamics of the run; needed only if the trajectory was loaded from a file.

        Raises:
            ModelError: the trajectory was loaded and ``dyn`` is not given.
        """
        from kane.simulation.results.audit import audit

        known = self._dyn if dyn is None else dyn
        if known is None:
            raise ModelError("a trajectory from a file does not hold its equations; use run.audit(dyn)")
        return audit(self, known)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a NetCDF file, readable by ``Trajectory.load`` and by all programs that read HDF5.

        Args:
            path: path of the file, with suffix .nc, .nc4, .h5 or .hdf5; an existing file is replaced.

        Raises:
            FileError: another suffix, or the file cannot be written; the message names the file and the cure.
        """
        from kane.simulation.results.trajectory_file import save  # imported late: needs xarray

        save(self._run.dataset, path, form=self._model_form())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Trajectory:
        """Read a file written by ``save``.

        Raises:
            FileError: the file does not exist, or cannot be read.
            ImportFileError: the file is not a trajectory; the message gives the reason.
        """
        from kane.simulation.results.trajectory_file import load

        dataset, form = load(path)
        run = cls(Labelled.of(dataset))
        run._form = form
        return run

    def _values(self, name: str) -> NDArray[Any]:
        return self._run.values(name)

    def __str__(self) -> str:
        from kane.simulation.results.contact_log import table

        lines, slow = [repr(self)], self._run.attributes.get(NUMERICAL_MODES)
        lines += [f"modes that are not compiled, embedded numerically: {slow}"] if slow else []
        if self.events:
            forces = np.zeros(0) if self.contact_log is None else self.contact_log.reactions
            push, speed = (float(np.abs(values).max(initial=0.0)) for values in (forces, self.u))
            lines.append(table(self.events, float(np.ptp(self.time)), push, speed))
        return "\n".join(lines)

    def __repr__(self) -> str:
        times, sizes = self.time, {"state": len(self), "coordinate": self.q.shape[1], "speed": self.u.shape[1]}
        states, *rest = (f"{n} {word}{'s' * (n != 1)}" for word, n in sizes.items())
        span = f"{states} from {times[0]:.6g} s to {times[-1]:.6g} s"
        return f"<{type(self).__name__} of {self._run.attributes.get('model')!r}: {', '.join([span, *rest])}>"
