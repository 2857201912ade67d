"""Contributions of contacts, stops and dry friction: textbook forces, and the reactions of runs."""

import runpy

import numpy as np
import pytest

import kane

MASS, MU, RADIUS, G = 2.0, 0.3, 0.5, 9.81
# Two solutions of the same linear system, each with round-off of some 1e-16 of the largest force.
SAME = 1e-9


def crate():
    """A ball that may slide on the floor; x is horizontal and z is upwards."""
    m = kane.Model("crate")
    b = m.body("crate", mass=MASS, inertia=(0.1, 0.1, 0.1))
    x = m.connect("ground", m.body("rail", mass=0.0), kane.Prismatic("x", axis="x"))
    z = m.connect(x.child, b, kane.Prismatic("z", axis="z"))
    m.load(kane.Motor(x, m.input("F")))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(kane.Sphere(b.point(), RADIUS), floor, friction=kane.Coulomb(0.4, MU), name="floor")
    return kane.formulate(m), z


def test_sliding_friction_is_the_textbooks():
    """m x'' + mu_k m g - F = 0 for a motion to the right."""
    equations, _ = crate()
    found = kane.explain(equations, "x_dot", mode="floor sliding")
    shares = found.at(q={"z": RADIUS}, u={"x_dot": 1.5}, inputs={"F": 7.0})
    friction = MU * MASS * G
    expected = {"x_dot'": 7.0 - friction, "floor": friction, "Motor on x": -7.0}
    assert shares.by_term == pytest.approx(expected, rel=1e-12)
    back = found.at(q={"z": RADIUS}, u={"x_dot": -1.5}, inputs={"F": 7.0})
    assert back.by_term["floor"] == pytest.approx(-friction, rel=1e-12)
    assert {c.kind for c in found.contributions if c.source == "floor"} == {"friction"}
    assert repr(kane.why(equations, "x_dot", "floor", mode="floor sliding")) == (
        "floor is in the equation of x_dot because of the kinetic friction of floor."
    )


def test_a_held_contact_contributes_its_reactions():
    """Static friction equals the push, and the floor carries the weight."""
    equations, _ = crate()
    held = {"q": {"z": RADIUS}, "inputs": {"F": 2.0}}
    along = kane.explain(equations, "x_dot", mode="floor held").at(**held).by_term
    (tangent,) = (name for name in along if name.startswith("floor: tangent"))
    assert along[tangent] == pytest.approx(2.0, rel=1e-12)
    up = kane.explain(equations, "z_dot", mode="floor held").at(**held).by_term
    assert up["gravity"] == pytest.approx(MASS * G, rel=1e-12)
    assert up["floor: normal"] == pytest.approx(-MASS * G, rel=1e-12)
    free = kane.explain(equations, "z_dot", mode="free").at(**held).by_term
    assert free == pytest.approx({"z_dot'": -MASS * G, "gravity": MASS * G}, rel=1e-12)


def test_reactions_of_a_rocking_block_are_those_of_its_run(root):
    example = runpy.run_path(str(root / "examples" / "rocking_and_walking.py"), run_name="example")
    run, equations = example["rocking"](0.2), kane.formulate(example["block"]())
    (mode,) = run.modes
    assert mode == "right held"
    explanation = kane.explain(equations, "y_dot", mode=mode)
    for k in (0, len(run) // 2, len(run) - 1):
        shares = explanation.at(q=run.q[k], u=run.u[k])
        assert shares.by_term["right: normal"] == pytest.approx(-run.reactions["right"][k][0], rel=1e-6)
        assert abs(shares.values.sum()) <= SAME * np.abs(shares.values).max()


@pytest.mark.parametrize(("mode", "sign"), [("friction of q1 sliding", 1.0), ("friction of q1 held", 0.0)])
def test_dry_friction_of_a_joint(mode, sign):
    """While it moves, the effort 0.7 N m acts against the rate; at rest friction balances the weight."""
    m = kane.Model("arm")
    b = m.body("arm", mass=MASS, inertia=(0.1, 0.1, 0.1), com=(1.0, 0, 0))
    m.stick(m.connect("ground", b, kane.Revolute("q1", axis="y")), static=30.0, kinetic=0.7)
    found = kane.explain(kane.formulate(m), "u1", mode=mode).at(u={"u1": 2.0 * sign}).by_term
    if sign:
        assert found["friction of q1"] == pytest.approx(0.7, rel=1e-12)
    else:
        assert found["friction of q1: rate"] == pytest.approx(MASS * G, rel=1e-12)
    assert sum(found.values()) == pytest.approx(0.0, abs=1e-12)


def test_a_stop_in_a_closed_loop_balances():
    """Sums of all contributions vanish with the rows of the loop and of the stop."""
    m = kane.library.slider_crank()
    m.stop(m.connections[0], upper=1.0, name="end")
    equations = kane.formulate(m)
    start = kane.assemble(equations, q={"q1": 1.0}, fixed=["q1"])
    inputs = np.arange(1.0, 1.0 + len(equations.inputs))
    for speed in ("u1", "u2", "u3"):
        shares = kane.explain(equations, speed, mode="end: upper held").at(q=start.q, inputs=inputs)
        assert abs(shares.values.sum()) <= SAME * np.abs(shares.values).max()
    assert "end: upper: normal" in kane.explain(equations, "u1", mode="end: upper held").terms


def test_modes_that_are_missing_or_wrong_are_refused():
    equations, _ = crate()
    with pytest.raises(
        kane.ModelError, match=r'intermittent constraints, .*: floor; name the mode .* mode="floor held"'
    ):
        kane.explain(equations, "x_dot")
    with pytest.raises(kane.ModelError, match="act in some of its modes"):
        kane.why(equations, "x_dot", "floor")
    with pytest.raises(
        kane.ModelError, match="'flor held' is no mode of 'crate'; modes are 'free' and lists of 'floor h"
    ):
        kane.explain(equations, "x_dot", mode="flor held")
    with pytest.raises(kane.ModelError, match="or the velocity of a sliding contact vanishes"):
        kane.explain(equations, "x_dot", mode="floor sliding").at(q={"z": RADIUS}, inputs={"F": 0.0})
    m = kane.Model("stuck")
    j = m.connect("ground", m.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    m.stick(j, static=1.0)
    m.stop(j, upper=1.0, name="end")
    with pytest.raises(
        kane.ModelError, match="friction 'friction of x' acts in every mode; name its status too, 'fricti"
    ):
        kane.explain(kane.formulate(m), "x_dot", mode="free")
    with pytest.raises(kane.ModelError, match="'end: upper' of 'stuck' has no friction, so that it cannot slide"):
        kane.explain(kane.formulate(m), "x_dot", mode="end: upper sliding, friction of x held")
    with pytest.raises(kane.ModelError, match="'x' is no mode of 'wrist'; modes are 'free' and lists of none"):
        kane.explain(kane.formulate(kane.library.wrist()), "u1", mode="x")


def test_sliding_and_sticking_differ_by_friction():
    equations, _ = crate()
    found = kane.compare(equations, equations, modes=("floor held", "floor sliding"))
    assert "equation of x_dot: floor, friction of floor" in {c.name for c in found.changes if c.kind == "added"}


def test_digits_and_enclosures_do_not_omit_contacts_in_silence():
    pytest.importorskip("flint", reason="python-flint, extra certify")
    dyn = kane.build(crate()[0])
    push = {"inputs": {"F": 0.0}}
    for call in (
        lambda **more: kane.digits(dyn, **push, **more),
        lambda **more: kane.enclose(dyn, {"x": (0, 1)}, **push, **more),
    ):
        with pytest.raises(
            kane.ModelError, match="whose forces have no expressions: floor; without_contacts=True comp"
        ):
            call()
        with pytest.raises(kane.ModelError, match="without_contacts= is True or False"):
            call(without_contacts="yes")
        assert call(without_contacts=True).names == ("x_dot'", "z_dot'")
