"""The same system in every combination of charts that a run needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from kane.dynamics.build import build
from kane.dynamics.dynamics import Dynamics
from kane.expression.operations import COORDINATE
from kane.formulation.equations import Equations
from kane.formulation.formulate import reformulated
from kane.formulation.read_model import snapshot
from kane.model.connection import Connection
from kane.model.joints.chart import Chart
from kane.native.arrays import Vector
from kane.simulation.asked.events import Event

# Which of the switching joints are in their other chart.
Combination = tuple[bool, ...]

# Joints this much farther from their singularity than the one that switches do so with it: their event is now or past.
TOGETHER = 1.0 + 1e-6


@dataclass(frozen=True)
class Place:
    """A joint that switches, and where it stands in the state x = [q, u].

    Attributes:
        connection: the joint.
        q: its coordinates.
        u: its own speeds; none where they stay, being measure numbers or speeds of the analyst's choice.
    """

    connection: Connection
    q: slice
    u: slice | None

    def chart(self, elsewhere: bool) -> Chart:
        """The way from the declared coordinates, or, from elsewhere, the way back."""
        chart = self.connection.joint.other_chart
        assert chart is not None
        if not elsewhere:
            return chart
        back = chart.joint.other_chart
        assert back is not None
        return back


class Atlas:
    """Dynamics in each combination of charts, made when they are first asked for, and the ways between them."""

    def __init__(self, dyn: Dynamics, switching: Sequence[Connection], within: float) -> None:
        self.places = _places(dyn.equations, switching)
        self.within = within
        self.declared: Combination = (False,) * len(self.places)
        self._dynamics = {self.declared: dyn}

    def dynamics(self, combination: Combination) -> Dynamics:
        """The system in these charts."""
        if combination not in self._dynamics:
            dyn = self._dynamics[self.declared]
            self._dynamics[combination] = build(self._equations(dyn.equations, combination), target=dyn)
        return self._dynamics[combination]

    def events(self, combination: Combination) -> list[Event]:
        """A terminal event for each joint: it comes near a singularity of the chart it is in."""
        q = self.dynamics(combination).equations.q
        return [
            Event(
                place.chart(elsewhere).beyond(q[place.q], self.within),
                direction=-1,
                terminal=True,
                name=f"{place.connection.name} near its singularity",
            )
            for place, elsewhere in zip(self.places, combination, strict=True)
        ]

    def regular(self, combination: Combination, x: Vector) -> Combination:
        """The charts in which the state should go on: others where it is near a singularity."""
        near = [
            float(place.chart(elsewhere).distance(x[place.q])) <= self.within * TOGETHER
            for place, elsewhere in zip(self.places, combination, strict=True)
        ]
        return tuple(was != now for was, now in zip(combination, near, strict=True))

    def converted(
        self, states: NDArray[np.float64], given: Combination, wanted: Combination, last: Vector
    ) -> NDArray[np.float64]:
        """A course of states x = [q, u], (times, nx), in other charts; declared angles next to those of ``last``."""
        found = states.copy()
        for place, here, there in zip(self.places, given, wanted, strict=True):
            if here == there:
                continue
            chart, q = place.chart(here), states[:, place.q]
            found[:, place.q] = chart.coordinates(q, near=q[0] if there else last[place.q])
            if place.u is not None:
                found[:, place.u] = chart.speeds(q, states[:, place.u], found[:, place.q])
        return found

    def _equations(self, declared: Equations, combination: Combination) -> Equations:
        """Equations of the model with other joints in place of those that are elsewhere."""
        model = snapshot(declared.model)
        renamed: dict[str, str] = {}
        changed: dict[Connection, Connection] = {}
        for place, elsewhere in zip(self.places, combination, strict=True):
            if elsewhere:
                old = place.connection
                changed[old] = _redrawn(old, place.chart(False))
                renamed |= dict(zip(old.coordinate_names, changed[old].coordinate_names, strict=True))
        model.connections = [changed.get(c, c) for c in model.connections]
        model.cuts = [changed.get(c, c) for c in model.cuts]
        model.coordinates(*(renamed.get(leaf.name, leaf.name) for leaf in declared.q))
        found = reformulated(declared, model)
        return replace(declared, **{f.name: getattr(found, f.name) for f in fields(Equations)})


def _redrawn(connection: Connection, chart: Chart) -> Connection:
    """The joint in the other chart; its coordinates, and speeds that are others, have names of their own."""
    # No name of a user's has a space in it: whatever still refers to what is renamed is found out.
    renamed: Callable[[str], str] = f"{{}} ({chart.title})".format
    names = tuple(map(renamed, connection.coordinate_names))
    speeds = tuple(map(renamed, connection.speed_names)) if chart.changes_speeds else connection.speed_names
    leaf = connection.coordinates[0].arena.leaf
    return replace(
        connection,
        joint=chart.joint,
        coordinates=tuple(leaf(COORDINATE, name) for name in names),
        coordinate_names=names,
        speed_names=speeds,
    )


def _places(equations: Equations, switching: Sequence[Connection]) -> tuple[Place, ...]:
    joints = [c for c in equations.system.speeds.motion if c.coordinate_names]
    q = dict(zip(joints, accumulate((c.joint.nq for c in joints), initial=0), strict=False))
    u = dict(zip(joints, accumulate((c.joint.nu for c in joints), initial=len(equations.q)), strict=False))
    chosen = bool(equations.model.speed_choice.definitions)
    found = []
    for c in switching:
        chart = c.joint.other_chart
        stay = chosen or chart is None or not chart.changes_speeds
        found.append(Place(c, slice(q[c], q[c] + c.joint.nq), None if stay else slice(u[c], u[c] + c.joint.nu)))
    return tuple(found)
