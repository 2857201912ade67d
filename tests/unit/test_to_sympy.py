"""kane.to_sympy: values of every operation, and the way there and back."""

import sys

import numpy as np
import pytest
import sympy as sm
import sympy_models
from oracles.operations_of_two import OPERATIONS_OF_TWO
from sympy.physics.mechanics import dynamicsymbols

import kane
from kane.exporters.sympy_expressions import TO_SYMPY
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


def back(found, **options):
    """The equations of a view, read again."""
    return kane.from_sympy(
        found.mass_matrix,
        found.forcing,
        q=found.q,
        u=found.u,
        kinematics=found.kindiffdict(),
        inputs=found.inputs,
        parameters=found.parameters,
        replacements=found.replacements,
        **options,
    )


@pytest.mark.parametrize("make", [sympy_models.cart_pendulum, lambda: sympy_models.located_disc()[0]])
@pytest.mark.parametrize("whole", [False, True])
def test_equations_return_from_sympy(make, whole):
    """The row of a dependent speed is its acceleration constraint, so that SymPy's matrices determine all of udot."""
    given = make()
    eqs = kane.formulate(kane.model_from_sympy(given.method, parameters=given.values, inputs=given.inputs))
    found = kane.to_sympy(eqs)
    assert found.replacements
    found = found.expanded() if whole else found
    assert bool(found.replacements) is not whole
    again_eqs = back(found)
    assert dict(again_eqs.defaults) == dict(eqs.defaults)
    dyn, again, random = kane.build(eqs), kane.build(again_eqs), np.random.default_rng(4)
    q, u, inputs = (random.normal(size=len(x)) for x in (eqs.q, eqs.u, eqs.inputs))
    u[len(u) - len(eqs.constraints) :] = 0.0  # the dependent speeds, on which the accelerations do not depend
    assert again.forward(q, u, inputs) == pytest.approx(dyn.forward(q, u, inputs), rel=1e-11)
    assert again.kinematics(q, u)[:3] == pytest.approx(dyn.kinematics(q, u)[:3], rel=1e-13)
    assert isinstance(found.mass_matrix, sm.MatrixBase)


def number_of(found, matrix, point):
    """The numbers in a matrix of a view at a point, by SymPy."""
    values = dict(point)
    for symbol, expression in found.replacements:
        values[symbol] = expression.subs(values).doit()
    return np.array(matrix.subs(values).doit().tolist(), dtype=float)


def test_attributes_equal_those_of_the_kanes_method():
    """SymPy's own matrices vouch for M and forcing, with the kinematics and without, and for A and B."""
    given = sympy_models.cart_pendulum()
    KM = given.method
    eqs = kane.formulate(kane.model_from_sympy(KM, parameters=given.values, inputs=given.inputs))
    found = kane.to_sympy(eqs)
    assert (found.q, found.u) == (KM.q, KM.u)
    assert found.parameters == {sm.Symbol(str(k)): v for k, v in given.values.items()}
    point = {x: 0.3 + 0.2 * k for k, x in enumerate((*KM.q, *KM.u, *given.inputs))} | given.values
    for word in ("mass_matrix", "forcing", "mass_matrix_full", "forcing_full"):
        expected = np.array(getattr(KM, word).subs(point).tolist(), dtype=float)
        assert number_of(found, getattr(found, word), point) == pytest.approx(expected, rel=1e-13, abs=1e-13), word
    assert found.kindiffdict() == KM.kindiffdict()
    assert found.auxiliary_eqs.shape == (0, 1)
    rest = {**dict.fromkeys(KM.q, 0.0), **dict.fromkeys(KM.u, 0.0), given.inputs[0]: 0.0}
    A, B, inputs = KM.linearize(A_and_B=True, op_point=rest)
    own = found.linearize(op_point=rest)
    assert (own.inputs, list(own.states)) == (inputs, [*KM.q, *KM.u])
    for mine, theirs in ((own.A, A), (own.B, B)):
        expected = np.array(theirs.subs(given.values).tolist(), dtype=float)
        assert number_of(own, mine, given.values) == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_linearize_takes_motions_and_independent_speeds():
    """Differences of the compiled equations vouch, at a moving state of a disc with two dependent speeds."""
    given, bodies, loads = sympy_models.located_disc()
    eqs = kane.formulate(kane.model_from_sympy(given.method, parameters=given.values, bodies=bodies, loads=loads))
    own = kane.to_sympy(eqs).linearize()
    assert [str(x.func) for x in own.states] == [x.name for x in (*eqs.q, *eqs.u[:3])]
    assert own.A.shape == (8, 8)
    assert own.B.shape == (8, 0)
    point = dict(zip(own.states, [0.2, 0.4, -0.3, 0.1, 0.5, 0.7, -0.2, 0.9], strict=True)) | given.values
    A = number_of(own, own.A, point)
    x = np.array([float(point[s]) for s in own.states])
    dyn, h = kane.build(eqs), 1e-6

    def rates(x):
        u = np.r_[x[5:], 0, 0]  # the dependent speeds are not read
        return np.r_[dyn.kinematics(x[:5], u), dyn.forward(x[:5], u)[:3]]

    differences = np.array([(rates(x + h * e) - rates(x - h * e)) / (2 * h) for e in np.eye(8)]).T
    assert pytest.approx(differences, abs=1e-8) == A  # truncation and rounding of central differences


def test_reactions_are_auxiliary_equations():
    m = kane.Model("pendulum", gravity=(0, 0, -9.81))
    mass, length = m.parameter("m", 2.0), m.parameter("l", 0.7)
    bob = m.body("bob", mass=mass, com=(0, 0, -length))
    joint = m.connect(m.ground, bob, kane.Revolute("q1", axis="y"))
    eqs = kane.formulate(m)
    found = kane.to_sympy(eqs, reactions=kane.reveal_reactions(eqs, joint))
    assert found.auxiliary_eqs.shape == (6, 1)
    q, u, Fz = dynamicsymbols("q1 u1 q1_Fz")
    (centripetal,) = (x for x in found.expanded().auxiliary_eqs if x.has(Fz))
    # Along the rod: F = m (l u^2 + g cos q).
    at = {q: 0.4, u: 1.5, sm.Symbol("m"): 2.0, sm.Symbol("l"): 0.7, u.diff(): 0.0, Fz: 0.0}
    assert float(centripetal.subs(at).doit()) == pytest.approx(2.0 * (0.7 * 1.5**2 + 9.81 * np.cos(0.4)), rel=1e-14)


def test_large_expansions_warn():
    eqs = kane.formulate(kane.library.n_link_pendulum(6))
    found = kane.to_sympy(eqs)
    assert len(found.replacements) > 20
    with pytest.warns(UserWarning, match=r"the expanded matrices of .* have .* operations"):
        whole = found.expanded()
    assert whole.replacements == []


def test_wrong_views_are_refused(slider):
    m, joint, *_ = slider
    eqs = kane.formulate(m)
    found = kane.to_sympy(eqs)
    with pytest.raises(kane.ModelError, match="op_point contains x; the symbols are q\\(t\\)"):
        found.linearize(op_point={sm.Symbol("x"): 1.0})
    with pytest.raises(kane.ModelError, match="op_point"):
        found.linearize(op_point={dynamicsymbols("q"): float("nan")})
    with pytest.raises(kane.ModelError, match="explicit form only"):
        found.linearize(A_and_B=False)
    with pytest.raises(kane.ModelError, match="belong to other equations"):
        kane.to_sympy(kane.formulate(m), reactions=kane.reveal_reactions(eqs, joint))
    with pytest.raises(kane.ModelError, match="pairs"):
        kane.from_sympy([[1]], [0], q=[sm.Symbol("q")], replacements=[3])


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
