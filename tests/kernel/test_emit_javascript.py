"""JavaScript source, run by Node, against the interpreter and against the LLVM code of the same program."""

import itertools
import math

import numpy as np
import pytest
from oracles.node import run_script
from oracles.programs import every_operation, hostile, interpreted, moving, nested
from oracles.random_programs import random_arrays, random_program, smooth_program

import kane
from kane.codegen.emit.javascript import ROWS, emit_javascript, javascript_name
from kane.codegen.jit.compiler import compile_program
from kane.codegen.programs.program import Program
from kane.errors import ExpressionError
from kane.expression import construct
from kane.expression import operations as ops
from kane.expression.arena import Arena
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, OPERATIONS
from kane.expression.spline import PiecewiseCubic
from kane.expression.traverse import CONSTRUCTORS

# Sines and the like are the engine's: it promises less than a unit or two in the last place of each.
ENGINE = 4 * 2.0**-52


def values(program, states, rest=(), parameters=(), *, source=None):
    """The outputs of a program at several states, by Node."""
    word = javascript_name(program)
    text = source or emit_javascript([program], name="t")
    numbers = [[_typed(x) for x in state] for state in states]
    listed = ", ".join(f"[{', '.join(row)}]" for row in numbers)
    call = f"""
const stage = new Float64Array({word}.stages), out = new Float64Array({word}.outputs.length);
{word}.stage([{", ".join(map(_typed, parameters))}], stage);
for (const state of [{listed}]) {{
  {word}.main(state, [{", ".join(map(_typed, rest))}], stage, out);
  give(out.slice());
}}
"""
    return np.array(run_script(text + call), float)


def _typed(x):
    return "NaN" if math.isnan(x) else repr(float(x)).replace("inf", "Infinity")


def test_every_operation_has_a_row():
    assert set(ROWS) == set(CONSTRUCTORS)


EXACT = {ops.ADD, ops.SUB, ops.MUL, ops.DIV, ops.NEG, ops.SQRT, ops.ABS, ops.SIGN, ops.MIN, ops.MAX, ops.LESS,
         ops.LESS_EQUAL, ops.EQUAL, ops.SELECT, ops.SPLINE}  # fmt: skip


@pytest.mark.parametrize("op", sorted(CONSTRUCTORS), ids=lambda op: OPERATIONS[op].name)
def test_every_operation_gives_the_numbers_of_the_interpreter(op):
    arena = Arena()
    leaves = [arena.leaf(COORDINATE, name) for name in "xyz"]
    table = (PiecewiseCubic.through([-1.0, 0.0, 0.5, 2.0], [1.0, -2.0, 0.25, 3.0]),) if op == ops.SPLINE else ()
    program = Program(
        "f", [CONSTRUCTORS[op](*leaves[: OPERATIONS[op].arity], *table)], state=leaves, rest=(), parameters=()
    )
    grid = (0.37, -1.9, 2.25, 0.0, 1.0, -1.0, 8.5, math.inf, -math.inf, math.nan)
    states = list(itertools.product(grid, repeat=OPERATIONS[op].arity))
    states = [(*state, *(0.0,) * (3 - len(state))) for state in states]
    found = values(program, states)
    expected = np.array([interpreted(program, state) for state in states])
    # Exact operations have the interpreter's bits; the others are the engine's.
    np.testing.assert_allclose(found, expected, rtol=0.0 if op in EXACT else ENGINE, atol=0.0)


def test_operations_inside_others_keep_their_order():
    program = nested()
    state = [1.37, 0.71, 2.9]
    np.testing.assert_allclose(values(program, [state])[0], interpreted(program, state), rtol=ENGINE, atol=0)


def test_operations_in_every_place_of_others_keep_their_order():
    program = every_operation()
    states = [(0.37, -1.9, 2.25), (0.9, 0.3, -0.4), (-0.2, 2.5, 0.7)]
    expected = np.array([interpreted(program, state) for state in states])
    # Differences of numbers of size 10 in which a function of the engine's stands: its ulps, not those of the result.
    np.testing.assert_allclose(values(program, states), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_agree_operation_by_operation(seed):
    program = random_program(seed, 300)
    compiled = compile_program(program)
    (state, rest), parameters = random_arrays(compiled, seed)
    found = values(program, [state], rest, parameters)[0]
    computed = dict(zip(program.outputs, found, strict=True))
    for node, value in computed.items():
        if node.args:
            # Judged by its own arguments as the engine computed them: errors do not add up.
            (expected,) = interpret([node], {x: y for x, y in computed.items() if x is not node})
            np.testing.assert_allclose(value, expected, rtol=ENGINE, atol=1e-300)


def test_smooth_programs_are_those_of_llvm():
    program = smooth_program()
    compiled = compile_program(program)
    (state, rest), parameters = random_arrays(compiled, 3)
    expected = compiled.join((state,), rest, compiled.stage(parameters))
    # Some hundred operations on numbers of size one; LLVM fuses products and sums, the engine does not.
    np.testing.assert_allclose(values(program, [state], rest, parameters)[0], expected, rtol=0, atol=300 * 2.0**-52)


def test_parameters_are_evaluated_once_in_a_stage_and_inputs_are_read():
    program = moving()
    state = np.linspace(0.1, 0.7, 7)
    expected = interpreted(program, state, [1.5], [3.0, 0.4])
    np.testing.assert_allclose(values(program, [state], [1.5], [3.0, 0.4])[0], expected, rtol=1e-14, atol=1e-15)


def test_hostile_names_stay_harmless():
    program, state, parameters = hostile()
    source = emit_javascript([program], name="*/ process.exit(1) </script>")
    assert "</script" not in source
    found = values(program, [state], (), parameters, source=source)[0]
    np.testing.assert_allclose(found, interpreted(program, state, (), parameters), rtol=ENGINE, atol=0)


def test_two_programs_that_would_share_a_name_are_refused():
    x = Arena().leaf(COORDINATE, "x")
    programs = [Program(name, [x * 2.0], state=[x], rest=[], parameters=[]) for name in ("a b", "a_b")]
    with pytest.raises(ExpressionError, match="a_b"):
        emit_javascript(programs, name="t")


def test_an_exported_module_has_the_numbers_of_native_code(tmp_path):
    equations = kane.formulate(kane.library.stanford_arm())
    (path,) = kane.export(equations, tmp_path, kane.JavaScriptSource(), quantities=["forward", "mass_matrix"])
    dyn = kane.build(equations)
    q, u = np.linspace(0.2, 0.9, len(equations.q)), np.linspace(-0.5, 0.4, len(equations.u))
    inputs = np.linspace(0.0, 1.0, len(equations.inputs))
    text = path.read_text("utf-8").partition("export {")[0]
    found = run_script(f"""{text}
const stage = new Float64Array(forward.stages), out = new Float64Array(forward.outputs.length);
forward.stage(forward.defaults, stage);
forward.main([0, {", ".join(map(repr, [*q.tolist(), *u.tolist()]))}], {inputs.tolist()}, stage, out);
give(out);
give(forward.state);
""")
    # A thousand operations on numbers of size ten.
    np.testing.assert_allclose(found[0], dyn.forward(q, u, inputs), rtol=1e-11, atol=1e-11)
    assert found[1] == ["t", *(leaf.name for leaf in (*equations.q, *equations.u))]


def test_a_spline_holds_its_piece():
    x = Arena().leaf(COORDINATE, "x")
    table = PiecewiseCubic.through([-1.0, 0.0, 0.5, 2.0], [1.0, -2.0, 0.25, 3.0])
    program = Program("f", [construct.build_spline(x, table)], state=[x], rest=[], parameters=[])
    at = [*np.linspace(-2, 3.5, 56), *table.knots, *np.nextafter(table.knots, -math.inf), math.nan]
    np.testing.assert_array_equal(values(program, [[x] for x in at])[:, 0], [table.value(x) for x in at])
