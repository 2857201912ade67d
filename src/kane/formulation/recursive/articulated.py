"""Forward dynamics in O(n) operations by articulated-body inertias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.errors import ModelError
from kane.formulation.tree.frames import Step
from kane.formulation.tree.mass_parameters import MassParameters
from kane.formulation.tree.spatial import inertia_of, plus, rotate_square
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, NumberMatrix, Six, Triple, add_vectors, cross, is_zero

# A wrench or acceleration as six scalars: moment or angular part first.
Spatial = list[Any]
Symmetric = list[list[Any]]  # 6 x 6, rows; only j <= i is kept


class Articulated:
    """Relation [n; f] = [[I, H], [H^T, A]] [alpha; a] + p of a subtree with moving joints, about O_K in K.

    Attributes:
        I, A: symmetric 3 x 3 matrices as six scalars.
        H: 3 x 3 matrix by rows.
        p: moment and force at the reference acceleration, the acceleration of the whole tree with udot = 0.
    """

    __slots__ = ("A", "H", "I", "p")

    def __init__(self, I: Six, H: NumberMatrix, A: Six, p: tuple[Triple, Triple]) -> None:
        self.I, self.H, self.A, self.p = I, H, A, p

    @classmethod
    def rigid(cls, mass: MassParameters, p: tuple[Triple, Triple]) -> Articulated:
        """Return the relation of a rigid link: I = tr(J) 1 - J, H = [mc x], A = m 1."""
        x, y, z = mass.mc
        H = ((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0))
        m = mass.m
        return cls(inertia_of(mass.J), H, (m, m, m, 0.0, 0.0, 0.0), p)

    def plus(self, other: Articulated) -> Articulated:
        """Return the relation of two subtrees on one link."""
        H = tuple(plus(a, b) for a, b in zip(self.H, other.H, strict=True))
        p = plus(self.p[0], other.p[0]), plus(self.p[1], other.p[1])
        return Articulated(add_vectors(self.I, other.I), H, add_vectors(self.A, other.A), p)

    def rows(self) -> Symmetric:
        """Return the lower triangle of the 6 x 6 matrix, by rows."""
        I, A, H = self.I, self.A, self.H
        return [
            [I[0]],
            [I[3], I[1]],
            [I[4], I[5], I[2]],
            [H[0][0], H[1][0], H[2][0], A[0]],
            [H[0][1], H[1][1], H[2][1], A[3], A[1]],
            [H[0][2], H[1][2], H[2][2], A[4], A[5], A[2]],
        ]

    @classmethod
    def of_rows(cls, M: Symmetric, p: Spatial) -> Articulated:
        """Return the relation with the 6 x 6 matrix M, as from ``rows``, and the wrench p."""
        I = (M[0][0], M[1][1], M[2][2], M[1][0], M[2][0], M[2][1])
        A = (M[3][3], M[4][4], M[5][5], M[4][3], M[5][3], M[5][4])
        H = tuple((M[3][i], M[4][i], M[5][i]) for i in range(3))
        return cls(I, H, A, ((p[0], p[1], p[2]), (p[3], p[4], p[5])))

    def seen_from_parent(self, step: Step) -> Articulated:
        """Return the same relation about O_P in the parent's K."""
        near = self._shifted(step.d)
        R = step.R
        n, f = R.apply(near.p[0]), R.apply(near.p[1])
        turned = Articulated(R.rotate_symmetric(near.I), rotate_square(R, near.H), R.rotate_symmetric(near.A), (n, f))
        return turned._shifted(step.p)

    def _shifted(self, d: Triple) -> Articulated:
        """Shift to the point from which O is at d: H' = H + [d x] A, I' = I + ([d x] H^T)^T + [d x] H'^T."""
        if all(is_zero(x) for x in d):
            return self
        xx, yy, zz, xy, xz, yz = self.A
        across = [cross(d, column) for column in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))]
        H = tuple(plus(row, tuple(column[i] for column in across)) for i, row in enumerate(self.H))
        # Row i of H is column i of H^T, so that [d x] H^T has columns d x H[i].
        old = [cross(d, row) for row in self.H]
        new = [cross(d, row) for row in H]
        I = self.I
        moved = (
            I[0] + old[0][0] + new[0][0],
            I[1] + old[1][1] + new[1][1],
            I[2] + old[2][2] + new[2][2],
            I[3] + old[0][1] + new[1][0],
            I[4] + old[0][2] + new[2][0],
            I[5] + old[1][2] + new[2][1],
        )
        n, f = self.p
        return Articulated(moved, H, self.A, (plus(n, cross(d, f)), f))


JointFactor = tuple[int, list[Any], Spatial, Any, Any]  # natural speed, its direction, U, 1/D, remaining effort


def articulated_forward(system: System, efforts: Sequence[Any], wrenches: Sequence[tuple[Triple, Triple]]) -> list[Any]:
    """Return the natural accelerations under joint efforts, without their remainders.

    Accelerations are relative to the remainder motion (udot = 0), so that the sweep has no velocity terms.

    Args:
        system: the tree; each natural speed is one generalized speed.
        efforts: generalized forces on the natural speeds.
        wrenches: force and moment about O_K that each link needs in the remainder motion, minus the loads on it.

    Raises:
        ModelError: a joint can move without moving mass or inertia.

    Source: Featherstone 1983; McMillan & Orin 1995 for the use of joint-aligned frames.
    """
    bodies = [Articulated.rigid(m, (n, f)) for m, (f, n) in zip(system.masses, wrenches, strict=True)]
    eliminations: list[list[JointFactor]] = [[] for _ in system.links]
    for index in range(len(system.links) - 1, 0, -1):
        step, parent = system.steps[index], system.links[index].parent
        body, eliminations[index] = _eliminated(system, index, bodies[index], efforts, bool(parent))
        if parent:
            bodies[parent] = bodies[parent].plus(body.seen_from_parent(step))
    return _outwards(system, eliminations)


def _eliminated(
    system: System, index: int, body: Articulated, efforts: Sequence[Any], carried: bool
) -> tuple[Articulated, list[JointFactor]]:
    """Eliminate a joint's natural speeds one by one: the joint moves freely under its efforts."""
    step = system.steps[index]
    M, p = body.rows(), [*body.p[0], *body.p[1]]
    done: list[JointFactor] = []
    columns = system.columns(index)
    for count, (k, w, v) in enumerate(zip(columns, step.w_u, step.v_u, strict=True)):
        s = [*w, *plus(v, cross(w, step.d))]
        U = _product(M, s)
        moved = _dot(s, U)
        if is_zero(moved):
            raise ModelError(
                f"joint {_name(system, index)!r} can move without moving any inertia; give inertia to "
                "the bodies beyond it, or remove a redundant joint"
            )
        inverse = 1 / moved
        rest = efforts[k] - _dot(s, p)
        done.append((k, s, U, inverse, rest))
        if carried or count + 1 < len(columns):
            _deflate(M, p, done[-1])
    return Articulated.of_rows(M, p), done


def _name(system: System, index: int) -> str:
    connection = system.links[index].connection
    return connection.name if connection else ""


def _deflate(M: Symmetric, p: Spatial, elimination: JointFactor) -> None:
    """Replace M by M - U U^T / D and p by p + U rest / D.

    If the joint moves along a coordinate direction, M is set to exactly zero there.
    """
    _, s, U, inverse, rest = elimination
    along = [i for i, x in enumerate(s) if not is_zero(x)]
    unit = along[0] if len(along) == 1 and s[along[0]] in (1.0, -1.0) else None
    scaled = [0.0 if is_zero(x) or i == unit else x * inverse for i, x in enumerate(U)]
    for i in range(6):
        for j in range(i + 1):
            if unit in (i, j):
                M[i][j] = 0.0
            elif not (is_zero(U[i]) or is_zero(U[j])):
                M[i][j] = M[i][j] - scaled[i] * U[j]
        if not is_zero(scaled[i]):
            p[i] = p[i] + scaled[i] * rest
    if unit is not None:
        p[unit] = p[unit] + s[unit] * rest


def _product(M: Symmetric, s: Sequence[Any]) -> Spatial:
    return [_dot([M[max(i, j)][min(i, j)] for j in range(6)], s) for i in range(6)]


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total


def _outwards(system: System, eliminations: Sequence[Sequence[JointFactor]]) -> list[Any]:
    """Return the natural accelerations, computed from the ground outwards."""
    out: list[Any] = [0.0] * len(system.speeds.C)
    fields: list[tuple[Triple, Triple]] = [(ZERO_VECTOR, ZERO_VECTOR)]
    for index in range(1, len(system.links)):
        step = system.steps[index]
        alpha, a = fields[system.links[index].parent]
        a = step.R.apply_inverse(plus(a, cross(alpha, step.p)))
        alpha = step.R.apply_inverse(alpha)
        a = plus(a, cross(alpha, step.d))
        x = [*alpha, *a]
        for k, s, U, inverse, rest in reversed(eliminations[index]):
            out[k] = (rest - _dot(U, x)) * inverse
            x = [xi if is_zero(si) else xi + si * out[k] for xi, si in zip(x, s, strict=True)]
        fields.append(((x[0], x[1], x[2]), (x[3], x[4], x[5])))
    return out
