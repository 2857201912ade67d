"""JAX source against NumPy source: values, vmap, and gradients against derivatives of the graph."""

import itertools
import math
import subprocess
import sys

import jax
import numpy as np
import pytest
from oracles.programs import every_operation, interpreted, loaded, moving

from kane.codegen.emit.jax import JAX, ROWS
from kane.codegen.emit.numpy import NUMPY
from kane.codegen.programs.program import Program
from kane.expression.arena import Arena
from kane.expression.derivative import gradient
from kane.expression.functions import select
from kane.expression.operations import COORDINATE
from kane.expression.traverse import CONSTRUCTORS

STATE, REST, PARAMETERS = np.array([0.2, 0.4, -0.7, 1.1, 2.0, -3.0, 0.5]), np.array([1.75]), np.array([3.0, 0.4])
# XLA's sines and its order of adding differ by some units in the last place; no value on the way exceeds 100, and fewer
# than 30 operations make an output.
ROUNDING = 100 * 30 * 2.0**-52


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def functions(program, emit=JAX.source):
    return loaded(emit([program], name="t"))["f"]


def test_every_operation_has_a_row():
    assert set(ROWS) == set(CONSTRUCTORS)


def test_every_operation_has_the_value_of_the_interpreter():
    program = every_operation()
    f = functions(program)
    states = np.array(list(itertools.product((0.37, -1.9, 2.25, math.nan), repeat=3)))
    expected = np.array([interpreted(program, state) for state in states])
    # Relative errors of some 1e-15, grown a hundredfold where z f - (y - x) cancels or the divisor is a difference.
    np.testing.assert_allclose(f(states), expected, rtol=1e-12, atol=1e-12)


def test_compiled_and_mapped_functions_are_the_plain_ones():
    f = functions(moving())
    states = STATE + 0.1 * np.arange(5)[:, None]
    plain = functions(moving(), NUMPY.source)(states, REST, PARAMETERS)
    assert np.asarray(f(states, REST, PARAMETERS)).dtype == np.float64
    mapped = jax.jit(jax.vmap(f, in_axes=(0, None, None)))(states, REST, PARAMETERS)
    np.testing.assert_allclose(mapped, plain, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(f(states, REST, PARAMETERS), plain, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("place", [pytest.param(0, marks=pytest.mark.slow), 1, 2])
def test_derivatives_are_those_of_the_graph(place):
    program, numbers = moving(), (STATE, REST, PARAMETERS)
    inputs = (program.state, program.rest, program.parameters)
    entries = [slope for output in program.outputs for slope in gradient(output, inputs[place])]
    derivatives = Program("f", entries, state=program.state, rest=program.rest, parameters=program.parameters)
    expected = interpreted(derivatives, *numbers).reshape(len(program.outputs), -1)
    f = functions(program)
    np.testing.assert_allclose(jax.jacfwd(f, place)(*numbers), expected, rtol=0, atol=10 * ROUNDING)
    np.testing.assert_allclose(jax.jacrev(f, place)(*numbers), expected, rtol=0, atol=10 * ROUNDING)
    first = jax.grad(lambda *arrays: f(*arrays)[0], place)(*numbers)
    np.testing.assert_allclose(first, expected[0], rtol=0, atol=10 * ROUNDING)


def test_choices_and_splines_are_differentiated():
    arena = Arena()
    x = arena.leaf(COORDINATE, "x")
    f = functions(Program("f", [select(x < 1.0, x * x, 3.0 * x)], state=[x], rest=[], parameters=[]))
    slope = jax.grad(lambda at: f(at)[0])
    assert slope(np.array([0.5])) == 1.0
    assert slope(np.array([2.0])) == 3.0


def test_without_the_switch_the_module_computes_in_single_precision_as_it_says(tmp_path):
    source = JAX.source([moving()], name="t", defaults={"m": 3.0, "L1": 0.4, "tau": 1.5})
    assert "jax_enable_x64" in source
    (tmp_path / "model.py").write_text(source)
    code = "import model; print(model.f([0.1] * 7, [1.5]).dtype)"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "float32\n"
