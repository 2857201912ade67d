"""SymPy expressions in declarations of a model mean the same as kane's, whose twin vouches."""

import numpy as np
import pytest
import sympy as sm
from sympy.physics.mechanics import ReferenceFrame, dynamicsymbols

import kane

k, c, mass = sm.symbols("k c mass")
x, y, F = dynamicsymbols("x y F")
t = sm.Symbol("t")


def slider(symbolic):
    """Two sliders on a spring, in SymPy's expressions or kane's."""
    m = kane.Model("twin", gravity=(0, 0, -9.81))
    stiffness, damping, weight = m.parameter("k", 40.0), m.parameter("c", 0.3), m.parameter("mass", 1.5)
    force = m.input("F", 2.0)
    first = m.body("first", mass=2 * mass if symbolic else 2 * weight)
    a = m.connect(m.ground, first, kane.Prismatic("x", axis="x"))
    b = m.connect(first, m.body("second", mass=0.5), kane.Prismatic("y", axis="z"))
    third = m.body("third", mass=0.7)
    angle = sm.sin(x) / 3 if symbolic else kane.sin(a.q) / 3
    m.connect(m.ground, third, kane.Prismatic(angle, axis="y"), name="follower")
    own = {
        True: (F - k * x**3 - c * x.diff() + sm.cos(t), y - sm.sin(x), 2 * x.diff() + y.diff(), (F * y, 0, k)),
        False: (
            force - stiffness * a.q**3 - damping * a.qdot + kane.cos(m.time),
            b.q - kane.sin(a.q),
            2 * a.qdot + b.qdot,
            (force * b.q, 0, stiffness),
        ),
    }[symbolic]
    m.load(kane.Motor(a, own[0]))
    m.load(kane.Force(third.point(), own[3], m.ground))
    m.speeds(w=own[2], v=x.diff() if symbolic else a.qdot, dependent=["v"])
    m.constrain(own[1])
    return m


def test_a_model_in_sympys_expressions_is_the_same_model(tmp_path):
    models = [slider(symbolic) for symbolic in (True, False)]
    listings = [kane.formulate(m).listing() for m in models]
    assert listings[0] == listings[1]
    kane.save_model(models[0], tmp_path / "twin.json")
    again = kane.load_model(tmp_path / "twin.json")
    q, u = np.array([0.3, np.sin(0.3)]), np.array([1.0, 0.0])
    found = [kane.build(kane.formulate(m)).forward(q, u, [2.0], 0.1) for m in (*models, again)]
    assert found[0] == pytest.approx(found[1], rel=1e-15)
    assert found[2] == pytest.approx(found[1], rel=1e-13)


def driven():
    m = kane.Model()
    a = m.connect(m.ground, m.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(a, m.input("F")))
    return m


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (
            lambda m, a: m.load(kane.Motor(a, sm.Symbol("kk") * x)),
            "the effort of the Motor at joint 'x' contains kk",
        ),
        (lambda m, a: m.constrain(sm.gamma(x)), "contains SymPy's 'gamma', which kane does not have"),
        (lambda m, a: m.speeds(w=x.diff(t, 2)), "only first derivatives"),
        (lambda m, a: m.body("c", mass=sm.oo), "finite"),
        (lambda m, a: m.constrain(sm.Eq(x, 1)), r"is the equation Eq\(x\(t\), 1\); give the difference of its sides"),
        (lambda m, a: m.constrain(ReferenceFrame("N").x), "must be a number or an expression of this model, not N.x"),
        (lambda m, a: m.speeds(w=y.diff()), r"contains y\(t\), which has no value"),
        (
            lambda m, a: kane.simulate(kane.build(kane.formulate(driven())), until=1.0, inputs={"F": -x}),
            "the input 'F' is the SymPy expression .*; give kane.expression_from_sympy",
        ),
        (
            lambda m, a: m.load(kane.Force(m.bodies[1].point(), (x.diff(), sm.Symbol("z"), 0))),
            "contains z, which has no",
        ),
    ],
)
def test_unknown_symbols_are_refused_by_name_and_place(declare, message):
    m = kane.Model()
    a = m.connect(m.ground, m.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    before = len(m.loads), len(m.constraints), len(m.bodies)
    with pytest.raises(kane.ModelError, match=message):
        declare(m, a)
    assert (len(m.loads), len(m.constraints), len(m.bodies)) == before
