"""Native code cannot be misled from Python: what it follows is checked, what it runs lives as long as it is held."""

import copy
import gc

import numpy as np
import pytest

import kane


@pytest.fixture(scope="module")
def bar():
    """Constraints embedded in numbers, one input."""
    return kane.build(kane.formulate(kane.library.four_bar()))


@pytest.fixture(scope="module")
def start(bar):
    return kane.assemble(bar, q={"q1": 0.5}, u={"u1": 1.0})


@pytest.mark.parametrize("name", ["forward", "rhs", "embedding", "project"])
def test_a_stage_that_was_made_up_is_refused(bar, start, name):
    """Addresses of programs are in it: a segmentation fault before."""
    function = bar.project if name == "project" else bar.function(name)
    state, inputs = np.concatenate([[0.0], start.q, start.u]), np.zeros(1)
    true = function.stage(bar.parameters)
    expected = function(state, inputs, true)
    made_up = [np.zeros(function.n_stage), np.full(function.n_stage, 1.5)]
    for place in range(len(function.parts.expected)):
        spoilt = function.stage(bar.parameters)
        spoilt.view(np.int64)[place] += 1_000_003
        made_up.append(spoilt)
    for stage in made_up:
        for given in (stage, np.stack([true, stage])):
            with pytest.raises(kane.ModelError, match="this stage was not made for it; give the result of its stage"):
                function(state, inputs, given)
    other = kane.build(kane.formulate(kane.library.four_bar()))
    foreign = (other.project if name == "project" else other.function(name)).stage(bar.parameters)
    with pytest.raises(kane.ModelError, match="this stage was not made for it"):
        function(state, inputs, foreign)
    np.testing.assert_array_equal(function(state, inputs, function.stage(bar.parameters)), expected)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("make", [lambda: kane.library.chain(2), kane.library.four_bar], ids=["tree", "loop"])
def test_code_lives_as_long_as_any_copy_of_its_function(make, duplicate):
    """An illegal instruction before: the code went with the first owner."""
    dyn = kane.build(kane.formulate(make()))
    function = duplicate(dyn.function("forward"))
    stage = function.stage(dyn.parameters)
    arguments = np.full(function.n_state, 0.3), np.zeros(function.n_rest), stage
    expected = function(*arguments)
    del dyn
    gc.collect()
    kane.build(kane.formulate(make())).function("inverse")  # whose code may lie where the old one lay
    np.testing.assert_array_equal(function(*arguments), expected)


def test_inputs_of_many_states_of_a_constrained_machine_are_those_of_each(bar, start):
    q = np.tile(start.q, (4, 1))
    free = [leaf.name in bar.independent(start.q) for leaf in bar.equations.u]
    udot = np.linspace(-1.0, 1.0, 4)[:, None] * free
    u = np.tile(start.u, (4, 1))
    single = [bar.inputs_for(start.q, start.u, row) for row in udot]
    np.testing.assert_array_equal(bar.inputs_for(q, u, udot), single)
    np.testing.assert_array_equal(bar.inputs_for(start.q, start.u, udot), single)
    forces = bar.inputs_for(q, u, udot)
    found = bar.forward(q, u, forces)
    np.testing.assert_allclose(
        found[:, free], udot[:, free], rtol=0, atol=1e-9
    )  # two solutions of condition 1e3 at most
    q[2] = np.nan
    np.testing.assert_array_equal(np.isnan(bar.inputs_for(q, u, udot))[:, 0], [False, False, True, False])


@pytest.mark.parametrize("make", [lambda: kane.library.n_link_pendulum(1), kane.library.four_bar], ids=["tree", "loop"])
def test_parameters_in_a_batch_of_one_give_what_their_values_give(make):
    dyn = kane.build(kane.formulate(make()))
    n, name = len(dyn.equations.u), dyn.equations.parameters[0].name
    q, u, inputs = np.full(len(dyn.equations.q), 0.3), np.full(n, 0.1), np.zeros(len(dyn.equations.inputs))
    expected = dyn.forward(q, u, inputs, parameters={name: 0.7})
    for shape in ((1,), (1, 1)):
        found = dyn.forward(q, u, inputs, parameters={name: np.full(shape, 0.7)})
        np.testing.assert_array_equal(found, np.broadcast_to(expected, (*shape, n)))
    many = dyn.forward(np.tile(q, (9, 1)), u, inputs, parameters={name: np.full((1,), 0.7)})
    np.testing.assert_array_equal(many, np.tile(expected, (9, 1)))
    for method in (dyn.inverse, dyn.inputs_for) if n == len(inputs) else (dyn.inverse,):
        assert method(q, u, u, parameters={name: np.full((1, 3), 0.7)}).shape[:2] == (1, 3)


def test_a_state_in_parts_is_of_doubles_of_the_right_length_and_out_may_be_a_part():
    dyn = kane.build(kane.formulate(kane.library.chain(2)))
    function = dyn.function("forward")
    stage, q, u = function.stage(dyn.parameters), np.full((50, 2), 1), np.full((50, 2), 0.5)
    expected = function(np.concatenate([np.zeros((50, 1)), q, u], axis=1), np.zeros(2), stage)
    for kind in (np.int64, np.float32):  # integers were read as if they were doubles
        parts = [np.zeros((50, 1)), q.astype(kind), u]
        np.testing.assert_array_equal(function.join(parts, np.zeros(2), stage), expected)
    with pytest.raises(kane.ModelError, match=r"forward: state must have shape \(..., 5\) in all, got \(1, 2\)"):
        function.join([np.zeros((50, 1)), u], np.zeros(2), stage)
    assert function.join([np.zeros((50, 1)), q, u], np.zeros(2), stage, out=u) is u
    np.testing.assert_array_equal(u, expected)


@pytest.mark.parametrize(
    "parts", ["abc", None, 3.0, ["a"], [None], [1.0], [], [[0.0], [[1.0], [2.0, 3.0]]], [np.zeros(4)]]
)
def test_a_state_in_parts_that_is_none_is_refused_by_name(parts):
    function = kane.build(kane.formulate(kane.library.chain(2))).function("forward")
    with pytest.raises(kane.ModelError, match=r"forward: (the )?state"):
        function.join(parts, np.zeros(2), np.zeros(function.n_stage))
