"""Trajectory: what a simulation returns."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kane.dynamics.ahead import statuses_in_words
from kane.errors import ModelError
from kane.model.named_vector import position
from kane.native.arrays import Vector
from kane.simulation.asked.events import Occurrence
from kane.simulation.recorded.record import IN_NUMBERS, MODES, RESIDUALS, SEPARATOR, ChartSwitch, Labelled
from kane.simulation.recorded.replayed import Replayed
from kane.simulation.recorded.story import ForcesByName, occurrences, places_named, table

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from kane.dynamics.dynamics import Dynamics
    from kane.simulation.integrators.integrator import Integrator
    from kane.simulation.recorded.audit import Audit

DIMENSIONS = {"q": "coordinate", "u": "speed", "inputs": "input"}
ENERGIES = ("kinetic_energy", "potential_energy")


class State(NamedTuple):
    """A state at one time: ``simulate(dyn, start=time, q=q, u=u, until=...)`` goes on from it."""

    time: float
    q: Vector
    u: Vector


class Trajectory(Replayed):
    """A motion: coordinates, speeds, inputs and energies over time, with names and units.

    ``trajectory["q1"]`` is the course of one coordinate, speed, input, energy or residual by its name.
    """

    def __init__(self, run: Labelled, dyn: Dynamics | None = None, method: Integrator | None = None) -> None:
        """Wrap a record of ``simulate`` or of a file; ``dyn``: equations of the run, ``method``: its integrator."""
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
        """Inputs, (times, inputs): those in force from each time on."""
        return self._values("inputs")

    @property
    def energy(self) -> Vector:
        """Kinetic and potential energy together [J], (times,)."""
        return self._values("kinetic_energy") + self._values("potential_energy")

    @property
    def final(self) -> State:
        """The last recorded state."""
        return State(float(self.time[-1]), self.q[-1].copy(), self.u[-1].copy())

    @property
    def residuals(self) -> xarray.Dataset:
        """The largest residuals of configuration and motion constraints at the recorded states, over time.

        ``to_xarray()`` has besides what they were before these were settled (``configuration_drift``,
        ``motion_drift``), the ``conditioning`` of the choice of independent speeds, and how often it was made anew
        (``switches``).

        Raises:
            ModelError: the model has no constraints.
        """
        if not all(name in self._run for name in RESIDUALS):
            raise ModelError(f"{self._run.attributes.get('model')!r} has no constraints, and no residuals of them")
        found = self.to_xarray()[[name for name in RESIDUALS if name.endswith("_residual")]]
        found.attrs.clear()  # they say that this is a whole trajectory
        return found

    @property
    def events(self) -> tuple[Occurrence, ...]:
        """The events that happened, and what happened to constraints that come and go, in the order of the run."""
        found: list[Occurrence] = []
        if "event_time" in self._run:
            parts = (self._values(f"event_{word}") for word in ("name", "time", "q", "u"))
            found += (Occurrence(str(name), float(time), q, u) for name, time, q, u in zip(*parts, strict=True))
        if "change_time" in self._run:
            found += occurrences(self._values)
            found.sort(key=lambda event: event.time)  # such runs go forwards
        return tuple(found)

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes met, in words: which constraints that come and go were in force, "left held, right sliding".

        Where none come and go, the choices of dependent speeds of closed loops, "u2, u3 dependent": those at the first
        record, and at each before which speeds were chosen anew.

        Raises:
            ModelError: the model has neither.
        """
        if MODES in self._run.attributes:
            return tuple(str(self._run.attributes[MODES]).split(SEPARATOR))
        self._require_story()
        met = [*self._values("status")[:1], *(self._values("change_status") if "change_time" in self._run else [])]
        names = self._values("candidate").tolist()
        return tuple(dict.fromkeys(statuses_in_words(statuses.tolist(), names) for statuses in met))

    @property
    def reactions(self) -> dict[str, NDArray[Any]]:
        """The forces of constraints that come and go, by name: along the normal row, then the tangents, (times, rows).

        In N, or N m of joints that turn; zero where a constraint is not in force, kinetic friction where it slides.
        The name of what has several parts, such as the two ends of a stop, is refused with their names.

        Raises:
            ModelError: the model has none, or none of the name that is looked up.
        """
        self._require_story()
        forces, of = self._values("reaction"), self._values("contact_row_of")
        return ForcesByName((str(name), forces[:, of == k]) for k, name in enumerate(self._values("candidate")))

    def active(self, name: str) -> NDArray[Any]:
        """Whether a constraint that comes and goes, or any of its parts, was in force at the recorded times, (times,).

        Raises:
            ModelError: there is none of this name.
        """
        self._require_story()
        places = places_named(name, [str(word) for word in self._values("candidate")])
        return np.asarray((self._values("status")[:, places] > 0).any(axis=1))

    def _require_story(self) -> None:
        if "status" not in self._run:
            raise ModelError(f"no constraints of {self._run.attributes.get('model')!r} come and go in this run")

    @property
    def chart_switches(self) -> tuple[ChartSwitch, ...]:
        """When which gimbal took which other angles, see ``Charts``, in the order of the run."""
        if "chart_switch_time" not in self._run:
            return ()
        parts = (self._values(f"chart_switch_{word}") for word in ("time", "joint", "to"))
        return tuple(ChartSwitch(float(t), str(joint), str(to)) for t, joint, to in zip(*parts, strict=True))

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the run before its time."""
        return bool(self._run.attributes.get("interrupted", 0))

    def __getitem__(self, name: str) -> Vector:
        """The course of the coordinate, speed, input or energy of this name, (times,).

        Under constraints also the variables of ``to_xarray`` about them: "configuration_residual", "conditioning", ...

        Raises:
            ModelError: there is none.
        """
        courses = {word: self._values(word) for word in (*ENERGIES, *(x for x in RESIDUALS if x in self._run))}
        courses["energy"] = self.energy
        for variable, dimension in DIMENSIONS.items():
            courses |= zip(map(str, self._values(dimension)), self._values(variable).T, strict=True)
        names = list(courses)
        return courses[names[position(name, names, "coordinate, speed, input, energy or residual")]]

    def __len__(self) -> int:
        """How many states were recorded."""
        return len(self.time)

    def to_xarray(self) -> xarray.Dataset:
        """A copy as an xarray dataset, for selection by name, statistics and plots of all kinds."""
        return self._run.dataset.copy(deep=True)

    def plot(self, names: str | Sequence[str] = (), *, inputs: bool = False, events: bool = True) -> Figure:
        """A figure over time: those of one unit and of like size on one pair of axes; events are upright lines.

        Args:
            names: of coordinates, speeds, inputs, "kinetic_energy", "potential_energy" and "energy", their sum; unless
                given, all but inputs. Of all, those that are zero but for rounding are left out, which the figure says.
            inputs: show all inputs too; their units only the model's author knows.
            events: mark the events.

        Raises:
            ModelError: an unknown name.
        """
        from kane.simulation.recorded.trajectory_plot import picture  # imports matplotlib

        return picture(self, names, inputs=inputs, events=events)

    def audit(self, dyn: Dynamics | None = None) -> Audit:
        """Constants of motion, found from the equations, and how well this run kept them.

        Contacts, stops, sticks, latches and switches change energy and momentum: what is said is said of the times when
        none of them is in force.

        Args:
            dyn: what was simulated; known unless the trajectory was loaded from a file.

        Raises:
            ModelError: the trajectory was loaded and ``dyn`` is not given.
        """
        from kane.simulation.recorded.audit import audit

        known = self._dyn if dyn is None else dyn
        if known is None:
            raise ModelError("a trajectory from a file does not hold its equations; use run.audit(dyn)")
        return audit(self, known)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a NetCDF file, readable by ``Trajectory.load`` and by anything that reads HDF5.

        Args:
            path: of the file, which ends with .nc, .nc4, .h5 or .hdf5; replaced if it is there.

        Raises:
            FileError: the path ends otherwise, or the file cannot be written; the message names it and the cure.
        """
        from kane.simulation.recorded.trajectory_file import save  # imports xarray

        save(self._run.dataset, path, form=self._model_form())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Trajectory:
        """Read a file written by ``save``.

        Raises:
            FileError: there is no such file, or it may not be read.
            ImportFileError: it is not a trajectory; the message says what is wrong.
        """
        from kane.simulation.recorded.trajectory_file import load

        dataset, form = load(path)
        run = cls(Labelled.of(dataset))
        run._form = form
        return run

    def _values(self, name: str) -> NDArray[Any]:
        return self._run.values(name)

    def __str__(self) -> str:
        lines, slow = [repr(self)], self._run.attributes.get(IN_NUMBERS)
        lines += [f"modes that are not compiled, embedded in numbers: {slow}"] if slow else []
        if self.events:
            forces = self._values("reaction") if "reaction" in self._run else np.zeros(0)
            push, speed = (float(np.abs(values).max(initial=0.0)) for values in (forces, self.u))
            lines.append(table(self.events, float(np.ptp(self.time)), push, speed))
        return "\n".join(lines)

    def __repr__(self) -> str:
        times, sizes = self.time, {"state": len(self), "coordinate": self.q.shape[1], "speed": self.u.shape[1]}
        states, *rest = (f"{n} {word}{'s' * (n != 1)}" for word, n in sizes.items())
        span = f"{states} from {times[0]:.6g} s to {times[-1]:.6g} s"
        return f"<{type(self).__name__} of {self._run.attributes.get('model')!r}: {', '.join([span, *rest])}>"
