"""Claims of a certificate about reactions: joints cut free, efforts along freedoms, multipliers, three methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.analysis.certificate.claims import Found, common_digits
from kane.analysis.certificate.embedding_claims import ClaimOfEmbedding, Declared
from kane.dynamics.reactions.revealed import (
    AuxiliarySpeeds,
    Multipliers,
    OrthogonalComplement,
    ReactionRoute,
    RevealedReactions,
)
from kane.expression.derivative import total_time_derivative
from kane.expression.traverse import leaves
from kane.formulation.random_states import RandomStates
from kane.formulation.reactions.reactions import ReactionPlace, reveal_reactions
from kane.formulation.read_model import natural_system
from kane.formulation.recursive.applied import applied_loads
from kane.formulation.recursive.kinematics import angular_velocities, orientations, origin_velocities, origins
from kane.formulation.recursive.measures import position_in_K
from kane.formulation.tree.spatial import inertia_of, plus, rotated, six_times, times
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, NumberMatrix, Triple, cross
from kane.model.connection import Connection
from kane.model.loads.load import Load

# Largest number of joints that are cut, evenly distributed from the first to the last joint.
MAX_CUT_JOINTS = 6
# Expressions of order one with smaller divisors have lost half of their digits.
LEAST_DIVISOR = 1e-8


def joints_hold_bodies(declared: Declared) -> Found:
    """Compare the wrench in a joint with dP/dt - f and dH/dt - n, summed over the bodies beyond the joint.

    P, H are momenta; f, n are force and moment of weight and loads. Constraints are omitted, accelerations arbitrary.
    """
    joints, connections = _some(declared), declared.own.model.connections
    at = RandomStates(declared.equations.unconstrained, declared.count, declared.seed)
    revealed = reveal_reactions(declared.equations, *joints)
    found = at(revealed.needed[revealed.own :]).reshape(len(joints), 6, -1)
    system = natural_system(declared.own.model, apart=[c for c in connections if c.joint.nu == 0])
    links = {link.connection: i for i, link in enumerate(system.links)}
    R = orientations(system)
    p = origins(system, R)
    frames = [x for joint in joints for x in _joint_frame(system, R, p, joint)]
    bodies = _needed_by_bodies(system, R, p, declared.own.model.loads)
    values = at(declared.from_own_speeds([*bodies, *frames]))
    needed = values[: 6 * len(system.links)].reshape(len(system.links), 6, -1)
    for i in range(len(system.links) - 1, 0, -1):
        needed[system.links[i].parent] += needed[i]
    worst, size = 16.0, np.abs(needed).max(axis=(0, 1))
    for joint, wrench, frame in zip(joints, found, values[-len(frames) :].reshape(len(joints), 12, -1), strict=True):
        force, moment = needed[links[joint], :3], needed[links[joint], 3:]
        moment = moment - np.cross(frame[9:], force, axis=0)
        along = [np.einsum("ijk,ik->jk", frame[:9].reshape(3, 3, -1), x) for x in (force, moment)]
        worst = min(worst, common_digits(wrench, np.concatenate(along), size))
    return worst, f"{len(joints)} of {len(connections)} joints"


def joints_pass_on_efforts(declared: Declared) -> Found:
    """Check that a joint transmits only the efforts of motors and springs along its freedoms.

    Joints whose coordinates or rates occur in a constraint are skipped, because the constraint acts along their
    freedoms too.
    """
    system = natural_system(declared.own.model)
    rows = [row for imposed in declared.own.model.constraints for row in imposed.rows]
    held = {leaf.name for leaf in leaves([x for row in rows for x in (row.configuration, row.motion) if x is not None])}
    joints = [c for c in _some(declared) if c.speed_names and not held & {*c.coordinate_names, *c.speed_names}]
    if not joints:
        return None, "every joint depends on another, or occurs in a constraint"
    at = declared.at_balances
    efforts = at(declared.from_own_speeds(applied_loads(declared.own.tree.effects, system).efforts))
    found = _values(declared, joints).reshape(len(declared.balances), len(joints), 6)
    size = _sizes(declared, found)
    worst, shared = 16.0, 0
    for joint, wrench in zip(joints, np.moveaxis(found, 0, -1), strict=True):
        motion, first = system.speeds.motion[joint], system.speeds.first[joint]
        for k, (w, v) in enumerate(zip(motion.w_FM_u, motion.v_FM_u, strict=True)):
            along = at(declared.from_own_speeds([*v, *w]))
            parts = np.where(along == 0.0, 0.0, along * wrench)
            if np.isnan(parts).any():
                shared += 1
                continue
            worst = min(worst, common_digits(parts.sum(axis=0)[None], efforts[first + k][None], size))
    return worst, f"{len(joints)} of {len(declared.own.model.connections)} joints" + f", {shared} shared" * bool(shared)


def constraints_are_multipliers(declared: Declared) -> Found:
    """Check that the reaction of a constraint row is its multiplier: A^T lambda = M wdot + h."""
    found = _values(declared, declared.equations.model.constraints)
    names = [place.name_of(row) for place in declared.equations.model.constraints for row in place.rows]
    rows = [row.name for row in declared.unconstrained.equations.constraints]
    worst, known = 16.0, np.isfinite(found)
    for reactions, b, size in zip(found, declared.balances, _sizes(declared, found), strict=True):
        multipliers = np.linalg.lstsq(b.terms.A.T, b.forces, rcond=1e-12)[0]
        pairs = [
            (x, multipliers[rows.index(n)])
            for n, x in zip(names, reactions, strict=True)
            if n in rows and np.isfinite(x)
        ]
        if pairs:
            x, other = np.array(pairs).T
            worst = min(worst, common_digits(x, other, size))
    if not known.any():
        return None, "redundant constraints share every reaction"
    return worst, f"{int(known.all(axis=0).sum())} of {found.shape[1]} rows determinate"


def routes_agree(declared: Declared) -> Found:
    """Compare reactions by auxiliary speeds, by the orthogonal complement and by multipliers, all numerically.

    The symbolic expressions of the first method are compared too, at states where no divisor vanishes, and only if they
    agree on which reactions are indeterminate.
    """
    places: list[ReactionPlace] = [*_some(declared), *declared.equations.model.constraints]
    routes = (AuxiliarySpeeds(), OrthogonalComplement(), Multipliers())
    first, *others = (_values(declared, places, route) for route in routes)
    known, size, failing = ~np.isnan(first).any(axis=0), _sizes(declared, first), ""
    revealed = reveal_reactions(declared.equations, *places)
    if set(revealed.indeterminate) == {name for name, k in zip(revealed.names, known, strict=True) if not k}:
        divisors = np.abs(declared.at_balances(revealed.fails_where))
        good = (divisors > LEAST_DIVISOR).all(axis=0)
        symbolic = first.copy()
        symbolic[np.ix_(good, known)] = declared.at_balances(revealed.expressions.values()).T[good]
        others.append(symbolic)
        if not good.all():
            failing = f", expressions at {int(good.sum())} of {len(good)} states: divisors vanish at the others"
    worst = min(common_digits(first[:, known].T, other[:, known].T, size) for other in others) if known.any() else None
    return worst, f"{len(first[0])} reactions, {int((~known).sum())} indeterminate{failing}"


def _some(declared: Declared) -> list[Connection]:
    connections = declared.own.model.connections
    last = len(connections) - 1
    return [connections[i] for i in sorted({round(k * last / (MAX_CUT_JOINTS - 1)) for k in range(MAX_CUT_JOINTS)})]


def _values(declared: Declared, places: Sequence[ReactionPlace], route: ReactionRoute | None = None) -> np.ndarray:
    """Return reactions at the balanced states, (states, reactions)."""
    dyn, balances = declared.dyn, declared.balances
    found = RevealedReactions(dyn, reveal_reactions(dyn.equations, *places), route=route)
    q, u, inputs, t = (np.array([getattr(b, word) for b in balances]) for word in ("q", "u", "inputs", "t"))
    return found(q, u, inputs, t)


def _sizes(declared: Declared, found: np.ndarray) -> np.ndarray:
    """Return the largest force or reaction at each balanced state."""
    known = [np.abs(x[~np.isnan(x)]) for x in found]
    return np.array([x.max(initial=b.scale[0]) for b, x in zip(declared.balances, known, strict=True)])


def _needed_by_bodies(
    system: System, R: Sequence[NumberMatrix], p: Sequence[Triple], loads: Sequence[Load]
) -> list[Any]:
    """Return by link d/dt of linear and angular momentum minus weight and loads, about the origin of N along N."""
    w, mass = angular_velocities(system), system.masses
    v = origin_velocities(system, w)
    momenta: list[Any] = []
    for i in range(len(system.links)):
        P = rotated(R[i], plus(times(mass[i].m, v[i]), cross(w[i], mass[i].mc)))
        H = rotated(R[i], plus(six_times(inertia_of(mass[i].J), w[i]), cross(mass[i].mc, v[i])))
        momenta += [*P, *plus(H, cross(p[i], P))]
    speeds = system.speeds
    changes = dict(zip((*speeds.q, *speeds.u), (*speeds.kinematics, *speeds.udot), strict=True))
    rates = total_time_derivative([system.arena.lift(x) for x in momenta], changes)
    return [x - y for x, y in zip(rates, _loads_on_bodies(system, R, p, loads), strict=True)]


def _loads_on_bodies(
    system: System, R: Sequence[NumberMatrix], p: Sequence[Triple], loads: Sequence[Load]
) -> list[Any]:
    """Return weight and loads by link, about the origin of N along N."""
    wrenches = applied_loads((load.effect() for load in loads), system).wrenches
    found: list[Any] = []
    for i, mass in enumerate(system.masses):
        f, n = (rotated(R[i], x) for x in wrenches.get(i, (ZERO_VECTOR, ZERO_VECTOR)))
        force = plus(f, times(mass.m, system.gravity))
        about_K = plus(n, cross(rotated(R[i], mass.mc), system.gravity))
        found += [*force, *plus(about_K, cross(p[i], force))]
    return found


def _joint_frame(system: System, R: Sequence[NumberMatrix], p: Sequence[Triple], joint: Connection) -> list[Any]:
    """Return the entries of R_NM by rows, and the position of Mo in N."""
    place = system.places[joint.child.index]
    R_KM = system.steps[place.link].R_LK.inverse() @ place.R_LB @ joint.R_CM
    at = rotated(R[place.link], position_in_K(system, joint.child.index, joint.p_CM))
    return [*(x for row in R[place.link] for x in R_KM.apply_inverse(row)), *plus(p[place.link], at)]


OF_JOINTS: Mapping[str, ClaimOfEmbedding] = {"reactions: joints hold the bodies cut free": joints_hold_bodies}
OF_REACTIONS: Mapping[str, ClaimOfEmbedding] = {
    "reactions: constraint rows = multipliers": constraints_are_multipliers,
    "reactions: joints pass on efforts along freedoms": joints_pass_on_efforts,
    "reactions: three routes agree": routes_agree,
}
