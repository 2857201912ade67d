"""Stepper against simulate: the same pieces, cut into calls. What a loop of a user's own can rely on."""

import contextlib
import copy
import math
import pickle
import threading

import numpy as np
import pytest

import kane
from kane.errors import ModelError

METHODS = [kane.RK4(), kane.Midpoint(), kane.Gauss4()]
DT = 2.0**-6  # a power of two: the multiples are the times of simulate, the last one included


def arm(load=lambda model, joint: None):
    model = kane.Model("arm")
    one = model.body("one", mass=1.0, inertia=(0, 0.1, 0.1), com=(0.5, 0, 0))
    two = model.body("two", mass=0.5, inertia=(0.1, 0.2, 0.3), com=(0.3, 0, 0.1))
    joint = model.connect(model.ground, one, kane.Revolute("a", axis="y"))
    model.connect(one, two, kane.Spherical("s"), at=(1, 0, 0))
    model.load(kane.Motor(joint, model.input("tau")))
    load(model, joint)
    return kane.build(kane.formulate(model))


START = {"q": {"a": 0.3}, "u": {"a_dot": 0.4, "s_wy": 2.0}}


@pytest.fixture(scope="module")
def dyn():
    return arm()


@pytest.fixture(scope="module")
def bar():
    """A four-bar linkage, and a state of it."""
    dyn = kane.build(kane.formulate(kane.library.four_bar()))
    start = kane.assemble(dyn, q={"q1": 0.5}, u={"u1": 7.0}, fixed=["q1", "u1"])
    return dyn, {"q": start.q, "u": start.u}


def stepped(stepper, steps, dt, before=lambda stepper, k: None):
    states, events = [np.concatenate([stepper.q, stepper.u])], []
    for k in range(steps):
        before(stepper, k)
        events += stepper.step(dt)
        states.append(np.concatenate([stepper.q, stepper.u]))
    return np.array(states), events


def states(run):
    return np.column_stack([run.q, run.u])


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_steps_one_by_one_have_the_bits_of_the_whole_run(dyn, bar, method):
    for machine, start in ((dyn, START), bar):
        options = {"integrator": method, "events": [kane.Event(machine.equations.u[0] - 0.5, name="level")], **start}
        whole = kane.simulate(machine, until=64 * DT, dt=DT, every=1, **options)
        found, events = stepped(kane.Stepper(machine, **options), 64, DT)
        assert (found == states(whole)).all()
        assert [(e.name, e.time) for e in events] == [(e.name, e.time) for e in whole.events]


def test_inputs_set_between_steps_are_those_of_held_samples_to_the_bit(dyn):
    times = DT * np.arange(65)
    values = np.sin(5.0 * times)
    for method, dt in ((kane.RK4(), {"dt": DT}), (kane.RK8(), {})):
        held = kane.Held(times, values)
        whole = kane.simulate(dyn, until=1.0, inputs={"tau": held}, integrator=method, times=times, **dt, **START)

        def control(stepper, k):
            stepper.inputs = {"tau": values[k]}

        found, _ = stepped(kane.Stepper(dyn, integrator=method, **START), 64, DT, control)
        if method.fixed:
            assert (found == states(whole)).all()
        else:  # the whole run knows the next stop and no shorter first step: the steps differ, by the tolerance
            assert found == pytest.approx(states(whole), abs=1e-7)


@pytest.mark.parametrize("method", [kane.RK5(1e-10, 1e-10), kane.RK8(), kane.BDF(1e-10, 1e-10)], ids=lambda m: m.name)
def test_methods_of_free_steps_end_exactly_at_the_time_asked_for(dyn, method):
    stepper, t = kane.Stepper(dyn, integrator=method, start=1.0, **START), 1.0
    for dt in (0.1, 0.013, 1e-5, 0.2):
        assert stepper.step(dt) == ()
        t += dt
        assert stepper.time == t
    fine = kane.simulate(dyn, until=t, start=1.0, integrator=kane.RK8(1e-13, 1e-13), **START)
    # Tolerances of 1e-9 and of 1e-10, over some tens of steps.
    assert np.concatenate([stepper.q, stepper.u]) == pytest.approx(states(fine)[-1], abs=1e-7)


def test_times_of_steps_of_one_length_do_not_drift(dyn):
    stepper = kane.Stepper(dyn, integrator=kane.RK4(), start=2.0, **START)
    for _ in range(1000):
        stepper.step(1e-3)
    assert stepper.time == 2.0 + 1000 * 1e-3
    stepper.step(0.5e-3)
    assert stepper.time == 2.0 + 1000 * 1e-3 + 0.5e-3


@pytest.mark.parametrize("method", [kane.RK4(), kane.RK8(), kane.BDF()], ids=lambda m: m.name)
def test_a_terminal_event_ends_a_step_and_the_next_one_goes_on(dyn, method):
    down = kane.Event(dyn.equations.q[0], direction=-1, terminal=True, name="down")
    stepper = kane.Stepper(dyn, integrator=method, events=down, q={"a": 0.01}, u={"a_dot": -1.0})
    found = []
    while stepper.time < 2.0 and not found:
        found += stepper.step(0.05)
    (event,) = found
    assert (event.name, event.time) == ("down", stepper.time)
    assert (event.q == stepper.q).all()
    assert (event.u == stepper.u).all()
    assert stepper.q[0] == pytest.approx(0.0, abs=1e-12)
    t = stepper.time
    assert stepper.step(0.01) == ()
    assert stepper.time == t + 0.01
    assert stepper.q[0] < 0.0


def test_samples_expressions_and_functions_drive_a_stepper_and_cannot_be_set(dyn):
    times = np.linspace(0.0, 1.0, 11)
    for given in (kane.Interpolated(times, times), 0.5 * dyn.equations.t, lambda t, q, u: 0.5 * t):
        stepper = kane.Stepper(dyn, inputs={"tau": given}, integrator=kane.RK4(), **START)
        found, _ = stepped(stepper, 64, DT)
        whole = kane.simulate(dyn, until=1.0, dt=DT, every=1, inputs={"tau": given}, **START)
        assert (found == states(whole)).all()
        with pytest.raises(kane.ModelError, match="the input 'tau' is given by samples, an expression or a function"):
            stepper.inputs = [1.0]
    stepper = kane.Stepper(dyn, inputs={"tau": kane.Interpolated(times, times)}, start=0.95, **START)
    with pytest.raises(kane.ModelError, match=r"samples of the input 'tau' cover.*add samples"):
        stepper.step(0.1)
    assert stepper.time == 0.95


def test_a_state_is_a_copy_and_inputs_read_what_was_set(dyn):
    stepper = kane.Stepper(dyn, **START)
    stepper.q[:], stepper.u[:], stepper.inputs[:] = 9.0, 9.0, 9.0
    assert stepper.q[0] == 0.3
    assert stepper.inputs.tolist() == [0.0]
    stepper.inputs = {"tau": 2.0}
    assert stepper.inputs.tolist() == [2.0]
    assert repr(stepper) == "Stepper of 'arm' by RK8 at t = 0 s"


def test_a_loop_of_ones_own_is_told_that_it_gets_nowhere_and_keeps_what_was_reached():
    rub = arm(lambda model, joint: model.load(kane.Motor(joint, -50.0 * kane.sign(joint.qdot))))
    stepper = kane.Stepper(rub, u={"a_dot": 0.5})
    with pytest.raises(kane.SimulationError, match=r"chatters.*sign\(a_dot\).*make the jump smooth") as caught:
        stepped(stepper, 1000, 1e-2)
    assert f"from t = {stepper.time:.9g} s" in str(caught.value)
    assert np.isfinite(stepper.q).all()
    run_away = arm(lambda model, joint: model.load(kane.Motor(joint, joint.qdot**3)))
    stepper = kane.Stepper(run_away, u={"a_dot": 50.0}, integrator=kane.RK4())
    with pytest.raises(kane.SimulationError, match=r"stops being finite.*t = ") as caught:
        stepped(stepper, 1000, 0.1)
    assert np.isfinite(stepper.u).all()


@pytest.mark.parametrize("method", [kane.RK4(), kane.RK8(), kane.BDF()], ids=lambda m: m.name)
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_step_that_an_input_function_ends_can_be_taken_again(dyn, method, error):
    failing = []

    def tau(t, q, u):
        if failing:
            raise error
        return 0.5

    stepper, other = (kane.Stepper(dyn, inputs={"tau": x}, integrator=method, **START) for x in (tau, 0.5))
    stepper.step(DT)
    other.step(DT)
    failing.append(1)
    with pytest.raises(error):
        stepper.step(DT)
    assert stepper.time == other.time
    failing.clear()
    stepper.step(DT)
    other.step(DT)
    # The method begins anew: other steps, by its tolerance, 1e-6 of BDF.
    assert stepper.q == pytest.approx(other.q, abs=0.0 if method.fixed else 1e-5)


@pytest.mark.parametrize("method", [kane.RK8(), kane.BDF()], ids=lambda m: m.name)
def test_inputs_set_between_steps_act_from_there_on_and_constraints_are_kept(bar, method):
    dyn, start = bar
    stepper = kane.Stepper(dyn, integrator=method, **start)
    for k in range(20):
        stepper.inputs = {"T": 5.0 if k % 2 else -5.0}
        stepper.step(0.01)
    torque = kane.Held(0.01 * np.arange(20), [-5.0, 5.0] * 10)
    whole = kane.simulate(dyn, until=0.2, inputs={"T": torque}, **start)
    # The default tolerances of BDF are 1e-6 a step, and it begins anew twenty times.
    assert np.concatenate([stepper.q, stepper.u]) == pytest.approx(states(whole)[-1], abs=1e-3)
    assert kane.simulate(dyn, until=0.0, q=stepper.q, u=stepper.u).residuals["configuration_residual"][0] < 1e-12


def test_what_makes_no_sense_is_refused(dyn):
    with pytest.raises(kane.ModelError, match="Stepper needs Dynamics"):
        kane.Stepper(dyn.equations)
    with pytest.raises(kane.ModelError, match=r"the integrator is 'RK4'.*kane\.RK8\(\)"):
        kane.Stepper(dyn, integrator="RK4")
    with pytest.raises(kane.ModelError, match="start"):
        kane.Stepper(dyn, start=math.nan)
    stepper = kane.Stepper(dyn, **START)
    for dt in (0.0, -0.1, math.inf, math.nan, "1", None):
        with pytest.raises(kane.ModelError, match="dt"):
            stepper.step(dt)
    stepper = kane.Stepper(dyn, start=1e6, **START)
    with pytest.raises(kane.ModelError, match=r"dt = 1e-12 s is lost in the rounding"):
        stepper.step(1e-12)
    with pytest.raises(kane.ModelError, match="there is no input 'tua'; did you mean tau"):
        stepper.inputs = {"tua": 1.0}
    with pytest.raises(kane.ModelError, match="the input 'tau' is nan"):
        stepper.inputs = [math.nan]
    assert stepper.time == 1e6


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("stop", [False, True])
def test_a_stepper_is_not_copied_and_says_how_another_is_made(copied, stop):
    m = kane.Model("arm", gravity=(0, -9.81, 0))
    hinge = m.connect(m.ground, m.body("A", mass=1.0, inertia=(0.1,) * 3, com=(0.3, 0, 0)), kane.Revolute("q1"))
    if stop:
        m.stop(hinge, lower=-1.0)
    s = kane.Stepper(kane.build(kane.formulate(m)))
    s.step(0.01)
    with pytest.raises(kane.ModelError, match=r"a Stepper cannot be copied or pickled: .*make another.*start="):
        copied(s)


def within_a_step(dyn, call):
    """What a call of another thread raises while a step is under way, whose input function waits for the call."""
    raised = []

    def other():
        try:
            call(stepper)
        except ModelError as error:
            raised.append(str(error))

    def force(t, q, u):
        if not raised and not threads:
            threads.append(threading.Thread(target=other))
            threads[0].start()
            threads[0].join()
        return [0.0] * len(dyn.equations.inputs)

    threads = []
    stepper = kane.Stepper(dyn, inputs=force)
    stepper.step(0.1)
    return raised, stepper


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.step(0.1),
        lambda s: setattr(s, "inputs", {}),
        lambda s: s.impose(s.equations.u[0]),
        lambda s: s.delete("x"),
    ],
    ids=["step", "inputs", "impose", "delete"],
)
def test_a_stepper_in_a_step_refuses_the_calls_of_another_thread(dyn, call):
    raised, stepper = within_a_step(dyn, call)
    assert len(raised) == 1
    assert "another call is under way in this Stepper" in raised[0]
    assert "threading.Lock" in raised[0]
    assert stepper.time == 0.1
    stepper.step(0.1)  # it is free again
    assert stepper.time == pytest.approx(0.2)


def test_a_stepper_is_free_again_after_a_step_that_fails(dyn):
    stepper = kane.Stepper(dyn)
    for _ in range(2):
        with pytest.raises(ModelError, match="dt"):
            stepper.step(-1.0)
    stepper.step(0.1)


def test_threads_that_step_one_stepper_are_refused_and_its_states_are_those_of_one_thread():
    """Every step counts once: the state is that of as many steps of another stepper."""
    dyn = kane.build(kane.formulate(kane.library.n_link_pendulum(2)))
    shared, alone, done = kane.Stepper(dyn, q=[0.3, 0.2, 0.1]), kane.Stepper(dyn, q=[0.3, 0.2, 0.1]), []

    def work():
        for _ in range(300):
            with contextlib.suppress(ModelError):
                shared.step(1e-3)
                done.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in done:
        alone.step(1e-3)
    assert shared.time == alone.time
    np.testing.assert_array_equal(shared.q, alone.q)


def test_a_step_that_a_sampled_law_ends_asks_it_again_when_it_is_taken_again(dyn):
    """Its answers and its state are those of a run in which nothing happened."""
    asked, failures, ends = [], [], []
    (name,) = [leaf.name for leaf in dyn.equations.inputs]

    def law(t, q, u, state):
        asked.append(t)
        if failures and len(asked) == 5:
            raise failures.pop()
        return 0.1 * state, state + 1.0

    for failure in (None, ValueError("once"), KeyboardInterrupt()):
        asked.clear()
        failures[:] = [] if failure is None else [failure]
        law_of_name = {name: kane.Sampled(law, period=0.1, state=0.0)}
        stepper = kane.Stepper(dyn, inputs=law_of_name, integrator=kane.RK4())
        while stepper.time < 0.95:
            with contextlib.suppress(kane.SimulationError, KeyboardInterrupt):
                stepper.step(0.1)
        ends.append([stepper.time, *stepper.q, *stepper.u])
    np.testing.assert_array_equal(ends[1], ends[0])
    np.testing.assert_array_equal(ends[2], ends[0])
