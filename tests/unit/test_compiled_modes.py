"""Choices of dependent speeds compiled ahead.

What vouches: the numeric embedding, another derivation in another arithmetic (QR of the rows at each state, a dense
reduced mass matrix), for every number; the law of energy; and, where these cannot tell, the report of the run itself.
"""

import copy
import warnings
from functools import cache

import numpy as np
import pytest
from oracles.formulated import built
from scipy.optimize import brentq

import kane
from kane import ModelError, library
from kane.codegen.programs.program import Program
from kane.engine.memory.run_codes import PROJECT
from kane.engine.memory.views import selection_header_at
from kane.engine.project.speed_selections import NONE
from kane.simulation.mode_table import stage_in_force
from kane.simulation.projection import selection_in

# Rounding of some hundred operations on numbers that the conditioning, above 0.01 here, may divide by.
ROUNDING = 1e-12


CASES = {
    "four-bar": (library.four_bar, {"q": {"q1": 1.0, "q3": 1.5}, "fixed": ["q1"]}),
    "slider-crank": (library.slider_crank, {}),
    "Andrews": (library.andrews_squeezer, {}),
    "Bricard, one row of six implied": (library.bricard, {}),
    "windows": (lambda: library.n_four_bar(2), {"u": {"a0_dot": 1.0}, "fixed": ["a0_dot"]}),
    "bicycle, with a contact in space": (library.whipple_bicycle, {}),
}


def moving(name):
    """Dynamics, the same with its mode compiled, and a consistent state in motion."""
    make, how = CASES[name]
    dyn = built(make)
    start = kane.assemble(dyn, **how)
    first = [str(n) for n in dyn.independent(start.q)]
    u = dict.fromkeys(first, 0.4)
    held = [leaf.name for leaf in dyn.equations.q]
    start = kane.assemble(dyn, q=start.q, u=u, fixed=[*held, *first]) if first else start
    run = kane.simulate(dyn, until=1e-3, q=start.q, u=start.u)
    return dyn, kane.compile_modes(dyn, run.modes, near=start), start


def in_force(dyn, start):
    """What settling makes of a state, and the stage with the choice that it made."""
    stage = dyn.project.stage(dyn.parameters)
    state = np.concatenate([[0.0], start.q, start.u])
    inputs = np.zeros(len(dyn.equations.inputs))
    dyn.project(state, inputs, stage)
    return state, inputs, stage


@pytest.mark.parametrize("name", CASES)
def test_compiled_projection_and_right_hand_side_are_the_numeric_ones(name):
    """Of the same choice, at states on the constraints and off them by what a step leaves; the certificate's digits."""
    dyn, fast, start = moving(name)
    random = np.random.default_rng(3)
    state, inputs, numeric = in_force(dyn, start)
    _, _, stage = in_force(fast, start)
    assert selection_header_at(stage, 0).chosen[0] == 0
    assert np.array_equal(selection_in(stage), selection_in(numeric))
    n = len(state) - 1
    for off in (0.0, 1e-9, 1e-7):
        there = state + np.concatenate([[0.0], off * random.normal(size=n)])
        expected, found = dyn.project(there, inputs, numeric), fast.project(there, inputs, stage)
        size = 1.0 + np.abs(expected).max()
        assert np.abs(found[:n] - expected[:n]).max() < ROUNDING * size
        assert found[n : n + 2] == pytest.approx(expected[n : n + 2], rel=1e-5, abs=1e-15)  # residuals before
        # the smallest pivot depends on the order of the columns, by no more than their number
        assert 1.0 / len(start.u) < found[n + 2] / expected[n + 2] < len(start.u)
        on = np.concatenate([[0.0], expected[:n]])
        slope, own = dyn.function("rhs")(on, inputs, numeric), fast.function("rhs")(on, inputs, stage)
        assert np.abs(own - slope).max() < 10 * ROUNDING * (1.0 + np.abs(slope).max())
    assert selection_header_at(stage, 0).chosen[0] == 0  # nothing of it was found in numbers


@cache
def turning():
    """A loop in which each of the three angles turns back somewhere: no choice is good in all positions.

    The tests share it and change nothing in it; ``compile_modes`` gives them Dynamics of their own.
    """
    dyn = kane.build(kane.formulate(library.four_bar()))
    parameters = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.5, "g": 0.0}
    how = {"q": {"q1": 1.0, "q3": 1.5}, "u": {"u2": 3.0}, "fixed": ["q1", "u2"], "parameters": parameters}
    start = kane.assemble(dyn, **how)
    return dyn, {"until": 5.0, "q": start.q, "u": start.u, "parameters": parameters}


def test_a_run_takes_the_choices_of_the_numeric_one_at_the_same_times():
    """With fixed steps, whose times do not depend on rounding; energy is kept as well."""
    dyn, how = turning()
    run = kane.simulate(dyn, dt=1e-3, **how)
    fast = kane.simulate(kane.compile_modes(dyn, run.modes), dt=1e-3, **how)
    switches = run.to_xarray().switches.to_numpy()
    assert switches[-1] == 6
    assert len(run.modes) == 3
    assert np.array_equal(fast.to_xarray().switches.to_numpy(), switches)
    assert fast.modes == run.modes
    # rounding of 5,000 steps, which the motion makes larger
    assert np.abs(fast.q - run.q).max() < 1e-12
    assert np.abs(fast.u - run.u).max() < 1e-11
    assert np.ptp(fast.energy) < 1.5 * np.ptp(run.energy) + 1e-12
    kept = kane.simulate(kane.compile_modes(dyn, run.modes), **how).audit()
    assert "kept to at least 8 digits" in str(kept)  # at the integrator's own 9
    assert float(fast.residuals.configuration_residual.max()) < 1e-13
    assert float(fast.residuals.motion_residual.max()) < 1e-11


def speeds_of_choice():
    """Coordinates are settled by the joints' own speeds."""
    model = library.four_bar()
    q1, q2, q3 = (c.qdot for c in model.connections)
    model.speeds(w1=q1, w2=q1 + q2, w3=q3)
    return kane.formulate(model), {"q": {"q1": 1.0, "q3": 1.5}, "fixed": ["q1"]}


def moving_pin():
    """The end of two rods keeps a height that changes with time."""
    m = kane.Model("moving pin", gravity=(0, -9.81, 0))
    A, B = (m.body(name, mass=1, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0)) for name in "AB")
    q1 = m.connect(m.ground, A, kane.Revolute("q1", axis="z")).q
    q2 = m.connect(A, B, kane.Revolute("q2", axis="z"), at=(1, 0, 0)).q
    m.constrain(kane.sin(q1) + kane.sin(q1 + q2) - 0.3 * kane.sin(2 * m.time), name="pin")
    return kane.formulate(m), {"t": 0.0, "q": {"q1": 0.8, "q2": -1.5}, "fixed": ["q1"]}


def linkage_with_a_ball():
    """A quaternion, whose length each step of Newton's method restores."""
    m = kane.Model("linkage with a ball", gravity=(0, 0, -9.81))
    A = m.body("A", mass=1, inertia=(0.01, 0.02, 0.03), com=(0.1, 0, 0))
    B = m.body("B", mass=1, inertia=(0.03, 0.02, 0.05), com=(0.3, 0, 0))
    C = m.body("C", mass=1, inertia=(0.02, 0.03, 0.04), com=(0.4, 0, 0))
    m.connect(m.ground, A, kane.Revolute("q1", axis="z"))
    m.connect(A, C, kane.Spherical("s"), at=(0.3, 0, 0))
    m.connect(m.ground, B, kane.Revolute("q3", axis="y"), at=(1.0, 0.2, 0))
    m.constrain(kane.Coincidence(C.point((0.9, 0, 0)), B.point((0.7, 0, 0))), name="end")
    return kane.formulate(m), {"q": {"q1": 0.7, "q3": -1.2}, "fixed": ["q1"]}


def substituted():
    equations = kane.substitute(kane.formulate(library.four_bar()), g=0.0, mu=3.0)
    return equations, {"q": {"q1": 1.0, "q3": 1.5}, "u": {"u1": 3.0}, "fixed": ["q1", "u1"]}


@pytest.mark.parametrize("make", [speeds_of_choice, moving_pin, linkage_with_a_ball, substituted])
def test_whatever_a_loop_is_made_of_the_motion_is_the_numeric_one(make):
    equations, how = make()
    dyn = kane.build(equations)
    start = kane.assemble(dyn, **how)
    asked = {"until": 0.7, "dt": 1e-3, "q": start.q, "u": start.u}
    run = kane.simulate(dyn, **asked)
    fast = kane.compile_modes(dyn, run.modes)
    assert selection_header_at(in_force(fast, start)[2], 0).chosen[0] == 0
    compiled = kane.simulate(fast, **asked)
    assert np.array_equal(compiled.to_xarray().switches, run.to_xarray().switches)
    assert np.abs(compiled.q - run.q).max() < 1e-11
    assert np.abs(run.q[-1] - run.q[0]).max() > 0.3  # it moves


def test_modes_that_are_not_compiled_run_in_numbers_and_are_told():
    dyn, how = turning()
    run = kane.simulate(dyn, dt=1e-3, **how)
    one = kane.simulate(kane.compile_modes(dyn, run.modes[:1]), dt=1e-3, **how)
    assert np.abs(one.q - run.q).max() < 1e-9
    assert np.array_equal(one.to_xarray().switches.to_numpy(), run.to_xarray().switches.to_numpy())
    assert set(str(one).splitlines()[1].split(": ")[1].split("; ")) == set(run.modes[1:])
    assert "not compiled" not in str(kane.simulate(kane.compile_modes(dyn, run.modes), dt=1e-3, **how))
    assert "not compiled" not in str(run)


@pytest.mark.slow
def test_expressions_that_lose_digits_are_left_for_numbers():
    """A divisor of the elimination vanishes where the choice is good: what is left of the rows says so."""
    dyn = kane.build(kane.formulate(library.stewart_platform()))
    start = kane.assemble(dyn)
    run = kane.simulate(dyn, until=0.2, q=start.q, u=start.u, times=np.linspace(0.0, 0.2, 21))
    fast = kane.compile_modes(dyn, run.modes, near=start)
    eqs, embedding = dyn.equations, fast.compiled_modes.chosen(dyn.equations)[0].embedding
    own = {"state": (eqs.t, *eqs.q, *eqs.u), "rest": (), "parameters": eqs.parameters}
    divisors = dyn.compile(Program("divisors", embedding.fails_where, **own))
    values, stage = divisors.stage(dyn.parameters), fast.project.stage(dyn.parameters)
    inputs = np.zeros(len(eqs.inputs))
    numeric = dyn.project.stage(dyn.parameters)

    def at(part):
        state = (1.0 - part) * before + part * behind
        return np.concatenate([state[:1], dyn.project(state, inputs, numeric)[: len(before) - 1]])

    states = np.column_stack([run.time, run.q, run.u])
    changes = np.diff(np.sign(divisors(states, np.zeros(0), values)), axis=0)
    k, j = np.argwhere(changes)[0]
    before, behind = states[k - 1], states[k + 2]  # those next to the root may have lost digits already
    for state in states[:k]:
        dyn.project(state, inputs, numeric)
    root = brentq(lambda part: divisors(at(part), np.zeros(0), values)[j], 0.0, 1.0, xtol=1e-15)
    for state in states[:k]:
        fast.project(state, inputs, stage)
    assert selection_header_at(stage, 0).chosen[0] == 0
    there = at(root)
    assert np.abs(fast.project(there, inputs, stage) - dyn.project(there, inputs, numeric)).max() < ROUNDING
    assert selection_header_at(stage, 0).chosen[0] == NONE
    slope = dyn.function("rhs")(there, inputs, numeric)
    assert np.array_equal(fast.function("rhs")(there, inputs, stage), slope)
    fast.project(behind, inputs, stage)
    assert selection_header_at(stage, 0).chosen[0] == 0  # and back


@pytest.mark.parametrize("method", [kane.RK8(), kane.RK5(), kane.BDF(), kane.Gauss4(), kane.Midpoint()])
def test_every_integrator_runs_compiled_modes(method):
    dyn, how = turning()
    how = {**how, "until": 0.5, "integrator": method}
    run = kane.simulate(dyn, **how)
    fast = kane.simulate(kane.compile_modes(dyn, run.modes), **how)
    # adaptive steps follow an estimate that cancels to rounding: apart by some tolerances, by rounding where fixed
    assert np.abs(fast.q - run.q).max() < (1e-10 if method.fixed else 1e-6)


def test_a_stepper_takes_compiled_modes():
    dyn, how = turning()
    fast = kane.compile_modes(dyn, kane.simulate(dyn, **how).modes)
    steppers = [kane.Stepper(d, q=how["q"], u=how["u"], parameters=how["parameters"]) for d in (dyn, fast)]
    for _ in range(200):
        for stepper in steppers:
            stepper.step(0.01)
    assert np.abs(steppers[1].q - steppers[0].q).max() < 1e-10


def test_controllers_and_parameters_take_compiled_modes():
    model = library.four_bar()
    dyn = kane.build(kane.formulate(model))
    start = kane.assemble(dyn, q={"q1": 1.0, "q3": 1.5}, fixed=["q1"])
    (u1,) = (leaf for leaf in dyn.equations.u if leaf.name == "u1")
    how = {"until": 1.0, "q": start.q, "inputs": {"T": 2.0 - 0.5 * u1}}
    run = kane.simulate(dyn, **how, parameters={"mu": 3.0})
    fast = kane.compile_modes(dyn, run.modes)
    assert np.abs(kane.simulate(fast, **how, parameters={"mu": 3.0}).q - run.q).max() < 1e-8
    many = kane.simulate_many(fast, **how, parameters={"mu": np.linspace(1.0, 3.0, 12)})
    for k, mu in enumerate(np.linspace(1.0, 3.0, 12)):
        alone = kane.simulate(fast, **how, times=(0.5,), parameters={"mu": mu})
        assert np.array_equal(many.q[k, -1], alone.q[-1])
        assert np.array_equal(many.u[k, -1], alone.u[-1])


@pytest.mark.parametrize("compiled", [3, 1])
def test_trajectories_side_by_side_are_to_the_last_bit_those_of_simulate(compiled):
    """Their choices change at different times; one of three is compiled, or all."""
    dyn, how = turning()
    fast = kane.compile_modes(dyn, kane.simulate(dyn, **how).modes[:compiled])
    speeds = np.linspace(0.5, 1.5, 21)[:, None] * how["u"]
    inputs = np.linspace(-0.5, 0.5, 21)[:, None]
    asked = {"until": 2.0, "times": (0.3, 1.0, 1.7), "parameters": how["parameters"]}
    many = kane.simulate_many(fast, q=np.tile(how["q"], (21, 1)), u=speeds, inputs=inputs, **asked)
    assert many.finished.all()
    for k in range(21):
        alone = kane.simulate(fast, q=how["q"], u=speeds[k], inputs=inputs[k], **asked)
        assert np.array_equal(many.q[k], alone.q)
        assert np.array_equal(many.u[k], alone.u)
    assert len({int(kane.simulate(fast, q=how["q"], u=u, **asked).to_xarray().switches[-1]) for u in speeds[::5]}) > 1


def test_trajectories_side_by_side_that_cannot_start_or_end_harm_no_other():
    dyn, how = turning()
    fast = kane.compile_modes(dyn, ["u2, u3 dependent", "u1, u3 dependent"])
    q, u = np.tile(how["q"], (9, 1)), np.tile(how["u"], (9, 1))
    q[2, 1] += 1e-3  # the loop is open
    lengths = {name: np.full(9, value) for name, value in how["parameters"].items()}
    lengths["mu"] = np.where(np.arange(9) == 5, 0.0, 2.0)  # nothing has mass
    many = kane.simulate_many(fast, until=0.5, q=q, u=u, parameters=lengths)
    assert sorted(many.failures) == [2, 5]
    assert "does not satisfy the constraint" in many.failures[2]
    assert "kane.assemble" in many.failures[2]
    alone = kane.simulate(fast, until=0.5, q=q[0], u=u[0], parameters={"mu": 2.0, **how["parameters"]}, times=(0.2,))
    for k in (0, 1, 3, 4, 6, 7, 8):
        assert np.array_equal(many.q[k, -1], alone.q[-1])


@pytest.mark.parametrize("compiled", [False, True])
def test_trajectories_that_nearly_lose_the_constraints_are_told(compiled):
    """A window whose rods all lie along one line, recorded there: the numeric embedding says the same, one by one."""
    model = library.n_four_bar(1)
    dyn = kane.build(kane.formulate(model))
    modes = [f"{a}, {b} dependent" for a, b in (("a1_dot", "b1_dot"), ("a0_dot", "b1_dot"), ("a0_dot", "a1_dot"))]
    each = kane.compile_modes(dyn, modes) if compiled else dyn
    asked = {"times": np.linspace(0.812, 0.8124, 401), "integrator": kane.RK8(1e-9, 1e-11)}
    u = {"a0_dot": np.full(3, 0.7), "a1_dot": 0.7, "b1_dot": -0.7}
    with pytest.warns(UserWarning, match="3 of 3 trajectories may be inaccurate; trajectory 0: .* may err by"):
        assert not kane.simulate_many(each, until=1.0, u=u, **asked).failures


def test_calls_that_stand_alone_and_copies_are_those_of_the_dynamics():
    dyn, how = turning()
    fast = kane.compile_modes(dyn, ["u2, u3 dependent", "u1, u3 dependent"])
    q, u = how["q"], how["u"]
    assert np.array_equal(fast.forward(q, u, [1.0]), dyn.forward(q, u, [1.0]))
    x = np.concatenate([q, u])
    assert np.array_equal(fast.rhs(0.0, np.stack([x] * 3), [1.0]), dyn.rhs(0.0, np.stack([x] * 3), [1.0]))
    assert len(copy.copy(fast).project.parts.choices) == 2


def test_a_stage_of_another_function_is_refused():
    _, fast, start = moving("four-bar")
    state, inputs, stage = in_force(fast, start)
    with pytest.raises(ModelError, match="was not made for it"):
        fast.project(state, inputs, np.zeros_like(stage))
    wrong = stage.copy()
    selection_header_at(wrong, 0).chosen[0] = 1  # there is one choice, number 0
    with pytest.raises(ModelError, match="was not made for it"):
        fast.project(state, inputs, wrong)
    selection_header_at(wrong, 0).chosen[0] = NONE
    fast.project(state, inputs, wrong)


def test_modes_are_saved_with_the_run(tmp_path):
    dyn, how = turning()
    run = kane.simulate(dyn, **how)
    run.save(tmp_path / "run.nc")
    assert kane.Trajectory.load(tmp_path / "run.nc").modes == run.modes


def test_what_cannot_be_compiled_says_why():
    dyn, _ = turning()
    with pytest.raises(ModelError, match="is no mode of 'four_bar'; modes are such as"):
        kane.compile_modes(dyn, ["left held"])
    with pytest.raises(ModelError, match="u7"):
        kane.compile_modes(dyn, ["u7, u3 dependent"])
    with pytest.raises(ModelError, match="names no mode of 'four_bar'"):
        kane.compile_modes(dyn, [])
    with pytest.raises(ModelError, match="list of modes"):
        kane.compile_modes(dyn, "u2, u3 dependent")
    with pytest.raises(ModelError, match="if some rows are redundant"):
        kane.compile_modes(dyn, ["u3 dependent"])
    with pytest.raises(ModelError, match="compile_modes needs Dynamics"):
        kane.compile_modes(dyn.equations, ["u2, u3 dependent"])
    free = kane.build(kane.formulate(library.rolling_disk()))
    with pytest.raises(ModelError, match="has one mode, which is compiled already"):
        kane.compile_modes(free, ["u1 dependent"])


def wait_for_met(fast):
    """Until the thread has compiled what runs have met."""
    fast.derived("met modes", lambda: None).wait()


def test_choices_that_runs_meet_are_compiled_as_they_go():
    """A stepper that was begun in numbers goes on by compiled choices; the next run begins with them, lanes too."""
    dyn, how = turning()
    fast = kane.compile_modes(dyn)
    steppers = [
        kane.Stepper(d, q=how["q"], u=how["u"], parameters=how["parameters"], integrator=kane.RK4())
        for d in (dyn, fast)
    ]
    for k in range(2000):
        for stepper in steppers:
            stepper.step(1e-3)
        if k % 100 == 0:
            wait_for_met(fast)
    assert np.abs(steppers[1].q - steppers[0].q).max() < 1e-12
    stage = stage_in_force(
        steppers[1]._integration.system, PROJECT, steppers[1]._problem.mode_source._own.functions.pair[1]
    )
    assert selection_header_at(stage, 0).chosen[0] != NONE
    runs = [kane.simulate(d, dt=1e-3, **how) for d in (dyn, fast)]
    wait_for_met(fast)
    again = kane.simulate(fast, dt=1e-3, **how)
    assert "not compiled" not in str(again)
    assert again.modes == runs[0].modes == runs[1].modes
    for run in (runs[1], again):
        assert np.abs(run.q - runs[0].q).max() < 1e-12
        assert np.array_equal(run.to_xarray().switches, runs[0].to_xarray().switches)
    asked = {"until": 1.0, "parameters": how["parameters"], "q": how["q"]}
    many = kane.simulate_many(fast, u=[how["u"]] * 3, **asked)
    assert np.array_equal(many.q[2, -1], kane.simulate(fast, u=how["u"], times=[], **asked).q[-1])


def test_choices_that_the_trajectories_of_an_ensemble_meet_are_compiled_behind_it():
    dyn, how = turning()
    fast = kane.compile_modes(dyn)
    asked = {**how, "u": [how["u"]] * 2, "times": np.linspace(0.0, how["until"], 101)}
    many = [kane.simulate_many(d, **asked) for d in (dyn, fast)]
    assert np.array_equal(many[0].q, many[1].q)  # what is compiled serves those that follow
    wait_for_met(fast)
    assert "not compiled" not in str(kane.simulate(fast, **how))


def test_runs_whose_choices_are_not_compiled_yet_are_those_in_numbers_and_say_so(monkeypatch):
    dyn, how = turning()
    monkeypatch.setattr("kane.dynamics.mode_cache.ModeCache._compile", lambda self, mode: None)
    fast = kane.compile_modes(dyn)
    runs = [kane.simulate(d, **how) for d in (dyn, fast)]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert "modes that are not compiled, embedded numerically: " + "; ".join(runs[0].modes[:1]) in str(runs[1])


def test_a_choice_that_cannot_be_compiled_is_told_and_the_run_goes_on_in_numbers(monkeypatch):
    dyn, how = turning()
    fast = kane.compile_modes(dyn)

    def broken(*_):
        raise OSError("no space left")

    monkeypatch.setattr("kane.dynamics.embedded.compiled_selections.CompiledSelection.of", broken)
    with warnings.catch_warnings(record=True) as told:  # by whichever run ends after the thread has failed
        warnings.simplefilter("always")
        first = kane.simulate(fast, **how)
        wait_for_met(fast)
        second = kane.simulate(fast, **how)
    words = sorted(str(warning.message) for warning in told)
    assert [word.split("'")[1] for word in words] == sorted(first.modes)
    assert all(
        word.endswith("could not be compiled and is simulated numerically: OSError: no space left") for word in words
    )
    assert np.array_equal(first.q, second.q)
    assert np.array_equal(first.q, kane.simulate(dyn, **how).q)


def test_all_choices_are_compiled_where_these_are_few(monkeypatch):
    dyn, how = turning()
    fast = kane.compile_modes(dyn, "all")
    assert fast.modes == ("u1, u2 dependent", "u1, u3 dependent", "u2, u3 dependent")
    assert "not compiled" not in str(kane.simulate(fast, **how))
    implied = kane.build(kane.formulate(library.bricard()))
    with pytest.raises(ModelError, match=r"no 6 speeds of 'bricard' .* are redundant or vanish; give near="):
        kane.compile_modes(implied, "all")
    near = kane.compile_modes(implied, "all", near=kane.assemble(implied))
    assert len(near.modes) == 6
    monkeypatch.setattr("kane.dynamics.compile_modes.MAX_COMPILED_MODES", 2)
    with pytest.raises(ModelError, match=r"has 3 modes, but at most 2 are compiled in advance; give .*run\.modes"):
        kane.compile_modes(dyn, "all")


def test_equations_that_do_not_fit_in_memory_are_an_error_of_this_library(monkeypatch):
    dyn, _ = turning()

    def full(*_):
        raise MemoryError

    monkeypatch.setattr("kane.dynamics.embedded.embedded_functions.CompiledSelection.of", full)
    with pytest.raises(ModelError, match="do not fit in memory; give fewer"):
        kane.compile_modes(dyn, ["u2, u3 dependent"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(kane.simulate(dyn, **turning()[1])) > 0  # as it is, in numbers
