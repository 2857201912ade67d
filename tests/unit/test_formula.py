"""Formulas in texts: Python's own grammar and numbers vouch; nothing in a text is executed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kane
from kane.expression.formula import read_formula

X, Y = 0.7, -1.3


def value(text):
    """Value of a formula of two coordinates at x = X, y = Y."""
    m = kane.Model("m")
    x, y = m.parameter("x", X), m.parameter("joint/y", Y)
    found = read_formula(text, {"x": x, "joint/y": y})
    return (
        found
        if isinstance(found, float)
        else kane.evaluate(found, {leaf: {"x": X, "joint/y": Y}[leaf] for leaf in names(found)})
    )


def names(expression):
    """Names of the leaves of an expression."""
    from kane.expression.traverse import leaves

    return [leaf.name for leaf in leaves([expression])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", X),
        ("`joint/y`", Y),
        ("1 - 2 - 3", -4.0),
        ("8 / 4 / 2 * x", X),
        ("-x ** 2", -(X**2)),
        ("2 ** -1 * x", X / 2),
        ("2 ** 3 ** 2", 512.0),
        ("+x - -x", 2 * X),
        (".5e1 + 1.", 6.0),
        ("(x + 1) * (x - 1)", X**2 - 1),
        ("atan2(x, `joint/y`)", math.atan2(X, Y)),
        ("maximum(sign(x - 0.5), 0) * pi", math.pi),
        ("sqrt(sin(x)**2 + cos(x)**2)", 1.0),
        ("select(x, 3, 4) * x", 3 * X),
        ("select(x >= 0.7, 3, 4) * x + (x < 0.7)", 3 * X),
        ("x * (2 > 1) * (1 <= 1)", X),
        ("spline(x, (0, 1, 2), (0, 2, 4))", 2 * X),
    ],
)
def test_formulas_have_their_value(text, expected):
    assert value(text) == pytest.approx(expected, rel=1e-15)


OPERATORS = st.sampled_from(["+", "-", "*", "/", "**"])
TREES = st.recursive(
    st.sampled_from(["x", "2.5", "1.25"]),
    lambda inner: st.one_of(
        st.tuples(inner, OPERATORS, inner).map(" ".join), inner.map(lambda t: f"({t})"), inner.map(lambda t: f"-{t}")
    ),
    max_leaves=6,
)


@given(TREES)
def test_precedence_is_pythons(text):
    try:
        expected = eval(text, {"__builtins__": {}}, {"x": X})
    except (ZeroDivisionError, OverflowError):
        return
    if isinstance(expected, complex) or not abs(expected) < 1e100:
        return
    try:
        found = value(text)
    except kane.ExpressionError:
        assert "**" in text  # a part of the text is complex in Python
        return
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12) or math.isnan(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"character 1: a number, a name or \( is missing at the end"),
        ("x +", r"character 4: a number, a name or \( is missing at the end"),
        ("x y", "character 3: 'y' does not follow; an operator is missing"),
        ("xx", "there is no 'xx'; did you mean x"),
        ("sinus(x)", r"there is no 'sinus'; did you mean .*sin"),
        ("sin x", r"\( is missing after the function 'sin'"),
        ("sin(x", r"\) is missing"),
        ("sin(x, x)", r"sin\(\) takes 1 argument, not 2"),
        ("x.__class__", "'x' has no parts"),
        ("x[0]", r"character 2: '\[0\]' does not follow"),
        ("x[[0]]", r"character 2: '\[' is not part of a formula"),
        ("(1, 2) + (3, 4)", "character 15|these cannot be combined"),
        ("x < 1 < 2", "'<' does not follow"),
        ("2 * (1, x)", "these cannot be combined"),
        ("-(1, x)", "these cannot be combined"),
        ("sin((1, x))", "sin takes numbers, expressions and arrays of them"),
        ("x; import os", "';' is not part of a formula"),
        ("__import__('os')", "there is no '__import__'"),
        ("lambda: x", "there is no 'lambda'"),
        ("(" * 500 + "x" + ")" * 500, "too many parentheses or signs"),
        ("-" * 500 + "x", "too many parentheses or signs"),
        ("x" * 20_000, "a text of at most 10000 characters"),
        ("10 ** 10 ** 10", "has no value"),
        ("1 / 0", "a division by zero"),
        ("(0 - 1) ** 0.5", "a fractional power of a negative number"),
        (3, "3 is not a formula"),
    ],
)
def test_faults_are_named_with_their_place(text, message):
    with pytest.raises(kane.ExpressionError, match=message):
        value(text)
