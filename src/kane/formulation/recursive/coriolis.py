"""Coriolis matrices and derivatives of inverse dynamics by composite inertias: O(n d) operations, d the depth.

The particle of a link at r = (x, y, z, 1) from O_K has the velocity V r, V = [w x, v; 0]. The link's moments are

    Sigma = integral of r r^T dm,   P = integral of rdot r^T dm,   F = integral of rddot dm and of r x rddot dm.

Moments of the links beyond a joint are added; Sigma is then their composite inertia, as of one rigid body. S_j is
the motion per unit of speed j, V_p the parent's twist, and [.,.] the bracket of twists. With

    psi_j = [V_p, S_j],   chi_j = [Vdot_p, S_j] + [V_p, psi_j],   Sdot_j = [V, S_j],

the accelerations of the particles beyond joint j, seen from there, have the derivatives by u_j and by the displacement:

    (2 S_j V + Sdot_j + psi_j) r,   (2 psi_j V + chi_j) r.

The generalized forces of these changes are the projections of their inertia forces on S_i. With w the angular part of
W, an acceleration field 2 W V r needs the wrench f = 2 w x p, n = 2 (tr P - P) w. The linear part of W has no effect.
The factor 2 comes from doubled masses in P, which cost nothing at run time.

Source: Carpentier & Mansard 2018 and Singh, Russo & Wensing 2022 for the derivatives, Echeandia & Wensing 2021 for the
Coriolis matrix. Mass moments replace the 6 x 6 matrices of these papers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kane.deferred import NamedTuple, dataclass
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import TIME
from kane.formulation.recursive.composite import composites, natural_mass_matrix, unit_wrench
from kane.formulation.recursive.inverse import LinkWrench, generalized_forces, inertia_wrench
from kane.formulation.recursive.kinematics import acceleration_fields, angular_velocities, origin_velocities
from kane.formulation.tree.mass_parameters import MassParameters
from kane.formulation.tree.sparse import Sparse
from kane.formulation.tree.spatial import minus, plus, rotate_square, times
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, NumberMatrix, Triple, cross, dot, is_zero, scaled


class Twist(NamedTuple):
    """Angular velocity and velocity of O_K, in K; or their rates."""

    w: Triple
    v: Triple

    def plus(self, other: Twist) -> Twist:
        """Return the sum."""
        return Twist(plus(self.w, other.w), plus(self.v, other.v))

    def bracket(self, other: Twist) -> Twist:
        """Return [A, B] = (w_A x w_B, w_A x v_B + v_A x w_B), the rate of B when A carries it along."""
        return Twist(cross(self.w, other.w), plus(cross(self.w, other.v), cross(self.v, other.w)))

    def power(self, wrench: LinkWrench) -> Any:
        """Return w . n + v . f."""
        return dot(self.w, wrench[1]) + dot(self.v, wrench[0])


class Stirred(NamedTuple):
    """Moment P of a subtree about O_K in K: its 3 x 3 part by rows, and the momentum p."""

    P: NumberMatrix
    p: Triple

    @property
    def Q(self) -> NumberMatrix:
        """Return tr P - P."""
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = self.P
        return (yy + zz, -xy, -xz), (-yx, xx + zz, -yz), (-zx, -zy, xx + yy)

    def wrench(self, w: Triple) -> LinkWrench:
        """Return the wrench of the field W V, w the angular part of W."""
        Q = self.Q
        return cross(w, self.p), (dot(Q[0], w), dot(Q[1], w), dot(Q[2], w))

    def along(self, S: Twist) -> Triple:
        """Return b such that b . w is the power of ``wrench(w)`` along S."""
        columns = tuple(zip(*self.Q, strict=True))
        turned = tuple(dot(column, S.w) for column in columns)
        return plus(turned, cross(self.p, S.v))


@dataclass(frozen=True)
class Composites:
    """Mass moments and motion of a system, all by link, in its frame K about O_K.

    Attributes:
        system: the tree.
        S: motions per unit of each natural speed of the link's joint.
        V: twists of the links.
        sigma, stirred: Sigma and P of the link and its subtree.
    """

    system: System
    S: list[list[Twist]]
    V: list[Twist]
    sigma: list[MassParameters]
    stirred: list[Stirred]

    @classmethod
    def of(cls, system: System, ratio: float = 1.0) -> Composites:
        """Compute the moments of a system at its speeds; P is multiplied by ``ratio``."""
        w = angular_velocities(system)
        V = [Twist(*pair) for pair in zip(w, origin_velocities(system, w), strict=True)]
        S = [[Twist(a, plus(b, cross(a, k.d))) for a, b in zip(k.w_u, k.v_u, strict=True)] for k in system.steps]
        stirred = [stirred_by(_multiple(m, ratio), twist) for m, twist in zip(system.masses, V, strict=True)]
        for index in range(len(V) - 1, 0, -1):
            parent = system.links[index].parent
            if parent:
                stirred[parent] = _sum(stirred[parent], _seen_from_parent(system, index, stirred[index]))
        return cls(system, S, V, composites(system), stirred)

    def columns(self, index: int) -> Iterator[tuple[int, Twist]]:
        """Return pairs of index, among all natural speeds, and motion for each natural speed of a link."""
        return zip(self.system.columns(index), self.S[index], strict=True)


def carried_in(system: System, index: int, wrench: LinkWrench) -> LinkWrench:
    """Transform a wrench about O_K of a link to O_K of its parent, in the parent's K."""
    step, (f, n) = system.steps[index], wrench
    n = plus(n, cross(step.d, f))
    f = step.R.apply(f)
    return f, plus(step.R.apply(n), cross(step.p, f))


def _carried_out(system: System, index: int, twists: Sequence[Twist]) -> Twist:
    """Transform the parent's twist to the link's O_K, in the link's K."""
    step, (w, v) = system.steps[index], twists[system.links[index].parent]
    turned = step.R.apply_inverse(w)
    return Twist(turned, plus(step.R.apply_inverse(plus(v, cross(w, step.p))), cross(turned, step.d)))


def stirred_by(mass: MassParameters, V: Twist) -> Stirred:
    """Return P = [w x] J + v mc^T and p = w x mc + m v of a link."""
    xx, yy, zz, xy, xz, yz = mass.J
    columns = [cross(V.w, column) for column in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))]
    columns = [plus(column, times(c, V.v)) for column, c in zip(columns, mass.mc, strict=True)]
    p = cross(V.w, mass.mc)
    return Stirred(tuple(zip(*columns, strict=True)), p if is_zero(mass.m) else plus(p, times(mass.m, V.v)))


def _multiple(mass: MassParameters, ratio: float) -> MassParameters:
    return MassParameters(ratio * mass.m, times(ratio, mass.mc), scaled(ratio, mass.J))


def _seen_from_parent(system: System, index: int, own: Stirred) -> Stirred:
    step = system.steps[index]
    near = _shifted(own, step.d)
    return _shifted(Stirred(rotate_square(step.R, near.P), step.R.apply(near.p)), step.p)


def _shifted(own: Stirred, d: Triple) -> Stirred:
    """Return P about a point from which the old one is at d: P + p d^T."""
    if all(is_zero(x) for x in d):
        return own
    return Stirred(tuple(plus(row, times(x, d)) for row, x in zip(own.P, own.p, strict=True)), own.p)


def _sum(a: Stirred, b: Stirred) -> Stirred:
    return Stirred(tuple(plus(x, y) for x, y in zip(a.P, b.P, strict=True)), plus(a.p, b.p))


def both_wrenches(a: LinkWrench, b: LinkWrench) -> LinkWrench:
    """Return the sum of two wrenches."""
    return plus(a[0], b[0]), plus(a[1], b[1])


MatrixEntries = dict[tuple[int, int], Any]


def inverse_derivatives(system: System, natural: Sequence[Any]) -> tuple[MatrixEntries, MatrixEntries]:
    """Return the derivatives of (-F*_r minus the F_r of the weight) by displacements and by speeds, over natural
    speeds.

    Missing entries are zero.

    Args:
        system: a tree in natural speeds, whose joints have motions that are constant in K (``moves_evenly``).
        natural: accelerations of the natural speeds.
    """
    at = Composites.of(system, 2.0)
    fields = _Fields.of(at, natural)
    by_q: MatrixEntries = {}
    by_u: MatrixEntries = {}
    for index in range(1, len(system.links)):
        for r, (i, S) in enumerate(at.columns(index)):
            b, m = at.stirred[index].along(S), unit_wrench(at.sigma[index], S.w, S.v)
            displaced, driven = fields.wrenches(index, r)
            here = index
            while here:
                for k, (j, T) in enumerate(at.columns(here)):
                    by_q[i, j] = dot(b, fields.psi[here][k].w) + fields.chi[here][k].power(m)
                    by_u[i, j] = dot(b, T.w) + fields.swept[here][k].power(m)
                    if here != index:
                        by_q[j, i], by_u[j, i] = T.power(displaced), T.power(driven)
                b, m = system.steps[here].R.apply(b), carried_in(system, here, m)
                displaced, driven = carried_in(system, here, displaced), carried_in(system, here, driven)
                here = system.links[here].parent
    return by_q, by_u


@dataclass(frozen=True)
class _Fields:
    """psi, chi and Sdot + psi of every natural speed, and F of every subtree, by link."""

    at: Composites
    psi: list[list[Twist]]
    chi: list[list[Twist]]
    swept: list[list[Twist]]
    forces: list[LinkWrench]

    @classmethod
    def of(cls, at: Composites, natural: Sequence[Any]) -> _Fields:
        """Compute the fields of composites at natural accelerations."""
        system, V = at.system, at.V
        fields = acceleration_fields(system, [twist.w for twist in V], natural)
        rates = [Twist(x.alpha, minus(x.a, cross(*twist))) for x, twist in zip(fields, V, strict=True)]
        forces = [inertia_wrench(m, x, twist.w) for m, x, twist in zip(system.masses, fields, V, strict=True)]
        for index in range(len(V) - 1, 0, -1):
            parent = system.links[index].parent
            if parent:
                forces[parent] = both_wrenches(forces[parent], carried_in(system, index, forces[index]))
        found = cls(at, [], [], [], forces)
        for index, row in enumerate(at.S):
            above, pushed = _carried_out(system, index, V), _carried_out(system, index, rates)
            psi = [above.bracket(S) for S in row]
            found.psi.append(psi)
            found.chi.append([pushed.bracket(S).plus(above.bracket(x)) for S, x in zip(row, psi, strict=True)])
            found.swept.append([V[index].bracket(S).plus(x) for S, x in zip(row, psi, strict=True)])
        return found

    def wrenches(self, index: int, r: int) -> tuple[LinkWrench, LinkWrench]:
        """Return the changes of F of the link's subtree per unit displacement and per unit change of its r-th speed."""
        at = self.at
        S, stirred, sigma = at.S[index][r], at.stirred[index], at.sigma[index]
        displaced = both_wrenches(stirred.wrench(self.psi[index][r].w), unit_wrench(sigma, *self.chi[index][r]))
        f, n = self.forces[index]
        turned = cross(S.w, f), plus(cross(S.w, n), cross(S.v, f))
        driven = both_wrenches(stirred.wrench(S.w), unit_wrench(sigma, *self.swept[index][r]))
        return both_wrenches(displaced, turned), driven


def moves_evenly(system: System) -> bool:
    """Check whether the motions per unit of natural speed, and the displacement d, are constant in K everywhere."""
    numbers = [x for step in system.steps for v in (*step.w_u, *step.v_u, step.d) for x in v]
    return all(x.is_constant for x in numbers if isinstance(x, Expr))


def natural_coriolis_matrix(system: System) -> MatrixEntries:
    """Return C over natural speeds: C_ij = sum over particles of m v_i . dv_j/dt, v_j partial velocities.

    Therefore Mdot = C + C^T in every motion, and C w are the velocity terms of the equations of motion.
    """
    at = Composites.of(system)
    rates = _rates(system)
    entries: MatrixEntries = {}
    turned = [[_rate(S, V, rates, system) for S in row] for row, V in zip(at.S, at.V, strict=True)]
    for index in range(1, len(system.links)):
        for r, (i, S) in enumerate(at.columns(index)):
            b, m = at.stirred[index].along(S), unit_wrench(at.sigma[index], S.w, S.v)
            moved = both_wrenches(at.stirred[index].wrench(S.w), unit_wrench(at.sigma[index], *turned[index][r]))
            here = index
            while here:
                for k, (j, T) in enumerate(at.columns(here)):
                    entries[i, j] = dot(b, T.w) + turned[here][k].power(m)
                    if here != index:
                        entries[j, i] = T.power(moved)
                b, m = system.steps[here].R.apply(b), carried_in(system, here, m)
                moved = carried_in(system, here, moved)
                here = system.links[here].parent
    return entries


def coriolis_matrix(system: System) -> MatrixEntries:
    """Return C over the generalized speeds, with w = Y u + w_t: Y^T C_natural Y + Y^T M_natural Ydot.

    Missing entries are zero. M = Y^T M_natural Y satisfies Mdot = C + C^T as M_natural does.
    """
    lift, rates = system.arena.lift, _rates(system)
    natural, masses = natural_coriolis_matrix(system), both_triangles(natural_mass_matrix(system))
    Y = [{j: lift(x) for j, x in row.items()} for row in system.speeds.C]
    turned = [dict(zip(row, total_time_derivative(list(row.values()), rates), strict=True)) for row in Y]
    return congruent(natural, masses, Y, turned)


def both_triangles(M: Sparse) -> MatrixEntries:
    """Return a symmetric matrix with its entries above the diagonal."""
    return {**M, **{(j, i): x for (i, j), x in M.items()}}


def congruent(
    C: MatrixEntries, M: MatrixEntries, Y: Sequence[Mapping[int, Any]], turned: Sequence[Mapping[int, Any]]
) -> MatrixEntries:
    """Return Y^T C Y + Y^T M Ydot, with Y and Ydot by sparse rows."""
    found: MatrixEntries = {}
    for terms, right in ((C, Y), (M, turned)):
        for (r, s), x in terms.items():
            for i, a in Y[r].items():
                for j, b in right[s].items():
                    if not (is_zero(a) or is_zero(b) or is_zero(x)):
                        found[i, j] = found.get((i, j), 0.0) + a * b * x
    return found


def weight_bias(system: System) -> list[Any]:
    """Return -F_r of the weight, its term on the left side of the equations of motion."""
    gravity: list[Triple] = [system.gravity]
    wrenches: list[LinkWrench] = [(ZERO_VECTOR, ZERO_VECTOR)]
    for link, step, mass in list(zip(system.links, system.steps, system.masses, strict=True))[1:]:
        gravity.append(step.R.apply_inverse(gravity[link.parent]))
        f = times(mass.m, gravity[-1])
        wrenches.append((minus(ZERO_VECTOR, f), cross(gravity[-1], mass.mc)))
    return generalized_forces(system, wrenches)


def _rates(system: System) -> dict[Expr, Expr]:
    rates = dict(zip(system.speeds.q, system.speeds.kinematics, strict=True))
    return rates | {system.arena.leaf(TIME, "t"): system.arena.one}


def _rate(S: Twist, V: Twist, rates: dict[Expr, Expr], system: System) -> Twist:
    """Return dS/dt: the link carries S along, and S changes in K if the joint's motions depend on coordinates."""
    own = total_time_derivative([system.arena.lift(x) for x in (*S.w, *S.v)], rates)
    carried = V.bracket(S)
    return carried.plus(Twist(tuple(own[:3]), tuple(own[3:])))
