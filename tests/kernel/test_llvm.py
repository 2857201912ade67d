"""Native code against the interpreter, which says what expressions mean."""

import gc
import inspect
import itertools
import math
import subprocess
import sys
import threading

import numpy as np
import pytest
from oracles.random_programs import OPERATION_CODES, TABLE, leaves_of, random_arrays, random_program, smooth_program

from kane.codegen.emit import llvm_operations
from kane.codegen.emit.repeats import PART_SIZE_BOUNDS
from kane.codegen.jit.compiler import compile_program
from kane.codegen.programs.program import Program
from kane.errors import CompileError, ModelError
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.interpret import interpret
from kane.expression.operations import (
    ADD,
    COORDINATE,
    EQUAL,
    LESS,
    LESS_EQUAL,
    MUL,
    NEG,
    OPERATIONS,
    SELECT,
    SPLINE,
    SUB,
)
from kane.expression.spline import PiecewiseCubic
from kane.expression.traverse import CONSTRUCTORS, reachable


def rounding(node, expected, values):
    """Error that one native operation may make on its native arguments.

    Arithmetic is correctly rounded but for sums of products, which may use the product unrounded (half an ulp of it);
    our sine and cosine promise 2 ulp, the C library and NumPy's own functions are taken to be within 4. The terms of a
    spline may cancel: an ulp for each.
    """
    eps = np.finfo(float).eps
    if node.op == SPLINE:
        i = node.data.piece(values[node.args[0]])
        h = abs(values[node.args[0]] - node.data.knots[i])
        return 4 * eps * sum(abs(c) * h**k for k, c in enumerate(node.data.coefficients[i]))
    sizes = sum(abs(values.get(a, a.data)) for a in node.args) if node.op in (ADD, SUB) else 0.0
    return eps * (4 * abs(expected) + sizes) + 5e-324


def interpret_functions():
    return inspect.signature(interpret).parameters["functions"].default


def judge(node, values):
    """Whether both are the same non-finite number; else assert that they agree, and return True."""
    known = [np.float64(values.get(a, a.data)) for a in node.args]
    with np.errstate(all="ignore"):
        meaning = OPERATIONS[node.op].meaning
        expected = node.data.value(known[0]) if node.op == SPLINE else meaning(interpret_functions(), *known)
    if np.isfinite(expected) and np.isfinite(values[node]):
        assert abs(values[node] - expected) <= rounding(node, expected, values), f"{node!r} of {known}"
        return True
    assert np.array_equal(expected, values[node], equal_nan=True), f"{node!r} of {known}"
    return False


@pytest.mark.parametrize(("seed", "piece"), list(itertools.product(range(6), (7, 600))))
def test_every_operation_does_to_its_native_arguments_what_the_interpreter_does(seed, piece):
    program = random_program(seed, 700)
    function = compile_program(program, piece=piece)
    (state, rest), parameters = random_arrays(function, seed)
    values = dict(zip(program.outputs, function(state, rest, function.stage(parameters)), strict=True))
    finite = [judge(node, values) for node in program.outputs if node.args]
    assert sum(finite) > 100, f"seed {seed}: nearly everything overflowed, which tests little"


def test_every_operation_has_a_row():
    assert sorted(llvm_operations.EMITTERS) == OPERATION_CODES


@pytest.mark.parametrize("piece", [1, 50, 600])
def test_a_batch_equals_its_states_one_by_one_and_the_interpreter(piece):
    function = compile_program(smooth_program(), piece=piece)
    (state, rest), parameters = random_arrays(function, 3, batch=(4, 3))
    stage = function.stage(parameters)
    out = function(state, rest, stage)
    assert out.shape == (4, 3, function.n_out)
    program = function.program
    for index in np.ndindex(4, 3):
        np.testing.assert_array_equal(out[index], function(state[index], rest[index], stage))
        values = dict(zip([*program.state, *program.rest, *program.parameters],
                          [*state[index], *rest[index], *parameters], strict=True))  # fmt: skip
        expected = np.array([float(x) for x in interpret(program.outputs, values)])
        # 300 operations on numbers of order 1, each with half an ulp: 1e-13 is far above, a wrong term far below.
        np.testing.assert_allclose(out[index], expected, rtol=1e-13, atol=1e-13)


def test_batches_of_state_and_rest_broadcast():
    function = compile_program(smooth_program(terms=30))
    (state, _), parameters = random_arrays(function, 1, batch=(5,))
    rest, stage = np.ones(function.n_rest), function.stage(parameters)
    np.testing.assert_array_equal(function(state, rest, stage)[2], function(state[2], rest, stage))
    np.testing.assert_array_equal(function(state[2], np.tile(rest, (7, 1)), stage)[6], function(state[2], rest, stage))
    assert function(state[:0], rest, stage).shape == (0, function.n_out)
    assert function(state.tolist(), rest.tolist(), stage).shape == (5, function.n_out)
    np.testing.assert_array_equal(function(np.asfortranarray(state), rest, stage), function(state, rest, stage))


def test_wrong_shapes_are_named_with_what_was_expected():
    function = compile_program(smooth_program(terms=30))
    (state, rest), parameters = random_arrays(function, 1)
    stage = function.stage(parameters)
    with pytest.raises(ModelError, match=r"smooth: state must have shape \(\.\.\., 7\), got \(6,\)"):
        function(state[:-1], rest, stage)
    with pytest.raises(ModelError, match=r"rest must have shape \(\.\.\., 3\), got \(\)"):
        function(state, 1.0, stage)
    with pytest.raises(ModelError, match=r"stage must have shape"):
        function(state, rest, np.append(stage, 0.0))
    with pytest.raises(ModelError, match=r"parameters must have shape \(\.\.\., 4\), got \(2, 3\)"):
        function.stage(np.ones((2, 3)))
    with pytest.raises(ModelError, match=r"smooth: the batches \(2,\) of state, \(3,\) of rest, .* do not broadcast"):
        function(np.ones((2, 7)), np.ones((3, 3)), stage)
    with pytest.raises(ModelError, match="state must be numbers"):
        function(["x"] * 7, rest, stage)


def test_a_nan_that_enters_any_operation_but_a_choice_comes_out():
    arena = Arena()
    state, _, _ = leaves_of(arena)
    x, y = state[1:3]
    nodes = [construct.build_spline(x, TABLE)]
    for op in set(OPERATION_CODES) - {LESS, LESS_EQUAL, EQUAL, SELECT, SPLINE}:
        nodes += [CONSTRUCTORS[op](*args) for args in ([(x,)] if OPERATIONS[op].arity == 1 else [(x, y), (y, x)])]
    function = compile_program(Program("nan", nodes, state=state, rest=[], parameters=[]))
    for position in (1, 2):
        values = np.full(7, 0.5)
        values[position] = math.nan
        out = function(values, [], [])
        for node, value in zip(nodes, out, strict=True):
            assert math.isnan(value) == (state[position] in reachable([node])), repr(node)


def test_comparisons_with_nan_are_false_and_a_nan_condition_holds():
    arena = Arena()
    state, _, _ = leaves_of(arena)
    x, y, z = state[1:4]
    nodes = [
        construct.build_less(x, y),
        construct.build_less_equal(x, y),
        construct.build_equal(x, y),
        construct.build_select(x, y, z),
    ]
    function = compile_program(Program("choices", nodes, state=state, rest=[], parameters=[]))
    cases = [
        (math.nan, 2.0, [0, 0, 0, 2]),
        (1.0, 2.0, [1, 1, 0, 2]),
        (2.0, 2.0, [0, 1, 1, 2]),
        (0.0, -2.0, [0, 0, 0, 5]),
    ]
    for a, b, expected in cases:
        np.testing.assert_array_equal(function([0, a, b, 5.0, 0, 0, 0], [], []), expected)


@pytest.mark.parametrize("points", [2, 3, 4, 5, 8, 9, 33])
def test_splines_find_their_piece_at_between_and_beyond_the_knots(points):
    xs = np.cumsum(np.random.default_rng(points).uniform(0.1, 1.0, points))
    table = PiecewiseCubic.through(xs, np.sin(3 * xs))
    arena = Arena()
    q = arena.leaf(COORDINATE, "q")
    function = compile_program(Program("spline", [construct.build_spline(q, table)], state=[q], rest=[], parameters=[]))
    near = [np.nextafter(xs, np.inf), np.nextafter(xs, -np.inf)]
    where = np.concatenate([xs, *near, np.linspace(xs[0] - 2, xs[-1] + 2, 101), [math.nan]])
    # Horner's rule with and without fused multiply-add: a few ulp of the largest term, of order 10 here.
    np.testing.assert_allclose(function(where[:, None], [], [])[:, 0], table.value(where), rtol=1e-14, atol=1e-13)


def test_the_piece_that_begins_at_a_knot_holds_at_the_knot():
    # The third derivative jumps there, and is a constant of the table in between: no rounding.
    jumps = TABLE.derivative().derivative().derivative()
    arena = Arena()
    q = arena.leaf(COORDINATE, "q")
    function = compile_program(Program("jumps", [construct.build_spline(q, jumps)], state=[q], rest=[], parameters=[]))
    where = np.array(TABLE.knots)
    np.testing.assert_array_equal(function(where[:, None], [], [])[:, 0], jumps.value(where))


def test_a_chain_of_a_hundred_thousand_additions_compiles_and_adds_up():
    arena = Arena()
    x, y = arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    total = x
    for i in range(100_000):
        total = total + (y, x)[i % 2]
    program = Program("chain", [total], state=[x, y], rest=[], parameters=[])
    function = compile_program(program)
    # One sum crosses from part to part.
    assert function.n_work < len(program.instructions) / PART_SIZE_BOUNDS[0][0] + 2
    # Whole numbers add without rounding.
    assert function([3.0, 5.0], [], [])[0] == 3.0 * 50_001 + 5.0 * 50_000


def test_threads_run_one_function_at_the_same_time():
    function = compile_program(smooth_program(), piece=50)
    (state, rest), parameters = random_arrays(function, 2, batch=(20_000,))
    stage = function.stage(parameters)
    expected = function(state, rest, stage)
    results = {}
    threads = [threading.Thread(target=lambda i=i: results.update({i: function(state, rest, stage)})) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        np.testing.assert_array_equal(results[i], expected)


def test_code_lives_as_long_as_its_function():
    functions = [compile_program(smooth_program(terms=30, seed=s)) for s in range(3)]
    (state, rest), parameters = random_arrays(functions[0], 2)
    before = functions[0](state, rest, functions[0].stage(parameters))
    del functions[1:]
    gc.collect()
    np.testing.assert_array_equal(functions[0](state, rest, functions[0].stage(parameters)), before)


def test_a_program_without_operations_copies_and_one_without_outputs_does_nothing():
    arena = Arena()
    state, rest, parameters = leaves_of(arena)
    lists = {"state": state, "rest": rest, "parameters": parameters}
    copies = compile_program(Program("copies", [state[2], rest[1], parameters[3], arena.zero, arena.one], **lists))
    out = copies(np.arange(7.0), [10, 11, 12], copies.stage([20, 21, 22, 23]))
    np.testing.assert_array_equal(out, [2, 11, 23, 0, 1])
    nothing = compile_program(Program("nothing", [], **lists))
    assert nothing(np.arange(7.0), [10, 11, 12], nothing.stage([20, 21, 22, 23])).shape == (0,)


def test_text_that_llvm_refuses_is_a_compile_error(monkeypatch):
    monkeypatch.setitem(llvm_operations.EMITTERS, MUL, lambda k, r, a, b: f"  {r} = nonsense {a}, {b}")
    with pytest.raises(CompileError, match="LLVM could not compile 'smooth'"):
        compile_program(smooth_program(terms=30))


def test_code_for_which_there_is_no_memory_is_a_compile_error_and_not_the_end_of_the_process(monkeypatch):
    monkeypatch.setattr("kane.codegen.jit.compiler.free_memory", lambda: 12e6)
    with pytest.raises(CompileError, match=r"'smooth': this may take .* MB of memory, but only 12 MB are free; free"):
        compile_program(smooth_program(terms=30), cached=False)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says how much memory is left")
def test_the_memory_that_is_left_is_known_to_a_process_with_a_limit_of_its_own():
    """The limit is put 100 MB above what the process has, and can only be nearer by what it has taken since."""
    text = (
        "import resource; from kane.machine.memory import free_memory\n"
        "assert 0 < free_memory() < float('inf')\n"  # what the system has
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 100_000_000,) * 2)\n"
        "print(free_memory())"
    )
    told = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60)
    assert 0 < float(told.stdout) <= 100e6


def test_a_missing_library_function_is_a_compile_error(monkeypatch):
    missing = "call double @no_such_function(double"
    monkeypatch.setitem(llvm_operations.EMITTERS, NEG, lambda k, r, a: f"  {r} = {missing} {a})")
    monkeypatch.setitem(llvm_operations.LIBRARY, "no_such_function", 1)
    arena = Arena()
    q = arena.leaf(COORDINATE, "q")
    with pytest.raises(CompileError, match="has no 'no_such_function'"):
        compile_program(Program("missing", [-q], state=[q], rest=[], parameters=[]))
