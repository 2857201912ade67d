"""simulate: its arguments, its ends, and what it says when it cannot go on."""

import math

import numpy as np
import pytest

import kane


def oscillator():
    """A mass of 1 kg on a spring of 4 N/m, pushed by a force: from q1 = 1 m at rest, q1 = cos 2t."""
    model = kane.Model("oscillator", gravity=(0, 0, 0))
    block = model.body("block", mass=1.0)
    slide = model.connect(model.ground, block, kane.Prismatic("q1", axis="x"))
    model.load(kane.Spring(slide, model.parameter("stiffness", 4.0)))
    model.load(kane.Motor(slide, model.input("force")))
    return kane.build(kane.formulate(model))


def free_body():
    model = kane.Model("tumbler", gravity=(0, 0, 0))
    body = model.body("body", mass=1.0, inertia=(2.0, 3.0, 4.0))
    model.connect(model.ground, body, kane.Free("base"))
    return kane.build(kane.formulate(model))


def one_slider(effort):
    """A mass of 1 kg whose driving force is an expression of its coordinate and rate."""
    model = kane.Model("slider", gravity=(0, 0, 0))
    block = model.body("block", mass=1.0)
    slide = model.connect(model.ground, block, kane.Prismatic("q1", axis="x"))
    model.load(kane.Motor(slide, effort(slide)))
    return kane.build(kane.formulate(model))


@pytest.fixture(scope="module")
def dyn():
    return oscillator()


@pytest.fixture(scope="module")
def tumbler():
    return free_body()


def test_an_oscillator_follows_its_closed_form(dyn):
    run = kane.simulate(dyn, until=10.0, q=[1.0], dt=1e-3)
    # RK4's phase error is (w h)^5 / 120 a step: 3e-16 a radian-step times 10,000 steps, 2.7e-12 in all.
    assert np.abs(run["q1"] - np.cos(2 * run.time)).max() < 5e-12
    assert run.time[0] == 0.0
    assert run.time[-1] == 10.0


def test_what_is_not_given_is_neutral_and_at_rest(tumbler):
    run = kane.simulate(tumbler, until=0.0)
    assert run.q.tolist() == [[1, 0, 0, 0, 0, 0, 0]]
    assert run.u.tolist() == [[0] * 6]


def test_a_state_may_be_given_by_name(tumbler):
    run = kane.simulate(tumbler, until=0.0, q={"base_y": 2.0}, u={"base_wz": 3.0})
    assert run.q[0].tolist() == [1, 0, 0, 0, 0, 2, 0]
    assert run.u[0].tolist() == [0, 0, 3, 0, 0, 0]


@pytest.mark.parametrize("steps", [1, 2, 7, 10])
def test_the_last_step_ends_exactly_at_until(dyn, steps):
    until = 1e-3 * steps + 1e-4
    run = kane.simulate(dyn, until=until, q=[1.0], dt=1e-3, every=1)
    assert len(run) == steps + 2
    assert run.time[-1] == until
    assert run["q1"][-1] == pytest.approx(math.cos(2 * until), abs=1e-14)  # a few roundings


def test_a_whole_number_of_steps_has_no_tiny_step_at_the_end(dyn):
    for dt in (0.1, 0.01, 0.003, 1 / 3, 1e-3):
        assert len(kane.simulate(dyn, until=dt * 30, dt=dt, every=1)) == 31


def test_every_third_state_and_the_last_one_are_recorded(dyn):
    whole = kane.simulate(dyn, until=0.010, q=[1.0], dt=1e-3, every=1)
    some = kane.simulate(dyn, until=0.010, q=[1.0], dt=1e-3, every=3)
    kept = [0, 3, 6, 9, 10]
    assert (some.q == whole.q[kept]).all()
    assert np.allclose(some.time, whole.time[kept], rtol=1e-15)  # products of other factors


def test_long_runs_keep_about_ten_thousand_states_unless_told_otherwise(dyn):
    run = kane.simulate(dyn, until=123.456, q=[1.0], dt=1e-3)
    assert 5_000 < len(run) <= 10_001


def test_a_run_backwards_returns_to_where_it_came_from(dyn):
    there = kane.simulate(dyn, until=3.0, q=[1.0], u=[0.5], dt=1e-3).final
    back = kane.simulate(dyn, start=3.0, until=0.0, q=there.q, u=there.u, dt=1e-3)
    assert back.time[-1] == 0.0
    assert back.final.q == pytest.approx([1.0], abs=1e-11)  # twice the error of the closed-form test
    assert back.final.u == pytest.approx([0.5], abs=1e-11)


def test_parameters_may_be_given_for_one_run(dyn):
    run = kane.simulate(dyn, until=1.0, q=[1.0], parameters={"stiffness": 9.0}, dt=1e-3)
    assert run["q1"][-1] == pytest.approx(math.cos(3.0), abs=1e-11)
    assert run.energy == pytest.approx(4.5, abs=1e-10)  # the energy is of this spring, not of the default one


def test_a_quaternion_slightly_off_is_normalised(tumbler):
    run = kane.simulate(tumbler, until=0.0, q={"base_qw": 1.0 + 5e-7})
    assert run.q[0, 0] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"q": {"q2": 1.0}}, "no coordinate 'q2'; known are q1"),
        ({"u": {"speed": 1.0}}, "no speed 'speed'; known are u1"),
        ({"q": [1.0, 2.0]}, r"shape \(2,\); 1 are needed: q1"),
        ({"q": [math.nan]}, "'q1' is nan; give a finite number"),
        ({"q": "one"}, "coordinates must be 1 numbers, or a dict of them by name, not 'one'"),
        ({"u": {"u1": "fast"}}, "'u1' is 'fast'; give a finite number"),
        ({"dt": 0.0}, "dt is 0.0; give a positive step"),
        ({"dt": -1e-3}, "give a positive step"),
        ({"dt": math.nan}, "dt is nan"),
        ({"until": math.inf}, "until is inf"),
        ({"start": 1e9, "until": 1e9 + 1, "dt": 1e-8}, "lost in the rounding"),
        ({"every": 0}, "every is 0; give a whole number"),
        ({"every": 1.5}, "every is 1.5"),
        ({"until": 1e9, "every": 1, "dt": 1e-6}, "do not fit in memory; enlarge every"),
        ({"parameters": {"stifness": 1.0}}, "no parameter 'stifness'; did you mean stiffness"),
        ({"inputs": {"torque": 1.0}}, "no input 'torque'; known are force"),
        ({"inputs": [1.0, 2.0]}, "inputs have shape"),
        ({"inputs": {"force": math.inf}}, "'force' is inf"),
    ],
)
def test_a_meaningless_argument_is_an_error_that_names_it(dyn, arguments, message):
    with pytest.raises(kane.ModelError, match=message):
        kane.simulate(dyn, **{"until": 1.0, **arguments})


def test_equations_that_were_not_built_are_an_error(dyn):
    with pytest.raises(kane.ModelError, match=r"needs Dynamics, as kane\.build"):
        kane.simulate(dyn.equations, until=1.0)


def test_an_integrator_that_is_none_is_an_error(dyn):
    for wrong, cure in (
        (kane.RK4, r"the class RK4; give an instance: RK4\(\)"),
        ("RK4", r"give one such as kane\.RK8\(\)"),
    ):
        with pytest.raises(kane.ModelError, match=cure):
            kane.simulate(dyn, until=1.0, integrator=wrong)


def test_a_quaternion_that_is_not_of_length_one_is_an_error_that_names_it(tumbler):
    with pytest.raises(kane.ModelError, match=r"quaternion \(base_qw, base_qx, base_qy, base_qz\) has length 1.4142"):
        kane.simulate(tumbler, until=1.0, q={"base_qx": 1.0})


def test_a_motion_that_runs_away_is_an_error_with_time_and_state():
    runaway = one_slider(lambda slide: slide.qdot * slide.qdot)  # u = 1 / (1 - t) from u = 1
    with pytest.raises(
        kane.SimulationError, match=r"from t = 1\.\d+ s, q1 = .*, u1 = .*e\+\d+; there u1_dot is not fin"
    ):
        kane.simulate(runaway, until=2.0, u=[1.0], dt=1e-3)


def test_accelerations_that_do_not_exist_are_an_error_with_time_and_state():
    dyn = one_slider(lambda slide: 1 / slide.q)
    with pytest.raises(kane.SimulationError, match=r"'slider' .* t = 0 s, q1 = 0, u1 = 0; there u1_dot is not finite"):
        kane.simulate(dyn, until=1.0)


def test_a_step_that_is_too_large_is_blamed():
    dyn = one_slider(lambda slide: -(slide.q**9))
    with pytest.raises(kane.SimulationError, match=r"its derivative is finite: the step dt = 1 s is too large"):
        kane.simulate(dyn, until=1000.0, dt=1.0, q=[1e6])


def stop_at(fraction):
    def progress(done):
        if done > fraction:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_run_is_the_beginning_of_the_whole_one(dyn):
    whole = kane.simulate(dyn, until=1000.0, q=[1.0], dt=1e-3)
    with pytest.warns(UserWarning, match=r"'oscillator' was interrupted at t = .* of 1000 s"):
        part = kane.simulate(dyn, until=1000.0, q=[1.0], dt=1e-3, progress=stop_at(0.001))
    assert part.interrupted
    assert not whole.interrupted
    assert "interrupted at" in part.to_xarray().attrs["message"]
    assert 1 < len(part) < len(whole)
    for name in ("q1", "u1", "kinetic_energy", "force"):
        assert (part[name][:-1] == whole[name][: len(part) - 1]).all()
    assert (part.time[:-1] == whole.time[: len(part) - 1]).all()


@pytest.mark.parametrize("how", [{"dt": 1e-3}, {}, {"integrator": kane.BDF()}], ids=["fixed", "free", "BDF"])
def test_an_interrupted_run_ends_at_the_state_reached_and_not_at_its_last_regular_record(dyn, how):
    """Records lie 10,000 s apart. The state there is that of a run to the same time."""
    with pytest.warns(UserWarning, match="interrupted") as said:
        part = kane.simulate(dyn, until=1e7, q=[1.0], progress=stop_at(-1.0), **how)
    assert len(part) == 2
    assert 0.0 < part.final.time < 1e4
    assert f"at t = {part.final.time:.9g} s of" in str(said[0].message)
    whole = kane.simulate(dyn, until=float(part.final.time), q=[1.0], **how)
    for word in ("q1", "u1", "kinetic_energy"):  # the last step of the second run is shorter
        assert whole[word][-1] == pytest.approx(part[word][-1], abs=1e-4)


def test_a_run_interrupted_at_a_record_has_it_once(dyn):
    with pytest.warns(UserWarning, match="interrupted"):
        part = kane.simulate(dyn, until=1e3, q=[1.0], dt=1e-3, every=1, progress=stop_at(-1.0))
    assert (np.diff(part.time) > 0.0).all()


def test_ctrl_c_inside_an_input_function_returns_what_was_computed(dyn):
    def force(t, q, u):
        if t > 0.5:
            raise KeyboardInterrupt
        return [0.0]

    with pytest.warns(UserWarning, match="interrupted"):
        part = kane.simulate(dyn, until=1.0, q=[1.0], inputs=force, dt=1e-3)
    assert part.final.time == pytest.approx(0.5)


def test_progress_goes_from_nothing_to_all(dyn):
    seen = []
    kane.simulate(dyn, until=10.0, dt=1e-4, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > 2


def test_who_is_told_of_progress_takes_one_argument(dyn):
    for progress in (3, object, lambda: None):
        for simulate, q in ((kane.simulate, [1.0]), (kane.simulate_many, [[1.0]])):
            with pytest.raises(kane.ModelError, match="give a function of the fraction done"):
                simulate(dyn, until=0.1, q=q, progress=progress)


def test_chunks_do_not_change_a_bit(dyn, monkeypatch):
    whole = kane.simulate(dyn, until=2.0, q=[1.0], inputs={"force": ([0, 1, 2], [0, 1, -1])})
    for size in (1, 7, 100_000):
        monkeypatch.setattr("kane.simulation.driver.FIRST_CHUNK", size)
        monkeypatch.setattr("kane.simulation.driver.CHUNK_SECONDS", 1e-9)
        run = kane.simulate(dyn, until=2.0, q=[1.0], inputs={"force": ([0, 1, 2], [0, 1, -1])})
        assert (run.q == whole.q).all()
        assert (run.u == whole.u).all()


def test_a_run_can_be_continued_from_its_final_state(tumbler):
    first = kane.simulate(tumbler, until=1.0, u={"base_wx": 1.0, "base_wy": 2.0, "base_vx": 1.0}, dt=1e-3).final
    second = kane.simulate(tumbler, start=first.time, until=2.0, q=first.q, u=first.u, dt=1e-3).final
    whole = kane.simulate(tumbler, until=2.0, u={"base_wx": 1.0, "base_wy": 2.0, "base_vx": 1.0}, dt=1e-3).final
    assert second.q == pytest.approx(whole.q, abs=1e-13)  # times differ in their rounding


def test_runs_in_threads_do_not_disturb_each_other(dyn):
    from concurrent.futures import ThreadPoolExecutor

    starts = [0.1 * k for k in range(8)]
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda q: kane.simulate(dyn, until=20.0, q=[q]).final.q[0], starts))
    assert runs == [kane.simulate(dyn, until=20.0, q=[q]).final.q[0] for q in starts]
