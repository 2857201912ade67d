"""Programs in lanes: every state gets the bits that it gets alone, whatever is beside it."""

import itertools
import math

import numpy as np
import pytest
from oracles.random_programs import TABLE, random_arrays, random_program, smooth_program

import kane
from kane.codegen.emit.lanes import Lanes
from kane.codegen.emit.llvm import emit_llvm
from kane.codegen.emit.llvm_function import BETWEEN_ZEROS, MANY_ZEROS
from kane.codegen.jit import compiler
from kane.codegen.jit.batches import chunk_for, in_chunks
from kane.codegen.programs.program import Program
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.operations import COORDINATE, INPUT, OPERATIONS, PARAMETER, SELECT, SPLINE
from kane.expression.traverse import CONSTRUCTORS
from kane.library import chain, n_link_pendulum, random_tree

WIDTHS = (2, 4, 8)


def in_lanes(program, width, *, each=False, piece=None):
    """A function (state, rest, stage) -> out that uses lanes of a given width, for few states too."""
    code = compiler._load_lanes(program, Lanes(width), each, piece=piece)

    def call(state, rest, stage):
        n = len(state)
        out = np.full((n, len(program.outputs)), 77.0)
        code.ranges((state,), rest, stage, batch=(n,), out=out)()(0, n)
        return out

    return call


@pytest.mark.parametrize(("seed", "width"), list(itertools.product(range(3), WIDTHS)))
def test_lanes_give_the_bits_of_scalar_code_for_all_operations(seed, width):
    program = random_program(seed, 500)
    scalar = compiler.compile_program(program, lanes=False)
    (state, rest), parameters = random_arrays(scalar, seed, batch=(19,))
    stage = scalar.stage(parameters)
    expected = scalar(state, rest, stage)
    assert np.isfinite(expected).mean() > 0.3, "nearly everything overflowed, which tests little"
    np.testing.assert_array_equal(in_lanes(program, width)(state, rest, stage), expected)


@pytest.mark.parametrize("piece", [1, 7, 100, 600])
def test_the_size_of_the_pieces_changes_no_bit(piece):
    program = smooth_program()
    whole = compiler.compile_program(program, lanes=False)
    (state, rest), parameters = random_arrays(whole, 5, batch=(11,))
    stage = whole.stage(parameters)
    expected = whole(state, rest, stage)
    np.testing.assert_array_equal(
        compiler.compile_program(program, lanes=False, piece=piece)(state, rest, stage), expected
    )
    np.testing.assert_array_equal(in_lanes(program, 8, piece=piece)(state, rest, stage), expected)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_number_of_states_is_computed_and_no_row_beyond_touched(width, each):
    program = smooth_program(terms=40)
    scalar, lanes = compiler.compile_program(program, lanes=False), compiler._load_lanes(program, Lanes(width), each)
    for n in range(1, 2 * width + 2):
        (state, rest), parameters = random_arrays(scalar, n, batch=(n,))
        many = parameters + 0.1 * np.arange(n)[:, None] if each else parameters
        stage = scalar.stage(many)
        out = np.full((n + 2, scalar.n_out), 77.0)
        lanes.ranges((state,), rest, stage, batch=(n,), out=out[1:-1])()(0, n)
        np.testing.assert_array_equal(out[1:-1], scalar(state, rest, stage))
        np.testing.assert_array_equal(out[[0, -1]], 77.0)


def one_operation(op):
    """A program of one operation on coordinates x, y, z."""
    arena = Arena()
    x = [arena.leaf(COORDINATE, f"q{i}") for i in range(3)]
    node = construct.build_spline(x[0], TABLE) if op == SPLINE else CONSTRUCTORS[op](*x[: OPERATIONS[op].arity])
    return Program(OPERATIONS[op].name, [node], state=x, rest=[], parameters=[])


SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e308, -1e7, 3e22, 1.0, -1.0, 0.3, -2.5]


@pytest.mark.parametrize(
    "op", [op for op, row in enumerate(OPERATIONS) if row.arity], ids=lambda op: OPERATIONS[op].name
)
def test_special_values_in_any_lane_give_what_scalar_code_gives(op):
    program = one_operation(op)
    scalar, lanes = compiler.compile_program(program, lanes=False), in_lanes(program, 8)
    values = list(itertools.product(SPECIAL, SPECIAL, SPECIAL[:5] if op == SELECT else [0.7]))
    state = np.random.default_rng(op).permutation(np.array(values))  # every value in every lane, beside all others
    expected = scalar(state, [], [])
    found = lanes(state, np.empty((1, 0)), np.empty(0))
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_huge_angle_leaves_the_sines_beside_it_as_they_are(width):
    arena = Arena()
    q = [arena.leaf(COORDINATE, f"q{i}") for i in range(3)]
    program = Program(
        "trig", [f(x) for x in q for f in (construct.build_sin, construct.build_cos)], state=q, rest=[], parameters=[]
    )
    scalar, lanes = compiler.compile_program(program, lanes=False), in_lanes(program, width)
    state = np.random.default_rng(0).uniform(-900_000, 900_000, (width, 3))
    calm = scalar(state, [], [])
    for lane, value in itertools.product(range(width), (1.1e6, -3e22, math.inf, math.nan)):
        wild = state.copy()
        wild[lane, 1] = value
        for out in (lanes(wild, np.empty((1, 0)), np.empty(0)), scalar(wild, [], [])):
            np.testing.assert_array_equal(np.delete(out, lane, axis=0), np.delete(calm, lane, axis=0))
            np.testing.assert_array_equal(out[lane, [0, 1, 4, 5]], calm[lane, [0, 1, 4, 5]])
            with np.errstate(invalid="ignore"):
                # Two C libraries, each within 1 ulp or so, of results up to 1.
                np.testing.assert_allclose(out[lane, 2:4], [np.sin(value), np.cos(value)], rtol=0, atol=1e-15)


def test_leaves_and_constants_as_outputs_and_state_in_any_order_come_through():
    arena = Arena()
    names = [(COORDINATE, "a"), (INPUT, "b"), (COORDINATE, "c"), (INPUT, "d"), (COORDINATE, "e")]
    state = [arena.leaf(op, name) for op, name in names]
    rest, p = [arena.leaf(INPUT, f"tau{i}") for i in range(11)], arena.leaf(PARAMETER, "p")
    outputs = [state[3], rest[10], p, arena.constant(2.5), state[0] * p, p * p, rest[0] - state[4]]
    program = Program("leaves", outputs, state=state, rest=rest, parameters=[p])
    scalar = compiler.compile_program(program, lanes=False)
    (x, tau), _ = random_arrays(scalar, 1, batch=(13,))
    np.testing.assert_array_equal(
        in_lanes(program, 8)(x, tau, scalar.stage([3.0])), scalar(x, tau, scalar.stage([3.0]))
    )
    stages = scalar.stage(np.arange(13.0)[:, None])
    np.testing.assert_array_equal(in_lanes(program, 8, each=True)(x, tau, stages), scalar(x, tau, stages))


def broadcast_cases():
    return {
        "rest for all": ((6, 4), (), ()),
        "state for all": ((), (24,), ()),
        "crossed": ((6, 1), (4,), ()),
        "stage of each": ((6, 4), (), (6, 4)),
        "stage of each row": ((6, 4), (4,), (6, 1)),
        "only stages differ": ((), (), (24,)),
        "nothing": ((0, 4), (), (4,)),
    }


@pytest.mark.parametrize("case", broadcast_cases().values(), ids=broadcast_cases().keys())
@pytest.mark.parametrize("lanes", [False, True])
def test_batches_broadcast_with_and_without_lanes(case, lanes):
    function = compiler.compile_program(smooth_program(terms=30), lanes=lanes)
    source = np.random.default_rng(2)
    lengths = (function.n_state, function.n_rest, function.n_parameters)
    state, rest, parameters = (source.standard_normal((*shape, n)) for shape, n in zip(case, lengths, strict=True))
    stage = function.stage(parameters)
    out = function(state, rest, stage)
    batch = np.broadcast_shapes(*case)
    assert out.shape == (*batch, function.n_out)
    full = [np.broadcast_to(a, (*batch, a.shape[-1])) for a in (state, rest, stage)]
    for index in np.ndindex(batch):
        np.testing.assert_array_equal(out[index], function(*(a[index] for a in full)))


def test_views_with_gaps_and_transposed_batches_are_read_right():
    function = compiler.compile_program(smooth_program(terms=30), lanes=True)
    (state, rest), parameters = random_arrays(function, 2, batch=(5, 6))
    stage = function.stage(parameters)
    expected = function(state, rest, stage)
    wide = np.full((5, 12, 40), 7.0)
    wide[:, ::2, 3 : 3 + function.n_state] = state
    np.testing.assert_array_equal(function(wide[:, ::2, 3 : 3 + function.n_state], rest, stage), expected)
    parts = (wide[:, ::2, 3:4], wide[:, ::2, 4:7], wide[:, ::2, 7:10])
    np.testing.assert_array_equal(function.join(parts, rest, stage), expected)
    np.testing.assert_array_equal(function(state.swapaxes(0, 1), rest.swapaxes(0, 1), stage), expected.swapaxes(0, 1))
    backwards = function(state[::-1], rest[::-1], stage)
    np.testing.assert_array_equal(backwards, expected[::-1])


def test_results_go_where_they_are_wanted():
    function = compiler.compile_program(smooth_program(terms=30), lanes=True)
    (state, rest), parameters = random_arrays(function, 2, batch=(3, 6))
    stage = function.stage(parameters)
    out = np.zeros((3, 6, function.n_out))
    assert function(state, rest, stage, out=out) is out
    np.testing.assert_array_equal(out, function(state, rest, stage))
    one = np.zeros(function.n_out)
    np.testing.assert_array_equal(function(state[0, 0], rest[0, 0], stage, out=one), out[0, 0])
    for wrong in (out[:2], out.astype(np.float32), out[::-1], np.zeros((6, 3, function.n_out)), [0.0]):
        with pytest.raises(kane.ModelError, match=r"smooth: out must be an array of shape \(3, 6, \d+\), contiguous"):
            function(state, rest, stage, out=wrong)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit(threads):
    program = smooth_program()
    (state, rest), parameters = random_arrays(compiler.compile_program(program), 2, batch=(60_011,))
    plain = compiler.compile_program(program, lanes=False, threads=1)
    assert len(state) > 3 * chunk_for(len(program.instructions)), "one chunk: nothing for several threads to do"
    stage = plain.stage(parameters)
    expected = plain(state, rest, stage)
    for lanes in (False, True):
        function = compiler.compile_program(program, lanes=lanes, threads=threads)
        np.testing.assert_array_equal(function(state, rest, stage), expected)


@pytest.mark.parametrize(("n", "chunk", "threads"), [(0, 8, 2), (5, 8, 2), (16, 8, 2), (17, 8, 3), (1000, 8, 4)])
def test_chunks_cover_every_state_once_and_hold_enough_for_lanes(n, chunk, threads):
    taken = []
    in_chunks(n, chunk, threads, lambda: lambda i, j: taken.append((i, j)))
    assert sorted(k for i, j in taken for k in range(i, j)) == list(range(n))
    assert all(j - i >= min(n, chunk) for i, j in taken)


def test_an_error_in_a_thread_is_raised():
    def start():
        def run(i, j):
            raise MemoryError(f"states {i} to {j}")

        return run

    with pytest.raises(MemoryError, match="states"):
        in_chunks(100, 8, 3, start)


def test_lanes_are_compiled_once_they_pay_and_not_before(monkeypatch):
    monkeypatch.setattr("kane.codegen.jit.compiled._LANES_AFTER", 0)
    monkeypatch.setattr("kane.codegen.jit.compiled._LANES_AFTER_EACH", 100)
    function = compiler.compile_program(smooth_program(terms=30))
    if compiler.lane_width() == 1:
        pytest.skip("this machine has no lanes")
    (state, rest), parameters = random_arrays(function, 1, batch=(40,))
    stage = function.stage(parameters)
    first = function(state, rest, stage)
    assert not function._lanes
    results = [function(state, rest, stage) for _ in range(3)]
    assert list(function._lanes) == [False]
    for result in results:
        np.testing.assert_array_equal(result, first)


def test_lanes_that_are_off_are_none():
    assert compiler.compile_program(smooth_program(terms=30), lanes=False).lanes() is None


@pytest.fixture(scope="module", params=["arm", "tree"])
def pair(request):
    """One robot without lanes, and with."""
    model = chain(4) if request.param == "arm" else random_tree(3, 7)
    eqs = kane.formulate(model)
    return kane.build(eqs, target=kane.LLVM(lanes=False)), kane.build(eqs, target=kane.LLVM(lanes=True, threads=2))


def test_dynamics_in_lanes_give_the_bits_of_dynamics_without(pair):
    plain, lanes = pair
    source = np.random.default_rng(1)
    eqs = plain.equations
    q, u, udot = (source.uniform(-1, 1, (37, len(x))) for x in (eqs.q, eqs.u, eqs.u))
    for start in eqs.quaternions:
        q[:, start : start + 4] /= np.linalg.norm(q[:, start : start + 4], axis=-1, keepdims=True)
    inputs = source.uniform(-1, 1, (37, len(eqs.inputs)))
    for call in (
        lambda d: d.inverse(q, u, udot),
        lambda d: d.forward(q, u, inputs, t=np.linspace(0, 1, 37)),
        lambda d: d.forward(q[0], u[:5, None], inputs[0], t=np.linspace(0, 1, 9)),
        lambda d: d.mass_matrix(q),
        lambda d: d.rhs(0.3, np.concatenate([q, u], axis=-1), inputs),
        lambda d: np.array(d.energy(q, u)),
    ):
        np.testing.assert_array_equal(call(lanes), call(plain))


def test_accelerations_solved_for_in_numbers_have_in_lanes_the_derivatives_of_single_calls():
    eqs = kane.formulate(kane.inertial_parameters(random_tree(1, 5)))
    dyn, source = kane.build(eqs, target=kane.LLVM(lanes=True, threads=2)), np.random.default_rng(1)
    name = eqs.parameters[0].name  # a mass
    d = dyn.derivatives("rhs", wrt=("q", "u", name))
    assert d.function.program is None
    q, u, inputs = (source.uniform(-1, 1, (600, len(x))) for x in (eqs.q, eqs.u, eqs.inputs))
    for start in eqs.quaternions:
        q[:, start : start + 4] /= np.linalg.norm(q[:, start : start + 4], axis=-1, keepdims=True)
    values = dyn.parameters[0] * source.uniform(1.0, 1.1, 600)
    for given in (None, {name: values}):
        whole = d(q, u, inputs, 0.3, parameters=given)
        for k in (0, 255, 599):
            one = d(q[k], u[k], inputs[k], 0.3, parameters=given and {name: values[k]})
            np.testing.assert_array_equal(whole.value[k], one.value)
            for word in d.columns:
                np.testing.assert_array_equal(whole[word][k], one[word])


@pytest.mark.parametrize("lanes", [False, True])
def test_parameters_may_differ_from_state_to_state(lanes):
    dyn = kane.build(kane.formulate(n_link_pendulum(3)), target=kane.LLVM(lanes=lanes))
    lengths, masses = np.linspace(0.5, 2.0, 20), np.linspace(1.0, 3.0, 3)
    source = np.random.default_rng(1)
    q, u = source.uniform(-1, 1, (2, 20, 4))
    together = dyn.forward(q, u, [0.5], parameters={"l": lengths, "mc": 2})
    crossed = dyn.forward(q[:, None], u[:, None], [0.5], parameters={"l": lengths[:, None], "mc": masses})
    alone = dyn.forward(q[0], u[0], [0.5], parameters={"l": lengths})
    for k in range(20):
        np.testing.assert_array_equal(
            together[k], dyn.forward(q[k], u[k], [0.5], parameters={"l": lengths[k], "mc": 2})
        )
        one = dyn.forward(q[k], u[k], [0.5], parameters={"l": lengths[k], "mc": masses[2]})
        np.testing.assert_array_equal(crossed[k, 2], one)
        np.testing.assert_array_equal(alone[k], dyn.forward(q[0], u[0], [0.5], parameters={"l": lengths[k]}))
    assert (np.abs(np.diff(alone, axis=0)).max(axis=1) > 0).all()


def test_parameters_of_the_wrong_shape_are_refused():
    dyn = kane.build(kane.formulate(n_link_pendulum(1)))
    q = u = np.zeros((5, 2))
    with pytest.raises(kane.ModelError, match=r"\(5,\) of q, .* \(7,\) of parameters do not broadcast"):
        dyn.forward(q, u, [0.0], parameters={"l": np.ones(7)})
    with pytest.raises(kane.ModelError, match=r"the batches \(2,\) of 'l', \(3,\) of 'm' of the parameters do not"):
        dyn.forward(q, u, [0.0], parameters={"l": np.ones(2), "m": np.ones(3)})
    with pytest.raises(kane.ModelError, match=r"the parameter 'l' must be a number, not \[1.0, None\]"):
        dyn.forward(q, u, [0.0], parameters={"l": [1.0, None]})


@pytest.mark.parametrize("width", [None, *WIDTHS])
@pytest.mark.parametrize(
    ("zeros", "repeats", "calls"),
    [
        (MANY_ZEROS - 1, BETWEEN_ZEROS // 3 + 1, 0),
        (MANY_ZEROS, BETWEEN_ZEROS // 3 + 1, 2),
        (MANY_ZEROS // 2, BETWEEN_ZEROS // 3, 1),
        (3 * MANY_ZEROS, 1, 1),
    ],
)
def test_outputs_that_are_zero_are_written_as_zero_and_their_neighbours_keep_their_values(zeros, repeats, calls, width):
    """Two runs of zeros; before, between and after them sums, copies and ones."""
    arena = Arena()
    x, y = (arena.leaf(COORDINATE, name) for name in "xy")
    between, run = [x + y, x, arena.lift(1.0)] * repeats, [arena.lift(0.0)] * zeros
    outputs = [*between, *run, *between, *run, *between]
    program = Program("zeros", outputs, state=[x, y], rest=[], parameters=[])
    state = np.arange(1.0, 12.0).reshape(11, 1) * [1.0, 10.0]
    got = compiler.compile_program(program, lanes=False)(state, [], []) if width is None else None
    got = in_lanes(program, width)(state, np.zeros((11, 0)), np.zeros(0)) if width else got
    known = np.stack([state.sum(1), state[:, 0], np.ones(11)] * repeats, axis=1)
    empty = np.zeros((11, zeros))
    expected = np.concatenate([known, empty, known, empty, known], axis=1)
    np.testing.assert_array_equal(got, expected)
    cleared = emit_llvm(program, Lanes(width or 1)).text.count("call void @llvm.memset")
    assert cleared == calls
