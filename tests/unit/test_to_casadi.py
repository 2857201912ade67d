"""kane.to_casadi: values by the interpreter and native code, derivatives by kane's and CasADi's own rules."""

import pickle
import sys

import casadi
import numpy as np
import pytest
from oracles.operations_of_two import OPERATIONS_OF_TWO

import kane
from kane import library
from kane.dynamics.casadi import TO_CASADI
from kane.expression.operations import OPERATIONS
from kane.expression.traverse import leaves


@pytest.fixture
def crane():
    m = kane.Model("a crane", gravity=(0, 0, -9.81))
    length, k = m.parameter("length", 0.7), m.parameter("k", 3.0)
    rail = m.connect(m.ground, m.body("cart", mass=2.0), kane.Prismatic("x", axis="x"))
    rod = m.body("rod", mass=1.0, inertia=(0.1, 0.2, 0.1), com=(0, 0, -length))
    m.connect(m.bodies[1], rod, kane.Revolute("q", axis="y"))
    m.load(kane.Motor(rail, m.input("F") - k * kane.absolute(rail.q) * rail.q + 0.3 * kane.sin(m.time)))
    return kane.formulate(m)


def arguments(eqs, rng, name="rhs"):
    rest = eqs.udot if name == "inverse" else eqs.inputs
    values = [rng.normal(size=len(x)) for x in (eqs.q, eqs.u, rest)]
    return [*values, 0.4, np.array([eqs.defaults[x.name] for x in eqs.parameters]) * 1.1]


ROWS = OPERATIONS_OF_TWO | {
    "select": lambda a, b: kane.select(a < b, a, kane.sqrt(b)),  # no number for b = -0.6
    "spline": lambda a, b: kane.spline(b, [-1.0, 0.0, 0.5, 2.0], [1.0, -2.0, 0.25, 3.0]),
}


@pytest.mark.parametrize("word", ROWS)
@pytest.mark.parametrize("b", [-0.6, 0.2, 0.9])
def test_operations_have_their_values(word, b):
    m = kane.Model()
    joint = m.connect(m.ground, m.body("body", mass=1.0), kane.Planar(("x", "y", "a")))
    x, y, _ = joint.coordinates
    expression = ROWS[word](x, y)
    assert expression.operation == word
    names = {"x": casadi.SX.sym("x"), "y": casadi.SX.sym("y")}
    f = casadi.Function("f", [*names.values()], [kane.to_casadi(expression, names)])
    values = {k: v for k, v in {"x": 0.3, "y": b}.items() if k in {leaf.name for leaf in leaves([expression])}}
    expected = float(kane.evaluate(expression, values))
    assert float(f(0.3, b)) == pytest.approx(expected, rel=1e-14, nan_ok=True)


def test_every_operation_has_a_row():
    assert {OPERATIONS[op].name for op in TO_CASADI} == {x.name for x in OPERATIONS if x.arity} == set(ROWS)


PROGRAMS = [
    "rhs",
    "forward",
    "inverse",
    "mass_matrix",
    "coriolis_matrix",
    "input_matrix",
    "bias",
    "kinematics",
    "energy",
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_graph_and_native_code_agree_with_their_derivatives(crane, name):
    """CasADi differentiates its graph by itself, and vouches for the derivatives of the native code."""
    dyn = kane.build(crane)
    graph, native = kane.to_casadi(crane, name), kane.to_casadi(dyn, name)
    assert graph.name_in() == native.name_in()
    assert graph.name_out() == native.name_out() == [name]
    assert graph.size_out(0) == native.size_out(0)
    given = arguments(crane, np.random.default_rng(3), name)
    assert np.array(native(*given)) == pytest.approx(np.array(graph(*given)), rel=1e-12, abs=1e-13)
    if name == "mass_matrix":
        expected = dyn.mass_matrix(given[0], parameters={"length": 0.77, "k": 3.3})
        assert np.array(graph(*given)) == pytest.approx(expected, rel=1e-13)
    slopes = [f.jacobian()(*given, graph(*given)) for f in (graph, native)]
    for a, b in zip(*slopes, strict=True):
        assert np.array(casadi.DM.full(b)) == pytest.approx(np.array(casadi.DM.full(a)), rel=1e-11, abs=1e-12)


def test_numerically_embedded_constraints_run_through_native_code():
    dyn = kane.build(kane.formulate(library.four_bar()))
    f = kane.to_casadi(dyn, "forward")
    rng = np.random.default_rng(1)
    start = kane.assemble(dyn.equations, q={"q1": 1.0, "q3": 1.5}, fixed=["q1"])
    given = [
        start.q,
        rng.normal(size=3),
        [0.2],
        0.0,
        [dyn.equations.defaults[x.name] for x in dyn.equations.parameters],
    ]
    expected = dyn.forward(start.q, given[1], [0.2])
    assert np.array(f(*given)).ravel() == pytest.approx(expected, rel=1e-12)
    with pytest.raises(kane.ModelError, match="embedded numerically"):
        kane.to_casadi(dyn.equations, "forward")


@pytest.mark.parametrize("native", [False, True])
def test_both_serve_a_solver(crane, native):
    """Ipopt finds the force that turns the rod by 0.5 rad/s^2; its slopes are the function's own."""
    dyn = kane.build(crane)
    f = kane.to_casadi(dyn if native else crane, "forward")
    opti = casadi.Opti()
    force = opti.variable()
    opti.minimize((f([0.1, 0.3], [0.0, 0.2], force, 0.0, [0.7, 3.0])[1] - 0.5) ** 2)
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    found = opti.solve().value(force)
    assert dyn.forward([0.1, 0.3], [0.0, 0.2], [found], 0.0)[1] == pytest.approx(0.5, abs=1e-6)  # Ipopt: 1e-8


def test_bad_input_is_refused(crane, monkeypatch):
    m = crane.model
    x = m.connections[0].coordinates[0]
    for call, message in (
        (lambda: kane.to_casadi(5), "to_casadi takes an expression, Equations or Dynamics"),
        (lambda: kane.to_casadi(x), "needs the values of its symbols"),
        (lambda: kane.to_casadi(x, {}), "the symbol 'x' has no value"),
        (lambda: kane.to_casadi(crane, "speed"), "there is no program 'speed'"),
        (lambda: kane.to_casadi(kane.build(crane), "speed"), "there is no program 'speed'"),
    ):
        with pytest.raises(kane.ModelError, match=message):
            call()
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(kane.ModelError, match=r"pip install 'casadi"):
        kane.to_casadi(crane)


def test_calls_by_name_take_the_declared_defaults():
    """By hand: (F - k x)/m = (7 - 40*0.1)/2 = 1.5, with defaults that differ from each other."""
    m = kane.Model("slider", gravity=(0, 0, 0))
    k, mass = m.parameter("k", 40.0), m.parameter("mass", 2.0)
    j = m.connect("ground", m.body("b", mass=mass), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(j, m.input("F", 7.0) - k * j.q))
    eqs = kane.formulate(m)
    graph = kane.to_casadi(eqs, "forward")
    for f in (graph, kane.to_casadi(kane.build(eqs), "forward"), pickle.loads(pickle.dumps(graph))):
        assert float(f(q=0.1, u=0)["forward"]) == pytest.approx(1.5, rel=1e-15)
        assert float(f(q=0.1, u=0, inputs=9.0)["forward"]) == pytest.approx(2.5, rel=1e-15)
        assert float(f(q=0.1, u=0, parameters=[50.0, 4.0])["forward"]) == pytest.approx(0.5, rel=1e-15)
        assert np.isnan(float(f(u=0)["forward"]))  # a missing coordinate is seen
    assert [graph.default_in(i) for i in (2, 3)] == [7.0, 0.0]  # CasADi has one number for each argument
    assert np.isnan(graph.default_in(4))


def test_the_jacobian_of_a_native_function_is_a_function_each_time(crane):
    g = kane.to_casadi(kane.build(crane), "rhs")
    assert all(isinstance(g.jacobian(), casadi.Function) for _ in range(3))
