"""Constrained motion keeps the order of every integrator, and constraints to rounding, through singular positions."""

import math

import numpy as np
import pytest

import kane

LOOSE = {"rtol": 1e9, "atol": 1e9}
METHODS = {
    "RK4": (lambda h: {"integrator": kane.RK4(), "dt": h}, 4),
    "Midpoint": (lambda h: {"integrator": kane.Midpoint(), "dt": h}, 2),
    "Gauss4": (lambda h: {"integrator": kane.Gauss4(), "dt": h}, 4),
    "RK5": (lambda h: {"integrator": kane.RK5(max_step=h, **LOOSE)}, 5),
    "RK8": (lambda h: {"integrator": kane.RK8(max_step=h, **LOOSE)}, 8),
}
ROUNDING = 1e-12
# Newton's method ends where it gains nothing, at some units in the last place of sums of a few terms.
CLOSED = 1e-13
AMPLITUDE, SPEED = 1.2, 2.0


def pendulum():
    """By its angle: the motion to compare with."""
    m = kane.Model("pendulum")
    m.connect(m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), kane.Revolute("q1", axis="y"))
    return kane.build(kane.formulate(m))


def point_on_a_rod():
    """The same pendulum as a point in the plane at a distance of 1 m from the origin."""
    m = kane.Model("point")
    bob = m.body("bob", mass=1.0)
    m.connect(m.ground, bob, kane.CustomJoint(("x", "z"), position=lambda x, z: (x, 0.0, z), units=("m", "m")))
    m.constrain(kane.Distance(m.ground.point((0, 0, 0)), bob.point((0, 0, 0)), 1.0), name="rod")
    return kane.build(kane.formulate(m))


def cartesian(q, u):
    """x, z and their rates; a positive angle about y takes the bob from -z towards -x."""
    return np.array([-math.sin(q), -math.cos(q), -u * math.cos(q), u * math.sin(q)])


@pytest.fixture(scope="module")
def rod():
    """The point, its initial state, and the state after 2 s by the pendulum's own angle."""
    tight = kane.RK8(rtol=1e-13, atol=1e-13)
    end = kane.simulate(pendulum(), until=2.0, q=[AMPLITUDE], u=[SPEED], integrator=tight).final
    x = cartesian(AMPLITUDE, SPEED)
    return point_on_a_rod(), {"q": x[:2], "u": x[2:]}, cartesian(end.q[0], end.u[0])


@pytest.mark.parametrize("method", METHODS)
def test_the_error_falls_with_the_order(rod, method):
    dyn, start, reference = rod
    options, order = METHODS[method]
    steps = 0.4 / 2 ** np.arange(6.0) if order == 8 else 0.05 / 2 ** np.arange(5.0)
    errors = []
    for h in steps:
        run = kane.simulate(dyn, until=2.0, **start, **options(h))
        errors.append(np.abs(np.concatenate([run.final.q, run.final.u]) - reference).max())
        assert run.residuals.configuration_residual.max() < CLOSED
        assert run.residuals.motion_residual.max() < 1e2 * CLOSED
    seen = [e for e in errors if e > ROUNDING][-3:]
    measured = math.log2(seen[0] / seen[-1]) / (len(seen) - 1)
    assert order - 0.5 < measured < order + 1.5, errors


def test_the_rod_swings_through_where_each_choice_of_speeds_fails(rod):
    # x' alone cannot be independent where the bob is level with the origin, z' alone not where it hangs or stands.
    dyn, _, _ = rod
    x = cartesian(0.0, 8.0)  # goes all the way round
    run = kane.simulate(dyn, until=10.0, q=x[:2], u=x[2:])
    assert run.to_xarray().switches[-1] >= 20
    # A choice is made anew where the other speed would do twice as well: 60 degrees from where it is the best.
    assert run.to_xarray().conditioning.min() > 0.4
    assert np.abs(run.energy - run.energy[0]).max() < 1e-7 * run["kinetic_energy"].max()


@pytest.mark.parametrize("method", [kane.RK5, kane.RK8, kane.BDF])
def test_the_error_follows_the_tolerance(rod, method):
    dyn, start, reference = rod
    errors = []
    for tolerance in (1e-5, 1e-7, 1e-9):
        end = kane.simulate(dyn, until=2.0, integrator=method(tolerance, tolerance), **start).final
        errors.append(np.abs(np.concatenate([end.q, end.u]) - reference).max())
    # Errors of steps add up, of BDF's many more than of others, and the motion amplifies them.
    bound = 1000 if method is kane.BDF else 50
    assert all(e < bound * tolerance for e, tolerance in zip(errors, (1e-5, 1e-7, 1e-9), strict=True)), errors
    assert errors[2] < errors[0] / 100


def drift(run):
    """The largest change of the energy, as a share of the largest kinetic energy."""
    return np.abs(run.energy - run.energy[0]).max() / run["kinetic_energy"].max()


def test_a_slider_crank_passes_its_dead_centres():
    dyn = kane.build(kane.formulate(kane.library.slider_crank()))
    crank, speed = dyn.equations.q[0].name, dyn.equations.u[0].name
    start = kane.assemble(dyn, q={crank: 0.5}, u={speed: 20.0}, fixed=[crank, speed])
    run = kane.simulate(dyn, until=10.0, q=start.q, u=start.u)
    assert abs(run.final.q[0]) > 10 * 2 * math.pi  # twenty dead centres
    assert run.residuals.configuration_residual.max() < 1e2 * CLOSED  # angles grow, and their rounding
    assert drift(run) < 1e-6


def parallelogram():
    """A four-bar of equal sides: all rods in one line is a position where it may go on as another linkage."""
    m = kane.Model("parallelogram", gravity=(0, -9.81, 0))
    crank, coupler, rocker = (m.body(n, mass=1.0, inertia=(0.01, 0.02, 0.02)) for n in ("crank", "coupler", "rocker"))
    m.connect(m.ground, crank, kane.Revolute("q1", axis="z"))
    m.connect(crank, coupler, kane.Revolute("q2", axis="z"), at=(0.5, 0, 0))
    m.connect(m.ground, rocker, kane.Revolute("q3", axis="z"), at=(1.0, 0, 0))
    m.constrain(kane.Coincidence(coupler.point((1.0, 0, 0)), rocker.point((0.5, 0, 0)), along=[m.ground.x, m.ground.y]))
    return kane.build(kane.formulate(m))


def test_a_parallelogram_passes_where_its_rods_lie_in_one_line():
    dyn = parallelogram()
    flat = kane.assemble(dyn, fixed=["q1", "q2", "q3"])
    assert (flat.rank, len(flat.redundant)) == (1, 1)
    run = kane.simulate(dyn, until=5.0, q=[1.0, -1.0, 1.0], u=[10.0, -10.0, 10.0])
    assert run.final.q[0] > 5 * 2 * math.pi  # past ten such positions
    assert run["q3"] == pytest.approx(run["q1"], abs=1e-9)  # it has stayed a parallelogram
    assert run.residuals.configuration_residual.max() < 1e2 * CLOSED
    assert drift(run) < 1e-6


@pytest.mark.slow
def test_a_crank_turns_a_thousand_times_in_a_thousand_seconds():
    dyn = kane.build(kane.formulate(kane.library.four_bar()))
    start = kane.assemble(dyn, q={"q1": 0.5}, u={"u1": 7.0}, fixed=["q1", "u1"])
    run = kane.simulate(dyn, until=1000.0, q=start.q, u=start.u, integrator=kane.RK8(rtol=1e-10, atol=1e-12))
    turned = abs(run.final.q[0] - start.q[0])
    assert turned > 1000 * 2 * math.pi
    assert run.residuals.configuration_residual.max() < turned * 2.0**-52  # the rounding of the angle itself
    assert run.residuals.motion_residual.max() < CLOSED
    assert drift(run) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 40])
def test_windows_in_a_row_pass_where_their_freedoms_rise(n):
    dyn = kane.build(kane.formulate(kane.library.n_four_bar(n)))
    standing, couplers = [f"a{i}" for i in range(n + 1)], [f"b{i}" for i in range(1, n + 1)]
    flat = dict.fromkeys(standing, math.pi / 2) | dict.fromkeys(couplers, -math.pi / 2)
    there = kane.assemble(dyn, q=flat, fixed=[*flat])
    freedoms = len(dyn.equations.u) - there.rank
    assert freedoms == n + 1
    u = {f"{name}_dot": 1.0 for name in standing} | {f"{name}_dot": -1.0 for name in couplers}
    run = kane.simulate(dyn, until=4.0, u=u)
    first = run["a0"]
    assert first.max() > math.pi / 2 + 0.5  # through the line and out on the other side
    assert max(np.abs(run[name] - first).max() for name in standing) < 1e-6  # still parallelograms
    assert run.residuals.configuration_residual.max() < CLOSED
    # Where the rods are nearly in one line, accelerations are quotients of small numbers: some digits of 1e-9 are lost.
    assert drift(run) < 1e-5
