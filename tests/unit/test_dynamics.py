"""Dynamics: batches, shapes, parameters, poses and Jacobians against differentiation, NaN, threads."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kane
from kane import Model, ModelError, Motor, Revolute
from kane.codegen.jit import python_call
from kane.expression.interpret import interpret
from kane.library import chain, n_link_pendulum, random_tree
from kane.library.random_tree import PLAIN_JOINTS

# Two branches, one of them Free - Revolute - Spherical.
SEED, BODIES = 13, 5


@pytest.fixture(scope="module")
def tree_model():
    model = random_tree(SEED, BODIES, joints=PLAIN_JOINTS)
    assert {type(c.joint).__name__ for c in model.connections} == {"Revolute", "Prismatic", "Spherical", "Free"}
    # A named frame, on the last body.
    model.frame("tool", model.bodies[-1], at=(0.1, -0.2, 0.3), orientation=kane.Rotation.euler("xyz", 0.3, 0.4, 0.5))
    return model


@pytest.fixture(scope="module")
def tree(tree_model):
    return kane.build(kane.formulate(tree_model))


@pytest.fixture(scope="module")
def pendulum():
    return kane.build(kane.formulate(n_link_pendulum(2)))


@pytest.fixture(scope="module")
def arm():
    return kane.build(kane.formulate(chain(3)))


def states(dyn, shape, seed=0):
    """Random q (quaternions of length 1), u and accelerations."""
    random = np.random.default_rng(seed)
    eqs = dyn.equations
    q, u, udot = (random.normal(size=(*shape, len(x))) for x in (eqs.q, eqs.u, eqs.udot))
    for start in eqs.quaternions:
        q[..., start : start + 4] /= np.linalg.norm(q[..., start : start + 4], axis=-1, keepdims=True)
    return q, u, udot


def flat(result):
    """The arrays of a result, whatever names they go by."""
    if isinstance(result, dict):
        return [x for value in result.values() for x in flat(value)]
    return [x for value in result for x in flat(value)] if isinstance(result, tuple) else [np.asarray(result)]


CALLS = {
    "forward": lambda d, q, u, a, f, t: d.forward(q, u, f, t),
    "inverse": lambda d, q, u, a, f, t: d.inverse(q, u, a, t),
    "mass matrix": lambda d, q, u, a, f, t: d.mass_matrix(q, t),
    "bias": lambda d, q, u, a, f, t: d.bias(q, u, t),
    "kinematics": lambda d, q, u, a, f, t: d.kinematics(q, u, t),
    "energy": lambda d, q, u, a, f, t: d.energy(q, u, t),
    "momentum": lambda d, q, u, a, f, t: d.momentum(q, u, t),
    "poses": lambda d, q, u, a, f, t: d.poses(q, t),
    "jacobian": lambda d, q, u, a, f, t: d.jacobian("tool", q, t=t),
    "rhs": lambda d, q, u, a, f, t: d.rhs(t, np.concatenate([q, u], axis=-1), f),
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())


@every_call
@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (2, 1, 2)])
def test_a_batch_is_its_single_calls(tree, call, shape):
    q, u, udot = states(tree, shape)
    inputs = np.random.default_rng(1).normal(size=(*shape, len(tree.equations.inputs)))
    t = np.random.default_rng(2).normal(size=shape)
    together = flat(call(tree, q, u, udot, inputs, t))
    assert all(x.shape[: len(shape)] == shape for x in together)
    for index in np.ndindex(shape):
        alone = flat(call(tree, q[index], u[index], udot[index], inputs[index], float(t[index])))
        for x, y in zip(together, alone, strict=True):
            np.testing.assert_array_equal(x[index], y)  # the same code, so to the last bit


@every_call
def test_an_empty_batch_is_empty(tree, call):
    q, u, udot = states(tree, (0,))
    results = flat(call(tree, q, u, udot, np.zeros((0, len(tree.equations.inputs))), 0.0))
    assert all(x.shape[0] == 0 for x in results)


@pytest.mark.parametrize(
    ("q_shape", "u_shape", "f_shape", "t_shape", "shape"),
    [
        ((4,), (), (), (), (4,)),
        ((), (4,), (), (), (4,)),
        ((), (), (4,), (), (4,)),
        ((), (), (), (4,), (4,)),
        ((3, 1), (4,), (), (1, 1), (3, 4)),
        ((1, 4), (3, 1), (2, 1, 1), (), (2, 3, 4)),
    ],
)
def test_batches_broadcast(pendulum, q_shape, u_shape, f_shape, t_shape, shape):
    q, _, _ = states(pendulum, q_shape)
    _, u, _ = states(pendulum, u_shape)
    inputs, t = np.random.default_rng(3).normal(size=(*f_shape, 1)), np.random.default_rng(4).normal(size=t_shape)
    udot = pendulum.forward(q, u, inputs, t)
    assert udot.shape == (*shape, 3)
    full_q, full_u, full_f = (np.broadcast_to(x, (*shape, x.shape[-1])) for x in (q, u, inputs))
    np.testing.assert_array_equal(udot, pendulum.forward(full_q, full_u, full_f, np.broadcast_to(t, shape)))


def test_arrays_of_any_kind_and_lists_are_read(pendulum):
    q, u, _ = states(pendulum, (4,))
    expected = pendulum.forward(q, u, [1.0])
    np.testing.assert_array_equal(pendulum.forward(q.tolist(), u.tolist(), (1,)), expected)
    np.testing.assert_array_equal(pendulum.forward(np.asfortranarray(q), u[::-1][::-1], [1.0]), expected)
    single = pendulum.forward(q[0].astype(np.float32), u[0], [1])
    np.testing.assert_allclose(single, expected[0], rtol=1e-5)  # q rounded to 24 bits


def test_arguments_are_left_as_they_are(tree):
    q, u, udot = states(tree, (3,))
    kept = q.copy(), u.copy(), udot.copy()
    for array in (q, u, udot):
        array.flags.writeable = False
    tree.forward(q, u, np.zeros(len(tree.equations.inputs)))
    tree.inverse(q, u, udot)
    for array, copy in zip((q, u, udot), kept, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_native_code_gives_what_the_equations_mean(tree):
    eqs = tree.equations
    q, u, udot = states(tree, ())
    leaves = (eqs.t, *eqs.q, *eqs.u, *eqs.udot, *eqs.inputs)
    values = dict(zip(leaves, (0.0, *q, *u, *udot, *[0.5] * len(eqs.inputs)), strict=True))
    inputs = [0.5] * len(eqs.inputs)
    for found, expressions in (
        (tree.forward(q, u, inputs), eqs.forward),
        (tree.inverse(q, u, udot), eqs.inverse),
        (tree.bias(q, u), eqs.bias),
        (tree.kinematics(q, u), eqs.kinematics),
        (tree.mass_matrix(q).ravel(), [x for row in eqs.mass_matrix for x in row]),
    ):
        meant = np.array(interpret(expressions, values), dtype=float)
        # Fused operations round differently; the solution multiplies that by a condition number below 1e4.
        np.testing.assert_allclose(found, meant, rtol=1e-9, atol=1e-11 * max(1.0, np.abs(meant).max()))


def test_rhs_is_kinematics_and_forward(tree):
    q, u, _ = states(tree, (3,))
    x = np.concatenate([q, u], axis=-1)
    inputs = np.full(len(tree.equations.inputs), 0.5)
    expected = np.concatenate([tree.kinematics(q, u), tree.forward(q, u, inputs)], axis=-1)
    # One program instead of two may fuse other operations.
    np.testing.assert_allclose(tree.rhs(0.0, x, inputs), expected, rtol=1e-9, atol=1e-9)


def test_inputs_on_which_a_result_depends_are_given_or_missed_by_name():
    m = Model("wheel")
    joint = m.connect(m.ground, m.body("A", mass=1.0, inertia=(1.0, 1.0, 2.0)), Revolute("q1"))
    m.load(Motor(joint, m.input("tau", 3.0)))
    m.input("idle")
    dyn = kane.build(kane.formulate(m))
    np.testing.assert_allclose(dyn.forward([0.0], [0.0], [1.0, 0.0]), [0.5], rtol=1e-15)
    np.testing.assert_allclose(dyn.rhs(0.0, [0.0, 4.0], [3.0, 0.0]), [4.0, 1.5], rtol=1e-15)
    for call in (lambda: dyn.forward([0.0], [0.0]), lambda: dyn.rhs(0.0, [0.0, 4.0])):
        with pytest.raises(ModelError, match=r"of 'wheel' depends on tau; give inputs, an array .* of tau, idle"):
            call()
    np.testing.assert_array_equal(dyn.inverse([0.0], [0.0], [1.0]), [2.0])  # is free of them


def test_a_message_names_the_first_of_many_inputs_and_says_how_many_there_are():
    dyn = kane.build(kane.formulate(chain(15)))
    with pytest.raises(ModelError) as caught:
        dyn.forward(np.zeros(15), np.zeros(15))
    text = str(caught.value)
    assert "depends on tau1, tau2, " in text
    assert text.count("tau12 and 3 more") == 2
    assert "tau13" not in text


def test_parameters_replace_defaults_for_one_call(pendulum):
    q, u, _ = states(pendulum, (2,))
    before = pendulum.forward(q, u, [0.5])
    heavy = pendulum.forward(q, u, [0.5], parameters={"mc": 3.0, "l": 0.5})
    m = n_link_pendulum(2)
    m.parameters.update(mc=3.0, l=0.5)
    other = kane.build(kane.formulate(m))
    np.testing.assert_array_equal(heavy, other.forward(q, u, [0.5]))  # the same code on the same numbers
    np.testing.assert_array_equal(pendulum.forward(q, u, [0.5]), before)
    np.testing.assert_array_equal(pendulum.parameters, [1.0, 1.0, 1.0, 9.81])
    np.testing.assert_array_equal(other.parameters, [3.0, 1.0, 0.5, 9.81])
    for name in ("inverse", "bias", "mass_matrix", "energy", "poses"):
        rest = {"inverse": (u, u), "bias": (u,), "energy": (u,)}.get(name, ())
        one = flat(getattr(pendulum, name)(q, *rest, parameters={"mc": 3.0, "l": 0.5}))
        for x, y in zip(one, flat(getattr(other, name)(q, *rest)), strict=True):
            np.testing.assert_array_equal(x, y)


SHAPES = {
    "q too short": (lambda d: d.forward([0, 0], [0, 0, 0]), r"q must have shape \(..., 3\), got \(2,\)"),
    "u too long": (lambda d: d.forward([0, 0, 0], [0] * 4), r"u must have shape \(..., 3\), got \(4,\)"),
    "q a number": (lambda d: d.mass_matrix(1.0), r"q must have shape \(..., 3\), got \(\)"),
    "q missing": (lambda d: d.bias(None, [0, 0, 0]), "q must be 3 numbers, not None"),
    "q ragged": (lambda d: d.bias([[0], [0, 0]], [0, 0, 0]), r"q must be 3 numbers, not \[\[0\], \[0, 0\]\]"),
    "q in words": (lambda d: d.poses(["a", "b", "c"]), r"q must be 3 numbers, not \['a', 'b', 'c'\]"),
    "q batch last": (lambda d: d.mass_matrix(np.zeros((3, 5))), r"q must have shape \(..., 3\), got \(3, 5\)"),
    "udot": (lambda d: d.inverse([0] * 3, [0] * 3, [0]), r"udot must have shape \(..., 3\), got \(1,\)"),
    "inputs": (lambda d: d.forward([0] * 3, [0] * 3, [0, 0]), r"inputs must have shape \(..., 1\), got \(2,\)"),
    "input a number": (lambda d: d.forward([0] * 3, [0] * 3, 5.0), r"inputs must have shape \(..., 1\), got \(\)"),
    "at": (lambda d: d.jacobian("cart", [0] * 3, at=(0, 0)), r"at must have shape \(..., 3\), got \(2,\)"),
    "x": (lambda d: d.rhs(0.0, [0] * 5), r"x = \[q, u\] must have shape \(..., 6\), got \(5,\)"),
    "t in words": (lambda d: d.bias([0] * 3, [0] * 3, "now"), r"t must be 1 number, not"),
    "batches": (
        lambda d: d.forward(np.zeros((2, 3)), np.zeros((4, 3)), [0.0]),
        r"the batches .*\(2,\) of q, \(4,\) of u, .* do not broadcast; make their leading shapes agree",
    ),
    "batch of inputs": (
        lambda d: d.forward(np.zeros((2, 3)), np.zeros(3), np.zeros((5, 1))),
        r"the batches .* \(5,\) of inputs, .* do not broadcast",
    ),
    "unknown parameter": (
        lambda d: d.bias([0] * 3, [0] * 3, parameters={"mcc": 1.0}),
        r"there is no parameter 'mcc'; did you mean mc",
    ),
    "an input as parameter": (
        lambda d: d.bias([0] * 3, [0] * 3, parameters={"F": 1.0}),
        r"there is no parameter 'F'; known are mc, m, l, g",
    ),
    "parameter in words": (
        lambda d: d.bias([0] * 3, [0] * 3, parameters={"m": "x"}),
        r"the parameter 'm' must be a number, not 'x'",
    ),
    "parameters a list": (
        lambda d: d.bias([0] * 3, [0] * 3, parameters=[1.0]),
        r"parameters must be a dict of values by name, not \[1.0\]",
    ),
    "unknown body": (lambda d: d.jacobian("link3", [0] * 3), r"there is no body or frame 'link3'; did you mean link"),
    "body of nothing": (
        lambda d: d.jacobian(None, [0] * 3),
        r"there is no body or frame 'None'; known are cart, link1, link2",
    ),
    "foreign body": (
        lambda d: d.jacobian(n_link_pendulum(1).bodies[1], [0] * 3),
        r"body 'cart' belongs to another model than 'pendulum2'",
    ),
    "unknown program": (lambda d: d.function("forwards"), r"there is no program 'forwards'; did you mean forward\?"),
    "too few inputs": (
        lambda d: d.inputs_for([0] * 3, [0] * 3, [0] * 3),
        r"3 generalized forces do not determine 1 inputs; inverse\(\) gives the forces themselves",
    ),
}


@pytest.mark.parametrize(("call", "message"), SHAPES.values(), ids=SHAPES.keys())
def test_what_cannot_be_computed_is_refused_by_name(pendulum, call, message):
    with pytest.raises(ModelError, match=message):
        call(pendulum)


def test_build_refuses_what_is_not_equations():
    with pytest.raises(ModelError, match=r"build takes Equations, which kane.formulate\(model\) returns, not"):
        kane.build(Model())


def test_inputs_for_a_motion_make_that_motion(arm):
    q, u, udot = states(arm, (2, 2))
    inputs = arm.inputs_for(q, u, udot)
    assert inputs.shape == (2, 2, 3)
    np.testing.assert_allclose(arm.forward(q, u, inputs), udot, rtol=1e-9, atol=1e-9)  # condition number below 1e4


def test_inputs_that_move_nothing_are_named():
    m = Model()
    joint = m.connect(m.ground, m.body("A", mass=1.0, inertia=(1.0, 1.0, 2.0)), Revolute("q1"))
    m.load(Motor(joint, m.input("tau") * joint.q))
    dyn = kane.build(kane.formulate(m))
    np.testing.assert_allclose(dyn.inputs_for([0.5], [0.0], [3.0]), [12.0], rtol=1e-15)
    with pytest.raises(ModelError, match="the input matrix is singular at this state: an input has no effect"):
        dyn.inputs_for([0.0], [0.0], [3.0])


def test_the_mass_matrix_is_symmetric_and_positive_definite(tree):
    q, u, _ = states(tree, (20,))
    M = tree.mass_matrix(q)
    np.testing.assert_array_equal(M, np.swapaxes(M, -1, -2))
    assert (np.linalg.eigvalsh(M) > 0.0).all()
    kinetic = 0.5 * np.einsum("bi,bij,bj->b", u, M, u)
    np.testing.assert_allclose(tree.energy(q, u).kinetic, kinetic, rtol=1e-11)  # two routes of a few hundred operations


def moved(dyn, q, u, h):
    """q after a short while h, along the kinematics, quaternions normalised."""
    middle = q + h / 2 * dyn.kinematics(q, u)
    q = q + h * dyn.kinematics(middle, u)
    for start in dyn.equations.quaternions:
        q[..., start : start + 4] /= np.linalg.norm(q[..., start : start + 4], axis=-1, keepdims=True)
    return q


def test_jacobians_are_the_derivatives_of_poses(tree, tree_model):
    q, u, _ = states(tree, ())
    h = 1e-5
    ahead, behind, now = (tree.poses(moved(tree, q, u, s)) for s in (h, -h, 0.0))
    at = np.array([0.3, -0.1, 0.2])
    names = [b.name for b in tree_model.bodies[1:]] + ["tool"]
    assert list(now) == names
    for name in names:
        J = tree.jacobian(name, q, at=at)
        assert J.angular.shape == J.linear.shape == (3, len(u))
        point = {sign: p[name].position + p[name].orientation @ at for sign, p in ((1, ahead), (-1, behind))}
        # Truncation h^2 times third derivatives of order 100, round-off 1e-15 / h: together below 1e-7.
        np.testing.assert_allclose(J.linear @ u, (point[1] - point[-1]) / (2 * h), atol=1e-7)
        spin = (ahead[name].orientation - behind[name].orientation) / (2 * h) @ now[name].orientation.T
        np.testing.assert_allclose(J.angular @ u, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-7)


def test_orientations_are_rotations(tree):
    q, _, _ = states(tree, (4,))
    for pose in tree.poses(q).values():
        R = pose.orientation
        np.testing.assert_allclose(np.swapaxes(R, -1, -2) @ R, np.broadcast_to(np.eye(3), R.shape), atol=1e-14)
        assert (np.linalg.det(R) > 0).all()


def test_a_named_frame_sits_where_it_was_put(tree, tree_model):
    q, _, _ = states(tree, (3,))
    poses, frame = tree.poses(q), tree_model.frames["tool"]
    carrier = poses[frame.body.name]
    expected = carrier.position + carrier.orientation @ np.array(frame.position)
    np.testing.assert_allclose(poses["tool"].position, expected, atol=1e-14)
    np.testing.assert_allclose(
        poses["tool"].orientation, carrier.orientation @ frame.orientation.as_numpy(), atol=1e-14
    )


def test_a_jacobian_is_asked_by_body_or_by_name_at_a_point_or_a_batch_of_points(tree, tree_model):
    q, _, _ = states(tree, ())
    body = tree_model.bodies[2]
    points = np.random.default_rng(5).normal(size=(4, 3))
    together = tree.jacobian(body, q, at=points)
    assert together.linear.shape == (4, 3, len(tree.equations.u))
    for k in range(4):
        np.testing.assert_array_equal(together.linear[k], tree.jacobian(body.name, q, at=points[k]).linear)
    ground = tree.jacobian("ground", q)
    assert not ground.angular.any()
    assert not ground.linear.any()


@pytest.mark.parametrize("place", ["q", "u", "inputs"])
def test_NaN_in_gives_NaN_out(pendulum, place):
    at = {"q": [0.1, 0.2, 0.3], "u": [1.0, 2.0, 3.0], "inputs": [4.0]}
    assert np.isfinite(pendulum.forward(**at)).all()
    at[place][-1] = np.nan
    assert np.isnan(pendulum.forward(**at)).all()


def test_NaN_in_one_state_of_a_batch_stays_there(tree):
    q, u, udot = states(tree, (9,))
    inputs = np.zeros(len(tree.equations.inputs))

    def results():
        return tree.inverse(q, u, udot), tree.forward(q, u, inputs), tree.mass_matrix(q)

    expected = results()
    q[4] = np.nan
    for found, clean in zip(results(), expected, strict=True):
        others = np.arange(9) != 4
        np.testing.assert_array_equal(found[others], clean[others])
        assert np.isnan(found[4]).any()


def test_a_NaN_among_the_parameters_comes_out(pendulum):
    assert not np.isfinite(pendulum.forward([0.1] * 3, [1.0] * 3, [0.0], parameters={"l": np.nan})).any()


def test_two_threads_get_right_results_from_code_that_neither_has_compiled():
    dyn, reference = (kane.build(kane.formulate(chain(4))) for _ in range(2))
    q, u, udot = states(reference, (50,))
    expected = [reference.forward(q, u, np.ones(4)), reference.inverse(q, u, udot), reference.mass_matrix(q)]
    start, wrong = threading.Barrier(2), []

    def work():
        start.wait()
        try:
            for _ in range(20):
                found = [dyn.forward(q, u, np.ones(4)), dyn.inverse(q, u, udot), dyn.mass_matrix(q)]
                wrong.extend(
                    k for k, (x, y) in enumerate(zip(found, expected, strict=True)) if not np.array_equal(x, y)
                )
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_function_is_compiled_once(pendulum):
    assert pendulum.function("forward") is pendulum.function("forward")
    assert pendulum.function("forward").program.name == "forward"


def test_a_target_of_the_users_makes_the_code():
    compiled = []

    class Counting:
        def compile(self, program):
            compiled.append(program.name)
            return kane.LLVM().compile(program)

    dyn = kane.build(kane.formulate(chain(1)), target=Counting())
    dyn.forward([0.0], [0.0], [0.0])
    dyn.forward([0.1], [0.0], [0.0])
    dyn.mass_matrix([0.0])
    assert compiled == ["rhs", "energy", "forward", "whole_mass_matrix"]


def results_with_out():
    """Methods that fill ``out``, called on a batch of five states of the arm."""
    dyn = kane.build(kane.formulate(kane.library.stanford_arm()))
    q, u, a = np.random.default_rng(8).normal(size=(3, 5, 6))
    return {
        "forward": lambda **out: dyn.forward(q, u, a, **out),
        "inverse": lambda **out: dyn.inverse(q, u, a, **out),
        "bias": lambda **out: dyn.bias(q, u, **out),
        "kinematics": lambda **out: dyn.kinematics(q, u, **out),
        "mass_matrix": lambda **out: dyn.mass_matrix(q, **out),
        "rhs": lambda **out: dyn.rhs(0.0, np.hstack([q, u]), a, **out),
    }


@pytest.mark.parametrize("name", results_with_out())
def test_out_is_filled_and_returned_with_the_same_bits(name):
    method = results_with_out()[name]
    fresh = method()
    out = np.full_like(fresh, np.nan)
    assert method(out=out) is out
    np.testing.assert_array_equal(out, fresh)


@pytest.mark.parametrize("name", results_with_out())
def test_an_out_that_does_not_fit_is_refused_and_says_why(name):
    method = results_with_out()[name]
    right = method()
    wrong = {
        r"its shape is \(4,": right[:4].copy(),
        "it holds float32": right.astype(np.float32),
        "it has gaps": np.repeat(right, 2, axis=-1)[..., ::2],
        "not list": right.tolist(),
    }
    for words, out in wrong.items():
        with pytest.raises(kane.ModelError, match=words):
            method(out=out)
    fixed = right.copy()
    fixed.flags.writeable = False
    with pytest.raises(kane.ModelError, match="read-only"):
        method(out=fixed)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (300,)], ids=str)
def test_an_out_that_is_an_argument_or_overlaps_one_is_filled_like_any_other(shape):
    dyn = kane.build(kane.formulate(kane.library.stanford_arm()), target=kane.LLVM(lanes=True))
    q, u = np.random.default_rng(8).normal(size=(2, *shape, 6))
    expected, inverse = dyn.forward(q, u, np.zeros(6)), dyn.inverse(q, u, u)
    memory = np.concatenate([q.ravel(), u.ravel()])
    first, shifted = memory[: q.size].reshape(q.shape), memory[3 : 3 + q.size].reshape(q.shape)
    np.testing.assert_array_equal(dyn.forward(first, u, np.zeros(6), out=shifted), expected)
    assert dyn.inverse(q, u, u, out=u) is u
    np.testing.assert_array_equal(u, inverse)


def swapped(array):
    return array.astype(array.dtype.newbyteorder())


def misaligned(array):
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
    memory.view(np.float64)[...] = array.ravel()
    return memory.view(np.float64).reshape(array.shape)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


KINDS = {
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
    "with gaps": lambda x: np.repeat(x, 3, axis=-1)[..., ::3],
    "read-only": read_only,
    "one for all": lambda x: np.broadcast_to(x[..., :1], x.shape),
    "column-major": np.asfortranarray,
    "bytes in the other order": swapped,
    "misaligned": misaligned,
    "of its own class": lambda x: x.view(type("Own", (np.ndarray,), {})),
}


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (20,)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_values_do_not_depend_on_how_arrays_lie_in_memory(kind, shape):
    dyn = kane.build(kane.formulate(kane.library.stanford_arm()), target=kane.LLVM(lanes=True))
    q, u, f = (KINDS[kind](x) for x in np.random.default_rng(8).normal(size=(3, *shape, 6)))
    plain = [np.array(np.asarray(x), float, order="C") for x in (q, u, f)]
    found = dyn.forward(q, u, f)
    assert type(found) is np.ndarray
    assert found.shape == q.shape
    np.testing.assert_array_equal(found, dyn.forward(*plain))
    np.testing.assert_array_equal(dyn.mass_matrix(q), dyn.mass_matrix(plain[0]))


@pytest.mark.parametrize("kind", [float, int, np.float64, np.float32, np.array, lambda t: np.array([t]), lambda t: [t]])
def test_a_time_of_any_kind_is_a_number_or_a_batch(kind):
    model = Model("swing", gravity=(0, 0, 0))
    bob = model.body("bob", mass=1.0)
    model.connect(model.ground, bob, kane.Prismatic("x", axis="x"))
    model.load(kane.Force(bob.point(), (model.time, 0.0, 0.0)))
    dyn = kane.build(kane.formulate(model))
    t = kind(2.0)
    for _ in range(2):  # the second time nothing is found out any more
        found = dyn.forward(np.zeros(1), np.zeros(1), t=t)
        assert found.shape == (*np.shape(t), 1)
        assert found.item() == 2.0


def test_native_code_leaves_alone_what_is_not_one_state_of_doubles(tree):
    q, u, _ = states(tree, ())
    tree.kinematics(q, u)
    call = tree._calls["kinematics"]
    time, rest, out = np.zeros(1), np.zeros(0), np.full(len(q), np.nan)
    wrong_q = [None, 1.0, "q", [*q], q[None, None], np.stack([q, q]), q[:-1]]
    wrong_q += [q.astype(int), q[0], np.float64(1.0), np.array(1.0), 2.0 * q]
    for bad in wrong_q:
        assert call._small(call.stage, out, time, bad, u, rest) is None
        assert call._into(call.stage, out, time, bad, u, rest) is None
    for bad in (None, out[:-1], out[None], out.astype(np.float32), np.repeat(out, 2)[::2], read_only(out)):
        assert call._into(call.stage, bad, time, q, u, rest) is None
    assert np.isnan(out).all()
    assert call._small(call.stage, out, time, q, u, rest) is out
    np.testing.assert_array_equal(out, tree.kinematics(q.tolist(), u))


@pytest.mark.parametrize("rows", [(1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_a_batch_of_one_is_computed_where_it_lies_as_one_state_is(tree, rows):
    """Native code takes it at once, what checks arrays in Python is not asked; values have the shape of the batch."""
    (q, u, udot), inputs = states(tree, ()), np.zeros(len(tree.equations.inputs))
    alone = tree.forward(q, u, inputs, 0.0)
    call = tree._calls["forward"]
    q, u, inputs = (x[None] if row else x for x, row in zip((q, u, inputs), rows, strict=True))
    assert call._small(call.stage, np.empty(len(udot)), np.zeros(1), q, u, inputs) is True
    found, out = tree.forward(q, u, inputs, 0.0), np.full((1, len(udot)), np.nan)
    assert found.shape == (1, len(udot))
    assert call._into(call.stage, out, np.zeros(1), q, u, inputs) is out
    np.testing.assert_array_equal(found, alone[None])
    np.testing.assert_array_equal(out, alone[None])


def test_a_batch_of_one_is_not_put_into_a_vector(tree):
    (q, u, _), inputs = states(tree, ()), np.zeros(len(tree.equations.inputs))
    out = np.full(len(u), 7.0)
    with pytest.raises(ModelError, match=r"out must be an array of shape \(1, "):
        tree.forward(q[None], u, inputs, 0.0, out=out)
    assert np.all(out == 7.0)


@pytest.mark.parametrize("batch", [(), (1,)])
def test_a_mass_matrix_is_put_into_out_by_native_code_at_once(tree, monkeypatch, batch):
    """What checks arrays in Python is not asked, and no second matrix is made."""
    q, *_ = states(tree, batch)
    expected = tree.mass_matrix(q)
    out = np.full(expected.shape, np.nan)
    monkeypatch.setattr(
        type(tree.function("whole_mass_matrix")), "join", lambda *arguments, **out: pytest.fail("asked")
    )
    assert tree.mass_matrix(q, out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("batch", [(), (1,), (3,)])
def test_a_mass_matrix_is_not_put_into_what_does_not_fit(tree, batch):
    q, u, _ = states(tree, batch)
    n, wide = u.shape[-1], np.zeros((*batch, u.shape[-1], 2 * u.shape[-1]))
    wrong = [
        np.zeros((*batch, n * n)),
        np.zeros((2, *batch, n, n)),
        wide[..., ::2],
        np.zeros((*batch, n, n), np.float32),
    ]
    for out in [*wrong, read_only(np.zeros((*batch, n, n)))]:
        with pytest.raises(ModelError, match="whole_mass_matrix: out must be an array of shape"):
            tree.mass_matrix(q, out=out)
        assert not np.any(out)


def test_a_single_call_keeps_nothing_and_loses_nothing(arm):
    q, u, udot, out = np.random.default_rng(8).normal(size=(4, 3))
    rows = q[None], u[None], udot[None]
    arm.inverse(q, u, udot, out=out)
    before = [sys.getrefcount(x) for x in (q, u, udot, out, *rows, True)]
    for _ in range(100):
        arm.inverse(q, u, udot, out=out)
        arm.inverse(q, u, udot)
        arm.inverse(*rows)
    assert [sys.getrefcount(x) for x in (q, u, udot, out, *rows)] == before[:-1]
    assert abs(sys.getrefcount(True) - before[-1]) < 50


@pytest.mark.parametrize("place", [place for place in python_call._LAYOUT if place != "base"])  # base is not read
def test_a_numpy_that_lays_out_arrays_otherwise_is_refused(monkeypatch, place):
    monkeypatch.setitem(python_call._LAYOUT, place, python_call._LAYOUT["base"])
    with pytest.raises(kane.CompileError, match=r"array objects of NumPy .* have an unknown memory layout"):
        python_call._require_layout(np.zeros((1, 6))[:, ::2])


@pytest.mark.parametrize("call", [lambda d, x: d.inverse(x, x, None), lambda d, x: d.jacobian("B1", x, at=None)])
def test_only_inputs_and_time_may_be_left_out(arm, call):
    with pytest.raises(ModelError, match=r"must be 3 numbers, not None"):
        call(arm, np.zeros(3))


def test_one_state_and_batches_of_one_in_turn_have_their_own_shapes_in_every_thread(arm):
    """What the last call made is where the next one begins; another shape, or another thread's, is no matter."""
    dyn, rng = arm, np.random.default_rng(5)
    n, nq = len(dyn.equations.u), len(dyn.equations.q)
    q, u = rng.normal(size=nq), rng.normal(size=n)
    M, h = dyn.mass_matrix(q).copy(), dyn.bias(q, u).copy()
    batches = [(), (1,), (1,), (), (1, 1), (2,), (), (0,), (1,)]

    def check(order):
        for k in order:
            at, going = np.broadcast_to(q, (*batches[k], nq)), np.broadcast_to(u, (*batches[k], n))
            np.testing.assert_array_equal(dyn.mass_matrix(at), np.broadcast_to(M, (*batches[k], n, n)), strict=True)
            np.testing.assert_array_equal(dyn.bias(at, going), np.broadcast_to(h, (*batches[k], n)), strict=True)
            assert dyn.mass_matrix(at).flags.c_contiguous
        return True

    orders = [rng.integers(len(batches), size=60) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(check, [range(len(batches)), *orders]))
