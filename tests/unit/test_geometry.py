"""Frames, vectors and dyadics: what an engineer expects of them, and what is refused."""

import math

import numpy as np
import pytest

from kane.errors import FrameError, ModelError
from kane.expression.arena import Arena
from kane.expression.operations import COORDINATE, PARAMETER
from kane.geometry.dyadic import Dyadic
from kane.geometry.frame import Frame
from kane.geometry.rotation import Rotation
from kane.geometry.vector import Vector

# A few products of numbers of order one.
ROUND_OFF = 1e-14


@pytest.fixture
def tree():
    """N with A and B in it, and C in B."""
    N = Frame("N")
    A = N.orient("A", Rotation.about("z", 0.3))
    B = N.orient("B", Rotation.euler("zxz", 0.1, 0.2, 0.3))
    C = B.orient("C", Rotation.about((1, 2, 3), 0.4))
    return N, A, B, C


def test_orientations_are_found_along_the_tree(tree):
    N, A, B, C = tree
    R_AC = A.rotation.as_numpy().T @ B.rotation.as_numpy() @ C.rotation.as_numpy()
    np.testing.assert_allclose(A.orientation_of(C).as_numpy(), R_AC, atol=ROUND_OFF)
    np.testing.assert_allclose(C.orientation_of(A).as_numpy(), R_AC.T, atol=ROUND_OFF)
    np.testing.assert_allclose(
        N.orientation_of(C).as_numpy(), B.rotation.as_numpy() @ C.rotation.as_numpy(), atol=ROUND_OFF
    )
    assert B.orientation_of(C).factors == C.rotation.factors
    assert A.orientation_of(A).factors == ()


def test_a_path_through_a_common_frame_does_not_visit_the_root():
    q = Arena().leaf(COORDINATE, "q")
    N = Frame("N")
    A = N.orient("A", Rotation.about("x", q))
    B, C = A.orient("B", Rotation.about("z", q)), A.orient("C", Rotation.about("z", 2 * q))
    (factor,) = B.orientation_of(C).factors
    assert factor.axis == 2
    assert factor.angle is 2 * q - q


def test_frames_without_a_known_rotation_are_named_with_the_cure(tree):
    N = tree[0]
    alone = Frame("wheel")
    assert not N.is_connected_to(alone)
    assert N.is_connected_to(tree[3])
    for operation in (
        lambda: N.x + alone.x,
        lambda: N.x - alone.x,
        lambda: N.x.dot(alone.x),
        lambda: N.x.cross(alone.x),
        lambda: alone.x.express(N),
        lambda: Dyadic.identity(N) + Dyadic.identity(alone),
    ):
        with pytest.raises(FrameError, match=r"(?s)N.*wheel|wheel.*N") as caught:
            operation()
        assert "orient(" in str(caught.value)


def test_a_rotation_without_a_parent_is_refused():
    with pytest.raises(FrameError, match="no parent"):
        Frame("A", None, Rotation.about("x", 1.0))


def test_two_frames_of_one_name_are_two_frames():
    with pytest.raises(FrameError):
        Frame("A").x + Frame("A").x


def test_a_vector_has_the_components_that_the_rotation_gives_it(tree):
    N, A, _, _ = tree
    v = A.x.express(N)
    assert v.frame is N
    assert v.components == (math.cos(0.3), math.sin(0.3), 0.0)
    assert v.express(A).components == pytest.approx((1.0, 0.0, 0.0), abs=ROUND_OFF)
    assert A.x.express(A) is not None


def test_sums_are_in_the_frame_of_the_first(tree):
    N, A, _, _ = tree
    total = N.vector(1, 2, 3) + A.y - 2 * N.z
    assert total.frame is N
    assert total.components == pytest.approx((1 - math.sin(0.3), 2 + math.cos(0.3), 1.0), abs=ROUND_OFF)
    assert (A.y + N.x).frame is A
    assert sum([N.x, N.y, -N.z]) == N.vector(1, 1, -1)
    assert N.vector(2, 4, 6) / 2 == N.vector(1, 2, 3)


def test_products_agree_with_numpy_across_frames(tree):
    N, A, _, C = tree
    a, c = A.vector(0.3, -0.2, 0.9), C.vector(1.0, 0.5, -0.7)
    a_N, c_N = (np.array(v.express(N).components) for v in (a, c))
    assert a.dot(c) == pytest.approx(a_N @ c_N, abs=ROUND_OFF)
    np.testing.assert_allclose(a.cross(c).express(N).components, np.cross(a_N, c_N), atol=ROUND_OFF)
    assert a.cross(c).frame is A
    assert a.magnitude() == pytest.approx(np.linalg.norm(a_N), abs=ROUND_OFF)


def test_unit_vectors_are_right_handed():
    N = Frame("N")
    assert N.x.cross(N.y) == N.z
    assert N.y.cross(N.z) == N.x
    assert N.z.cross(N.x) == N.y
    assert (N.x.dot(N.x), N.x.dot(N.y)) == (1.0, 0.0)


def test_expressions_and_numbers_mix():
    arena = Arena()
    q, L = arena.leaf(COORDINATE, "q"), arena.leaf(PARAMETER, "L")
    N = Frame("N")
    A = N.orient("A", Rotation.about("z", q))
    tip = A.x * L
    (cosine, sine, _) = A.x.express(N).components
    assert tip.express(N).components == (L * cosine, L * sine, 0.0)
    assert tip.dot(A.x) is L
    assert tip.dot(A.y) == 0.0
    assert tip.dot(N.y) is L * sine
    assert A.x.dot(A.x) == 1.0
    assert (tip / L).dot(A.x) == 1.0


def test_what_is_no_vector_is_refused():
    N = Frame("N")
    with pytest.raises(FrameError, match="both must be vectors"):
        N.x + 1.0
    with pytest.raises(FrameError, match="both must be vectors"):
        N.x.dot((1, 0, 0))
    with pytest.raises(FrameError, match=r"say a.dot\(b\) or a.cross\(b\)"):
        N.x * N.y
    with pytest.raises(ModelError, match=r"the vector in N\[1\] is nan"):
        N.vector(0, math.nan, 0)
    with pytest.raises(ModelError, match="factor of a vector"):
        N.x * "two"
    with pytest.raises(FrameError, match="maps vectors"):
        Dyadic.identity(N).dot((1, 2, 3))
    with pytest.raises(FrameError, match="both must be dyadics"):
        Dyadic.identity(N) + N.x


def test_vectors_and_dyadics_are_immutable(tree):
    for thing in (tree[0].x, Dyadic.identity(tree[0])):
        with pytest.raises(AttributeError):
            thing.frame = tree[1]


def test_a_dyadic_maps_the_same_vector_in_every_frame(tree):
    N, A, _, C = tree
    for rows in (((1, 0.1, 0.2), (0.1, 2, 0.3), (0.2, 0.3, 3)), ((1, 0, 2), (3, 4, 5), (-1, 1, 0))):
        D, v = Dyadic.of(A, rows), C.vector(1, 2, 3)
        expected = D.dot(v).express(N).components
        np.testing.assert_allclose(D.express(C).dot(v).express(N).components, expected, atol=1e-13)
        R = A.rotation.as_numpy()
        np.testing.assert_allclose(D.express(N).entries, R @ np.array(rows) @ R.T, atol=1e-13)


def test_dyadics_add_scale_and_transpose(tree):
    N, A, _, _ = tree
    a, b, v = N.vector(1, 2, 3), A.vector(-1, 0, 2), N.vector(0.3, 0.2, 0.1)
    D = Dyadic.outer(a, b)
    np.testing.assert_allclose(D.dot(v).components, (a * b.dot(v)).components, atol=ROUND_OFF)
    np.testing.assert_allclose(D.transpose().dot(v).components, (b * a.dot(v)).express(N).components, atol=ROUND_OFF)
    np.testing.assert_allclose((2 * D - D).entries, D.entries, atol=ROUND_OFF)
    assert (Dyadic.identity(N) * 3.0).dot(v) == 3.0 * v
    assert (Dyadic.identity(N) + Dyadic.identity(A)).frame is N


def test_the_inertia_of_a_body_about_a_point_follows_the_parallel_axis_theorem(tree):
    _, A, B, _ = tree
    central = Dyadic.inertia(A, (1.0, 2.0, 2.5))
    about_P = Dyadic.inertia(A, (1.0, 2.0, 2.5), mass=3.0, offset=2.0 * A.x)
    assert central.entries == ((1, 0, 0), (0, 2, 0), (0, 0, 2.5))
    assert about_P.entries == ((1, 0, 0), (0, 14, 0), (0, 0, 14.5))
    turned = Dyadic.inertia(A, (1.0, 2.0, 2.5), mass=3.0, offset=(2.0 * A.x).express(B))
    np.testing.assert_allclose(turned.entries, about_P.entries, atol=1e-13)


def test_the_words_of_a_vector_build_it_again():
    N = Frame("N")
    assert repr(N.vector(1, 2, 3)) == "N.vector(1.0, 2.0, 3.0)"
    assert eval(repr(N.x), {"N": N}) == N.x
    assert isinstance(N.x, Vector)
