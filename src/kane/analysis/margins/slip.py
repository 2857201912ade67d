"""Forces between wheels and ground, and their margins against slip, skid and lift-off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kane.analysis.margins.ground_wrench import along, ground_wrench, motion, moved_moment
from kane.errors import ModelError, shown
from kane.expression.collector import collector_paused
from kane.expression.derivative import total_time_derivative
from kane.expression.functions import absolute, maximum, sqrt
from kane.expression.node import Expr, Scalar
from kane.expression.number_arguments import list_argument, require
from kane.expression.traverse import substitute_nodes
from kane.formulation.equations import Equations
from kane.formulation.read_model import probe_of
from kane.formulation.recursive.measures import images
from kane.formulation.tree.spatial import minus, plus, times
from kane.geometry.scalars import Triple, cross, dot
from kane.model.wheel import Wheel

if TYPE_CHECKING:
    import xarray

    from kane.simulation.results.trajectory import Trajectory

VERTICAL = (0.0, 0.0, 1.0)
# Lengths [m] and cosines below this are round-off.
GEOMETRY_ROUND_OFF = 1e-9


@dataclass(frozen=True)
class Stand:
    """Contact point [m], heading and left direction of a wheel, along N."""

    contact: Triple
    heading: Triple
    left: Triple


@dataclass(frozen=True, eq=False)
class WheelForces:
    """Forces of the ground on three wheels, as expressions in q, u, t and inputs for ``kane.Event`` and listings.

    If constraints are embedded numerically, the expressions contain udot and are valid along a run only, not in events.
    Wheels on one axle line share their lateral force; only the sum is determinate.

    Attributes:
        equations: equations of the vehicle.
        load: vertical force N by wheel, upwards [N]. A negative load means lift-off, which these equations do not
            model; ``kane.Event(forces.load["w0"], direction=-1, terminal=True)`` stops a run there.
        traction: force X by wheel, along its heading [N].
        lateral: force Y to the left [N], by names such as "w0", or "w1 + w2" for wheels that share it.
        shared: names of the wheels that share each lateral force.
    """

    equations: Equations
    load: Mapping[str, Expr]
    traction: Mapping[str, Expr]
    lateral: Mapping[str, Expr]
    shared: Mapping[str, tuple[str, ...]]

    def __repr__(self) -> str:
        rows = {"load": self.load, "traction": self.traction, "lateral": self.lateral}
        words = [f"{kind} [N] of {', '.join(found)}" for kind, found in rows.items()]
        return f"<WheelForces of {self.equations.name!r}: {'; '.join(words)}>"

    def slip_margins(self, friction: Scalar) -> dict[str, Expr]:
        """Return eta N - |X| by wheel [N]: the traction margin before the wheel spins or locks, without lateral force.

        Args:
            friction: eta, coefficient of static friction: a number or an expression of parameters.
        """
        return {name: friction * N - absolute(self.traction[name]) for name, N in self.load.items()}

    def skid_margins(self, friction: Scalar) -> dict[str, Expr]:
        """Return the sum of sqrt((eta N)^2 - X^2) over the wheels that share Y, minus |Y| [N].

        The margin is positive if and only if Y can be divided so that the force on each wheel is inside its friction
        cone; for one wheel this is Eq. (9). A wheel that slips or carries no load contributes nothing.
        """
        return {name: self._held(name, friction) - absolute(Y) for name, Y in self.lateral.items()}

    def cone_margins(self, friction: Scalar) -> dict[str, Expr]:
        """Return N - |F| / sqrt(1 + eta^2) [N] for wheels that do not share their lateral force.

        Source: Tanner & Kyriakopoulos 2001, Eq. (9), the friction cone as in ERRATA.
        """
        found = {}
        for name, Y in self.lateral.items():
            if len(self.shared[name]) == 1:
                X, N = self.traction[name], self.load[name]
                found[name] = N - sqrt((X * X + Y * Y + N * N) / (1.0 + friction * friction))
        return found

    def along(self, run: Trajectory, *, friction: float) -> xarray.Dataset:
        """Evaluate forces and margins at every recorded state of a run.

        Returns:
            ``load w0``, ``traction w0``, ``lateral w1 + w2``, ``slip w0``, ``skid w0``, ... over time [N].

        Raises:
            ModelError: the run belongs to another model.
        """
        kinds = {"load": self.load, "traction": self.traction, "lateral": self.lateral}
        kinds |= {"slip": self.slip_margins(friction), "skid": self.skid_margins(friction)}
        outputs = {f"{kind} {name}": x for kind, found in kinds.items() for name, x in found.items()}
        return along(self.equations, outputs, dict.fromkeys(outputs, "N"), run)

    def _held(self, name: str, friction: Scalar) -> Any:
        total: Any = 0.0
        for wheel in self.shared[name]:
            bound, X = friction * maximum(self.load[wheel], 0.0), self.traction[wheel]
            total = total + sqrt(maximum(bound * bound - X * X, 0.0))
        return total


def wheel_forces(equations: Equations, wheels: Sequence[Wheel]) -> WheelForces:
    """Return the forces of the ground on the three wheels of a vehicle, as expressions.

    Tractions follow from moments about the axles, r X = tau - I dw/dt; the paper omits the wheel inertia. Loads follow
    from the vertical force balance and the moments about horizontal axes; lateral forces of the two axle lines follow
    from the remaining balance equations. Four loads, or three axle lines, are indeterminate on rigid ground.

    Raises:
        ModelError: there are not three wheels on two axle lines, or contacts are collinear. Also if wheels have
            different heights or a tilted axle, or a load acts along the joint between vehicle and ground.

    Source: Tanner & Kyriakopoulos 2001, Eq. (9).
    """
    wheels = checked_wheels(equations, wheels)
    with collector_paused():
        stands = [stand_of(equations, wheel) for wheel in wheels]
        require_level(equations, wheels, stands)
        names = [wheel.name for wheel in wheels]
        shared = {" + ".join(w.name for w in line): tuple(w.name for w in line) for line in _axle_lines(wheels)}
        if len(wheels) != 3 or len(shared) != 2:
            raise ModelError(
                f"forces on the {len(wheels)} wheels {', '.join(names)} with {len(shared)} axle lines are "
                "indeterminate: the balance gives three loads and two lateral forces. kane.tip_over needs none of these"
            )
        _require_triangle(equations, stands)
        wrench = ground_wrench(equations)
        F, T = tuple(wrench[:3]), tuple(wrench[3:])
        X = {wheel.name: _traction(equations, wheel) for wheel in wheels}
        place = dict(zip(names, stands, strict=True))
        ground = (0.0, 0.0, stands[0].contact[2])
        N = _loads(F[2], moved_moment(T, F, ground), [s.contact for s in stands])
        Y = _lateral(F, T, X, place, list(shared.values()))
        lift = equations.system.arena.lift
    loads = dict(zip(names, map(lift, N), strict=True))
    return WheelForces(equations, loads, X, dict(zip(shared, map(lift, Y), strict=True)), shared)


def checked_wheels(equations: Equations, wheels: Any) -> list[Wheel]:
    """Return the wheels as a list.

    Raises:
        ModelError: the arguments are not equations and wheels of the same model.
    """
    require(equations, Equations, "the margins take Equations, which kane.formulate(model) returns")
    given: list[Wheel] = list_argument(wheels, "wheels", "kane.Wheel(joint, radius)")
    for wheel in given:
        if not isinstance(wheel, Wheel) or wheel.turn not in equations.model.connections:
            raise ModelError(f"{shown(wheel)} is not a kane.Wheel of {equations.name!r}")
    return given


def stand_of(equations: Equations, wheel: Wheel) -> Stand:
    """Return the contact point and directions of a wheel, in q and parameters."""
    ground = equations.model.ground
    along_N = (ground.x, ground.y, ground.z)
    given = [of.dot(axis) for of in (wheel.centre.position, wheel.axle) for axis in along_N]
    values = equations.baked_in(substitute_nodes(given, images(equations.system, given)))
    centre, axle = tuple(values[:3]), tuple(values[3:])
    heading = cross(axle, VERTICAL)
    return Stand(minus(centre, times(wheel.radius, VERTICAL)), heading, cross(VERTICAL, heading))


def require_level(equations: Equations, wheels: Sequence[Wheel], stands: Sequence[Stand]) -> None:
    """Raise unless all wheels are upright and have the same contact height."""
    probe = probe_of(equations.model)
    heights = probe([s.contact[2] for s in stands])
    for wheel, stand, height in zip(wheels, stands, heights, strict=True):
        if abs(height - heights[0]) > GEOMETRY_ROUND_OFF:
            raise ModelError(
                f"wheel {wheel.name!r} touches the ground {height - heights[0]:.6g} m above {wheels[0].name!r}; "
                "correct radii and axles so that all wheels touch one plane"
            )
        upright = probe([dot(stand.heading, stand.heading)])[0]
        if abs(upright - 1.0) > GEOMETRY_ROUND_OFF:
            raise ModelError(f"the axle of wheel {wheel.name!r} is not level; give upright wheels")


def _require_triangle(equations: Equations, stands: Sequence[Stand]) -> None:
    a, b = (minus(s.contact, stands[2].contact) for s in stands[:2])
    if abs(probe_of(equations.model)([cross(a, b)[2]])[0]) < GEOMETRY_ROUND_OFF:
        raise ModelError(
            "the three wheels touch the ground on one line, about which it exerts no moment; give wheels that "
            "span a triangle"
        )


def _axle_lines(wheels: Sequence[Wheel]) -> list[list[Wheel]]:
    """Group the wheels by common axle lines, independent of the state."""
    lines: list[list[Wheel]] = []
    for wheel in wheels:
        for line in lines:
            if _in_line(line[0], wheel):
                line.append(wheel)
                break
        else:
            lines.append([wheel])
    return lines


def _in_line(A: Wheel, B: Wheel) -> bool:
    if A.turn.parent is not B.turn.parent:
        return False
    probe = probe_of(A.turn.parent.model)
    apart = minus(B.centre.position_in_body, A.centre.position_in_body)
    across = (*cross(A.axle.components, B.axle.components), *cross(A.axle.components, apart))
    return bool(abs(probe(across)).max() < GEOMETRY_ROUND_OFF)


def _traction(equations: Equations, wheel: Wheel) -> Expr:
    """Return X = (tau - I d(w . axle)/dt) / r."""
    system = equations.system
    spin = [wheel.turn.child.angular_velocity.dot(wheel.own_axle)]
    w = equations.baked_in(substitute_nodes(spin, images(system, spin)))
    rate = total_time_derivative(w, motion(equations))[0]
    effort = equations.baked_in([equations.applied.efforts[system.speeds.first[wheel.turn]]])[0]
    return equations.baked_in([(effort - wheel.moment * rate) / wheel.radius])[0]


def _loads(W: Expr, T: Triple, contacts: Sequence[Triple]) -> tuple[Any, ...]:
    """Return three loads with the sum W and the moment T about a point at their height.

    The moment about the third contact determines the first two loads.
    """
    p2 = contacts[2]
    a, b = minus(contacts[0], p2), minus(contacts[1], p2)
    Mx, My = T[0] - p2[1] * W, T[1] + p2[0] * W
    area = a[0] * b[1] - a[1] * b[0]
    first = (b[1] * (-My) - b[0] * Mx) / area
    second = (a[0] * Mx - a[1] * (-My)) / area
    return first, second, W - first - second


def _lateral(
    F: Triple, T: Triple, X: Mapping[str, Expr], place: Mapping[str, Stand], lines: Sequence[tuple[str, ...]]
) -> list[Any]:
    """Return Y of two axle lines from force and moment balance in the ground plane.

    The balance has one equation more than unknowns; the equations of motion satisfy it. The force Y acts on the first
    line along its left direction l. The lines have the headings h and h2, and d is the vector between them. The moment
    about the second contact gives d.h Y, the force along h2 gives l.h2 Y. Weighted least squares of both gives Y.
    """
    front, rear = place[lines[0][0]], place[lines[1][0]]
    d = minus(front.contact, rear.contact)
    force, moment = F, moved_moment(T, F, rear.contact)[2]
    for name, traction in X.items():
        pull = times(traction, place[name].heading)
        force = minus(force, pull)
        moment = moment - cross(minus(place[name].contact, rear.contact), pull)[2]
    arm, turned = dot(d, front.heading), dot(front.left, rear.heading)
    size = dot(d, d)
    first = (arm * moment + size * turned * dot(force, rear.heading)) / (arm * arm + size * turned * turned)
    return [first, dot(plus(force, times(-first, front.left)), rear.left)]
