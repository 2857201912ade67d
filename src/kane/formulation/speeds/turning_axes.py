"""Axes about which the joints' speeds turn a link, expressed in the frames of links and of gimbal rings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kane.deferred import dataclass
from kane.errors import ExpressionError
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.operations import RATE
from kane.expression.traverse import substitute_nodes
from kane.formulation.tree.spatial import plus, times
from kane.formulation.tree.system import System
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import Elementary
from kane.geometry.scalars import UNIT_VECTORS, ZERO_VECTOR, Triple, is_zero

# Cost of a coefficient that is an expression, relative to a number, in the equations to be solved.
EXPRESSION = 4


@dataclass(frozen=True)
class TurningAxes:
    """Angular velocity w_NB = sum of axes[j] w_j + rest = value, along the axes of one frame.

    Attributes:
        axes: axis of each of the joints' own speeds that turn the link, by index.
        rest: angular velocity from prescribed motion.
        value: the angular velocity as declared.
        turns: number of rotations that bring the declared value to this frame.
    """

    axes: dict[int, Triple]
    rest: Triple
    value: Triple
    turns: int

    @property
    def complexity(self) -> int:
        """Return the number of nonzero entries, with expressions counted EXPRESSION times, plus the number of turns."""
        entries = [x for v in self.axes.values() for x in v if not is_zero(x)]
        return self.turns + sum(EXPRESSION if x.__class__ is Expr and not x.is_constant else 1 for x in entries)


def turning_axes(system: System, link: int, frame: int, declared: Triple) -> Iterator[TurningAxes]:
    """Yield the axes about which speeds turn a link, expressed in each frame from the ground to the link.

    The frames include the intermediate frames of its joint.

    Args:
        frame: the link along whose axes the angular velocity is declared.
        declared: its measure numbers along these axes.
    """
    path, at = [], link
    while at:
        path.append(at)
        at = system.links[at].parent
    for other in dict.fromkeys((frame, *path, 0)):
        axes, rest = _between(system, path, other)
        yield TurningAxes(axes, rest, system.carried(frame, other, declared), int(other != frame))
    inside = _inside(system, link)
    if inside:
        axes, rest = _between(system, path[1:], system.links[link].parent)
        factors, value = system.steps[link].R.factors, system.carried(frame, link, declared)
        for m in range(1, len(factors)):
            before, after = Rotation(factors[:m]), Rotation(factors[m:])
            outer = {j: before.apply_inverse(v) for j, v in axes.items()}
            own = {j: _along(factors, f, axis, m) for j, (f, axis) in inside.items()}
            turned = rest if rest is ZERO_VECTOR else before.apply_inverse(rest)
            turns = int(link != frame) + sum(not factor.is_constant for factor in factors[m:])
            yield TurningAxes(outer | own, turned, after.apply(value), turns)


def _between(system: System, links: Sequence[int], frame: int) -> tuple[dict[int, Triple], Triple]:
    """Return the axis, in ``frame``, about which each joint speed turns the first link, and the prescribed rotation."""
    still = {leaf: leaf.arena.zero for leaf in system.speeds.u}
    axes: dict[int, Triple] = {}
    rest = ZERO_VECTOR
    for link in links:
        for k, w_u in zip(system.columns(link), system.steps[link].w_u, strict=True):
            if all(is_zero(x) for x in w_u):
                continue
            axis = system.carried(link, frame, w_u)
            for j, c in system.speeds.C[k].items():
                axes[j] = plus(axes.get(j, ZERO_VECTOR), times(c, axis))
            prescribed = substitute_nodes([system.speeds.natural[k]], still)[0]
            if not is_zero(prescribed):
                rest = plus(rest, times(prescribed, axis))
    return axes, rest


def _inside(system: System, link: int) -> dict[int, tuple[int, Triple]]:
    """Return the factor of R_PK and its axis, by speed, for a joint whose speeds are the rates of several angles.

    The result is empty for other joints, and for joints of one angle.
    """
    speeds, found = system.speeds, dict[int, tuple[int, Triple]]()
    column = {leaf: j for j, leaf in enumerate(speeds.u)}
    own = {j for k in system.columns(link) for j in speeds.C[k]}
    for f, factor in enumerate(system.steps[link].R.factors):
        if factor.is_constant:
            continue
        if not isinstance(factor, Elementary):
            return {}
        try:
            (coefficients,), _ = linear_coefficients([system.arena.lift(factor.angle)], speeds.q)
        except ExpressionError:
            return {}
        for q, c in zip(speeds.q, coefficients, strict=True):
            if is_zero(c):
                continue
            j = column.get(speeds.rates[q.arena.leaf(RATE, q.data)])
            if j not in own or j is None or not c.is_constant:
                return {}
            found[j] = f, times(float(c), UNIT_VECTORS[factor.axis])
    return found if len(found) == len(own) > 1 else {}


def _along(factors: Sequence[object], f: int, axis: Triple, m: int) -> Triple:
    """Return the axis of factor f, expressed in the frame between factors m - 1 and m."""
    if f < m:
        return Rotation(tuple(factors[f + 1 : m])).apply_inverse(axis)  # type: ignore[arg-type]
    return Rotation(tuple(factors[m:f])).apply(axis)  # type: ignore[arg-type]
