"""kane.lambdify against sympy.lambdify with NumPy: same results, same shapes, same calling convention."""

import numpy as np
import pytest
import sympy as sm
from sympy.physics.mechanics import dynamicsymbols

import kane

x, y, z = sm.symbols("x y z")
q = dynamicsymbols("q")
M = sm.Matrix([[x * y, sm.sin(x)], [sm.exp(-y), x / y], [x + y, y - 2 * x]])
MIXED = sm.Matrix([[x * y, sm.sin(x + y)], [y - x, x / y]])
ROW = np.linspace(0.1, 1.9, 7)
GRID = np.linspace(-2.0, 3.0, 15).reshape(3, 1, 5)


@pytest.mark.parametrize(
    ("args", "exprs", "values"),
    [
        ((x, y), x * sm.cos(y), (0.3, 0.7)),
        (x, x**2 + 1, (0.4,)),
        ([x, y], M, (0.3, 0.7)),
        ((x, y), MIXED, (ROW, 0.5)),
        ((x, y), [x * y, MIXED], (ROW[:3].reshape(3, 1, 1), GRID + 0.01)),
        ((x, y), [x, M, (y, x - y)], (0.3, 0.7)),
        (([x, y], z), (x * z, y / z), ([0.1, 0.2], 3.0)),
        (([x, (y, z)],), x + y * z, ((0.1, (2.0, 3)),)),
        ((sm.Matrix([x, y]), z), M * z, (np.array([0.3, 0.4]), 2)),
        ((sm.Matrix([x, y]), z), M * z, (np.array([[0.3], [0.4]]), 2)),
        ((q, q.diff()), q.diff() ** 2 - sm.sin(q), (0.2, -0.4)),
        ((x, y), sm.Array([[x, y], [y, x]]), (1, 2)),
        ((x, y), [], (1, 2)),
        (x, [sm.sin(sm.sin(x)), sm.cos(sm.sin(sm.cos(x))), -sm.sin(sm.cos(x))], (GRID,)),
    ],
)
def test_results_are_sympys(args, exprs, values):
    found, expected = kane.lambdify(args, exprs)(*values), sm.lambdify(args, exprs, "numpy")(*values)
    assert_same(found, expected)


def assert_same(found, expected):
    assert isinstance(found, list | tuple) == isinstance(expected, list | tuple)
    if isinstance(expected, list | tuple):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b)
    else:
        assert np.shape(found) == np.shape(expected)
        assert np.allclose(found, np.asarray(expected, float), rtol=1e-14, atol=1e-15)


def test_constant_entries_broadcast():
    found = kane.lambdify(x, sm.Matrix([[x, 1], [0, 2 * x]]))(ROW)
    assert found.shape == (2, 2, 7)
    assert (found[0, 1] == 1.0).all()


def test_modules_and_cse_are_accepted_as_sympy_accepts_them():
    assert kane.lambdify([x], x + 1, "numpy", cse=True)(2) == 3.0


def test_bad_input_is_refused():
    for make, message in (
        (lambda: kane.lambdify(x, x + y), "expression 1 contains y, which is none of the arguments"),
        (lambda: kane.lambdify((x, x), x), "given twice"),
        (lambda: kane.lambdify("x", x), "args are 'x'; give SymPy's symbols"),
        (lambda: kane.lambdify(x + y, x), "the argument x . y is no symbol"),
        (lambda: kane.lambdify(x, x, "tensorflow"), "modules='tensorflow'"),
        (lambda: kane.lambdify(x, sm.gamma(x)), "SymPy's 'gamma'"),
        (lambda: kane.lambdify(x, "x + 1"), "neither a number nor a SymPy expression"),
        (lambda: kane.lambdify((x, y), x)(1.0), "takes 2 arguments, not 1"),
        (lambda: kane.lambdify(([x, y],), x)([1.0]), "an argument of 2 values is .*give 2 values"),
        (lambda: kane.lambdify(([x, y],), x)(1.0), "an argument of 2 values is .*give 2 values"),
        (lambda: kane.lambdify((x, y), x * y)(ROW, ROW[:3]), "do not broadcast"),
        (lambda: kane.lambdify(x, x)("1"), "numbers"),
    ):
        with pytest.raises(kane.ModelError, match=message):
            make()


def test_expressions_of_models_read_names():
    """By hand: the force on a slider, -c q' + F - k q, with speeds of choice u = 2 q'."""
    m = kane.Model("slider", gravity=(0, 0, 0))
    m.parameter("c", 0.3)
    m.input("F")
    body = m.body("block", mass=2.0)
    joint = m.connect(m.ground, body, kane.Prismatic("q", axis="x"))
    m.speeds(u=2 * joint.qdot)
    c, F, u, t = sm.Symbol("c"), dynamicsymbols("F"), dynamicsymbols("u"), sm.Symbol("t")
    effort = kane.expression_from_sympy(m, -c * q.diff() + F + u - 5 * q * sm.sin(t))
    m.load(kane.Motor(joint, effort))
    dyn = kane.build(kane.formulate(m))
    rate = 0.7 / 2
    expected = 2 * (-0.3 * rate + 4.0 + 0.7 - 5 * 0.2 * np.sin(0.1)) / 2.0
    assert dyn.forward([0.2], [0.7], [4.0], 0.1) == pytest.approx([expected], rel=1e-14)
    kinetic = kane.expression_from_sympy(dyn.equations, u**2)
    assert dyn.derivatives(kinetic, wrt=["u"])([0.0], [0.7])["u"] == pytest.approx([1.4], rel=1e-14)
    with pytest.raises(kane.ModelError, match="the expression contains w, which has no value; it is no symbol"):
        kane.expression_from_sympy(m, sm.Symbol("w"))
    with pytest.raises(kane.ModelError, match=r"takes a kane\.Model or Equations"):
        kane.expression_from_sympy(5, q)
