"""Sine and cosine of native code against mpmath."""

import math
import random
import re

import mpmath
import numpy as np
import pytest

from kane.codegen.emit.llvm import emit_llvm
from kane.codegen.jit import compiler
from kane.codegen.programs.program import Program
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.operations import COORDINATE

LARGEST = 1e6


def sines_and_cosines(angles, fused=True):
    """Native function of ``angles`` coordinates whose outputs are all sines, then all cosines."""
    arena = Arena()
    q = [arena.leaf(COORDINATE, f"q{i}") for i in range(angles)]
    outputs = [construct.build_sin(x) for x in q] + [construct.build_cos(x) for x in q]
    program = Program("trig", outputs, state=q, rest=[], parameters=[])
    function = compiler._load(program, emit_llvm(program, fused=fused), compiler._target_machine())
    return lambda x: np.split(function(x, [], []), 2, axis=-1)


def hard_points():
    """Doubles around multiples of pi/2 up to LARGEST, where range reduction cancels most, and random ones."""
    source = random.Random(1)
    points = [0.0, -0.0, 1e-300, 5e-324, -1e-9, LARGEST, -LARGEST, math.pi / 4, 3 * math.pi / 4]
    last = int(LARGEST / (math.pi / 2))
    multiples = [*range(1, 400), *(source.randrange(last) for _ in range(1000)), last]
    with mpmath.workdps(60):
        points += [float(k * mpmath.pi / 2) * s for k in multiples for s in (1, -1)]
        points += [float((k + 0.5) * mpmath.pi / 2) for k in multiples]
    points += [math.nextafter(x, math.inf) for x in points[9 : 9 + 2 * len(multiples)]]
    points += [source.uniform(-LARGEST, LARGEST) for _ in range(1500)]
    points += [source.uniform(-7, 7) for _ in range(1500)]
    points += [math.exp(source.uniform(-40, math.log(LARGEST))) for _ in range(500)]
    return np.array(points)[np.abs(points) <= LARGEST]


def worst_ulp(computed, function, points):
    with mpmath.workdps(60):
        exact = [function(mpmath.mpf(float(x))) for x in points]
        pairs = zip(computed, exact, strict=True)
        errors = [abs(float(mpmath.mpf(float(c)) - e)) / math.ulp(float(e)) for c, e in pairs]
    return max(errors), float(points[int(np.argmax(errors))])


@pytest.mark.parametrize(("angles", "fused"), [(1, True), (6, True), (1, False), (3, False)])
def test_sine_and_cosine_are_within_two_ulp_up_to_a_million(angles, fused):
    points = hard_points()
    state = np.stack([points] + [np.roll(points, 7 * i) for i in range(1, angles)], axis=-1)
    sines, cosines = sines_and_cosines(angles, fused)(state)
    for name, computed, function in (("sin", sines, mpmath.sin), ("cos", cosines, mpmath.cos)):
        worst, where = worst_ulp(computed[:, 0], function, points)
        print(f"{name}, {angles} angles, fused {fused}: {worst:.3f} ulp at {where!r} of {len(points)} points")
        assert worst < 2.0  # the promise of the module


@pytest.mark.parametrize("angles", [1, 2, 3, 5, 8, 9, 20])
def test_every_number_of_angles_gives_the_same_bits_in_every_lane(angles):
    x = np.linspace(-20, 20, 60).reshape(-1, 1)
    one = sines_and_cosines(1)
    sines, cosines = sines_and_cosines(angles)(x + 0.37 * np.arange(angles))
    for i in range(angles):
        alone = one(x + 0.37 * i)
        np.testing.assert_array_equal(sines[:, i], alone[0][:, 0])
        np.testing.assert_array_equal(cosines[:, i], alone[1][:, 0])


@pytest.mark.parametrize(
    ("angles", "lane", "fused"),
    [(1, 0, True), (1, 0, False), (2, 0, True), (2, 1, True), *((6, lane, True) for lane in range(6))],
)
def test_angles_that_are_huge_infinite_or_nan_go_to_the_library_lane_by_lane(angles, lane, fused):
    function = sines_and_cosines(angles, fused)
    for value in (1.1e6, 4e9, 3e11, -3e22, 1.7e308, math.inf, -math.inf, math.nan):
        x = np.linspace(-1, 1, angles)
        x[lane] = value
        with np.errstate(invalid="ignore"):
            expected = np.sin(x), np.cos(x)
        for computed, wanted in zip(function(x), expected, strict=True):
            # Two implementations, each within 1 ulp or so of the truth, of results up to 1.
            np.testing.assert_allclose(computed, wanted, rtol=0, atol=4 * np.finfo(float).eps)
            assert np.isnan(computed[lane]) == (not math.isfinite(value))


def test_the_sine_of_minus_zero_is_zero_and_tiny_angles_are_their_own_sines():
    sines, cosines = sines_and_cosines(1)(np.array([[-0.0], [0.0], [5e-324], [-1e-200]]))
    np.testing.assert_array_equal(sines[:, 0], [0.0, 0.0, 5e-324, -1e-200])
    np.testing.assert_array_equal(cosines[:, 0], 1.0)


def test_angles_are_loaded_one_by_one_since_they_may_have_just_been_stored_so():
    """A vector loaded over numbers that were stored one by one waits until the last of them is in the cache."""
    arena = Arena()
    q = [arena.leaf(COORDINATE, f"q{i}") for i in range(6)]
    text = emit_llvm(Program("trig", [construct.build_sin(x) for x in q], state=q, rest=[], parameters=[])).text
    text = text.split("@kane_main(")[1].split("\n}")[0]
    packed = set(re.findall(r"insertelement <\d x double> \S+, double (\S+),", text))
    loads = re.findall(r"(\S+) = load (volatile )?double, ptr", text)
    assert len(packed) == len(q)
    assert {name for name, apart in loads if apart} == packed
