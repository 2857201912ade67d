"""Proved bounds: against 60 digits of mpmath, and against samples of boxes."""

import sys

import mpmath
import numpy as np
import pytest

import kane
from kane.analysis.enclosures.proved_digits import leaf_values
from kane.expression.interpret import interpret
from kane.formulation.quantities.programs import quantity
from kane.formulation.random_states import RandomStates

pytest.importorskip("flint", reason="python-flint, extra certify")

# Twenty reference models with expressions of their accelerations.
MODELS = {
    name: getattr(kane.library, name)
    for name in ("stanford_arm", "stanford_arm_dh", "six_axis_arm", "wrist", "wrist_measure_numbers", "sliding_disk",
                 "rolling_disk", "shopping_cart", "stuck_shopping_cart", "mobile_manipulator", "rolling_coin",
                 "chaplygin_sleigh", "n_link_pendulum", "stiff_flyball_governor", "spacecraft_tree")
}  # fmt: skip
MODELS |= {f"chain {n}": (lambda n=n: kane.library.chain(n)) for n in (2, 4)}
MODELS |= {f"tree {n}": (lambda n=n: kane.library.random_tree(n)) for n in (3, 5, 7)}


class MpMath:
    """Elementary functions in 60 digits, for ``interpret``."""

    sin, cos, tan, asin, acos, atan2 = (getattr(mpmath.mp, f) for f in ("sin", "cos", "tan", "asin", "acos", "atan2"))
    sqrt, exp, log, tanh, fabs, sign = (getattr(mpmath.mp, f) for f in ("sqrt", "exp", "log", "tanh", "fabs", "sign"))
    minimum, maximum = staticmethod(min), staticmethod(max)
    number = staticmethod(lambda x: mpmath.mpf(float(x)))
    where = staticmethod(lambda condition, a, b: a if condition else b)


@pytest.mark.parametrize("name", MODELS)
def test_native_numbers_lie_in_their_balls_and_bounds_are_sharp(name):
    """50 states of each of 20 models; the bound is at most 1e4 times the true error, or below a unit of rounding."""
    equations = kane.formulate(MODELS[name]())
    dyn, states = kane.build(equations), RandomStates(equations, 50, 3)
    random = np.random.default_rng(0)
    outputs = quantity(equations, "forward").outputs
    for q, u in zip(states.q.T, states.u.T, strict=True):
        inputs = random.normal(size=len(equations.inputs))
        found = kane.digits(dyn, q, u, inputs=inputs)
        with mpmath.workdps(60):
            exact = interpret(outputs, leaf_values(equations, (q, u), (None, inputs, None), 0.0), MpMath)
            errors = np.array([float(abs(mpmath.mpf(float(x)) - y)) for x, y in zip(found.values, exact, strict=True)])
        assert (errors <= found.bounds).all()
        assert (found.bounds <= 1e4 * errors + 1e-30 * np.abs(found.values)).all()


def test_a_wrong_digit_is_seen(monkeypatch):
    """An error of 1e-9 in the native result leaves nine digits."""
    dyn = kane.build(kane.formulate(kane.library.wrist()))
    inputs = np.zeros(len(dyn.equations.inputs))
    right = kane.digits(dyn, [0.1, 0.2, 0.3], [1.0, 2.0, 3.0], inputs=inputs)
    assert right.digits.min() > 13.0
    module = sys.modules["kane.analysis.enclosures.proved_digits"]
    native = module._native
    monkeypatch.setattr(module, "_native", lambda *given: native(*given) * (1.0 + 1e-9))
    wrong = kane.digits(dyn, [0.1, 0.2, 0.3], [1.0, 2.0, 3.0], inputs=inputs)
    assert wrong.digits == pytest.approx(9.0, abs=1e-3)
    assert "9.0 digits" in repr(wrong)


@pytest.mark.parametrize("program", ["inverse", "mass_matrix", "energy", "rhs", "bias"])
def test_other_programs_have_digits(program):
    dyn = kane.build(kane.formulate(kane.library.stanford_arm()))
    q, u, udot = np.array([[0.3, 1.0, -0.4, 0.7, 0.2, 0.1], [0.5, -0.2, 0.9, 0.4, -0.6, 0.3], [1.0, 2, -1, 0.5, 3, -2]])
    found = kane.digits(dyn, q, u, quantity=program, udot=udot if program == "inverse" else None, inputs=np.zeros(6))
    exact = found.values == 0.0
    assert found.digits[~exact].min() > 12.0


def arm_box(width):
    return {f"q{k}": (0.3 * k - width, 0.3 * k + width) for k in range(1, 7)}


def sampled(dyn, box, count, **given):
    names = [leaf.name for leaf in dyn.equations.q]
    low, high = np.array([box[name] for name in names]).T
    q = np.random.default_rng(1).uniform(low, high, (count, len(names)))
    n = len(dyn.equations.u)
    return dyn.inverse(q, np.tile(given["u"], (count, 1)), np.zeros((count, n)))


@pytest.mark.parametrize("name", ["stanford_arm", "six_axis_arm"])
def test_torques_of_arms_are_enclosed_within_3_of_the_sampled_range(name):
    dyn = kane.build(kane.formulate(MODELS[name]()))
    u, box = [0.5, -0.4, 0.3, 0.2, -0.1, 0.2], arm_box(1e-3)
    found = kane.enclose(dyn, box, u=u, udot=np.zeros(6), quantity="inverse")
    F = sampled(dyn, box, 2000, u=u)
    assert ((found.low <= F) & (found.high >= F)).all()
    assert (found.high - found.low <= 3.0 * np.ptp(F, axis=0) + 1e-12).all()


@pytest.mark.parametrize("width", [0.01, 0.1, 0.5])
def test_samples_of_large_boxes_are_inside_and_parts_narrow_the_bounds(width):
    dyn = kane.build(kane.formulate(kane.library.stanford_arm()))
    u, box = [0.5, -0.4, 0.3, 0.2, -0.1, 0.2], arm_box(width)
    F, before = sampled(dyn, box, 2000, u=u), None
    for parts in (1, 64):
        found = kane.enclose(dyn, box, u=u, udot=np.zeros(6), quantity="inverse", parts=parts)
        assert ((found.low <= F) & (found.high >= F)).all()
        assert before is None or (found.high - found.low).sum() < (before.high - before.low).sum()
        before = found
    assert found.parts == 64


def test_jumps_and_kinks_are_enclosed():
    m = kane.Model("kinked", gravity=(0, 0, 0))
    x = m.connect("ground", m.body("b", mass=1.0, inertia=(1, 1, 1)), kane.Prismatic("x", axis="x"))
    table = kane.spline(x.q, [-1.0, 0.0, 0.5, 2.0], [1.0, -1.0, 2.0, 0.0])
    force = kane.select(x.q < 0.2, 3.0, table) + kane.absolute(x.q) + kane.maximum(x.q, 0.1) + kane.sign(x.q - 0.3)
    m.load(kane.Motor(x, force))
    dyn = kane.build(kane.formulate(m))
    for low, high in ((-0.4, 0.7), (0.1, 0.3), (0.45, 0.55), (0.2, 0.2)):
        q = np.random.default_rng(2).uniform(low, high, (2000, 1))
        udot = dyn.forward(q, np.zeros_like(q))
        found = kane.enclose(dyn, {"x": (low, high)})
        assert found["x_dot'"][0] <= udot.min()
        assert udot.max() <= found["x_dot'"][1]


def test_a_square_of_a_speed_of_either_sign_has_bounds():
    """f_u2 of the Stanford Arm has centripetal terms; the box contains u2 = 0."""
    dyn = kane.build(kane.formulate(kane.library.stanford_arm()))
    found = kane.enclose(dyn, {"q2": (0.5, 0.6), "u2": (-1.0, 1.0)}, udot=np.zeros(6), quantity="inverse")
    for speed in (-1.0, 0.0, 0.7):
        f = dyn.inverse([0, 0.55, 0, 0, 0, 0], [0, speed, 0, 0, 0, 0], np.zeros(6))
        assert ((found.low <= f) & (f <= found.high)).all()


def test_parameters_and_inputs_may_have_ranges():
    """x_dot' = F / mass is monotone in both, so that the corners of the box give its range."""
    m = kane.Model("slider", gravity=(0, 0, 0))
    x = m.connect("ground", m.body("b", mass=m.parameter("mass", 2.0)), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(x, m.input("F")))
    found = kane.enclose(kane.build(kane.formulate(m)), {"mass": (2.0, 4.0), "F": (1.0, 8.0)}, parts=256)
    assert found["x_dot'"] == pytest.approx((0.25, 4.0), rel=0.1)
    assert found["x_dot'"][0] <= 0.25
    assert found["x_dot'"][1] >= 4.0


def test_a_result_that_depends_on_a_value_that_is_not_given_is_refused():
    """As ``dyn.forward`` and ``dyn.inverse``: no default of an input or an acceleration is taken in silence."""
    dyn = kane.build(kane.formulate(kane.library.stanford_arm()))
    box, five = {"q2": (0.5, 0.6), "u1'": (0.0, 1.0)}, {f"u{k}'": 0.0 for k in range(2, 6)}
    with pytest.raises(kane.ModelError, match=r"'inverse' of .* depends on u2', .*u6'; .* udot=\{\"u2'\": 0.0, ...\}"):
        kane.enclose(dyn, box, quantity="inverse")
    with pytest.raises(kane.ModelError, match=r"depends on u6'; give its value by name, udot=\{\"u6'\": 0.0\}"):
        kane.enclose(dyn, box, quantity="inverse", udot=five)
    assert kane.enclose(dyn, box, quantity="inverse", udot={**five, "u6'": 0.0}).names[0] == "f_u1"
    with pytest.raises(kane.ModelError, match=r"'inverse' of .* depends on u1'"):
        kane.digits(dyn, quantity="inverse")
    name = dyn.equations.inputs[0].name
    for call in (lambda **more: kane.digits(dyn, **more), lambda **more: kane.enclose(dyn, {}, **more)):
        with pytest.raises(kane.ModelError, match=f"'forward' of .* depends on {name}, .* inputs="):
            call()
    assert kane.digits(dyn, quantity="energy").values.size  # energy reads no inputs
    m = kane.Model("slider")
    x = m.connect("ground", m.body("b", mass=2.0), kane.Prismatic("x", axis="x"))
    F = m.input("F", 3.0)
    m.load(kane.Motor(x, F))
    slider = kane.build(kane.formulate(m))
    with pytest.raises(kane.ModelError, match="outputs= of 'slider' depends on F; give its value by name"):
        kane.enclose(slider, {"x": (0.0, 1.0)}, outputs={"twice": 2.0 * F})


def test_wrong_arguments_are_refused():
    dyn = kane.build(kane.formulate(kane.library.stanford_arm()))
    m = kane.Model("slider")
    x = m.connect("ground", m.body("b", mass=m.parameter("mass", 2.0)), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(x, 1.0))
    light = kane.build(kane.formulate(m))
    with pytest.raises(kane.ModelError, match="has no finite bound in this box: it contains a singular state"):
        kane.enclose(light, {"mass": (0.0, 1.0)})
    with pytest.raises(kane.ModelError, match=r"there is no coordinate, speed, .* 'q11'; did you mean q1"):
        kane.enclose(dyn, {"q11": (0, 1)})
    with pytest.raises(kane.ModelError, match="the range of 'q1' is empty"):
        kane.enclose(dyn, {"q1": (1, 0)})
    with pytest.raises(kane.ModelError, match="give the lowest and the highest value"):
        kane.enclose(dyn, {"q1": 1.0})
    with pytest.raises(kane.ModelError, match="parts= is 0"):
        kane.enclose(dyn, {"q1": (0, 1)}, parts=0)
    with pytest.raises(kane.ModelError, match="there is no program 'forwards'"):
        kane.digits(dyn, quantity="forwards")
    with pytest.raises(kane.ModelError, match="embedded numerically"):
        kane.digits(kane.build(kane.formulate(kane.library.slider_crank())))
    with pytest.raises(kane.ModelError, match="digits needs Dynamics"):
        kane.digits(kane.library.wrist())
    with pytest.raises(kane.ModelError, match="there is no output 'u7'"):
        kane.enclose(dyn, {}, inputs=np.zeros(6))["u7"]


def test_the_error_without_python_flint_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(kane.ModelError, match=r"ball arithmetic needs python-flint; pip install 'python-flint>=0.6'"):
        kane.digits(kane.build(kane.formulate(kane.library.wrist())))
