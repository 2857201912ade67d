"""The equations of pages, run by Node: against native code, the laws of nature and the constraints."""

import json

import numpy as np
import pytest
from oracles.formulated import built
from oracles.node import run_script

import kane
from kane.cli.run import initial_state
from kane.display.live_motion import live_page
from kane.display.page import asset
from kane.dynamics.reactions.exerted_forces import StatesOfArrows, acting
from kane.simulation.integrators.rk5 import TABLEAU

# A page integrates with errors of 1e-11 of the state a step, native code with 1e-12; in a second of these motions, and
# the hundred steps that it takes, that is what the issue asks for.
AGREED = 1e-9


def by_page(equations, q, u, until, *, inputs=None, arrows=(), then=""):
    """x of a live page after a time, with what ``then`` gives, by Node: the page's scripts without what is drawn."""
    start, given = (0.0, [*q, *u]), dict(inputs or {})
    page = live_page(equations, start=start, sliders_asked=(), parameters={}, inputs=given, arrows=arrows)
    scripts = asset("linear.js") + asset("motion.js") + "const window = {};\n" + page.source()
    return run_script(f"""{scripts}
const motion = new Motion({json.dumps(page.content["motion"])}, window.kane_programs());
const exerted = {json.dumps(page.content["exerted"])};
motion.x = Float64Array.from({json.dumps([*map(float, q), *map(float, u)])});
motion.settle();
motion.advance({until});
give(motion.x);
give([motion.residual, motion.steps]);
{then}
""")


LIBRARY = [
    "andrews_squeezer", "bricard", "chain", "chaplygin_sleigh", "flyball_governor", "four_bar", "mobile_manipulator",
    "n_four_bar", "n_link_pendulum", "random_tree", "rolling_coin", "rolling_disk", "shopping_cart", "six_axis_arm",
    "slider_crank", "sliding_disk", "spacecraft_tree", "stanford_arm", "stewart_platform", "stiff_flyball_governor",
    "whipple_bicycle", "wrist",
]  # fmt: skip
# Seconds in which states differ by less than the bound: the squeezer turns 19 times a second, the chain's errors grow
# ten thousandfold in one, these are stiff; native code alone, asked for 1e-11 and for 1e-12, differs by as much later.
SHORT = {
    "andrews_squeezer": 0.01,
    "chain": 0.25,
    "rolling_coin": 0.5,
    "stiff_flyball_governor": 0.05,
    "stewart_platform": 0.2,
}
# Where neutral positions are singular: the benchmark's own start, shaft at 2 pi rad/s.
STARTS = {"flyball_governor": {"q2": np.pi / 3, "q3": np.pi / 3, "q4": 0.5}}


# Its equations take two seconds; test_forces_of_a_live_page has the page of a bicycle among the quick tests.
LONG = ("whipple_bicycle",)


@pytest.mark.parametrize("name", [pytest.param(x, marks=pytest.mark.slow) if x in LONG else x for x in LIBRARY])
def test_a_live_page_and_native_code_agree(name):
    dyn = built(getattr(kane.library, name))
    eqs, until = dyn.equations, SHORT.get(name, 1.0)
    start = (
        {"q": kane.assemble(dyn, q=STARTS[name]).q, "u": np.array([2 * np.pi, 0, 0, 0])}
        if name in STARTS
        else initial_state(dyn)
    )
    random = np.random.default_rng(5)
    u = start["u"] + 0.3 * random.normal(size=len(eqs.u))
    if eqs.constraints:
        found = kane.assemble(dyn, q=start["q"], u=u, t=0.0)
        start["q"], u = found.q, found.u
    inputs = {
        leaf.name: float(x) for leaf, x in zip(eqs.inputs, 0.1 * random.normal(size=len(eqs.inputs)), strict=True)
    }
    native = kane.simulate(
        dyn,
        until=until,
        q=start["q"],
        u=u,
        inputs=list(inputs.values()) or None,
        integrator=kane.RK8(rtol=1e-12, atol=1e-12),
    )
    x, (residual, steps) = by_page(eqs, start["q"], u, until, inputs=inputs)
    expected = np.concatenate([native.final.q, native.final.u])
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(x, expected, rtol=0, atol=AGREED * scale)
    assert residual < 1e-12
    assert steps > 0


def test_the_energy_of_a_page_stays_and_a_pull_does_work():
    dyn = built(kane.library.four_bar)
    start = kane.assemble(dyn, q={"q1": 0.5}, u={"u1": 7.0}, fixed=["q1", "u1"])
    then = """
const energy = () => { const e = motion.energy(); return e[0] + e[1]; };
give(energy());
motion.pull = { body: 2, at: [0.1, 0, 0], target: [1, 1, 0], stiffness: 50, damping: 0 };
const stored = () => {
  const d = motion.point(motion.state(motion.time, motion.x)).map((x, i) => x - motion.pull.target[i]);
  return 25 * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
};
const before = energy() + stored();
motion.advance(2);
give([before, energy() + stored()]);
"""
    _, _, energy, (before, after) = by_page(dyn.equations, start.q, start.u, 1.0, then=then)
    assert energy == pytest.approx(dyn.energy(start.q, start.u).total, abs=1e-8)
    # The spring of the mouse has a potential: together they stay, as exactly as the energy alone.
    assert after == pytest.approx(before, abs=1e-8)


@pytest.mark.parametrize(
    ("name", "u", "arrows"),
    [
        ("four_bar", {"u1": 7.0}, ["q1", "loop", "Motor on q1"]),
        ("whipple_bicycle", {"x_dot": 4.0, "roll_dot": 0.1}, ["rear wheel on the road", "steer"]),
        ("stiff_flyball_governor", {}, ["q1", "PointSpring on right, sleeve"]),
    ],
)
def test_forces_of_a_live_page_are_those_of_native_code(name, u, arrows):
    dyn = built(getattr(kane.library, name))
    eqs = dyn.equations
    start = vars(kane.assemble(dyn, u=u)) if eqs.constraints else initial_state(dyn)
    q, u = start["q"], start["u"]
    inputs = {leaf.name: 0.5 for leaf in eqs.inputs}
    then = "for (const a of motion.acting(exerted)) { give(a.arm); give(a.force); give(a.torque); }"
    found = by_page(eqs, q, u, 0.0, inputs=inputs, arrows=arrows, then=then)[2:]
    row = [np.array([x], float) for x in (q, u, [*inputs.values()])]
    native = [one for word in arrows for one in acting(dyn, word, StatesOfArrows(*row, np.zeros(1), {}))]
    assert len(found) == 3 * len(native)
    for one, arm, force, torque in zip(native, found[::3], found[1::3], found[2::3], strict=True):
        np.testing.assert_allclose(arm, one.arm[0], atol=1e-9)
        # Of forces of tens of newtons, through a solution of equations of conditioning 1e3 or so.
        np.testing.assert_allclose(force, one.force[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(torque, one.torque[0], rtol=1e-9, atol=1e-9)
    assert any(abs(x) > 1e-3 for force in found[1::3] for x in force)


def test_a_slider_moves_its_coordinate_and_the_loop_closes():
    dyn = built(kane.library.four_bar)
    start = kane.assemble(dyn, q={"q1": 0.5}, fixed=["q1"])
    then = "motion.x[0] += 0.2; motion.settle([0]); give(motion.x); give(motion.residual);"
    _, _, x, residual = by_page(dyn.equations, start.q, start.u, 0.0, then=then)
    assert x[0] == start.q[0] + 0.2
    assert residual < 1e-13
    expected = kane.assemble(dyn, q={**dict(zip(["q1", "q2", "q3"], start.q, strict=True)), "q1": x[0]}, fixed=["q1"])
    np.testing.assert_allclose(x[:3], expected.q, atol=1e-10)


def test_parameters_that_change_take_effect():
    eqs = kane.formulate(kane.library.n_link_pendulum(1))
    place = [p.name for p in eqs.parameters].index("m")
    then = f"motion.parameters[{place}] = 3; motion.reload(); motion.advance(1); give(motion.x);"
    q, u = np.array([0.0, 1.0]), np.zeros(2)
    *_, x = by_page(eqs, q, u, 0.0, then=then)
    native = kane.simulate(
        kane.build(eqs), until=1.0, q=q, u=u, parameters={"m": 3.0}, integrator=kane.RK8(rtol=1e-12, atol=1e-12)
    )
    np.testing.assert_allclose(x, [*native.final.q, *native.final.u], atol=AGREED)


def test_the_tableau_of_the_page_is_that_of_the_native_pair():
    pair = run_script(asset("linear.js") + asset("motion.js") + "give(PAIR);")[0]
    rows = [{j: a for j, a in enumerate(row) if a} for row in pair["a"]]
    assert tuple(pair["c"]) == TABLEAU.nodes
    assert rows == list(TABLEAU.rows)
    assert {j: e for j, e in enumerate(pair["e"]) if e} == TABLEAU.errors[0]


def test_a_motion_that_cannot_go_on_says_so():
    m = kane.Model("runaway")
    b = m.body("b", mass=1.0)
    x = m.connect(m.ground, b, kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(x, x.q * x.q * 50.0))
    then = "try { motion.advance(5); give('went on'); } catch (e) { give(e.message); }"
    *_, message = by_page(kane.formulate(m), [1.0], [1.0], 0.0, then=then)
    assert "no step is short enough at t =" in message
