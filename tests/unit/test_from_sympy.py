"""Reading SymPy: values of functions against SymPy's own evaluation, and refusals of bad input."""

import pickle
import sys

import numpy as np
import pytest
import sympy as sm
from sympy.physics.mechanics import dynamicsymbols

import kane
from kane.formulation.tree.probe import Probe

x, y = sm.symbols("x y")
q, u, F = dynamicsymbols("q"), dynamicsymbols("u"), dynamicsymbols("F")
m, c = sm.symbols("m c")
KINEMATICS = {q.diff(): u}


def equations(M=m, forcing=-c * q, **options):
    settings = {"q": [q], "u": [u], "kinematics": KINEMATICS, "parameters": {m: 2.0, c: 3.0}} | options
    return kane.from_sympy([[M]], [forcing], **settings)


def value_of(expression):
    """Value of a SymPy expression of x and y in kane, at x = 0.37, y = -0.81."""
    eqs = kane.from_sympy([[1]], [expression], q=["q"], u=["u"], kinematics={"q": 0}, parameters={x: 0.37, y: -0.81})
    return -Probe(eqs.defaults)(eqs.bias)[0]


@pytest.mark.parametrize(
    "expression",
    [
        x + 2 * y - 3,
        x * y / (x - y) ** 2,
        x ** sm.Rational(-3, 2) * y**3,
        x**y,
        x ** sm.Float(0.3) + sm.Rational(2, 7) * sm.pi - sm.E,
        sm.sqrt(x) / sm.sqrt(x + 1),
        sm.exp(y) + sm.log(x) + sm.exp(-x),
        sm.sin(x) + sm.cos(y) + sm.tan(x * y) + sm.cot(x) + sm.sec(y) + sm.csc(x),
        sm.asin(x) + sm.acos(y) + sm.atan(y) + sm.atan2(y, -x),
        sm.sinh(x) + sm.cosh(y) + sm.tanh(y) + sm.sinh(sm.Float(1e-9) * x),
        sm.asinh(y) + sm.atanh(y) + sm.acosh(x + 1) + sm.acot(y) + sm.asec(x + 1) + sm.acsc(y - 1),
        sm.coth(y) + sm.sech(x) + sm.csch(y) + sm.sinc(x) + sm.sinc(sm.Mul(0, y, evaluate=False)),
        sm.Abs(y) + sm.sign(y) + sm.Max(x, y, 0.1) + sm.Min(x, y, -2),
        sm.Heaviside(y) + sm.Heaviside(x) + sm.Heaviside(x - y - sm.Float(0.37) - sm.Float(0.81)),
        sm.Piecewise((x, x < y), (y, sm.Eq(x, y)), (x * y, True)),
        sm.Piecewise((x, sm.And(x > 0, y >= 0)), (2, sm.Or(x <= 0, sm.Ne(y, 0))), (3, True)),
        sm.Piecewise((1, sm.Not(sm.Eq(x, 1) | (x > y))), (5, True)),
    ],
    ids=str,
)
def test_functions_have_the_values_that_sympy_computes(expression):
    expected = float(expression.subs({x: sm.Float("0.37"), y: sm.Float("-0.81")}).evalf(30))
    assert value_of(expression) == pytest.approx(expected, rel=4e-15)


def test_deep_expressions_are_read_without_recursion_and_shared_ones_once():
    deep, limit = x, sys.getrecursionlimit()
    sys.setrecursionlimit(100 * limit)  # SymPy recurses when it makes them
    for _ in range(limit + 500):
        deep = sm.sin(deep, evaluate=False)
    shared = x
    for _ in range(200):  # as a tree it would have 2^200 nodes
        shared = sm.Add(sm.Mul(x, shared, evaluate=False), sm.Mul(y, shared, evaluate=False), evaluate=False)
    sys.setrecursionlimit(limit)
    assert np.isfinite(value_of(deep))
    assert np.isfinite(value_of(shared))


def test_names_defaults_and_time_are_kept():
    t = dynamicsymbols._t
    eqs = equations(forcing=-c * q + F * sm.cos(t), inputs={F: 4.0}, name="slider")
    assert [leaf.name for leaf in (*eqs.q, *eqs.u, *eqs.inputs, *eqs.parameters)] == ["q", "u", "F", "m", "c"]
    assert (eqs.name, dict(eqs.defaults)) == ("slider", {"m": 2.0, "c": 3.0, "F": 4.0})
    found = kane.build(eqs).forward([0.5], [0.0], [4.0], 0.3)
    assert found == pytest.approx([(-1.5 + 4.0 * np.cos(0.3)) / 2.0], rel=1e-15)


def test_speeds_are_the_rates_of_coordinates_unless_given():
    rate = q.diff()
    for given in ({}, {"u": [rate]}):
        eqs = kane.from_sympy([[m]], [-c * rate], q=[q], parameters={"m": 2.0, "c": 3.0}, **given)
        assert [leaf.name for leaf in eqs.u] == ["q_dot"]
        assert kane.build(eqs).forward([0.0], [0.4]) == pytest.approx([-0.6], rel=1e-15)


def test_rates_in_the_forcing_are_replaced_by_the_kinematics():
    eqs = equations(forcing=-c * q.diff(), kinematics={q.diff(): 3 * u - q})
    assert kane.build(eqs).forward([0.5], [0.2]) == pytest.approx([-3.0 * (0.6 - 0.5) / 2.0], rel=1e-14)


def test_equations_can_be_pickled_and_substituted():
    eqs = equations(forcing=F - c * q, inputs=[F])
    again = pickle.loads(pickle.dumps(eqs))
    assert kane.build(again).forward([0.5], [0.0], [1.0]) == pytest.approx([-0.25], rel=1e-15)
    driven = kane.substitute(eqs, F=-4.0 * eqs.q[0], m=1.0)
    assert kane.build(driven).forward([0.5], [0.0]) == pytest.approx([-3.5], rel=1e-15)
    assert eqs.input_matrix[0][0].data == 1.0


def test_runs_record_no_energy():
    run = kane.simulate(kane.build(equations()), until=1.0, q={"q": 0.1})
    assert run["q"][-1] == pytest.approx(0.1 * np.cos(np.sqrt(1.5)), rel=1e-8)  # tolerances of RK8
    assert np.isnan(run.to_xarray()["kinetic_energy"]).all()
    assert run.plot().axes
    for read in (lambda: run["kinetic_energy"], lambda: run.plot(["q", "energy"]), lambda: run.energy):
        with pytest.raises(kane.ModelError, match="the energy of 'model' needs bodies"):
            read()


@pytest.mark.parametrize("exporter", [kane.CSource, kane.NumPySource, kane.JAXSource, kane.LaTeXDocument, kane.Listing])
def test_equations_can_be_exported(exporter, tmp_path):
    paths = kane.export(equations(name="slider"), tmp_path, exporter())
    assert paths[0].stem.startswith("slider")
    assert "free fall" not in paths[0].read_text()


REFUSALS = {
    "energy": lambda eqs, dyn: dyn.energy([0.0], [0.0]),
    "momentum": lambda eqs, dyn: dyn.momentum([0.0], [0.0]),
    "poses": lambda eqs, dyn: dyn.poses([0.0]),
    "jacobian": lambda eqs, dyn: dyn.jacobian("hand", [0.0]),
    "reaction": lambda eqs, dyn: kane.reveal_reactions(eqs, "hinge"),
    "Coriolis": lambda eqs, dyn: eqs.coriolis_matrix,
    "gravity": lambda eqs, dyn: eqs.gravity_vector,
    "partial velocities": lambda eqs, dyn: eqs.partial_velocities(),
    "constraint": lambda eqs, dyn: kane.constrain(eqs, eqs.q[0]),
    "explicit": lambda eqs, dyn: kane.explicit(eqs),
    "file": lambda eqs, dyn: kane.save_equations(eqs, "equations.json"),
    "energy of": lambda eqs, dyn: kane.simulate(dyn, until=0.1).energy,
    "audit": lambda eqs, dyn: kane.simulate(dyn, until=0.1).audit(),
}


@pytest.mark.parametrize("word", REFUSALS)
def test_quantities_of_bodies_are_refused_by_name(word):
    eqs = equations()
    with pytest.raises(kane.ModelError, match=rf"(?s){word}.*needs bodies.*model_from_sympy"):
        REFUSALS[word](eqs, kane.build(eqs))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"forcing": -c * q + x}, r"entry 1 of the forcing vector contains x, which has no value"),
        ({"M": m + dynamicsymbols("r")}, r"entry \(1, 1\) of the mass matrix contains r\(t\), which has no value"),
        ({"forcing": sm.floor(q)}, r"entry 1 of the forcing vector contains SymPy's 'floor'.*known are"),
        ({"forcing": sm.Function("f")(q)}, r"contains f\(q\(t\)\), which has no value"),
        ({"forcing": u.diff()}, "accelerations belong to the mass matrix"),
        ({"forcing": q.diff(dynamicsymbols._t, 2)}, "accelerations belong to the mass matrix"),
        ({"forcing": sm.Derivative(sm.sin(q), dynamicsymbols._t)}, r"doit\(\)"),
        ({"forcing": sm.Symbol("m", positive=True)}, "two different SymPy symbols that are named 'm'"),
        ({"forcing": sm.Symbol("q")}, "two different SymPy symbols that are named 'q'"),
        ({"forcing": sm.oo * c}, "entry 1 of the forcing vector: the constant inf is not finite"),
        ({"forcing": sm.I * q}, "contains SymPy's 'ImaginaryUnit'"),
        ({"forcing": sm.Piecewise((q, q > 0))}, "Piecewise without a last case"),
        ({"forcing": "-c*q"}, "neither a number nor a SymPy expression"),
        ({"forcing": sm.Integer(10) ** 400 * c}, "not finite"),
        ({"M": 0 * m}, "singular at random states"),
        ({"M": m * F, "inputs": [F]}, "the mass matrix of 'model' depends on 'F'"),
        ({"M": m + u}, "the mass matrix of 'model' depends on 'u'"),
        ({"kinematics": {q.diff(): u**2}}, "kinematics of 'model' are not linear"),
        ({"kinematics": {}}, r"the rate of q is unknown; give kinematics="),
        ({"kinematics": {x: u}}, "there is no coordinate 'x' for kinematics="),
        ({"kinematics": {q.diff(): u, q: u}}, "the rate of 'q' twice"),
        ({"kinematics": [u]}, "kinematics is a dict"),
        ({"q": "q"}, "q= is 'q'; give a list"),
        ({"q": [q * 2]}, "is not a SymPy symbol, a function of time, or a name"),
        ({"q": [q, q]}, "the name 'q' is given twice"),
        ({"inputs": [m]}, "the name 'm' is already taken"),
        ({"u": [q]}, "the name 'q' is given twice"),
        ({"u": [x.diff(x, evaluate=False)]}, "there is no coordinate 'x', whose rate"),
        ({"parameters": {m: 2.0, c: float("nan")}}, "default of 'c'"),
        ({"u": [u, y]}, "the mass matrix has 1 rows of 1 entries, but there are 2 speeds"),
    ],
)
def test_bad_input_is_refused_with_its_place(change, message):
    with pytest.raises(kane.ModelError, match=message):
        equations(**change)


def test_matrices_of_other_kinds_are_refused():
    for M, forcing in ((5, [0]), ("M", [0]), ([[m]], sm.Matrix([[1, 2]])), ([[m], [1, 2]], [0])):
        with pytest.raises(kane.ModelError, match=r"(matrix|vector) (is|has)"):
            kane.from_sympy(M, forcing, q=[q], parameters={m: 1.0})
