"""Listings are read back, by a small reader of their own grammar, and must mean what the interpreter means."""

import ast
import itertools
import math
import operator

import numpy as np
import pytest

from kane.codegen.emit.listing import ROWS, emit_listing
from kane.errors import ExpressionError
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.functions import cos, maximum, minimum, select, sin, spline, sqrt
from kane.expression.interpret import _NumPy, interpret
from kane.expression.operations import ACCELERATION, COORDINATE, OPERATIONS, PARAMETER, RATE, SPEED, SPLINE
from kane.expression.spline import PiecewiseCubic
from kane.expression.traverse import CONSTRUCTORS

ARENA = Arena()
q1, q2, q3 = (ARENA.leaf(COORDINATE, f"q{i}") for i in (1, 2, 3))
u1, L1 = ARENA.leaf(SPEED, "u1"), ARENA.leaf(PARAMETER, "L1")
TABLE = PiecewiseCubic.through([-1.0, 0.0, 0.5, 2.0], [1.0, -2.0, 0.25, 3.0])
BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
          ast.Pow: operator.pow}  # fmt: skip
COMPARE = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Eq: operator.eq}
FUNCTIONS = {row.name: row.meaning for row in OPERATIONS if row.meaning}


def read(text, values, table=TABLE):
    """The values that a listing gives to its names, in double precision."""
    known = {name: np.float64(value) for name, value in values.items()}

    def value(node):
        match node:
            case ast.Constant():
                return np.float64(node.value)
            case ast.Name():
                return known[node.id]
            case ast.UnaryOp(op=ast.USub()):
                return -value(node.operand)
            case ast.BinOp():
                return BINARY[type(node.op)](value(node.left), value(node.right))
            case ast.Compare():
                return np.float64(COMPARE[type(node.ops[0])](value(node.left), value(node.comparators[0])))
            case ast.Call(func=ast.Name(id=word)):
                arguments = [value(a) for a in node.args]
                return table.value(*arguments) if word.startswith("spline") else FUNCTIONS[word](_NumPy, *arguments)
        raise AssertionError(ast.dump(node))

    with np.errstate(all="ignore"):
        for statement in ast.parse(text).body:
            known[statement.targets[0].id] = value(statement.value)
    return known


def test_every_operation_has_a_row():
    assert set(ROWS) == set(CONSTRUCTORS)


@pytest.mark.parametrize("op", CONSTRUCTORS, ids=lambda op: OPERATIONS[op].name)
def test_a_listing_means_what_the_interpreter_means(op):
    shapes = [q1, -q1, q1 + q2, q1 - q2, q1 * q3, q1 / q2, -(q1 * q2), q1**2, q2**1.5, sin(q3), q1 < q2, 2 * q1, 3 - q1]
    data = (TABLE,) if op == SPLINE else ()
    arity = OPERATIONS[op].arity
    picks = itertools.product(shapes, repeat=arity)
    if arity == 3:
        picks = itertools.product(shapes[:4], shapes[5:8], shapes[9:])
    nodes = [CONSTRUCTORS[op](*some, *data) for some in picks]
    nodes = [node for node in nodes if not node.is_constant]
    wrapped = [w for n in nodes for w in (n, n * q3 - n, q1 - n, 1 / (n + 3), (2 - n) ** 1.5, q3 / n)]
    values = {"q1": 0.3, "q2": 0.45, "q3": 0.8}
    for i, node in enumerate(wrapped):
        got = read(emit_listing({f"out{i}": node}), values)[f"out{i}"]
        expected = float(interpret([node], {q1: 0.3, q2: 0.45, q3: 0.8})[0])
        # Parentheses that mathematics does not need are left out, which reorders a few roundings of 1e-16 each, and
        # some of these expressions cancel; a wrong parenthesis is wrong in the first digits.
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True), emit_listing({"out": node})


TEXT = {
    "q1 + q2 + q3": q1 + (q2 + q3),
    "q1 - q2 - q3": q1 - (q2 + q3),
    "q1 - q2 + q3": construct.neg(q2 - q3) + q1,
    "q1*(q2 + q3)": q1 * (q2 + q3),
    "q1*q2*q3": q1 * (q2 * q3),
    "q1*q2/q3": (q1 * q2) / q3,
    "q1/(q2*q3)": q1 / (q2 * q3),
    "q1/q2**2": q1 / (q2 * q2),
    "-q1*q2": -(q1 * q2),
    "-q1 - q2": -(q1 + q2),
    "-q1*(q2 + q3)": -(q1 * (q2 + q3)),
    "q3 - q1*(0.5 + q2)": q3 + q1 * (-0.5 - q2),
    "(q1 + q2)/q3": (q1 + q2) / q3,
    "(q1/q2)**1.5": (q1 / q2) ** 1.5,
    "q1**1.5": q1**1.5,
    "2*q1": 2 * q1,
    "q1 - 2": q1 - 2,
    "2 - q1": 2 - q1,
    "-2 - q1": -2 - q1,
    "q1**2": q1 * q1,
    "sqrt(q1 + 1)".replace("q1 + 1", "1 + q1"): sqrt(q1 + 1),
    "select(q1 < q2, q1, 2)": select(q1 < q2, q1, 2),
    "max(q1, min(q2, q3))": maximum(q1, minimum(q2, q3)),
    "(q1 < q2)*q3": q3 * (q1 < q2),
    "1/3": ARENA.constant(1 / 3),
    "-2*q1/3": q1 * (-2 / 3),
    "0.1*q1": q1 * (0.3 - 0.2),  # rounding is no reason for a fraction
    "1.41421356237*q1": q1 * 2**0.5,
    "1/(2*q1 + q2/3)": 1 / (q1 * 2 + q2 / 3),
    "q1**3": q1**3,
    "q1**2*q2": q1 * (q2 * q1),
    "(q1 + q2)**2": (q1 + q2) ** 2,
    "q1*sin(q2)": sin(q2) * q1,
    "q3*q1/q2": 1 / q2 * q1 * q3,
    "q1/(q2*q3**2)": 1 / (q2 * q3) * (q1 / q3),
    "q1 - q2 - 1": (q1 - 1) - q2,
    "1e-09*q1": 1e-9 * q1,
    "2*u1*q1": q1 * (2 * u1),
    "u1*u1'": u1 * ARENA.leaf(ACCELERATION, "u1"),
    "q1*q1'": q1 * ARENA.leaf(RATE, "q1"),
    "q1": q1,
}


@pytest.mark.parametrize("text", TEXT)
def test_parentheses_are_those_that_are_needed(text):
    node = TEXT[text]
    if text == "(q1 < q2)*q3":  # products are kept with the older node first
        text = "q3*(q1 < q2)"
    assert emit_listing({"y": node}) == f"y = {text}\n"


def test_what_is_used_twice_is_named_and_outputs_follow_in_their_order():
    arena = Arena()
    q1, q2 = arena.leaf(COORDINATE, "q1"), arena.leaf(COORDINATE, "q2")
    length = arena.leaf(PARAMETER, "L1")
    x = length * cos(q1) + cos(q1 + q2)
    y = length * sin(q1) + sin(q1 + q2)
    assert emit_listing({"x": x, "y": y, "r": sqrt(x * x + y * y), "s": sin(q1)}).splitlines() == [
        "Z1 = q1 + q2",
        "Z2 = L1*cos(q1) + cos(Z1)",
        "s1 = sin(q1)",
        "Z3 = L1*s1 + sin(Z1)",
        "x = Z2",
        "y = Z3",
        "r = sqrt(Z2**2 + Z3**2)",
        "s = s1",
    ]


def test_names_in_use_are_not_given_again():
    arena = Arena()
    z1, q1 = arena.leaf(PARAMETER, "Z1"), arena.leaf(COORDINATE, "q1")
    s1 = arena.leaf(PARAMETER, "s1")
    shared = sin(q1) + z1
    lines = emit_listing({"Z_1": shared * s1, "b": shared / sin(q1)}).splitlines()
    assert lines == ["Z__1 = sin(q1)", "Z__2 = Z1 + Z__1", "Z_1 = s1*Z__2", "b = Z__2/Z__1"]


def test_a_sign_is_not_worth_a_name():
    assert emit_listing([("a", -q1), ("b", sqrt(-q1)), ("c", -q1)]) == "a = -q1\nb = sqrt(-q1)\nc = -q1\n"


def test_splines_are_numbered_and_summed_up():
    text = emit_listing({"y": spline(q1, [0, 1, 2], [0, 1, 4]) + spline(q2, [0, 1], [0, 2])})
    assert text.splitlines() == [
        "y = spline1(q1) + spline2(q2)",
        "# spline1: cubic spline of 3 points from 0 to 2",
        "# spline2: cubic spline of 2 points from 0 to 1",
    ]


def test_pairs_may_repeat_a_name_and_nothing_gives_nothing():
    assert emit_listing([("y", q1), ("y", q2)]) == "y = q1\ny = q2\n"
    assert emit_listing({}) == ""


def test_an_output_that_is_no_expression_is_refused_by_name():
    with pytest.raises(ExpressionError, match=r"the output 'y' is 2\.0, not an expression; lift it"):
        emit_listing({"y": 2.0})


def test_lines_stay_readable_and_long_chains_work():
    arena = Arena()
    x, y = arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    node = x
    for i in range(30_000):
        node = sin(node) if i % 3 == 0 else node * y if i % 3 == 1 else node - x
    text = emit_listing({"out": node})
    assert max(map(len, text.splitlines())) <= 120
    small = select(x < y, x / (1 + y * y), cos(x) - y * sin(x))
    for _ in range(4):
        small = small * small + sin(small)
    read_back = read(emit_listing({"out": small}), {"x": 0.3, "y": 0.4})["out"]
    # Some 30 operations, errors grown by slopes of order 1 to 10.
    assert math.isclose(read_back, interpret([small], {x: 0.3, y: 0.4})[0], rel_tol=1e-13)
