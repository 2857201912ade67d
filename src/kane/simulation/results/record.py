"""Results of a run as labelled arrays, and the checks that lead to warnings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.engine.memory.contact_codes import SLIDING
from kane.engine.memory.loop_arguments import Vector
from kane.simulation.projection import LARGE_PROJECTION_MOVE
from kane.simulation.results.labelled import Labelled, XarrayVariable
from kane.simulation.state_layout import Layout

if TYPE_CHECKING:
    from kane.simulation.results.contact_log import ContactLog

# Warn of lingering slip in space, whose direction is due to integration errors. The signs are three consecutive records
# in which the slip is slower than LINGERING_SLIP_ERRORS step errors and turns by more than 0.05 rad per record. Below
# the speed of ``slip_threshold.begun`` friction keeps its direction; thus the errors do no harm if NOISY_SLIP_ERRORS
# times the error is below this speed.
LINGERING_SLIP_ERRORS, LINGERING_TURN_COSINE, NOISY_SLIP_ERRORS = 30.0, math.cos(0.05), 30.0
# Marks a dataset, and a file, as a trajectory. The version changes if readers must distinguish formats.
TRAJECTORY_FORMAT = "kane trajectory"
FORMAT_VERSION = 1


# Dataset attributes that list modes, and the separator of the list.
MODES, NUMERICAL_MODES, SEPARATOR = "modes", "modes_in_numbers", "; "

# Residuals of the constraints: variables and their attributes, in the order of ``Record.constraints``.
_OPEN, _MOVING = "m or rad", "m/s or rad/s"
RESIDUALS: dict[str, dict[str, str]] = {
    "configuration_residual": {"units": _OPEN, "long_name": "largest residual of the configuration constraints"},
    "motion_residual": {"units": _MOVING, "long_name": "largest residual of the motion constraints"},
    "configuration_drift": {"units": _OPEN, "long_name": "residual of the configuration before projection"},
    "motion_drift": {"units": _MOVING, "long_name": "residual of the motion before projection"},
    "conditioning": {"units": "1", "long_name": "conditioning of the selection of independent speeds"},
    "switches": {"units": "1", "long_name": "number of changes of the independent speeds"},
}


class ChartSwitch(NamedTuple):
    """Change of a joint to other coordinates: time [s], name of the joint, and the new coordinates, such as "zyz"."""

    time: float
    joint: str
    chart: str


@dataclass(frozen=True)
class Record:
    """Numerical results of a run.

    Attributes:
        layout: names and units.
        states: [t, q, u], (times, 1 + nq + n).
        inputs: (times, inputs).
        energy: kinetic and potential energy [J], (times, 2).
        parameters: values.
        events: names, and the located events as rows [index of the name, t, q, u].
        constraints: largest residuals of configuration and motion, both before projection, conditioning, and switches,
            (times, 6); (times, 0) without constraints.
        switches: switches of charts.
        contact_log: log of the intermittent constraints; None if there are none.
        slips: slip velocity of each contact in space, NaN unless it slides with friction, (times, constraints, 2).
        modes: names of the speed selections that the run encountered.
        numerical: names of the modes without compiled equations, if the run has compiled modes.
    """

    layout: Layout
    states: Array
    inputs: Array
    energy: Array
    parameters: Vector
    events: tuple[tuple[str, ...], Array] = field(default_factory=lambda: ((), np.zeros((0, 0))))
    constraints: Array = field(default_factory=lambda: np.zeros((0, 0)))
    switches: tuple[ChartSwitch, ...] = ()
    contact_log: ContactLog | None = None
    slips: Array = field(default_factory=lambda: np.zeros((0, 0, 2)))
    modes: tuple[str, ...] = ()
    numerical: tuple[str, ...] = ()

    def labelled(self, attributes: Mapping[str, Any]) -> Labelled:
        """Return all data by name, with units; ``attributes`` are the settings of the run."""
        layout, states = self.layout, self.states
        nq = len(layout.coordinates)
        joules = {"units": "J"}
        met = {name: SEPARATOR.join(x) for name, x in ((MODES, self.modes), (NUMERICAL_MODES, self.numerical)) if x}
        log = self.contact_log
        return Labelled(
            variables=self._events()
            | self._constraints()
            | self._switches()
            | ({} if log is None else log.variables())
            | {
                "q": (("time", "coordinate"), states[:, 1 : 1 + nq], {"long_name": "coordinates"}),
                "u": (("time", "speed"), states[:, 1 + nq :], {"long_name": "generalized speeds"}),
                "inputs": (("time", "input"), self.inputs, {"long_name": "inputs"}),
                "kinetic_energy": ("time", self.energy[:, 0], joules),
                "potential_energy": ("time", self.energy[:, 1], joules),
                "parameters": ("parameter", self.parameters, {"long_name": "parameter values"}),
            },
            coordinates={
                "time": ("time", states[:, 0], {"units": "s"}),
                "coordinate": ("coordinate", _words(layout.coordinates), {}),
                "speed": ("speed", _words(layout.speeds), {}),
                "input": ("input", _words(layout.inputs), {}),
                "parameter": ("parameter", _words(layout.parameters), {}),
                **({} if log is None else log.coordinates()),
            },
            attributes={
                "format": TRAJECTORY_FORMAT,
                "format_version": FORMAT_VERSION,
                "model": layout.model,
                **met,
                **attributes,
            },
            units=layout.units,
        )

    def doubt(self, rtol: float, atol: float) -> str:
        """Describe states that projection moved much farther than the tolerances allow, or slip that lingered.

        The text is empty if neither happened.
        """
        return self._lost(rtol, atol) or self._lingers(rtol, atol)

    def jammed(self) -> str:
        """Describe the first dynamic jam of a contact; an empty text if there is none."""
        if self.contact_log is None:
            return ""
        from kane.simulation.results.contact_log import JAMS

        if JAMS not in self.contact_log.kinds:
            return ""
        first = self.contact_log.records[self.contact_log.kinds.index(JAMS)]
        name, t = self.contact_log.intermittents[first.cause], first.time
        return (
            f"{name!r} of {self.layout.model!r} jams at t = {t:.9g} s: its friction cancels the response to its "
            "normal force, so that rigid bodies have no unique motion from there on (Painleve), and an impulse stops "
            "its slip. Give less friction, or end the run before"
        )

    def _lingers(self, rtol: float, atol: float) -> str:
        """Describe slip in space whose speed stayed within integration errors, so that its direction is noise."""
        if self.contact_log is None:
            return ""
        from kane.simulation.integrators.slip_threshold import DIRECTED, begun

        errors = atol + rtol * np.abs(self.states[:, 1 + len(self.layout.coordinates) :]).max(axis=1)
        noise = np.where(NOISY_SLIP_ERRORS * errors > begun(atol), LINGERING_SLIP_ERRORS * errors, 0.0)
        slides = np.flatnonzero((self.contact_log.statuses == SLIDING).any(axis=0))
        slips = self.slips[:, slides]
        speeds = np.hypot(*slips.T).T
        turns = (slips[1:] * slips[:-1]).sum(axis=2) < LINGERING_TURN_COSINE * speeds[1:] * speeds[:-1]
        slow = speeds < noise[:, None]
        rows, found = np.nonzero(slow[2:] & slow[1:-1] & slow[:-2] & turns[1:] & turns[:-1])
        if not len(rows):
            return ""
        first, name = rows[0], self.contact_log.intermittents[slides[found[0]]]
        enough = rtol * begun(atol) / (DIRECTED * errors[first])
        return (
            f"{name!r} of {self.layout.model!r} slips at t = {self.states[first, 0]:.9g} s no faster than step errors "
            f"(atol + rtol |u| = {errors[first]:.2g}), and stays so slow: the direction of its friction is noise, and "
            f"this friction may prevent faster slip; give rtol={enough:.0e} or less, or a few per cent more static "
            "than kinetic friction"
        )

    def _lost(self, rtol: float, atol: float) -> str:
        """Describe a state that projection moved much farther than the tolerances allow.

        Projection moves a state with residual r by up to r divided by the conditioning.
        """
        if not self.constraints.size:
            return ""
        drift, conditioning = self.constraints[:, 2:4].max(axis=1), self.constraints[:, 4]
        allowed = atol + rtol * np.maximum(1.0, np.abs(self.states[:, 1:]).max(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.where(drift > 0.0, drift / conditioning, 0.0)
        worst = int(np.argmax(moved / allowed))
        if not moved[worst] > LARGE_PROJECTION_MOVE * allowed[worst]:
            return ""
        return (
            f"the state of {self.layout.model!r} recorded at t = {self.states[worst, 0]:.9g} s may err by "
            f"{moved[worst]:.2g}, but the tolerances allow {allowed[worst]:.2g}: the constraints are nearly dependent "
            f"there, and the residual before projection was {drift[worst]:.2g}; limit the steps "
            "(max_step), relax rtol and atol, or avoid such states"
        )

    def _events(self) -> dict[str, XarrayVariable]:
        """Return the variables of the events; empty without events."""
        names, found = self.events
        if not len(found):
            return {}
        nq = len(self.layout.coordinates)
        return {
            "event_name": ("event", _words(tuple(names[int(number)] for number in found[:, 0])), {}),
            "event_time": ("event", found[:, 1], {"units": "s"}),
            "event_q": (("event", "coordinate"), found[:, 2 : 2 + nq], {"long_name": "coordinates at events"}),
            "event_u": (("event", "speed"), found[:, 2 + nq :], {"long_name": "generalized speeds at events"}),
        }

    def _switches(self) -> dict[str, XarrayVariable]:
        """Return the variables of the chart switches; empty without switches."""
        if not self.switches:
            return {}
        times, joints, charts = zip(*self.switches, strict=True)
        return {
            "chart_switch_time": ("chart_switch", np.array(times), {"units": "s"}),
            "chart_switch_joint": ("chart_switch", _words(joints), {"long_name": "joint that changed its coordinates"}),
            "chart_switch_to": ("chart_switch", _words(charts), {"long_name": "the new coordinates"}),
        }

    def _constraints(self) -> dict[str, XarrayVariable]:
        """Return the variables of the constraint residuals; empty without constraints."""
        if not self.constraints.size:
            return {}
        columns = zip(RESIDUALS.items(), self.constraints.T, strict=True)
        return {name: ("time", values, dict(attributes)) for (name, attributes), values in columns}


def _words(words: tuple[str, ...]) -> NDArray[np.object_]:
    return np.array(words, dtype=object)
