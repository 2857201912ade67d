"""Mass matrix by composite inertias."""

from __future__ import annotations

from kane.formulation.recursive.inverse import generalized_forces
from kane.formulation.recursive.kinematics import angular_velocities, origin_velocities
from kane.formulation.tree.mass_parameters import MassParameters
from kane.formulation.tree.sparse import Sparse
from kane.formulation.tree.spatial import inertia_of, plus, shifted_moment, six_times, times
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, Triple, add_vectors, cross, dot, is_zero


def natural_mass_matrix(system: System) -> Sparse:
    """Return the mass matrix over the natural speeds: entries (i, j) with j <= i, for joints of one branch only.

    The column of a speed is the wrench that gives the rigid subtree the unit acceleration of this speed. The wrench is
    carried inwards and projected on the partial velocities of each joint on the way.

    Source: the composite-rigid-body method (Walker & Orin 1982), in first and second moments.
    """
    bodies = composites(system)
    entries: Sparse = {}
    for index in range(1, len(system.links)):
        step = system.steps[index]
        columns = system.columns(index)
        for r, (k, w_u, v_u) in enumerate(zip(columns, step.w_u, step.v_u, strict=True)):
            f, n = unit_wrench(bodies[index], w_u, plus(v_u, cross(w_u, step.d)))
            n = plus(n, cross(step.d, f))
            for j, w, v in zip(columns[: r + 1], step.w_u, step.v_u, strict=False):
                entries[k, j] = dot(w, n) + dot(v, f)
            _project_inwards(system, index, (f, n), k, entries)
    return entries


def composites(system: System) -> list[MassParameters]:
    """Return the mass parameters of each link and its subtree as one rigid body, about O_K in K."""
    total = list(system.masses)
    for index in range(len(system.links) - 1, 0, -1):
        parent = system.links[index].parent
        if not parent:
            continue
        step, own, above = system.steps[index], total[index], total[parent]
        mc, J = shifted_moment(own.m, own.mc, own.J, step.d)
        mc, J = shifted_moment(own.m, step.R.apply(mc), step.R.rotate_symmetric(J), step.p)
        total[parent] = MassParameters(above.m + own.m, plus(above.mc, mc), add_vectors(above.J, J))
    return total


def unit_wrench(body: MassParameters, w: Triple, v: Triple) -> tuple[Triple, Triple]:
    """Return force and moment about O_K for the acceleration field v + w x r."""
    f = cross(w, body.mc)
    if not is_zero(body.m):
        f = plus(times(body.m, v), f)
    turning = ZERO_VECTOR if w == ZERO_VECTOR else six_times(inertia_of(body.J), w)
    return f, plus(turning, cross(body.mc, v))


def _project_inwards(system: System, index: int, wrench: tuple[Triple, Triple], k: int, entries: Sparse) -> None:
    """Carry a wrench about the foot point of link ``index`` to the ground, and store its projections in ``entries``."""
    f, n = wrench
    while parent := system.links[index].parent:
        step = system.steps[index]
        f = step.R.apply(f)
        n = plus(step.R.apply(n), cross(step.p, f))
        above = system.steps[parent]
        n = plus(n, cross(above.d, f))
        for j, w, v in zip(system.columns(parent), above.w_u, above.v_u, strict=True):
            entries[k, j] = dot(w, n) + dot(v, f)
        index = parent


def mass_matrix(system: System, natural: Sparse) -> Sparse:
    """Return M = C^T M_natural C over the generalized speeds, lower triangle, in the order of u."""
    C, zero = system.speeds.C, system.arena.zero
    M: Sparse = {}
    for (i, j), x in natural.items():
        for a, ca in C[i].items():
            for b, cb in C[j].items():
                # Two joints that follow the same speed (mimic) put both M_ij and M_ji on its diagonal entry.
                for row, column in ((a, b), (b, a)) if i != j else ((a, b),):
                    if row >= column:
                        M[row, column] = M.get((row, column), zero) + (ca * cb) * x
    return M


def unit_columns(system: System) -> Sparse:
    """Return M column by column: the generalized forces of the momenta that belong to one unit speed at a time.

    Declared velocities are used directly, so that entries that the chosen speeds decouple are zero.
    """
    C, n = system.speeds.C, len(system.speeds.u)
    M: Sparse = {}
    for r in range(n):
        natural = [row.get(r, 0.0) for row in C]
        unit = [float(j == r) for j in range(n)]
        w = angular_velocities(system, natural, unit)
        v = origin_velocities(system, w, natural, unit)
        momenta = [unit_wrench(mass, w_K, v_K) for mass, w_K, v_K in zip(system.masses, w, v, strict=True)]
        column = generalized_forces(system, momenta)
        M.update({(i, r): column[i] for i in range(r, n)})
    return M
