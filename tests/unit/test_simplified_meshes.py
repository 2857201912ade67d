"""Meshes with fewer triangles: the shapes that they are made of vouch."""

import numpy as np
import pytest

from kane.display.forms import Triangles, unit_form
from kane.display.simplified import MAX_MESH_TRIANGLES, lighter, simplified


def fine_box(n):
    """The surface of the unit cube, n x n squares a side."""
    t = np.linspace(-0.5, 0.5, n + 1)
    a, b = (x.ravel() for x in np.meshgrid(t, t, indexing="ij"))
    i, j = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    k = i * (n + 1) + j
    square = np.concatenate([np.stack([k, k + n + 1, k + n + 2], 1), np.stack([k, k + n + 2, k + 1], 1)])
    points, faces = [], []
    for axis in range(3):
        for side in (-0.5, 0.5):
            sheet = np.insert(np.stack([a, b], 1), axis, side, axis=1)
            faces.append((square if (side > 0) != (axis == 1) else square[:, ::-1]) + sum(map(len, points)))
            points.append(sheet)
    found = np.concatenate(points)
    return Triangles(found, np.zeros_like(found), np.concatenate(faces))


def volume(form):
    """By the divergence theorem; the sign says which side is outside."""
    a, b, c = (form.points[form.faces[:, k]] for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6


def test_a_box_of_many_triangles_stays_a_box_with_its_edges():
    box = fine_box(40)
    assert volume(box) == pytest.approx(1.0)
    found = simplified(box, 500)
    assert 50 < len(found.faces) <= 500
    # Quadrics are exact where planes meet: flat sides and straight edges lose nothing.
    assert volume(found) == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose([found.points.min(axis=0), found.points.max(axis=0)], [[-0.5] * 3, [0.5] * 3], atol=1e-9)


def test_a_ball_of_fewer_triangles_is_as_round_as_they_allow():
    ball = unit_form("ball")
    found = simplified(ball, 200)
    assert 60 < len(found.faces) <= 200
    # Of 200 triangles the sides are 0.4 long, and their middles 0.4^2/6 below the sphere.
    assert volume(found) == pytest.approx(4 / 3 * np.pi, rel=0.1)


def test_meshes_share_what_may_be_drawn_and_forms_of_kanes_own_are_left_alone():
    forms = {"ball": unit_form("ball"), "large.stl": fine_box(80), "small.stl": fine_box(10)}
    found = lighter(forms)
    assert found["ball"] is forms["ball"]
    assert len(found["large.stl"].faces) <= MAX_MESH_TRIANGLES
    assert found["small.stl"] is forms["small.stl"]
    few = {"a.stl": fine_box(5)}
    assert lighter(few) == few
