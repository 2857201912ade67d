"""Small batches and lists of floats are taken by native code at once, and give the bits of single states."""

import numpy as np
import pytest

import kane
from kane.errors import ModelError
from kane.library import chain, random_tree
from kane.library.random_tree import PLAIN_JOINTS

STATES = 70  # in lanes of 8: the last block overlaps the one before
LAYOUTS = (
    np.asfortranarray,
    lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    lambda x: np.hstack([x, x])[:, : x.shape[1]],
    lambda x: x[::-1].copy()[::-1],
)


@pytest.fixture(scope="module")
def tree():
    """A tree with a free body and a spherical joint, whose forward dynamics have lanes for large batches."""
    dyn = kane.build(kane.formulate(random_tree(13, 5, joints=PLAIN_JOINTS)))
    assert len(dyn.equations.quaternions) > 1
    return in_lanes(dyn)


@pytest.fixture(scope="module")
def arm():
    """An arm without quaternions, in lanes."""
    return in_lanes(kane.build(kane.formulate(chain(3))))


def in_lanes(dyn):
    """Compile lanes; after one more call in Python they are taken at once."""
    assert dyn.function("forward").lanes() is not None
    assert dyn.function("whole_mass_matrix").lanes() is not None
    q, u, inputs = states(dyn, 8)
    dyn.forward(q, u, inputs)
    dyn.mass_matrix(q)
    return dyn


@pytest.fixture
def native(tree, monkeypatch):
    """The tree, whose functions must not be asked by way of Python."""
    monkeypatch.setattr(type(tree.function("forward")), "join", lambda *_, **__: pytest.fail("asked in Python"))
    return tree


def states(dyn, n, seed=3):
    random = np.random.default_rng(seed)
    eqs = dyn.equations
    q, u, inputs = (random.normal(size=(n, len(x))) for x in (eqs.q, eqs.u, eqs.inputs))
    for start in eqs.quaternions:
        q[:, start : start + 4] /= np.linalg.norm(q[:, start : start + 4], axis=-1, keepdims=True)
    return q, u, inputs


@pytest.mark.parametrize("n", [2, 3, 7, 8, 9, STATES])
def test_a_small_batch_has_the_bits_of_its_states(native, n):
    q, u, inputs = states(native, n)
    singles = np.array([native.forward(*state) for state in zip(q, u, inputs, strict=True)])
    for _ in range(2):
        np.testing.assert_array_equal(native.forward(q, u, inputs), singles)
    assert native.forward(q[:1], u[:1], inputs[:1]).shape == (1, len(u[0]))
    assert native.forward(q[0], u[0], inputs[0]).shape == (len(u[0]),)


def test_batches_before_lanes_have_the_bits_of_their_states():
    dyn = kane.build(kane.formulate(chain(3)))
    for n in (2, 7, 8, 9, 40, 2):
        q, u, inputs = states(dyn, n)
        singles = [dyn.forward(*state) for state in zip(q, u, inputs, strict=True)]
        np.testing.assert_array_equal(dyn.forward(q, u, inputs), singles)
    assert dyn.function("forward").ready_lanes is None


@pytest.mark.parametrize("n", [2, 9])
@pytest.mark.parametrize("rows", [(0,), (slice(1),)])
def test_one_row_counts_for_all_states(native, n, rows):
    q, u, inputs = states(native, n)
    singles = np.array([native.forward(x, u[0], inputs[0]) for x in q])
    np.testing.assert_array_equal(native.forward(q, u[rows], inputs[rows]), singles)
    np.testing.assert_array_equal(native.forward(q, u, inputs[rows])[0], singles[0])


def test_one_row_of_coordinates_counts_for_all_speeds(tree):
    q, u, inputs = states(tree, 9)
    singles = [tree.forward(q[0], x, inputs[0]) for x in u]
    for row in (q[0], q[:1]):
        np.testing.assert_array_equal(tree.forward(row, u, inputs[0]), singles)


@pytest.mark.parametrize("n", [2, 9])
def test_any_layout_of_a_batch_gives_the_same(tree, arm, n):
    for dyn in (tree, arm):
        given = states(dyn, n)
        expected = dyn.forward(*given)
        for layout in LAYOUTS:
            np.testing.assert_array_equal(dyn.forward(*[layout(x) for x in given]), expected)


@pytest.mark.parametrize("n", [2, 9])
def test_a_matrix_of_each_state(native, n):
    q = states(native, n)[0]
    np.testing.assert_array_equal(native.mass_matrix(q), [native.mass_matrix(x) for x in q])


@pytest.mark.parametrize("n", [2, 9])
@pytest.mark.parametrize("which", [0, -1])
def test_a_quaternion_of_a_wrong_length_is_found_in_any_state(tree, n, which):
    q, u, inputs = states(tree, n)
    q[which, tree.equations.quaternions[-1] + 3] += 0.1
    with pytest.raises(ModelError, match="has length"):
        tree.forward(q, u, inputs)


def test_batches_of_different_sizes_are_refused(tree):
    q, u, inputs = states(tree, 4)
    for wrong in (u[:3], u[:2], np.concatenate([u, u])):
        with pytest.raises(ModelError, match=r"the batches .* do not broadcast"):
            tree.forward(q, wrong, inputs)
    assert tree.forward(q[:0], u[:0], inputs[:0]).shape == (0, len(u[0]))


def test_lists_of_floats_are_read_by_native_code(native):
    state = [x[0] for x in states(native, 1)]
    expected = native.forward(*state)
    lists = [x.tolist() for x in state]
    np.testing.assert_array_equal(native.forward(*lists), expected)
    np.testing.assert_array_equal(native.forward(state[0], *lists[1:]), expected)
    np.testing.assert_array_equal(native.forward(state[0][None], *lists[1:]), expected[None])


def test_lists_of_other_numbers_are_converted(tree):
    q, u, inputs = (x[0] for x in states(tree, 1))
    whole = np.round(4 * u)
    expected = tree.forward(q, whole, inputs)
    for given in ([int(x) for x in whole], [*whole], [*map(float, whole[:-1]), np.float32(whole[-1])]):
        np.testing.assert_array_equal(tree.forward(q.tolist(), given, inputs), expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda u: u[:-1], r"u must have shape"),
        (lambda u: [*u[:-1], "one"], r"u must be \d+ numbers, not"),
        (lambda u: [*u[:-1], None], r"u must be \d+ numbers, not"),
        (lambda u: [], r"u must have shape"),
    ],
)
def test_a_wrong_list_is_refused(tree, given, message):
    q, u, inputs = (x[0].tolist() for x in states(tree, 1))
    with pytest.raises(ModelError, match=message):
        tree.forward(q, given(u), inputs)
