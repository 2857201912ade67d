"""Coincidence of two frames, which closes a loop."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import NamedTuple, dataclass
from kane.expression.node import Expr
from kane.expression.operations import MEASURE
from kane.expression.traverse import leaves
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import General
from kane.geometry.scalars import AXIS_LETTERS, UNIT_VECTORS, Triple
from kane.model.body import POSITION, Body, Direction, Point
from kane.model.constraints.constraint import Constraint, Row


@dataclass(frozen=True)
class Welded(Constraint):
    """The frame of body A and a frame M fixed in body B coincide: p_AoMo = 0 and R_AM = 1; w_AM = 0 and v_AMo = 0.

    The configuration residual of the orientation is half the sum of a_i x m_i. It vanishes at R_AM = 1, where its rate
    is w_AM. It also vanishes at half turns, which ``assemble`` rejects.

    Attributes:
        A, B: the bodies.
        at, orientation: pose of M in B [m].
        axes: the body along whose axes the equations of position are written.
    """

    A: Body
    B: Body
    at: Triple
    orientation: Rotation
    axes: Body

    @property
    def title(self) -> str:
        """Name of the constraint, with both bodies."""
        return f"weld of {self.A.name} to {self.B.name}"

    def rows(self) -> Sequence[Row]:
        """Return three equations of position and three of orientation."""
        a = [Direction(self.A, axis) for axis in UNIT_VECTORS]
        m = [Direction(self.B, tuple(self.orientation.apply(axis))) for axis in UNIT_VECTORS]
        A, M = Point(self.A, (0.0, 0.0, 0.0)), Point(self.B, self.at)
        found = []
        for axis, along in zip(AXIS_LETTERS, (Direction(self.axes, axis) for axis in UNIT_VECTORS), strict=True):
            gap = M.position.dot(along) - A.position.dot(along)
            speed = M.velocity.dot(along) - A.velocity.dot(along)
            found.append(Row(axis, configuration=gap, motion=speed))
        for i, axis in enumerate(AXIS_LETTERS):
            turn = self.B.angular_velocity.dot(a[i]) - self.A.angular_velocity.dot(a[i])
            found.append(Row(f"turn about {axis}", configuration=_twist(a, m, i), motion=turn))
        return found


def _twist(a: Sequence[Direction], m: Sequence[Direction], i: int) -> Expr:
    """Return component i of the rotation vector from A to M, to first order: (R_kj - R_jk) / 2."""
    j, k = (i + 1) % 3, (i + 2) % 3
    return 0.5 * (a[k].dot(m[j]) - a[j].dot(m[k]))


class WeldedPose(NamedTuple):
    """Pose of M, at which a weld holds frame A.

    Attributes:
        body: index of the body B.
        at, orientation: p_BoMo_B [m], R_BM.
    """

    body: int
    at: Triple
    orientation: Rotation


def welded_pose(rows: Sequence[Row], A: Body) -> WeldedPose:
    """Return the pose of M from the rows of a weld of body A, because models and files store only the rows."""
    held = [row.configuration for row in rows if row.configuration is not None]  # present in all rows of a weld
    measures = [[leaf.data for leaf in leaves([x]) if leaf.op == MEASURE] for x in held]
    (point,) = (x for x in measures[0] if x.kind == POSITION and x.body != A.index)
    # Row i of the orientation contains a_k . m_j and a_j . m_k.
    turns = {}
    for i in range(3):
        for x in measures[3 + i]:
            own, other = (x.point, x.direction) if x.body == A.index else (x.direction, x.point)
            if own == UNIT_VECTORS[(i + 2) % 3]:
                turns[(i + 1) % 3] = other
    columns = [turns[k] for k in range(3)]
    return WeldedPose(point.body, point.point, Rotation((General(tuple(zip(*columns, strict=True))),)))
