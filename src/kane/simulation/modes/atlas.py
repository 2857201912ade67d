"""The equations of a model in every combination of charts that a run needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from kane.array_types import Array
from kane.deferred import dataclass
from kane.dynamics.build import build
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector
from kane.expression.operations import COORDINATE
from kane.formulation.equations import Equations
from kane.formulation.formulate import reformulated
from kane.formulation.read_model import snapshot
from kane.model.connection import Connection
from kane.model.joints.chart import Chart

# Relative margin of the distance from a singularity at the start of a run, so that rounding makes no guard negative.
CLEARLY = 1e-9


@dataclass(frozen=True)
class Place:
    """Joint that changes charts, and its place in the state x = [q, u].

    Attributes:
        connection: the joint.
        bit: bit of the mode key that is set while the joint is in its other chart.
        q: slice of its coordinates.
        u: slice of its own speeds; None if the speeds are the same in both charts.
    """

    connection: Connection
    bit: int
    q: slice
    u: slice | None

    def is_elsewhere(self, key: int) -> bool:
        """Whether the joint is in its other chart."""
        return bool(key & self.bit)

    def chart(self, elsewhere: bool) -> Chart:
        """Return the map from the declared coordinates, or back to them if the joint is ``elsewhere``."""
        chart = self.connection.joint.other_chart
        assert chart is not None
        if not elsewhere:
            return chart
        back = chart.joint.other_chart
        assert back is not None
        return back


class Atlas:
    """Dynamics in each combination of charts, built at first use, and conversions between the charts."""

    def __init__(self, dyn: Dynamics, mode_source: Sequence[Connection], within: float) -> None:
        self.places = _places(dyn.equations, mode_source)
        self.within = within
        self._declared = dyn

    def dynamics(self, key: int) -> Dynamics:
        """Return the dynamics in the charts of a key."""
        dyn = self._declared
        elsewhere = tuple(place.connection.name for place in self.places if place.is_elsewhere(key))
        if not elsewhere:
            return dyn
        return dyn.derived(("charts", elsewhere), lambda: build(self._equations(dyn.equations, key), target=dyn))

    def regular(self, x: Vector) -> int:
        """Return the key of the charts for a state in declared coordinates: the other chart near each singularity."""
        near = (place.chart(False).distance(x[place.q]) <= (1.0 + CLEARLY) * self.within for place in self.places)
        return sum(place.bit for place, switches in zip(self.places, near, strict=True) if switches)

    def carried(self, x: Vector, key: int) -> Vector:
        """Convert a state in declared coordinates to the charts of a key."""
        found = x.copy()
        for place in self.places:
            if place.is_elsewhere(key):
                chart, q = place.chart(False), x[None, place.q]
                found[place.q] = other = chart.coordinates(q, near=q[0])[0]
                if place.u is not None:
                    found[place.u] = chart.speeds(q, x[None, place.u], other[None])[0]
        return found

    def declared(self, states: Array, key: int, last: Vector) -> Array:
        """Convert successive states x = [q, u], (times, nx), from the charts of a key to declared coordinates.

        Angles continue from ``last``, the state before the first one.
        """
        found = states.copy()
        for place in self.places:
            chart, q = place.chart(place.is_elsewhere(key)), states[:, place.q]
            course = chart.coordinates if place.is_elsewhere(key) else chart.continued
            found[:, place.q] = other = course(q, near=last[place.q])
            if place.u is not None:
                speeds = chart.speeds if place.is_elsewhere(key) else chart.continued_speeds
                found[:, place.u] = speeds(q, states[:, place.u], other)
        return found

    def _equations(self, declared: Equations, key: int) -> Equations:
        """Return the equations of the model with other joints in place of those in their other chart."""
        model = snapshot(declared.model)
        renamed: dict[str, str] = {}
        changed: dict[Connection, Connection] = {}
        for place in self.places:
            if place.is_elsewhere(key):
                old = place.connection
                changed[old] = _redrawn(old, place.chart(False))
                renamed |= dict(zip(old.coordinate_names, changed[old].coordinate_names, strict=True))
        model.connections = [changed.get(c, c) for c in model.connections]
        model.cuts = [changed.get(c, c) for c in model.cuts]
        model.coordinates(*(renamed.get(leaf.name, leaf.name) for leaf in declared.q))
        return reformulated(declared, model)


def _redrawn(connection: Connection, chart: Chart) -> Connection:
    """Return the joint in its other chart, with new names for its coordinates and for speeds that differ."""
    # Users' names contain no spaces, so that expressions with an old name raise an error.
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


def _places(equations: Equations, mode_source: Sequence[Connection]) -> tuple[Place, ...]:
    joints = [c for c in equations.system.speeds.motion if c.coordinate_names]
    q = dict(zip(joints, accumulate((c.joint.nq for c in joints), initial=0), strict=False))
    u = dict(zip(joints, accumulate((c.joint.nu for c in joints), initial=len(equations.q)), strict=False))
    chosen = bool(equations.model.speed_choice.definitions)
    found = []
    for k, c in enumerate(mode_source):
        chart = c.joint.other_chart
        stay = chosen or chart is None or not chart.changes_speeds
        own = None if stay else slice(u[c], u[c] + c.joint.nu)
        found.append(Place(c, 1 << k, slice(q[c], q[c] + c.joint.nq), own))
    return tuple(found)
