"""Optimal control by collocation: closed forms, differences, simulations, and refused arguments."""

from __future__ import annotations

import math
import os
import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest

import kane
from kane.analysis.optimal_control import ipopt
from kane.analysis.optimal_control.collocation_method import COLLOCATION_METHODS
from kane.errors import CompileError, ModelError

MASS, DISTANCE, TIME = 2.0, 1.5, 2.0


def _block() -> tuple[kane.Model, kane.Dynamics]:
    """Return a block that a force pushes along x."""
    m = kane.Model("block")
    slide = m.connect(m.ground, m.body("block", mass=m.parameter("m", MASS)), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(slide, m.input("F")))
    return m, kane.build(kane.formulate(m))


@pytest.fixture(scope="module")
def block() -> tuple[kane.Model, kane.Dynamics]:
    return _block()


def _cart_pole() -> tuple[kane.Model, kane.Dynamics]:
    m = kane.Model("cart pole", gravity=(0.0, 0.0, -9.81))
    cart, pole = m.body("cart", mass=1.0), m.body("pole", mass=0.3)
    rail = m.connect(m.ground, cart, kane.Prismatic("x", axis="x"))
    m.connect(cart, pole, kane.Revolute("phi", axis="y"), child_at=(0.0, 0.0, 0.5))
    m.load(kane.Motor(rail, m.input("F")))
    return m, kane.build(kane.formulate(m))


@pytest.fixture(scope="module")
def cart_pole() -> tuple[kane.Model, kane.Dynamics]:
    return _cart_pole()


def _rest(x: float) -> dict[str, float]:
    return {"x": x, "x_dot": 0.0}


def _swing_up(dyn, **changes):
    still = {"x_dot": 0.0, "phi_dot": 0.0}
    given = {
        "duration": 2.0,
        "nodes": 41,
        "objective": kane.integral(dyn.equations.inputs[0] ** 2),
        "start": {"x": 0.0, "phi": 0.0, **still},
        "end": {"x": 1.0, "phi": math.pi, **still},
        "bounds": {"x": (-2.0, 2.0), "F": (-20.0, 20.0)},
    }
    return kane.collocate(dyn, **{**given, **changes})


@pytest.mark.parametrize("method", COLLOCATION_METHODS)
def test_the_least_effort_of_a_block_is_that_of_the_calculus_of_variations(block, method):
    # F = 6 m d / T^2 (1 - 2 t / T), int F^2 dt = 12 m^2 d^2 / T^3. Methods of order 4 and 5 are exact for cubic x.
    _, dyn = block
    force = dyn.equations.inputs[0]
    errors = []
    for nodes in (21, 41):
        found = kane.collocate(
            dyn, duration=TIME, nodes=nodes, objective=kane.integral(force**2), start=_rest(0.0),
            end=_rest(DISTANCE), method=method,
        )  # fmt: skip
        assert found.solved
        assert found.objective == pytest.approx(
            float(np.sum(found.mesh.point_weights * TIME * found["F"] ** 2)), rel=1e-9
        )
        exact = DISTANCE * (3.0 - 2.0 * found.time / TIME) * (found.time / TIME) ** 2
        errors.append(float(np.abs(found["x"] - exact).max()))
    if COLLOCATION_METHODS[method].order >= 4:
        assert max(errors) < 1e-9
        peak = 6.0 * MASS * DISTANCE / TIME**2
        np.testing.assert_allclose(found["F"], peak * (1.0 - 2.0 * found.point_time / TIME), atol=1e-6)
        assert found.objective == pytest.approx(12.0 * MASS**2 * DISTANCE**2 / TIME**3, rel=1e-9)
    else:
        rate = math.log2(errors[0] / errors[1])
        assert rate == pytest.approx(COLLOCATION_METHODS[method].order, abs=0.25)


@pytest.mark.parametrize("fastest", [None, 0.5])
def test_the_least_time_of_a_block_is_that_of_full_force(block, fastest):
    # Full force, then full braking: T = 2 sqrt(m d / F); with a largest speed v: T = d / v + m v / F.
    m, dyn = block
    bounds = {"F": (-3.0, 3.0)} | ({} if fastest is None else {"x_dot": (None, fastest)})
    found = kane.collocate(
        dyn, duration=(0.1, 20.0), nodes=201, objective=kane.final(m.time), start=_rest(0.0), end=_rest(DISTANCE),
        bounds=bounds, method="trapezoid",
    )  # fmt: skip
    expected = 2.0 * math.sqrt(MASS * DISTANCE / 3.0) if fastest is None else DISTANCE / fastest + MASS * fastest / 3.0
    # A switch of the force lies anywhere within an interval, which delays the end by less than its length.
    assert expected - 1e-6 <= found.duration <= expected * (1.0 + 1.0 / 200)


def test_a_free_parameter_and_a_known_input_give_the_period_of_a_spring():
    # x = cos(w t) reaches zero at a quarter of the period: k = m (pi / (2 T))^2.
    m = kane.Model("oscillator")
    slide = m.connect(m.ground, m.body("block", mass=MASS), kane.Prismatic("x", axis="x"))
    m.load(kane.Spring(slide, m.parameter("k", 1.0)))
    m.load(kane.Motor(slide, m.input("push")))
    dyn = kane.build(kane.formulate(m))
    found = kane.collocate(
        dyn, duration=0.7, nodes=21, start={"x": 1.0, "x_dot": 0.0}, end={"x": 0.0}, parameters={"k": (0.1, 100.0)},
        inputs={"push": 0.0}, method="radau",
    )  # fmt: skip
    assert found.solved
    assert found.parameters["k"] == pytest.approx(MASS * (math.pi / 1.4) ** 2, rel=1e-7)
    assert repr(found.inputs["push"]) == "0"


def test_boundary_conditions_may_join_both_ends_and_integrals(block):
    # With int x dt = s and x(T) = x(0) + d the effort is least for a force that is quadratic in t.
    _, dyn = block
    x, u = dyn.equations.q[0], dyn.equations.u[0]
    found = kane.collocate(
        dyn, duration=TIME, nodes=41, objective=kane.integral(dyn.equations.inputs[0] ** 2),
        start={"x_dot": 0.0, "x": 0.0},
        boundary=[
            kane.final(x) - kane.initial(x) - DISTANCE,
            kane.final(u) - kane.initial(u),
            (kane.integral(x), 1.0, 1.0),
        ],
    )  # fmt: skip
    assert found.solved
    assert found["x"][-1] == pytest.approx(DISTANCE, abs=1e-8)
    s = found.point_time / TIME
    fitted = np.polynomial.Polynomial.fit(s, found["F"], 2)
    # Forces at nodes and at midpoints depart from the parabola in turn, by the order of the squared length.
    np.testing.assert_allclose(fitted(s), found["F"], atol=5e-3)
    assert found.mesh.point_weights * TIME @ np.interp(found.point_time, found.time, found["x"]) == pytest.approx(
        1.0, abs=1e-3
    )


def test_path_constraints_hold_at_all_points_and_between_them(cart_pole):
    _, dyn = cart_pole
    x, phi = dyn.equations.q
    tip = x - kane.sin(phi)
    found = _swing_up(dyn, path=[(tip, -0.9, 1.2)])
    assert found.solved
    q = found.solution.z[found.mesh.point_states]
    values = q[:, 0] - np.sin(q[:, 1])
    assert values.min() >= -0.9 - 1e-7
    assert values.max() <= 1.2 + 1e-7
    assert values.min() == pytest.approx(-0.9, abs=1e-5)  # the constraint is active
    assert kane.verify(found).bounds < 0.05


def test_a_slew_about_a_principal_axis_turns_as_a_block_moves():
    # int tau^2 dt = 12 J^2 a^2 / T^3; unit quaternions need no condition of the user.
    m = kane.Model("satellite")
    body = m.body("body", mass=1.0, inertia=(1.0, 2.0, 3.0))
    m.connect(m.ground, body, kane.Spherical("s"))
    torque = [m.input(name) for name in ("Tx", "Ty", "Tz")]
    m.load(kane.Torque(body, torque, expressed_in=body))
    dyn = kane.build(kane.formulate(m))
    still, angle = {"s_wx": 0.0, "s_wy": 0.0, "s_wz": 0.0}, 2.0
    found = kane.collocate(
        dyn, duration=TIME, nodes=21, objective=kane.integral(torque[0] ** 2 + torque[1] ** 2 + torque[2] ** 2),
        start={"s_qw": 1.0, "s_qx": 0.0, "s_qy": 0.0, "s_qz": 0.0} | still,
        end={"s_qw": math.cos(angle / 2), "s_qx": 0.0, "s_qy": math.sin(angle / 2), "s_qz": 0.0} | still,
    )  # fmt: skip
    assert found.solved
    assert found.objective == pytest.approx(12.0 * 2.0**2 * angle**2 / TIME**3, rel=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found.q, axis=1), 1.0, atol=1e-9)


def test_a_loop_and_a_tree_have_the_same_optimum():
    """A pendulum on a revolute joint, and the same pendulum on a planar joint with a pin."""

    def found(loop: bool):
        m = kane.Model("pendulum", gravity=(0.0, 0.0, -9.81))
        rod = m.body("rod", mass=1.0, inertia=(0.02, 0.02, 0.02))
        if loop:
            slider, turner = m.body("a", mass=0.0), m.body("b", mass=0.0)
            m.connect(m.ground, slider, kane.Prismatic("sx", axis="x"))
            m.connect(slider, turner, kane.Prismatic("sz", axis="z"))
            m.connect(turner, rod, kane.Revolute("phi", axis="y"))
            pin = rod.point((0.0, 0.0, 0.5))
            m.constrain(kane.Coincidence(pin, m.ground.point(), along=[m.ground.x, m.ground.z]), name="pin")
        else:
            m.connect(m.ground, rod, kane.Revolute("phi", axis="y"), child_at=(0.0, 0.0, 0.5))
        torque = m.input("T")
        m.load(kane.Torque(rod, (0.0, torque, 0.0), expressed_in=m.ground))
        dyn = kane.build(kane.formulate(m))
        names = [leaf.name for leaf in dyn.equations.u]
        start = dict.fromkeys(names, 0.0) | {"phi": 0.0}
        if loop:
            start |= {"sx": 0.0, "sz": -0.5}
        last = {"phi": 1.0, names[-1]: 0.0}
        return kane.collocate(dyn, duration=1.0, nodes=41, objective=kane.integral(torque**2), start=start, end=last)

    tree, loop = found(False), found(True)
    assert tree.solved
    assert loop.solved
    assert loop.objective == pytest.approx(tree.objective, rel=1e-6)
    np.testing.assert_allclose(loop["phi"], tree["phi"], atol=1e-5)
    assert kane.verify(loop).energy < 1e-6
    residuals = loop.trajectory.residuals
    assert float(residuals.configuration_residual.max()) < 1e-8
    assert float(residuals.motion_residual.max()) < 1e-8


@pytest.mark.parametrize("method", COLLOCATION_METHODS)
def test_derivatives_are_slopes(method):
    """Jacobian and Hessian of all elements agree with central differences, in a loop with all kinds of rows."""
    m = kane.library.four_bar()
    dyn = kane.build(kane.formulate(m))
    e = dyn.equations
    state = kane.assemble(e, q={"q1": 1.0, "q3": 1.5}, fixed=["q1"])
    q1 = e.q[0]
    found = kane.collocate(
        dyn, duration=(0.5, 1.5), nodes=4, objective=kane.integral(e.inputs[0] ** 2 * m.time) + kane.final(q1) ** 2,
        start=dict(zip(("q1", "q2", "q3"), map(float, state.q), strict=True)), boundary=[kane.integral(q1 * q1) - 1.0],
        path=[(q1 * e.inputs[0], None, 100.0)], parameters={"mu": (1.0, 3.0)}, method=method, iterations=2,
    )  # fmt: skip
    rows, program = found.problem.transcription.rows(found.mesh), found.problem.program(found.mesh)
    random = np.random.default_rng(4)
    z = found.solution.z + 0.1 * random.normal(size=found.mesh.unknowns)
    weights = random.normal(size=rows.total)

    def lagrangian_slopes(at):
        slopes = 0.7 * program.objective_gradient(at)
        r, c = program.jacobian_places
        np.add.at(slopes, c, weights[r] * program.jacobian(at))
        return slopes

    def dense(values, places, shape):
        out = np.zeros(shape)
        np.add.at(out, places, values)
        return out

    n, h = found.mesh.unknowns, 1e-6
    jacobian = dense(program.jacobian(z), program.jacobian_places, (rows.total, n))
    lower = dense(program.hessian(z, 0.7, weights), program.hessian_places, (n, n))
    hessian = lower + np.tril(lower, -1).T
    for k in range(n):
        step = np.zeros(n)
        step[k] = h
        ahead, behind = (program.constraints(z + s * step).copy() for s in (1.0, -1.0))
        np.testing.assert_allclose(jacobian[:, k], (ahead - behind) / (2.0 * h), atol=2e-6)
        ahead, behind = (lagrangian_slopes(z + s * step) for s in (1.0, -1.0))
        np.testing.assert_allclose(hessian[:, k], (ahead - behind) / (2.0 * h), atol=2e-5)


def test_a_finer_mesh_agrees_with_a_simulation(cart_pole):
    _, dyn = cart_pole
    coarse = _swing_up(dyn, nodes=21)
    fine = kane.refine(coarse, 1e-7)
    assert fine.solved
    before, after = kane.verify(coarse), kane.verify(fine)
    assert after.between < 1e-7 < before.between
    assert after.simulated < 1e-4 < before.simulated
    assert after.energy < 1e-6 < before.energy
    assert "simulation with the same inputs" in repr(after)
    assert fine.objective == pytest.approx(82.37616, rel=1e-6)


def test_verify_notices_a_motion_that_the_equations_do_not_allow(cart_pole):
    _, dyn = cart_pole
    found = _swing_up(dyn, nodes=101)
    good = kane.verify(found)
    z = found.solution.z.copy()
    z[found.mesh.accelerations] *= 1.01
    z[found.mesh.point_inputs] *= 1.01
    bad = kane.verify(replace(found, solution=replace(found.solution, z=z)))
    assert bad.between > 20.0 * good.between
    assert bad.simulated > 3.0 * good.simulated
    assert bad.energy > 30.0 * good.energy


def test_a_solution_is_a_warm_start_and_a_trajectory(cart_pole, tmp_path):
    _, dyn = cart_pole
    found = _swing_up(dyn)
    again = _swing_up(dyn, guess=found)
    assert len(again.solution.steps) < len(found.solution.steps)
    assert again.objective == pytest.approx(found.objective, rel=1e-9)
    run = found.trajectory
    np.testing.assert_array_equal(run.q, found.q)
    assert run.energy.shape == (41,)
    run.save(tmp_path / "swing.nc")
    np.testing.assert_array_equal(kane.Trajectory.load(tmp_path / "swing.nc").q, found.q)
    assert pickle.loads(pickle.dumps(found)).objective == found.objective
    assert kane.verify(pickle.loads(pickle.dumps(found))).energy == kane.verify(found).energy
    third = _swing_up(dyn, guess=run)
    assert third.objective == pytest.approx(found.objective, rel=1e-6)


def test_ctrl_c_keeps_the_last_iterate(cart_pole, monkeypatch):
    _, dyn = cart_pole
    kept = ipopt._Run._step

    def interrupted(self, *given):
        if given[1] == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return kept(self, *given)

    monkeypatch.setattr(ipopt._Run, "_step", interrupted)
    before = signal.getsignal(signal.SIGINT)
    found = _swing_up(dyn)
    assert not found.solved
    assert found.message.startswith("stopped by the user")
    assert np.isfinite(found.q).all()
    assert len(found.solution.steps) <= 4
    assert signal.getsignal(signal.SIGINT) is before


def test_a_result_that_is_no_solution_names_the_equation(block):
    _, dyn = block
    found = kane.collocate(
        dyn, duration=1.0, nodes=11, objective=kane.integral(dyn.equations.inputs[0] ** 2), start=_rest(0.0),
        end=_rest(10.0), bounds={"F": (-1.0, 1.0)},
    )  # fmt: skip
    assert not found.solved
    assert "infeasible" in found.message
    assert "'x" in found.message
    assert " s is off by " in found.message
    nan = kane.collocate(
        dyn, duration=1.0, nodes=11, objective=kane.integral(kane.log(dyn.equations.q[0])), start={"x": -1.0}
    )
    assert not nan.solved
    assert "the objective is no number" in nan.message


def test_bad_arguments_are_named(block, cart_pole, monkeypatch):
    m, dyn = block
    force, x = dyn.equations.inputs[0], dyn.equations.q[0]

    def refused(match, **changes):
        given = {"duration": 1.0, "nodes": 11, "objective": kane.integral(force**2), **changes}
        with pytest.raises(ModelError, match=match):
            kane.collocate(dyn, **given)

    refused("duration is -1", duration=-1.0)
    refused("duration has the lower limit 3 above the upper limit 2", duration=(3.0, 2.0))
    refused("nodes", nodes=1)
    refused("must increase from 0.0 to 1.0", nodes=[0.0, 0.7, 0.5, 1.0])
    refused("there is no method 'euler'", method="euler")
    refused("there is no coordinate or speed 'y'", start={"y": 0.0})
    refused("there is no coordinate, speed or unknown input 'G'", bounds={"G": 1.0})
    refused("bounds of 'x' from 0 to 1 and start from 2 to 2 contradict", bounds={"x": (0, 1)}, start={"x": 2.0})
    refused("the objective depends on x at no time; give kane.initial", objective=x)
    refused("the objective depends on .* at no time; give final", objective=m.time)
    refused("the objective is not linear in its integrals", objective=kane.integral(x) ** 2)
    refused("boundary condition 1 is .*give .expression, lower, upper", boundary=[3.0])
    refused("path constraint 1 is", path=[x])
    limits = "whose value is 0 or 1; for a limit give .expression, lower, upper"
    refused(f"boundary condition 1 is the comparison 2 < .*{limits}", boundary=[kane.final(x) > 2])
    refused(f"boundary condition 1 is the comparison .*{limits}", boundary=[(kane.final(x) <= 2, 1.0, 1.0)])
    refused(f"path constraint 1 is the comparison .*{limits}", path=[(force < 4, 1.0, 1.0)])
    refused(
        "boundary condition 1 is the comparison equal.*; write .* for the equation",
        boundary=[kane.equal(kane.final(x), 2.0)],
    )
    refused("there is no input 'G'", inputs={"G": 0.0})
    refused("there is no parameter 'k'", parameters={"k": (0.0, 1.0)})
    refused("the input 'F' is an array.*kane.spline", inputs={"F": np.zeros(11)})
    refused("bounds of the input 'F', which inputs= gives", inputs={"F": 0.0}, bounds={"F": (-1.0, 1.0)})
    refused("the objective is 'F.*2'; give an expression", objective="F**2")
    refused("path constraint 1 contains a value at an end", path=[(kane.final(x), 0.0, None)])
    refused("path constraint 1 has no limit", path=[(x, None, None)])
    refused("guess is 'zero'", guess="zero")
    refused("guess has x, phi, .*; 'block' has x, x_dot", guess=_swing_up(cart_pole[1], iterations=1))
    other = kane.Model("other")
    slide = other.connect(other.ground, other.body("b", mass=1.0), kane.Prismatic("y", axis="y"))
    other.load(kane.Motor(slide, other.input("G")))
    twin = kane.build(kane.formulate(other))
    twin = kane.collocate(twin, duration=1.0, nodes=11, objective=kane.integral(twin.equations.inputs[0] ** 2))
    refused("guess has y, y_dot, G; 'block' has x, x_dot, F", guess=twin)
    refused("the guess of 'x' is", guess={"x": [0.0, math.nan]})
    refused("the guess of 'x' is", guess={"x": []})
    refused("there is no coordinate, speed, unknown input or free parameter 'y'", guess={"y": 0.0})
    refused("nothing in the motion of 'block' can be chosen", inputs={"F": 0.0}, start=_rest(0.0), objective=0.0)
    refused("belongs to another model", objective=kane.final(cart_pole[1].equations.q[0]))
    with pytest.raises(ModelError, match=r"final\(\) of .* contains a value at an end"):
        kane.final(kane.initial(x))
    with pytest.raises(ModelError, match=r"initial\(\) takes an expression"):
        kane.initial(1.0)
    with pytest.raises(ModelError, match="verify needs a Collocation"):
        kane.verify(dyn)
    with pytest.raises(ModelError, match="refine needs a Collocation"):
        kane.refine(dyn)
    ipopt.library.cache_clear()
    monkeypatch.setattr(ipopt, "find_spec", lambda name: None)
    with pytest.raises(CompileError, match=r"pip install 'casadi>=3\.6\.6'"):
        kane.collocate(dyn, duration=1.0, nodes=11, objective=kane.integral(force**2))
    ipopt.library.cache_clear()


def test_a_start_that_opens_a_loop_is_refused():
    dyn = kane.build(kane.formulate(kane.library.four_bar()))
    still = dict.fromkeys((leaf.name for leaf in dyn.equations.u), 0.0)
    with pytest.raises(ModelError, match=r"start or end of 'four_bar': the constraint 'loop.*' at t = 0 s is off by"):
        kane.collocate(dyn, duration=1.0, nodes=11, start={"q1": 1.0, "q2": 0.0, "q3": 1.5} | still)


def test_a_full_turn_of_a_quaternion_does_not_jump_to_its_opposite():
    m = kane.Model("satellite")
    body = m.body("body", mass=1.0, inertia=(1.0, 2.0, 3.0))
    m.connect(m.ground, body, kane.Spherical("s"))
    torque = [m.input(name) for name in ("Tx", "Ty", "Tz")]
    m.load(kane.Torque(body, torque, expressed_in=body))
    dyn = kane.build(kane.formulate(m))
    still = {"s_wx": 0.0, "s_wy": 0.0, "s_wz": 0.0, "s_qx": 0.0, "s_qy": 0.0, "s_qz": 0.0}
    found = kane.collocate(
        dyn, duration=10.0, nodes=31, objective=kane.integral(sum(t * t for t in torque)), start={"s_qw": 1.0} | still,
        end={"s_qw": -1.0} | still, iterations=100,
    )  # fmt: skip
    steps = np.linalg.norm(np.diff(found.q, axis=0), axis=1)
    assert not found.solved or steps.max() < 0.5


@pytest.mark.parametrize("method", COLLOCATION_METHODS)
def test_inputs_at_the_ends_are_those_of_the_simulation(block, method):
    _, dyn = block
    force = dyn.equations.inputs[0]
    found = kane.collocate(
        dyn, duration=1.0, nodes=11, objective=kane.integral(force**2), start=_rest(0.0), end=_rest(DISTANCE),
        boundary=[kane.initial(force) - 5.0, kane.final(force) + 4.0], method=method,
    )  # fmt: skip
    samples = found.inputs["F"]
    assert samples.values[0] == pytest.approx(5.0, abs=1e-7)
    assert samples.values[-1] == pytest.approx(-4.0, abs=1e-7)


def test_stops_that_do_not_act_are_named():
    m = kane.Model("block")
    slide = m.connect(m.ground, m.body("block", mass=1.0), kane.Prismatic("x", axis="x"))
    m.stop(slide, lower=-1.0, name="end")
    m.load(kane.Motor(slide, m.input("F")))
    dyn = kane.build(kane.formulate(m))
    with pytest.warns(UserWarning, match="do not act in kane.collocate: end: lower"):
        kane.collocate(dyn, duration=1.0, nodes=5, start=_rest(0.0), end=_rest(1.0))


def test_a_guess_may_have_parameters_and_the_duration():
    # Free swing from 0.5 to -0.5 rad in 2 s: near its guess the length is found, at its default it is not.
    m = kane.Model("pendulum", gravity=(0.0, 0.0, -9.81))
    length = m.parameter("L", 1.0)
    m.connect(m.ground, m.body("bob", mass=1.0), kane.Revolute("q", axis="y"), child_at=(0.0, 0.0, length))
    dyn = kane.build(kane.formulate(m))
    found = kane.collocate(
        dyn, duration=(1.0, 3.0), nodes=31, start={"q": 0.5, "q_dot": 0.0}, end={"q": -0.5, "q_dot": 0.0},
        boundary=[kane.final(m.time) - 2.0], parameters={"L": (0.5, 6.0)}, guess={"L": 4.0, "duration": 2.0},
        method="radau",
    )  # fmt: skip
    assert found.solved
    assert found.duration == pytest.approx(2.0, abs=1e-9)
    assert found.parameters["L"] == pytest.approx(3.853, abs=1e-3)  # T = 2 pi sqrt(L / g) (1 + 0.25 / 16 + ...) = 4 s
