"""Contributions to equations of motion: against the recursive route, models without a part, and a table by hand."""

import importlib

import numpy as np
import pytest

import kane
from kane.formulation.random_states import RandomStates
from kane.model.reaction import row_force

stanford = importlib.import_module("kane.library.stanford_arm")  # a function has the same name
# Reference models as functions without arguments; the others are feedback laws, starts and substitutions.
MODELS = [
    name for name in kane.library.__all__
    if name not in ("lock_steering", "platform_wheels", "tanner_speeds", "stanford_arm_feedback")
    and name != "n_link_pendulum_to_vertical"
]  # fmt: skip
# Relative to the largest contribution: two derivations of the same equation, each with round-off of some 1e-16.
SAME = 1e-12
# Equations of a model that are checked; those of long chains repeat.
MOST_ROWS = 4


def whole_equations(equations):
    """M udot + bias - B inputs - A^T lambda by the route of ``formulate``; with lambda if embedded numerically."""
    forces = [row_force(equations.t, row.name) for row in equations.constraints]
    if not equations.embedding.numerical:
        embedding = equations.embedding
        return equations.baked_in(embedding.forces(equations.route.loaded(embedding.accelerations(equations.udot))))
    found = list(equations.baked_in(equations.route.loaded(equations.udot)))
    for row, force in zip(equations.constraints, forces, strict=True):
        for j, c in row.coefficients.items():
            found[j] = found[j] - c * force
    return found


def states_of(equations, seed=1):
    forces = [row_force(equations.t, row.name) for row in equations.constraints]
    return RandomStates(equations, 3, seed).with_values(forces, np.random.default_rng(0).normal(size=(len(forces), 3)))


def explained(equations, row):
    return kane.explain(equations, equations.u[row].data).contributions


@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_the_equation(name):
    equations = kane.formulate(getattr(kane.library, name)())
    whole, states = whole_equations(equations), states_of(equations)
    free = [j for j in range(len(equations.u)) if j not in equations.embedding.D]
    for row in free[:MOST_ROWS]:
        values = states([c.expression for c in explained(equations, row)])
        size = np.abs(values).max(initial=1e-12)
        assert np.abs(values.sum(axis=0) - states([whole[row]])[0]).max() <= SAME * size


def table():
    """Rows of the table by hand: (speed, term, {kind: sources})."""
    with open(__file__.replace("test_explain.py", "stanford_terms.txt"), encoding="utf-8") as file:
        rows = [[part.strip() for part in line.split("|")] for line in file if not line.startswith("#")]
    for speed, term, kinds, sources in rows:
        named = [sources] if kinds == "load" else sources.split(", ")
        pairs = zip(kinds.split(", "), named, strict=True)
        yield speed, term, {k: (v,) if k == "load" else tuple(v.split()) for k, v in pairs} if kinds else {}


@pytest.fixture(scope="module")
def arm():
    return kane.formulate(kane.library.stanford_arm())


def test_the_table_by_hand_has_twenty_terms():
    assert sum(bool(kinds) for _, _, kinds in table()) == 20


@pytest.mark.parametrize(("speed", "term", "kinds"), list(table()))
def test_terms_of_the_stanford_arm_agree_with_the_table_by_hand(arm, speed, term, kinds):
    if not kinds:
        with pytest.raises(kane.ModelError, match=f"there is no term of the equation of {speed}"):
            kane.why(arm, speed, term)
        return
    assert kane.why(arm, speed, term).kinds == kinds


def values_by_source(equations, row, source):
    found = explained(equations, row)
    values = states_of(equations)([c.expression for c in found if c.source != source])
    return values.sum(axis=0)


@pytest.mark.parametrize("name", ["A", "B", "C", "D", "E"])
def test_removing_a_body_removes_exactly_its_contributions(arm, name, monkeypatch):
    """F has no heirs: without it the joint q5 would move nothing."""
    monkeypatch.setitem(stanford.STANFORD_BODIES, name, (0.0, (0.0, 0.0, 0.0)))
    without = kane.formulate(stanford.stanford_arm())
    whole, states = whole_equations(without), states_of(without)
    for row in range(6):
        left = values_by_source(arm, row, name)
        assert np.allclose(left, states([whole[row]])[0], rtol=SAME, atol=100 * SAME)


@pytest.mark.parametrize("place", [0, 2, 4])
def test_removing_a_load_removes_exactly_its_contribution(arm, place):
    model = kane.library.stanford_arm()
    removed = model.loads.pop(place)
    title = f"Motor on {removed.connection.name}"
    without = kane.formulate(model)
    whole, states = whole_equations(without), states_of(without)
    for row in range(6):
        assert np.allclose(values_by_source(arm, row, title), states([whole[row]])[0], rtol=SAME, atol=100 * SAME)


@pytest.mark.parametrize(("body", "zeros"), [("B", ["mB", "IB"]), ("C", ["mC"])])
def test_removing_a_body_of_a_constrained_model(body, zeros):
    equations = kane.formulate(kane.library.shopping_cart())
    leaves = [p for p in equations.parameters if p.data in zeros]
    states = states_of(equations)
    without = states.with_values(leaves, np.zeros((len(leaves), 3)))
    whole = whole_equations(equations)
    for row in (0, 1):
        kept = states([c.expression for c in explained(equations, row) if c.source != body]).sum(axis=0)
        assert np.allclose(kept, without([whole[row]])[0], rtol=SAME, atol=SAME)


def pendulum():
    m = kane.Model("pendulum")
    b = m.body("bob", mass=2.0, inertia=(0.5, 0.5, 0.5), com=(0, 0, -3.0))
    j = m.connect("ground", b, kane.Revolute("q1", axis="y"))
    m.load(kane.Damper(j, m.parameter("c", 0.25)))
    m.load(kane.Motor(j, m.input("T")))
    return kane.formulate(m)


def test_shares_of_a_pendulum_are_those_of_the_textbook():
    """(m l^2 + I) u1' + m g l sin q1 + c u1 - T = 0."""
    shares = kane.explain(pendulum(), "u1'").at(q={"q1": 0.5}, u=[2.0], inputs={"T": 1.5}, parameters={"c": 0.75})
    weight = 2 * 9.81 * 3 * np.sin(0.5)
    expected = {"u1'": -weight - 1.5 + 1.5, "gravity": weight, "Damper on q1": 1.5, "Motor on q1": -1.5}
    assert shares.by_term == pytest.approx(expected, rel=1e-12)
    assert "share" in repr(shares).splitlines()[1]


def test_shares_require_the_inputs_on_which_they_depend():
    """As ``dyn.forward`` does; the values of the terms depend on T by the acceleration."""
    with pytest.raises(kane.ModelError, match=r"equation of 'u1' at a state depends on T; .* inputs=\{'T': 0.0\}"):
        kane.explain(pendulum(), "u1'").at(q={"q1": 0.5})
    crank = kane.formulate(kane.library.slider_crank())
    with pytest.raises(kane.ModelError, match=f"depends on {crank.inputs[0].name}"):
        kane.explain(crank, "u3").at()


@pytest.mark.parametrize("name", ["slider_crank", "shopping_cart", "rolling_disk", "whipple_bicycle", "bricard"])
def test_shares_at_a_state_balance(name):
    equations = kane.formulate(getattr(kane.library, name)())
    free = next(j for j in range(len(equations.u)) if j not in equations.embedding.D)
    inputs = np.zeros(len(equations.inputs))
    shares = kane.explain(equations, equations.u[free].data).at(q=RandomStates(equations, 1, 2).q[:, 0], inputs=inputs)
    assert abs(shares.values.sum()) <= 1e-9 * np.abs(shares.values).max(initial=1.0)


def test_prescribed_motion_is_named():
    m = kane.Model("rotor", gravity=(0, 0, 0))
    base = m.body("base", mass=1.0, inertia=(1, 1, 1))
    arm = m.body("arm", mass=2.0, inertia=(0.1, 0.1, 0.2))
    m.connect("ground", base, kane.Revolute(3.0 * m.time, axis="z"), name="drive")
    m.connect(base, arm, kane.Prismatic("x", axis="x"))
    reason = kane.why(kane.formulate(m), "x_dot", "1")
    assert reason.kinds == {"prescribed motion": ("arm",)}
    assert kane.evaluate(reason.value, {"x": 0.5}) == pytest.approx(-2.0 * 9.0 * 0.5)


def test_rows_of_numerically_embedded_constraints_contribute_their_reactions():
    equations = kane.formulate(kane.library.slider_crank())
    reason = kane.why(equations, "u3", "pin: direction 1")
    assert reason.kinds == {"constraint": ("pin: direction 1",)}
    assert "because of the force of the constraint row pin: direction 1" in repr(reason)


def test_the_sentence_names_kinds_bodies_and_dependent_speeds(arm):
    assert repr(kane.why(arm, "u6'", "u2**2")) == (
        "u2**2 is in the equation of u6 because of the centripetal acceleration of the mass centres of C, D, E and F."
    )
    disk = kane.formulate(kane.library.rolling_disk())
    assert repr(kane.why(disk, "u1", "u1'")) == (
        "u1' is in the equation of u1 because of the inertia of B, in part by the constraints that make u2 dependent."
    )


@pytest.mark.parametrize("term", ["u1*u2", "u2*u1", " u1 * u2 ", None])
def test_a_term_may_be_written_in_several_ways(arm, term):
    term = arm.u[0] * arm.u[1] if term is None else term
    assert kane.why(arm, "u1", term).term == "u1*u2"
    assert kane.why(arm, "u1'", "u2^2").kinds == kane.why(arm, "u1'", "u2*u2").kinds
    assert kane.why(arm, "u2", "tau2").kinds == {"load": ("Motor on q2",)}


def test_an_unknown_term_or_equation_is_refused_with_the_nearest(arm):
    with pytest.raises(kane.ModelError, match=r"there is no term of the equation of u6: 'gravty'; did you mean grav"):
        kane.why(arm, "u6", "gravty")
    with pytest.raises(kane.ModelError, match=r"there is no equation of the speed 'u9'; known are u1"):
        kane.explain(arm, "u9'")
    with pytest.raises(kane.ModelError, match=r'a term is a text such as "u1\*u2" or an expression'):
        kane.why(arm, "u1", 3)
    with pytest.raises(kane.ModelError, match="explain takes Equations"):
        kane.explain(kane.library.wrist(), "u1")
    with pytest.raises(kane.ModelError, match=r"'u3' dependent, so that it has no equation of its own; ask for"):
        kane.explain(kane.formulate(kane.library.shopping_cart()), "u3")
    with pytest.raises(kane.ModelError, match=r"there is no coordinate 'q9'"):
        kane.explain(arm, "u1").at(q={"q9": 1.0})


def test_a_state_without_accelerations_is_refused():
    m = kane.Model("massless at zero")
    m.connect("ground", m.body("b", mass=m.parameter("m1", 1.0)), kane.Prismatic("x"))
    with pytest.raises(kane.ModelError, match="are not determined at this state"):
        kane.explain(kane.formulate(m), "x_dot").at(parameters={"m1": 0.0})
