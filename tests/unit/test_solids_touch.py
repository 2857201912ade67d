"""Boxes and convex polyhedra on each other: where they touch, with which normal and rates.

Peer: coal, which knows nothing of features.
"""

from functools import cache

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import kane
from kane.expression.derivative import total_time_derivative
from kane.expression.interpret import interpret

coal = pytest.importorskip("coal")

FEATURE, SURFACE = (0.5, 0.3, 0.2), (0.7, 0.4, 0.6)
PLACES = {"A": (0.2, -0.1, 0.3), "B": (-0.3, 0.1, 0.05)}
TURNS = {"A": kane.Rotation.euler("zxz", 0.3, -0.8, 1.1), "B": kane.Rotation.euler("xyz", 0.7, 0.2, -0.4)}
STONE = np.random.default_rng(5).normal(size=(9, 3)) * (0.25, 0.2, 0.15)
WEDGE = [(x, y, z) for x in (-0.4, 0.4) for y, z in ((-0.3, -0.2), (0.3, -0.2), (-0.3, 0.2))]
# What touches what, and what shape coal is to take.
KINDS = {
    "boxes": (lambda *at: kane.Box(*FEATURE, *at), lambda *at: kane.Box(*SURFACE, *at)),
    "a stone on a wedge": (lambda *at: kane.Polyhedron(STONE, *at), lambda *at: kane.Polyhedron(WEDGE, *at)),
    "a wedge on a box": (lambda *at: kane.Polyhedron(WEDGE, *at), lambda *at: kane.Box(*SURFACE, *at)),
}


def peer(shape):
    """The shape of coal."""
    if isinstance(shape, kane.Box):
        return coal.Box(*shape.sides)
    points, corners, triangles = np.array(shape.points), coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for point in points:
        corners.append(point)
    hull = ConvexHull(points)
    for (a, b, c), n in zip(hull.simplices, hull.equations[:, :3], strict=True):
        out = np.cross(points[b] - points[a], points[c] - points[a]) @ n > 0.0
        triangles.append(coal.Triangle(*map(int, (a, b, c) if out else (a, c, b))))
    return coal.Convex(corners, triangles)


# coal's distances of boxes are found by iteration, up to this much.
COAL = 3e-6


class Two:
    """Two shapes in bodies that are free, their places and directions not those of the bodies."""

    def __init__(self, kind):
        self.touching = cache(self._touching)
        m = kane.Model("two boxes")
        bodies = [m.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in "AB"]
        for body in bodies:
            m.connect(m.ground, body, kane.Free(body.name))
        self.bare = kane.build(kane.formulate(m))  # poses need no contacts, which take ten seconds to compile
        made = [
            make(body.point(PLACES[body.name]), TURNS[body.name])
            for make, body in zip(KINDS[kind], bodies, strict=True)
        ]
        self.peers = [peer(shape) for shape in made]
        m.contact(*made, friction=kane.Coulomb(0.5), name="c")
        self.equations = kane.formulate(m).with_intermittent_rows
        self.intermittents = self.equations.intermittents
        self.gaps = [c.numbers[0] for c in self.intermittents]

    def values(self, expressions, q, u=None):
        leaves = dict(zip(self.equations.q, q, strict=True)) | {self.equations.t: 0.0}
        if u is not None:
            leaves |= dict(zip(self.equations.u, u, strict=True))
        return np.array(interpret(list(expressions), leaves), float)

    def start(self, seed):
        """A random configuration in which the shapes pass through each other, and a way out."""
        random = np.random.default_rng(seed)
        q, way = np.zeros(14), random.normal(size=3)
        for k in (0, 7):
            q[k : k + 4] = random.normal(size=4)
            q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
        q[4:7] = self.centre(q, "B") - self.centre(q, "A")
        return q, way / np.linalg.norm(way), random.normal(size=12)

    def pose(self, q, name):
        pose = self.bare.poses(q)[name]
        return pose.orientation @ TURNS[name].as_numpy(), pose.position + pose.orientation @ PLACES[name]

    def centre(self, q, name):
        return self.pose(q, name)[1]

    def distance(self, q):
        """The distance, and the nearest points of both boxes, by coal."""
        places = [coal.Transform3s(*self.pose(q, name)) for name in "AB"]
        result = coal.DistanceResult()
        d = coal.distance(self.peers[0], places[0], self.peers[1], places[1], coal.DistanceRequest(), result)
        return d, result.getNearestPoint1(), result.getNearestPoint2()

    def moved(self, q, way, s):
        q = q.copy()
        q[4:7] += s * way
        return q

    def least_gaps(self, q, way, steps):
        """The least gap where the second shape went these steps along the way."""
        on_the_way = [np.full_like(steps, x) for x in q[:4]] + [x + steps * d for x, d in zip(q[4:7], way, strict=True)]
        return self.values(self.gaps, [*on_the_way, *q[7:]]).min(axis=0)

    def _touching(self, seed):
        """Where the least gap vanishes on the way out, its candidate, and how far that is.

        Of a hundred places between one inside and one outside, the search goes on after the last that is not outside.
        """
        q, way, u = self.start(seed)
        inside, outside = 0.0, 3.0
        while outside - inside > 1e-14 * outside:
            places = np.linspace(inside, outside, 100)
            within = np.flatnonzero(self.least_gaps(q, way, places[:-1]) <= 0.0)
            last = within[-1] if len(within) else 0
            inside, outside = places[last], places[last + 1]
        at = self.moved(q, way, outside)
        return at, way, u, int(np.argmin(self.values(self.gaps, at))), outside


@pytest.fixture(scope="module", params=KINDS)
def two(request):
    return Two(request.param)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(k, marks=pytest.mark.slow) for k in range(4, 16))])
def test_they_touch_where_coal_says_and_nothing_touches_before(two, seed):
    q, way, _, _, outside = two.touching(seed)
    assert two.distance(two.moved(q, way, 3 * COAL))[0] > 0.0
    assert two.distance(two.moved(q, way, -3 * COAL))[0] <= COAL
    assert two.least_gaps(q, way, np.linspace(1e-9, 3.0 - outside, 10)).min() > 0.0


def test_corners_of_both_and_edges_across_edges_are_met(two):
    met = {two.intermittents[two.touching(seed)[3]].name.removeprefix("c: ").partition(" ")[0] for seed in range(16)}
    assert met == {"corner", "surface's", "edge"}


@pytest.mark.parametrize("seed", range(12))
def test_the_normal_is_the_line_between_nearest_points(two, seed):
    """Who vouches: coal, a little way off, where the nearest points still lie on the same features."""
    q, _, _, k, _ = two.touching(seed)
    away = np.array([two.values([two.intermittents[k].normal.motion], q, e)[0] for e in np.eye(12)[3:6]])
    n = two.pose(q, "A")[0] @ TURNS["A"].as_numpy().T @ away  # speeds of a free body are along its own axes
    assert np.linalg.norm(n) == pytest.approx(1.0, rel=1e-12)
    d, on_feature, on_surface = two.distance(two.moved(q, n, 0.02))
    assert d == pytest.approx(0.02, abs=COAL)
    assert (on_feature - on_surface) / d == pytest.approx(n, abs=1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_rates_of_what_touches_are_those_of_its_gap_and_tangents_are_unit_vectors_across(two, seed):
    """Who vouches: the derivative of the graph of the gap, and differences of rows along the motion."""
    q, _, u, k, _ = two.touching(seed)
    e, c = two.equations, two.intermittents[k]
    rates = dict(zip(e.q, e.unconstrained.kinematics, strict=True))
    (derived,) = total_time_derivative([two.gaps[k]], rates)
    motions = [row.motion for row in c.rows]
    assert two.values(motions[:1], q, u) == pytest.approx(two.values([derived], q, u), abs=1e-10)
    away = np.array([two.values(motions, q, unit) for unit in np.eye(12)[3:6]])
    assert away.T @ away == pytest.approx(np.eye(3), abs=1e-10)

    still = rates | dict.fromkeys(e.u, e.t.arena.zero)
    found, h = two.values(total_time_derivative(motions, still), q, u), 1e-6
    slope = two.values(e.unconstrained.kinematics, q, u)
    there, back = (two.values(motions, q + s * slope, u) for s in (h, -h))
    assert found == pytest.approx((there - back) / (2 * h), rel=1e-5, abs=1e-5)
