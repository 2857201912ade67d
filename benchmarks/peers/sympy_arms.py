"""SymPy's KanesMethod on arms: one method, by a general algebra system."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.trees import Link, Tree


class Numbers:
    """A symbol for every number but 0, 1 and -1, equal numbers one symbol: SymPy is faster so than with floats.

    Attributes:
        values: number of every symbol.
    """

    def __init__(self) -> None:
        self.values: dict[Any, float] = {}
        self._symbols: dict[float, Any] = {}

    def symbol(self, value: float) -> Any:
        """What stands for a number."""
        from sympy import Symbol

        if round(value) in (-1, 0, 1) and abs(value - round(value)) < 1e-9:  # within the digits that files print
            return round(value)
        size = abs(float(value))
        if size not in self._symbols:
            self._symbols[size] = Symbol(f"c{len(self._symbols)}")
            self.values[self._symbols[size]] = size
        return self._symbols[size] if value > 0 else -self._symbols[size]

    def vector(self, frame: Any, values: Any) -> Any:
        """The vector of three measure numbers."""
        axes = (frame.x, frame.y, frame.z)
        return sum((self.symbol(v) * axis for v, axis in zip(values, axes, strict=True)), 0 * frame.x)


def kanes_method(tree: Tree) -> tuple[Any, Any, dict[Any, float]]:
    """Derives the equations of a tree of revolute and prismatic joints, a torque or force at each.

    Returns:
        SymPy's KanesMethod, its equations formed; the symbols of the efforts; the values of the other symbols.
    """
    from sympy.physics import mechanics

    n, numbers = len(tree.links), Numbers()
    q, u, efforts = (list(mechanics.dynamicsymbols(f"{letter}:{n}")) for letter in ("q", "u", "tau"))
    ground, origin = mechanics.ReferenceFrame("N"), mechanics.Point("O")
    origin.set_vel(ground, 0)
    places, bodies, loads = [(ground, origin)], [], []
    gravity = numbers.vector(ground, tree.gravity)
    for i, link in enumerate(tree.links):
        before = places[link.parent + 1]
        start, (frame, point) = _joint(numbers, link, places, (q[i], u[i]))
        places.append((frame, point))
        body = _body(numbers, link, frame, point)
        body.masscenter.v2pt_theory(point, ground, frame)
        bodies.append(body)
        loads.append((body.masscenter, body.mass * gravity))
        along = efforts[i] * getattr(frame, link.axis)
        ends = (frame, before[0]) if link.kind == "R" else (point, start)
        loads += [(ends[0], along), (ends[1], -along)]  # start moves with the body before: the reaction acts there
    rates = [qi.diff() - ui for qi, ui in zip(q, u, strict=True)]
    method = mechanics.KanesMethod(ground, q_ind=q, u_ind=u, kd_eqs=rates)
    method.kanes_equations(bodies, loads)
    return method, efforts, numbers.values


def _joint(numbers: Numbers, link: Link, places: Sequence[Any], motion: tuple[Any, Any]) -> Any:
    """The joint's place on the body before; frame and origin of the body. Velocities are set."""
    from sympy import Matrix

    (frame, point), (ground, _), (q, u), name = places[link.parent + 1], places[0], motion, link.name
    fixed = frame
    if not np.array_equal(link.rotation, np.eye(3)):
        fixed = frame.orientnew(f"F_{name}", "DCM", Matrix([[numbers.symbol(x) for x in row] for row in link.rotation]))
        fixed.set_ang_vel(frame, 0)
    axis = getattr(fixed, link.axis)
    start = point.locatenew(f"F_{name}o", numbers.vector(frame, link.position))
    start.v2pt_theory(point, ground, frame)
    if link.kind == "R":
        turned = fixed.orientnew(f"B_{name}", "Axis", (q, axis))
        turned.set_ang_vel(fixed, u * axis)
        return start, (turned, start)
    moved = start.locatenew(f"B_{name}o", q * axis)
    moved.set_vel(fixed, u * axis)
    moved.v1pt_theory(start, ground, fixed)
    return start, (fixed, moved)


def _body(numbers: Numbers, link: Link, frame: Any, point: Any) -> Any:
    from sympy.physics import mechanics

    xx, yy, zz, xy, xz, yz = (numbers.symbol(value) for value in link.inertia)
    centre = point.locatenew(f"C_{link.name}", numbers.vector(frame, link.centre))
    inertia = mechanics.inertia(frame, xx, yy, zz, xy, yz, xz)
    return mechanics.RigidBody(link.name, centre, frame, numbers.symbol(link.mass), (inertia, centre))
