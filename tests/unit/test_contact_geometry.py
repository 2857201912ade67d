"""Contacts: gaps, their rates and slip velocities against nearest points found by optimisation, and the velocities of
material points by Jacobians.
"""

from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.two_chains import PARAMETERS, SKEW, P, Q, State, machine
from scipy.optimize import minimize
from scipy.spatial import ConvexHull

import kane
from kane.expression.derivative import total_time_derivative
from kane.model.constraints import Constraint
from kane.model.contacts.pairs.contact_pairs import CONTACT_RULES

AXES = (0.45, 0.3, 0.15)
SIDES = (0.5, 0.3, 0.2)
R, CRATE = 0.6, (0.9, 0.5, 0.7)  # of surfaces
STONE = np.random.default_rng(5).normal(size=(9, 3)) * (0.25, 0.2, 0.15)
ROCK = np.random.default_rng(6).normal(size=(6, 3)) * 0.4
# The optimiser finds places to about the root of rounding; a distance is stationary there, a velocity is not.
OF_DISTANCE, OF_VELOCITY = 1e-10, 2e-6
ROUNDING = {"rtol": 1e-10, "atol": 1e-10}


class Stated(Constraint):
    """The rows of a candidate, imposed for good."""

    title = "stated"

    def __init__(self, constraint):
        self.constraint = constraint

    def rows(self):
        return self.constraint.rows


def skew(body):
    return body.direction((0.3, -0.5, 0.8))


FEATURES = {
    "point": lambda s: s.B.point(P),
    "sphere": lambda s: kane.Sphere(s.B.point(P), s.p.r),
    "disk": lambda s: kane.Disk(s.B.point(P), s.B.direction((1.0, 2.0, 0.5)), s.p.r),
    "wheel": lambda s: kane.Disk(s.B.point((0.0, 0.3, 0.0)), s.B.y, s.p.r),
    "capsule": lambda s: kane.Capsule(s.B.point(P), s.B.point(Q), 0.1),
    "ellipsoid": lambda s: kane.Ellipsoid(*AXES, s.B.point(P), SKEW),
    "box": lambda s: kane.Box(*SIDES, s.B.point(P), SKEW),
    "stone": lambda s: kane.Polyhedron(STONE, s.B.point(P), SKEW),
    "cylinder": lambda s: kane.Cylinder(s.B.point(P), s.B.direction((1.0, 2.0, 0.5)), s.p.r, 0.4),
}
SURFACES = {
    "floor": lambda s: kane.Plane(s.N.point((0.0, 0.0, -4.0)), s.N.direction((0.1, -0.2, 2.0))),
    "table": lambda s: kane.Plane(s.D.point((0.0, 0.0, -4.0)), s.D.direction((0.1, -0.2, 2.0))),
    "dome": lambda s: kane.Sphere(s.N.point((-2.0, 2.5, -1.0)), R),
    "ball": lambda s: kane.Sphere(s.D.point((-2.0, 2.5, -1.0)), R),
    "post": lambda s: kane.Cylinder(s.N.point((-2.0, 2.5, -1.0)), skew(s.N), R),
    "pipe": lambda s: kane.Cylinder(s.D.point((-2.0, 2.5, -1.0)), skew(s.D), R),
    "log": lambda s: kane.Capsule(s.N.point((-3.0, 2.5, -1.0)), s.N.point((-1.0, 1.5, 1.5)), R),
    "beam": lambda s: kane.Capsule(s.D.point((-3.0, 2.5, -1.0)), s.D.point((-1.0, 1.5, 1.5)), R),
    "block": lambda s: kane.Box(*CRATE, s.N.point((-2.0, 2.5, -1.0)), SKEW),
    "crate": lambda s: kane.Box(*CRATE, s.D.point((-2.0, 2.5, -1.0)), SKEW),
    "rock": lambda s: kane.Polyhedron(ROCK, s.N.point((-2.0, 2.5, -1.0)), SKEW),
    "pebble": lambda s: kane.Polyhedron(ROCK, s.D.point((-2.0, 2.5, -1.0)), SKEW),
    "short beam": lambda s: kane.Capsule(s.D.point((-3.0, 2.5, -1.0)), s.D.point((-3.1, 2.5, -1.0)), R),
}
ON_EVERYTHING = ("point", "sphere", "capsule")


def has_rule(feature, surface):
    if surface in ("block", "crate", "rock", "pebble"):
        return feature in ("sphere", "capsule")  # boxes and polyhedra: test_solids_touch.py
    if feature == "stone":
        return surface in ("floor", "table", "dome", "ball")
    if surface in ("log", "beam", "short beam"):
        return feature in ON_EVERYTHING
    return feature != "cylinder" or surface in ("floor", "table")


CASES = [(f, g) for f in FEATURES for g in SURFACES if has_rule(f, g)]
LONG_CASES = [("capsule", g) for g in ("rock", "pebble", "crate", "block")]  # many rows with long second derivatives


@cache
def pair(feature, surface):
    """The machine with the rows of one contact, by candidate."""
    s = machine()
    feature, surface = FEATURES[feature](s), SURFACES[surface](s)
    intermittents = s.m.contact(feature, surface, friction=kane.Coulomb(0.5), name="c")
    s.m.intermittents.clear()
    for constraint in intermittents:
        s.m.constrain(Stated(constraint), name=constraint.name)
    equations = kane.formulate(s.m)
    rows = {e.name: e for e in equations.constraints}
    return SimpleNamespace(
        feature=feature,
        surface=surface,
        intermittents=intermittents,
        equations=equations,
        rows=[[rows[f"{c.name}: {row.name}"] for row in c.rows] for c in intermittents],
    )


def touching(feature, surface, seed):
    """A pair, and a state of it."""
    return SimpleNamespace(**vars(pair(feature, surface)), state=State(seed))


def counted(x):
    """Which candidates count in the state of x: where some are beyond their ends, the nearest."""
    gaps = x.state.values(x.equations, [rows[0].configuration for rows in x.rows])
    return [c.off is None or gap == gaps.min() for c, gap in zip(x.intermittents, gaps, strict=True)]


def in_N(state, body, vector):
    return state.R(body) @ np.array([float(x) for x in vector])


def of_feature(feature, state):
    """A point of the body of a feature from parameters, a start and constraints on them, all >= 0; its extra radius."""
    r, kind = PARAMETERS["r"], type(feature).__name__
    if kind == "Point":
        return (lambda x: state.place(feature)), np.zeros(1), [], 0.0
    if kind == "Sphere":
        return (lambda x: state.place(feature.centre)), np.zeros(1), [], r
    if kind == "Capsule":
        ends = state.place(feature.start), state.place(feature.end)
        within = [lambda x: x[0], lambda x: 1.0 - x[0]]
        return (lambda x: ends[0] + x[0] * (ends[1] - ends[0])), np.full(1, 0.4), within, feature.radius
    C, body = state.place(feature.origin), feature.origin.body
    if kind in ("Disk", "Cylinder"):
        a = in_N(state, body, feature.axle.components)
        a = a / np.linalg.norm(a)
        e1 = np.cross(a, [0.3, -0.5, 0.9])
        e1 /= np.linalg.norm(e1)
        e2, half = np.cross(a, e1), 0.5 * getattr(feature, "length", 0.0)
        within = [lambda x: r * r - x[0] ** 2 - x[1] ** 2, lambda x: 1.0 - x[2] ** 2]
        return (lambda x: C + x[0] * e1 + x[1] * e2 + x[2] * half * a), np.full(3, 0.01), within, 0.0
    T = state.R(body) @ feature.orientation.as_numpy()
    if kind == "Polyhedron":
        A, level = halfspaces(STONE)
        return (
            (lambda x: C + T @ x),
            STONE.mean(axis=0),
            [lambda x, k=k: level[k] - A[k] @ x for k in range(len(A))],
            0.0,
        )
    if kind == "Ellipsoid":
        return (lambda x: C + T @ (x * AXES)), np.full(3, 0.1), [lambda x: 1.0 - x @ x], 0.0
    within = [lambda x, k=k, s=s: 0.5 * SIDES[k] - s * x[k] for k in range(3) for s in (1.0, -1.0)]
    return (lambda x: C + T @ x), np.full(3, 0.01), within, 0.0


def halfspaces(points):
    """A x <= level of the hull of points."""
    planes = ConvexHull(points).equations
    return planes[:, :3], -planes[:, 3]


def nearest(x):
    """The distance of feature and surface, the nearest point of the feature and the normal, by optimisation."""
    feature, surface, state = x.feature, x.surface, x.state
    place, start, within, r = of_feature(feature, state)
    O = state.place(surface.origin)
    if isinstance(surface, kane.Plane):
        n = in_N(state, surface.body, surface.normal.components)
        n /= np.linalg.norm(n)

        def away(v):
            return n * ((place(v) - O) @ n)
    else:
        k = np.zeros(3)
        if isinstance(surface, kane.Cylinder):
            k = in_N(state, surface.origin.body, surface.axle.components)
            k /= np.linalg.norm(k)

        line, edges = np.zeros(3), np.zeros((3, 3))
        if isinstance(surface, kane.Capsule):
            line = state.place(surface.end) - O
            start = np.append(start, 0.5)
            within = [*within, lambda v: v[-1], lambda v: 1.0 - v[-1]]

        if isinstance(surface, kane.Box):
            edges = state.R(surface.origin.body) @ SKEW.as_numpy() * CRATE
            start = np.append(start, np.full(3, 0.01))
            within = [*within, *(lambda v, i=i, s=s: 0.5 - s * v[i] for i in (-1, -2, -3) for s in (1.0, -1.0))]

        if isinstance(surface, kane.Polyhedron):
            edges = state.R(surface.origin.body) @ SKEW.as_numpy()
            A, level = halfspaces(ROCK)
            start = np.append(start, ROCK.mean(axis=0))
            within = [*within, *(lambda v, k=k: level[k] - A[k] @ v[-3:] for k in range(len(A)))]

        def away(v):
            d = place(v) - O - v[-1] * line
            if isinstance(surface, kane.Box | kane.Polyhedron):
                d = d - edges @ v[-3:]
            return d - (d @ k) * k

    found = minimize(
        lambda v: away(v) @ away(v),
        start,
        method="SLSQP",
        # SLSQP keeps constraints to a fixed number, some 1e-9: multiplied, they are kept closer.
        constraints=[{"type": "ineq", "fun": lambda v, f=f: 1e3 * f(v)} for f in within],
        options={"ftol": 1e-16, "maxiter": 500},
    )
    d = away(found.x)
    distance = np.linalg.norm(d)
    thick = 0.0 if isinstance(surface, kane.Plane | kane.Box | kane.Polyhedron) else R
    n = d / distance
    return distance - thick - r, place(found.x) - r * n, n


@pytest.mark.parametrize(("feature", "surface"), CASES)
def test_the_gap_of_a_contact_is_the_distance_of_feature_and_surface(feature, surface):
    """Who vouches: the least distance over the points of the feature, by optimisation."""
    x = touching(feature, surface, seed=1)
    gaps = x.state.values(x.equations, [rows[0].configuration for rows in x.rows])
    expected, _, _ = nearest(x)
    assert expected > 0.1  # outside
    assert gaps.min() == pytest.approx(expected, abs=OF_DISTANCE, rel=OF_DISTANCE)


@pytest.mark.parametrize("surface", ["beam", "short beam", "crate", "pebble"])
@pytest.mark.parametrize("seed", range(2, 14))
def test_capsules_are_nearest_between_their_ends_or_there(surface, seed):
    """Who vouches: as above; of as many states as it takes to be nearest in every way."""
    x = touching("capsule", surface, seed=seed)
    gaps = x.state.values(x.equations, [rows[0].configuration for rows in x.rows])
    assert gaps.min() == pytest.approx(nearest(x)[0], abs=OF_DISTANCE, rel=OF_DISTANCE)


@pytest.mark.parametrize(("feature", "surface"), CASES)
def test_rates_of_a_contact_are_those_of_the_material_points_that_are_nearest(feature, surface):
    """Who vouches: velocities of points of both bodies by Jacobians, at the nearest points by optimisation."""
    x = touching(feature, surface, seed=1)
    gaps = x.state.values(x.equations, [rows[0].configuration for rows in x.rows])
    rows = x.rows[int(np.argmin(gaps))]
    _, place, n = nearest(x)
    A = x.feature.body if isinstance(x.feature, kane.model.body.Point) else x.feature.origin.body
    v = x.state.velocity(A, place) - x.state.velocity(x.surface.origin.body, place)
    normal, first, second = x.state.values(x.equations, [row.motion for row in rows])
    assert normal == pytest.approx(v @ n, abs=OF_VELOCITY)
    assert np.hypot(first, second) == pytest.approx(np.linalg.norm(v - (v @ n) * n), abs=OF_VELOCITY)
    assert min(abs(normal), np.hypot(first, second)) > 1e-4  # so that nothing is compared with nothing


@pytest.mark.parametrize(("feature", "surface"), CASES)
def test_the_rate_of_a_gap_is_its_time_derivative(feature, surface):
    """Who vouches: the derivative of the graph of the gap, iterations of ellipsoids included."""
    x = touching(feature, surface, seed=2)
    rates = dict(zip(x.equations.q, x.equations.unconstrained.kinematics, strict=True))
    normals = [rows[0] for rows, counts in zip(x.rows, counted(x), strict=True) if counts]
    derived = total_time_derivative([row.configuration for row in normals], rates)
    found = x.state.values(x.equations, [row.motion for row in normals])
    np.testing.assert_allclose(found, x.state.values(x.equations, derived), **ROUNDING)


@pytest.mark.parametrize(
    ("feature", "surface"),
    [pytest.param(*case, marks=pytest.mark.slow) if case in LONG_CASES else case for case in CASES],
)
def test_rows_change_as_their_normals_and_nearest_points_move(feature, surface):
    """The part of the acceleration that is free of udot, in which the curvature is.

    Who vouches: central differences of the rows along the motion with u held; of step h they err by h^2 times third
    derivatives of order one to a hundred, and by rounding over h.
    """
    x, h = touching(feature, surface, seed=3), 1e-5
    e, state = x.equations, x.state
    motions = [row.motion for rows in x.rows for row in rows]
    rates = dict(zip(e.q, e.unconstrained.kinematics, strict=True)) | dict.fromkeys(e.u, e.t.arena.zero)
    found = state.values(e, total_time_derivative(motions, rates))

    def at(step):
        """The rows on the way, by the classical method of Runge and Kutta."""
        q = state.q.copy()

        def slope(place):
            state.q = place
            return state.values(e, e.unconstrained.kinematics)

        k1 = slope(q)
        k2 = slope(q + step / 2 * k1)
        k3 = slope(q + step / 2 * k2)
        k4 = slope(q + step * k3)
        state.q = q + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        values = state.values(e, motions)
        state.q = q
        return values

    difference = (at(h) - at(-h)) / (2 * h)
    np.testing.assert_allclose(found, difference, rtol=1e-6, atol=1e-6)


def test_every_pair_of_the_table_is_tested():
    s = machine()
    tested = {(type(FEATURES[f](s)), type(SURFACES[g](s))) for f, g in CASES}
    elsewhere = set(product((kane.Box, kane.Polyhedron), repeat=2))  # test_solids_touch.py
    elsewhere |= {pair for pair in CONTACT_RULES if pair[1] is kane.HeightField}  # test_height_field.py
    assert tested | elsewhere == set(CONTACT_RULES)
