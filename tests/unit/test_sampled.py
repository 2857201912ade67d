"""Inputs that are sampled: digital controllers, sensors, delays, against the exact solution in discrete time."""

import itertools
import math
import signal
import threading

import numpy as np
import pytest
from scipy.linalg import expm

import kane
from kane import ModelError, Sampled, SimulationError
from kane.simulation.inputs import sampler

MASS, STIFFNESS, DAMPING = 2.0, 3.0, 0.4
T = 0.05
# What RK8 is asked for is 1e-9 a step; steps are stable here, and errors add up over some tens.
SOLVED = {"rtol": 2e-8, "atol": 2e-8}
A = np.array([[0.0, 1.0], [-STIFFNESS / MASS, -DAMPING / MASS]])
B = np.array([0.0, 1.0 / MASS])
GAIN = np.array([4.0, 1.5])


@pytest.fixture(scope="module")
def cart():
    """x'' = (f - 3 x - 0.4 x') / 2, with a second input that pushes nothing."""
    m = kane.Model("cart", gravity=(0, 0, 0))
    body = m.body("body", mass=MASS)
    x = m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    f, s = m.input("f"), m.input("s")
    m.load(kane.Motor(x, f + 0 * s))
    m.load(kane.Spring(x, STIFFNESS))
    m.load(kane.Damper(x, DAMPING))
    return x, f, s, kane.build(kane.formulate(m))


def advanced(x, f, h):
    """The exact motion over h with f held."""
    M = np.zeros((3, 3))
    M[:2, :2], M[:2, 2] = A, B
    return (expm(M * h) @ [*x, f])[:2]


def exact(ticks, delay, law, until, initial=0.0):
    """The exact motion from (1, 0) with answers of a law taken at ticks and held from a delay later."""
    x, t, f, waiting = np.array([1.0, 0.0]), 0.0, initial, []
    for kind, when in sorted([*((1, t) for t in ticks), *((0, t + delay) for t in ticks)], key=lambda e: (e[1], -e[0])):
        if when >= until:
            break
        x, t = advanced(x, f, when - t), when
        if kind:
            waiting.append(law(x))
        else:
            f = waiting.pop(0)
    return advanced(x, f, until - t)


def state(run):
    return np.array([run.q[-1, 0], run.u[-1, 0]])


FORMS = {
    "an expression": lambda x: -4.0 * x.q - 1.5 * x.qdot,
    "a function": lambda x: lambda t, q, u: -4.0 * q[0] - 1.5 * u[0],
}
METHODS = {
    "RK8": {},
    "RK5": {"integrator": kane.RK5(rtol=1e-10, atol=1e-10)},
    "BDF": {"integrator": kane.BDF(rtol=1e-11, atol=1e-12)},
    "RK4": {"dt": 1e-3},
    "Gauss4": {"integrator": kane.Gauss4(), "dt": 5e-3},
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_digital_controller_moves_as_the_exact_solution_in_discrete_time(cart, form, method):
    """Who vouches: the matrix exponential of the plant with its input held."""
    x, _, _, dyn = cart
    run = kane.simulate(dyn, until=2.0, q={"x": 1.0}, inputs={"f": Sampled(form(x), period=T)}, **method)
    np.testing.assert_allclose(state(run), exact(np.arange(40) * T, 0.0, lambda y: -GAIN @ y, 2.0), **SOLVED)


@pytest.mark.parametrize("delay", [0.02, T, 0.13])
@pytest.mark.parametrize("method", [{}, {"dt": 1e-2}], ids=["RK8", "RK4"])
def test_an_answer_takes_effect_after_its_delay(cart, delay, method):
    """Who vouches: as above; of RK4, whose steps of 0.01 s err by some 1e-10, too."""
    x, _, _, dyn = cart
    law = Sampled(-4.0 * x.q - 1.5 * x.qdot, period=T, delay=delay)
    run = kane.simulate(dyn, until=1.7, q={"x": 1.0}, inputs={"f": law}, **method)
    np.testing.assert_allclose(state(run), exact(np.arange(34) * T, delay, lambda y: -GAIN @ y, 1.7), **SOLVED)


def test_ticks_with_jitter_are_late_by_up_to_so_much_and_the_same_for_one_seed(cart):
    dyn, ticks = cart[3], []

    def law(t, q, u):
        ticks.append(t)
        return -4.0 * q[0] - 1.5 * u[0]

    def run(seed):
        ticks.clear()
        late = Sampled(law, period=T, jitter=0.02, seed=seed)
        return kane.simulate(dyn, until=2.0, q={"x": 1.0}, inputs={"f": late})

    first = run(3)
    late = np.array(ticks) - np.arange(40) * T
    assert late.min() >= 0.0
    assert late.max() < 0.02
    assert late.max() - late.min() > 0.015  # forty numbers fill most of the interval
    np.testing.assert_allclose(state(first), exact(ticks, 0.0, lambda y: -GAIN @ y, 2.0), **SOLVED)
    np.testing.assert_array_equal(state(run(3)), state(first))
    assert (state(run(4)) != state(first)).any()


def test_the_ticks_of_a_seed_do_not_depend_on_where_one_begins_to_ask_for_them():
    law = Sampled(lambda t, q, u: 0.0, period=1.0, jitter=0.5, seed=7)
    whole = law.ticks(0.0, 0, 3000)
    np.testing.assert_array_equal(np.concatenate([law.ticks(0.0, 0, 1000), law.ticks(0.0, 1000, 3000)]), whole)


def test_a_controller_remembers_its_state_and_begins_each_run_with_the_first_one(cart):
    """A sum of errors, as a function with a state and as an expression with an input of its own.

    Who vouches: the same recursion with the matrix exponential.
    """
    x, _, s, dyn = cart

    def law(t, q, u, total):
        return -3.0 * q[0] - total, total + T * q[0]

    remembering = Sampled(law, period=T, state=0.5)
    expressed = {"f": Sampled(-3.0 * x.q - s, period=T), "s": Sampled(s + T * x.q, period=T)}
    y, total = np.array([1.0, 0.0]), 0.5
    for _ in range(30):
        f, total = -3.0 * y[0] - total, total + T * y[0]
        y = advanced(y, f, T)
    for _ in range(2):
        run = kane.simulate(dyn, until=30 * T, q={"x": 1.0}, inputs={"f": remembering})
        np.testing.assert_allclose(state(run), y, **SOLVED)
    m_start = kane.simulate(dyn, until=30 * T, q={"x": 1.0}, inputs=expressed)
    y, total = np.array([1.0, 0.0]), 0.0
    for _ in range(30):
        f, total = -3.0 * y[0] - total, total + T * y[0]
        y = advanced(y, f, T)
    np.testing.assert_allclose(state(m_start), y, **SOLVED)


def test_laws_of_two_periods_tick_each_at_its_own(cart):
    """A sensor every 0.03 s and a controller every 0.05 s that reads it; before the first answer, the sensor says zero.

    Who vouches: the matrix exponential from tick to tick; where both tick, the controller reads what was there before.
    """
    x, _, s, dyn = cart
    inputs = {"f": Sampled(-4.0 * s, period=0.05), "s": Sampled(x.q, period=0.03)}
    run = kane.simulate(dyn, until=0.6, q={"x": 1.0}, inputs=inputs)
    y, t, f, seen = np.array([1.0, 0.0]), 0.0, 0.0, 0.0
    whens = sorted({round(k * p, 9) for p in (0.05, 0.03) for k in range(20) if k * p < 0.6 - 1e-9})
    for when in whens:
        y, t = advanced(y, f, when - t), when
        if math.isclose(when / 0.05, round(when / 0.05)):
            f = -4.0 * seen
        if math.isclose(when / 0.03, round(when / 0.03)):
            seen = y[0]
    np.testing.assert_allclose(state(run), advanced(y, f, 0.6 - t), **SOLVED)


def test_all_inputs_may_come_from_one_law(cart):
    _, _, _, dyn = cart
    run = kane.simulate(
        dyn, until=0.5, q={"x": 1.0}, inputs=Sampled(lambda t, q, u: [-4.0 * q[0] - 1.5 * u[0], 7.0], period=T)
    )
    np.testing.assert_allclose(state(run), exact(np.arange(10) * T, 0.0, lambda y: -GAIN @ y, 0.5), **SOLVED)
    np.testing.assert_array_equal(run.inputs[:, 1], 7.0)


def test_recorded_inputs_are_those_that_were_held(cart):
    x, _, _, dyn = cart
    times = np.arange(0.0, 0.5, 0.01)
    run = kane.simulate(
        dyn, until=0.5, q={"x": 1.0}, inputs={"f": Sampled(-4.0 * x.q, period=T, delay=0.02)}, times=times
    )
    at = {round(t, 9): q for t, q in zip(run.time, run.q[:, 0], strict=True)}
    for t, f in zip(run.time[:-1], run.inputs[:-1, 0], strict=True):
        tick = math.floor((t - 0.02) / T + 1e-9) * T
        assert f == (0.0 if tick < 0 else pytest.approx(-4.0 * at[round(tick, 9)], abs=1e-9))


def test_an_expression_in_continuous_time_may_read_what_is_sampled(cart):
    x, _, s, dyn = cart
    inputs = {"f": -4.0 * s - 1.5 * x.qdot, "s": Sampled(x.q, period=T)}
    run = kane.simulate(dyn, until=1.0, q={"x": 1.0}, inputs=inputs)
    y, M = np.array([1.0, 0.0]), np.zeros((3, 3))
    M[:2, :2], M[:2, 2] = A - np.outer(B, [0.0, 1.5]), B
    for _ in range(20):
        y = (expm(M * T) @ [*y, -4.0 * y[0]])[:2]
    np.testing.assert_allclose(state(run), y, **SOLVED)


@pytest.mark.parametrize("method", [{}, {"integrator": kane.RK4()}], ids=["RK8", "RK4"])
def test_a_stepper_takes_samples_as_simulate_does(cart, method):
    """Four steps a tick and a delay of two; fixed steps, of a length without rounding, to the last bit."""
    x, _, _, dyn = cart
    law = Sampled(-4.0 * x.q - 1.5 * x.qdot, period=1 / 16, delay=1 / 32)
    stepper = kane.Stepper(dyn, q={"x": 1.0}, inputs={"f": law}, **method)
    for _ in range(64):
        stepper.step(1 / 64)
    run = kane.simulate(dyn, until=1.0, q={"x": 1.0}, inputs={"f": law}, **({"dt": 1 / 64} if method else {}))
    found = np.array([stepper.q[0], stepper.u[0]])
    if method:
        np.testing.assert_array_equal(found, state(run))
    np.testing.assert_allclose(found, state(run), **SOLVED)
    np.testing.assert_allclose(stepper.inputs[0], run.inputs[-1, 0], **SOLVED)


def test_a_stepper_goes_on_from_a_terminal_event_with_the_ticks_that_are_left(cart):
    x, _, _, dyn = cart
    law = Sampled(-4.0 * x.q - 1.5 * x.qdot, period=T)
    stepper = kane.Stepper(
        dyn, q={"x": 1.0}, inputs={"f": law}, events=kane.Event(x.q - 0.5, terminal=True, name="half")
    )
    (half,) = stepper.step(1.0)
    assert stepper.time == half.time < 1.0
    stepper.step(1.0 - half.time)
    expected = exact(np.arange(20) * T, 0.0, lambda y: -GAIN @ y, 1.0)
    np.testing.assert_allclose([stepper.q[0], stepper.u[0]], expected, **SOLVED)


def test_steps_of_rk4_converge_with_order_four_to_the_exact_solution_of_a_sampled_one(cart):
    """Steps that did not end at ticks would be of order one."""
    x, _, _, dyn = cart
    law = Sampled(-4.0 * x.q - 1.5 * x.qdot, period=0.2, delay=0.1)
    expected = exact(np.arange(5) * 0.2, 0.1, lambda y: -GAIN @ y, 1.0)
    errors = [
        np.abs(state(kane.simulate(dyn, until=1.0, q={"x": 1.0}, inputs={"f": law}, dt=h)) - expected).max()
        for h in (0.1, 0.05, 0.025)
    ]
    for coarse, fine in itertools.pairwise(errors):
        assert coarse / fine == pytest.approx(16.0, rel=0.15)  # the next term of the error is a tenth of it


def test_a_law_that_fails_says_when_and_what_was_computed_is_not_lost(cart):
    _, _, _, dyn = cart

    def law(t, q, u):
        if t > 0.31:
            raise ZeroDivisionError("the gain is zero")
        return 0.0

    said = "input 'f' failed at t = 0.35 s: ZeroDivisionError: the gain is zero"
    with pytest.raises(SimulationError, match=said) as caught:
        kane.simulate(dyn, until=1.0, q={"x": 1.0}, inputs={"f": Sampled(law, period=T)}, times=np.arange(0, 1, 0.1))
    run = caught.value.trajectory
    np.testing.assert_allclose(run.time, [0.0, 0.1, 0.2, 0.3], atol=1e-12)
    np.testing.assert_allclose(state(run), advanced([1.0, 0.0], 0.0, 0.3), **SOLVED)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_failed_run_of_any_kind_keeps_its_trajectory(cart):
    x, _, _, dyn = cart
    with pytest.raises(SimulationError) as caught:
        kane.simulate(dyn, until=10.0, q={"x": 1.0}, inputs={"f": kane.sqrt(x.q)})
    assert caught.value.trajectory.time[-1] > 0.1


BAD = {
    "no law": (lambda x: Sampled(3.0, period=T), "the law of Sampled is 3.0"),
    "no period": (lambda x: Sampled(x.q, period=0.0), "period of Sampled is 0.0 s; give a positive one"),
    "a negative delay": (lambda x: Sampled(x.q, period=T, delay=-1.0), "delay of Sampled is -1.0 s"),
    "much jitter": (lambda x: Sampled(x.q, period=T, jitter=T), "jitter of Sampled is 0.05 s; give one from zero"),
    "no seed": (lambda x: Sampled(x.q, period=T, seed=-1), "seed of Sampled is -1"),
    "an expression with a state": (lambda x: Sampled(x.q, period=T, state=1.0), "an expression has no state"),
}


@pytest.mark.parametrize(("make", "said"), BAD.values(), ids=BAD)
def test_what_cannot_be_sampled_is_refused(cart, make, said):
    with pytest.raises(ModelError, match=said):
        make(cart[0])


RUNS = {
    "steps that do not divide the period": ({"dt": 0.03}, {}, "fixed steps of 0.03 s do not end there"),
    "steps that do not divide the delay": ({"dt": 0.01}, {"delay": 0.005}, "delay 0.005 s, but fixed steps"),
    "jitter with fixed steps": ({"dt": 0.01}, {"jitter": 0.01}, "jitter 0.01 s, but fixed steps"),
    "backwards": ({"until": -1.0}, {}, "sampled laws need until after start"),
}


@pytest.mark.parametrize(("asked", "how", "said"), RUNS.values(), ids=RUNS)
def test_runs_that_cannot_keep_ticks_are_refused(cart, asked, how, said):
    x, _, _, dyn = cart
    with pytest.raises(ModelError, match=said):
        kane.simulate(dyn, **{"until": 1.0, "inputs": {"f": Sampled(x.q, period=T, **how)}} | asked)


ANSWERS = {
    "not finite": (lambda t, q, u: math.nan, r"returned \[?nan\]?, which is not finite"),
    "no number": (lambda t, q, u: "fast", "must return numbers"),
    "too many": (lambda t, q, u: [1.0, 2.0], r"returned shape \(2,\) where \(1,\) is needed"),
}


@pytest.mark.parametrize(("law", "said"), ANSWERS.values(), ids=ANSWERS)
def test_what_a_law_cannot_say_stops_the_run_at_its_tick(cart, law, said):
    with pytest.raises(SimulationError, match=f"failed at t = 0 s: .*{said}"):
        kane.simulate(cart[3], until=1.0, inputs={"f": Sampled(law, period=T)})


def test_a_law_of_several_inputs_that_fails_is_named_after_all_of_them():
    dyn = kane.build(kane.formulate(kane.library.chain(2)))
    law = Sampled(lambda t, q, u: [0.0, 0.0, 0.0], period=T)
    with pytest.raises(
        SimulationError, match=r"law of the inputs 'tau1', 'tau2' failed at t = 0 s: .* shape \(3,\) where"
    ):
        kane.simulate(dyn, until=1.0, inputs=law)


def test_a_law_with_a_state_returns_the_next_one(cart):
    with pytest.raises(SimulationError, match="must return the input and the next state"):
        kane.simulate(cart[3], until=1.0, inputs={"f": Sampled(lambda t, q, u, s: 0.0, period=T, state=0)})


def test_a_stepper_refuses_steps_that_pass_a_tick_and_values_for_what_is_sampled(cart):
    x, _, _, dyn = cart
    stepper = kane.Stepper(dyn, inputs={"f": Sampled(x.q, period=T)}, integrator=kane.RK4())
    stepper.step(0.03)
    with pytest.raises(ModelError, match=r"fixed steps of 0.03 s do not end there"):
        stepper.step(0.03)
    with pytest.raises(ModelError, match="the input 'f' is given by"):
        stepper.inputs = {"f": 1.0}


@pytest.mark.usefixtures("ctrl_c_raises")
@pytest.mark.parametrize("attempt", range(3))
def test_ctrl_c_between_two_ticks_of_a_law_in_python_ends_the_run_and_keeps_what_was_computed(cart, attempt):
    """Nearly always the signal comes while native code runs, and Python sees it where the law begins."""
    asked = []

    def law(t, q, u):
        asked.append(t)
        if len(asked) == 500:
            threading.Timer(0.02, signal.raise_signal, [signal.SIGINT]).start()
        return 0.0

    with pytest.warns(UserWarning, match="interrupted"):
        run = kane.simulate(cart[3], until=100.0, q=[1.0], inputs={"f": Sampled(law, period=1e-3)})
    assert run.interrupted
    assert asked[-1] - 1e-9 <= run.final.time <= asked[-1] + 1e-3 + 1e-9
    assert np.isfinite(run["f"]).all()
    assert np.isfinite(run["kinetic_energy"]).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_run_whose_ticks_are_planned_in_windows_has_the_bits_of_one_planned_at_once(cart, method, monkeypatch):
    """Two laws whose ticks coincide now and then, one late and one with jitter where steps are free.

    The first window has seven ticks, and each later one as many as there are: four windows. Answers that are asked in
    one window begin in the next.
    """
    x, _, _, dyn = cart
    jitter = 0.0 if "dt" in METHODS[method] else 0.01
    laws = {
        "f": Sampled(FORMS["a function"](x), period=T, delay=2.4 * T),
        "s": Sampled(FORMS["an expression"](x), period=0.03, jitter=jitter, seed=3),
    }
    given = {"until": 2.0, "q": [1.0], "inputs": laws} | METHODS[method]
    whole = kane.simulate(dyn, **given)
    monkeypatch.setattr(sampler, "PLANNED_TICKS", 7)
    windows = kane.simulate(dyn, **given)
    for key in ("time", "q", "u"):
        assert getattr(windows, key).tobytes() == getattr(whole, key).tobytes(), key
    for name in laws:
        assert windows[name].tobytes() == whole[name].tobytes()


def test_a_run_plans_its_ticks_as_they_come(cart, monkeypatch):
    """Sorting 2e7 ticks took seconds before the first step, in which Ctrl-C lost the run."""
    planned, ticks = [], Sampled.ticks

    def counted(self, start, first, last):
        planned.append(last - first)
        return ticks(self, start, first, last)

    def law(t, q, u):
        if t > 0.5:
            raise ZeroDivisionError
        return 0.0

    monkeypatch.setattr(Sampled, "ticks", counted)
    with pytest.raises(SimulationError, match=r"failed at t = 0\.501 s"):
        kane.simulate(cart[3], until=2e4, q=[1.0], inputs={"f": Sampled(law, period=1e-3)})
    assert 0 < sum(planned) <= sampler.PLANNED_TICKS + 2


def test_more_ticks_than_the_memory_holds_are_refused_at_the_start(cart):
    with pytest.raises(ModelError, match="ticks of sampled laws do not fit in memory; enlarge the periods"):
        kane.simulate(cart[3], until=1e9, q=[1.0], inputs={"f": Sampled(FORMS["an expression"](cart[0]), period=1e-6)})
