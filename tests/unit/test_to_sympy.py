"""kane.to_sympy: values of every operation, and the way there and back."""

import sys

import numpy as np
import pytest
import sympy as sm
import sympy_models
from sympy.physics.mechanics import dynamicsymbols

import kane
from kane.exporters.sympy import TO_SYMPY
from kane.expression.operations import OPERATIONS
from kane.expression.traverse import leaves


@pytest.fixture
def slider():
    m = kane.Model("slider", gravity=(0, 0, 0))
    c = m.parameter("c", 0.3)
    F = m.input("F", 2.0)
    joint = m.connect(m.ground, m.body("block", mass=2.0), kane.Prismatic("q", axis="x"))
    m.load(kane.Motor(joint, F - c * joint.qdot))
    return m, joint, c, F


OPERATIONS_OF_TWO = {
    "pow": lambda a, b: a**b,
    "atan2": kane.atan2,
    "min": kane.minimum,
    "max": kane.maximum,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "equal": kane.equal,
    "select": lambda a, b: kane.select(a < b, a, kane.select(b < a, b, 7.0)),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a, b: -(a * b),
    "sqrt": lambda a, b: kane.sqrt(a),
    "sin": lambda a, b: kane.sin(a),
    "cos": lambda a, b: kane.cos(a),
    "tan": lambda a, b: kane.tan(a),
    "asin": lambda a, b: kane.asin(a),
    "acos": lambda a, b: kane.acos(a),
    "exp": lambda a, b: kane.exp(b),
    "log": lambda a, b: kane.log(a),
    "tanh": lambda a, b: kane.tanh(b),
    "abs": lambda a, b: kane.absolute(b),
    "sign": lambda a, b: kane.sign(b),
}


@pytest.mark.parametrize("word", OPERATIONS_OF_TWO)
def test_operations_have_their_values_and_lead_back(slider, word):
    m, joint, c, _ = slider
    expression = OPERATIONS_OF_TWO[word](c, joint.q - 1)
    found = kane.to_sympy(expression)
    q = dynamicsymbols("q")
    names = {leaf.name for leaf in leaves([expression])}
    expected = kane.evaluate(expression, {k: x for k, x in {"c": 0.3, "q": 0.8}.items() if k in names})
    assert float(found.subs({q: 0.8, sm.Symbol("c"): 0.3}).doit()) == pytest.approx(float(expected), rel=1e-14)
    assert kane.expression_from_sympy(m, found) is expression or word in (
        "less",
        "less_equal",
        "equal",
        "select",
        "neg",
    )


def test_every_operation_but_splines_has_a_row():
    named = {OPERATIONS[op].name for op in TO_SYMPY}
    assert named == {x.name for x in OPERATIONS if x.arity and x.name != "spline"} == set(OPERATIONS_OF_TWO)


def test_leaves_become_symbols_functions_and_derivatives(slider):
    m, joint, c, F = slider
    t, q = sm.Symbol("t"), dynamicsymbols("q")
    found = kane.to_sympy(m.time * joint.qdot * c + F)
    assert sm.simplify(found - (t * q.diff() * sm.Symbol("c") + dynamicsymbols("F"))) == 0


@pytest.mark.parametrize("make", [sympy_models.cart_pendulum, lambda: sympy_models.located_disc()[0]])
def test_equations_return_from_sympy(make):
    """The row of a dependent speed is its acceleration constraint, so that SymPy's matrices determine all of udot."""
    given = make()
    eqs = kane.formulate(kane.model_from_sympy(given.method, parameters=given.values, inputs=given.inputs))
    found = kane.to_sympy(eqs)
    back = kane.from_sympy(*found[:2], **dict(zip(found._fields[2:], found[2:], strict=True)))
    assert dict(back.defaults) == dict(eqs.defaults)
    dyn, again, random = kane.build(eqs), kane.build(back), np.random.default_rng(4)
    q, u, inputs = (random.normal(size=len(x)) for x in (eqs.q, eqs.u, eqs.inputs))
    u[len(u) - len(eqs.constraints) :] = 0.0  # the dependent speeds, on which the accelerations do not depend
    assert again.forward(q, u, inputs) == pytest.approx(dyn.forward(q, u, inputs), rel=1e-11)
    assert again.kinematics(q, u)[:3] == pytest.approx(dyn.kinematics(q, u)[:3], rel=1e-13)
    assert isinstance(found.mass_matrix, sm.MatrixBase)


def test_bad_input_is_refused(slider):
    m, joint, _, _ = slider
    block = m.bodies[1]
    for source, message in (
        (5, "to_sympy takes an expression or Equations"),
        (kane.spline(joint.q, [0, 1, 2], [0, 1, 0]), "SymPy has no form of"),
        (block.point().velocity.dot(block.x), r"SymPy has no form of .*a measure"),
    ):
        with pytest.raises(kane.ModelError, match=message):
            kane.to_sympy(source)


def test_the_message_without_sympy_says_how_to_install_it(slider, monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(kane.ModelError, match=r"pip install 'sympy>=1\.13'"):
        kane.to_sympy(slider[2])
