"""Gillespie 2003, Example 1: a disk on a ramp, sliding and rolling, with the forces of contact by three routes."""

import numpy as np
import pytest

import kane
from kane.dynamics.reactions.revealed import AuxiliarySpeeds, Multipliers, OrthogonalComplement
from kane.library import rolling_disk, sliding_disk

# A dozen operations on numbers of order ten.
ROUNDING = 1e-13
SETS = [
    dict(r=0.2, m=3.0, J=0.06, theta=0.3, g=9.81),
    dict(r=0.35, m=1.7, J=0.11, theta=-0.8, g=9.7),
]
every_set = pytest.mark.parametrize("given", SETS, ids=["defaults", "others"])


@pytest.fixture(scope="module")
def sliding():
    return kane.build(kane.formulate(sliding_disk()))


@pytest.fixture(scope="module")
def rolling():
    return kane.build(kane.formulate(rolling_disk()))


def states():
    random = np.random.default_rng(1)
    return random.normal(size=(5, 2)), random.normal(size=(5, 2)), 10.0 * random.normal(size=5)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING * (1.0 + np.abs(expected).max()))


def test_the_speeds_are_those_of_equation_6(sliding):
    """q1' = u1, q2' = u2 / r."""
    for q, u in zip(*states()[:2], strict=True):
        close(sliding.kinematics(q, u), [u[0], u[1] / 0.2])


def test_partial_velocities_are_those_of_both_tables(sliding, rolling):
    """v_Bo: a1, 0 and w_B: 0, a3 / r sliding (Eq. 35); a1 and -a3 / r rolling, with D = [-1] (Eqs. 7 and 26)."""
    ((column, D),) = rolling.equations.embedding.D[1].items()
    assert (column, float(D)) == (0, -1.0)
    for q, _, _ in zip(*states(), strict=True):
        for dyn in (sliding, rolling):
            table = dyn.jacobian("B", q)
            close(table.linear.T, np.array([[1, 0, 0], [0, 0, 0]]))
            close(table.angular.T, np.array([[0, 0, 0], [0, 0, 5.0]]))
        close(table.linear @ [1.0, float(D)], np.array([1, 0, 0]))
        close(table.angular @ [1.0, float(D)], np.array([0, 0, -5.0]))


@every_set
def test_the_sliding_disk_obeys_equations_38_to_40(sliding, given):
    """F1 = -mg sin - Ff, F2 = -Ff, F1* = -m u1', F2* = -J/r^2 u2'."""
    m, J, r, g, theta = (given[k] for k in ("m", "J", "r", "g", "theta"))
    for q, u, Ff in zip(*states(), strict=True):
        F, inertia = np.array([-m * g * np.sin(theta) - Ff, -Ff]), np.array([m, J / r**2])
        close(sliding.forward(q, u, [Ff], parameters=given), F / inertia)
        close(sliding.inverse(q, u, [1.3, -0.4], parameters=given), inertia * [1.3, -0.4] + [m * g * np.sin(theta), 0])
        close(np.diag(sliding.mass_matrix(q, parameters=given)), inertia)


@every_set
def test_the_rolling_disk_obeys_equations_41_and_42_whatever_the_friction(rolling, given):
    """(m + J/r^2) u1' = -mg sin, and D = [-1] of Eq. 7: u2 = -u1."""
    m, J, r, g, theta = (given[k] for k in ("m", "J", "r", "g", "theta"))
    expected = -m * g * np.sin(theta) / (m + J / r**2)
    for q, u, Ff in zip(*states(), strict=True):
        close(rolling.forward(q, u, [Ff], parameters=given), [expected, -expected])
        close(rolling.kinematics(q, u, parameters=given), [u[0], -u[0] / r])
    assert [leaf.name for leaf in rolling.equations.embedding.u] == ["u2"]


@every_set
def test_equation_47_makes_the_rolling_disk_out_of_the_sliding_one(sliding, rolling, given):
    """F~1 = F1 - F2 and F~1* = F1* - F2*, with u2' = -u1'."""
    for q, u, Ff in zip(*states(), strict=True):
        F_star = -np.diag(sliding.mass_matrix(q, parameters=given)) * [1.0, -1.0]
        F = sliding.bias(q, u, parameters=given) * -1.0 + [-Ff, -Ff]
        u1dot = -(F[0] - F[1]) / (F_star[0] - F_star[1])
        close(rolling.forward(q, u, [Ff], parameters=given)[0], u1dot)


def test_a_disk_under_the_constraint_rolling_of_a_plane_rolls_alike(rolling):
    """``kane.Rolling`` of a disk on a plane, on a disk whose joint already keeps it in touch."""
    m = sliding_disk()
    B, r = m.bodies[-1], m.speed_choice.definitions["u2"] / m.rate("q2")
    m.constrain(kane.Rolling(kane.Disk(B.point(), B.z, r), kane.Plane(m.ground.point(), m.ground.y)))
    m.speeds(**m.speed_choice.definitions, dependent=["u2"])
    dyn = kane.build(kane.formulate(m))
    for q, u, _ in zip(*states(), strict=True):
        close(dyn.forward(q, u, [0.4]), rolling.forward(q, u, [0.4]))


@every_set
@pytest.mark.parametrize("route", [AuxiliarySpeeds(), OrthogonalComplement(), Multipliers()], ids=lambda r: str(r)[:20])
def test_normal_and_friction_force_of_the_rolling_disk_by_three_routes(rolling, given, route):
    """By Newton's law for Bo: N = mg cos, Ff = -mg sin - m u1'."""
    m, J, r, g, theta = (given[k] for k in ("m", "J", "r", "g", "theta"))
    revealed = kane.reveal_reactions(rolling.equations, "rolling", "q1")
    reactions = kane.RevealedReactions(rolling, revealed, route=route)
    u1dot = -m * g * np.sin(theta) / (m + J / r**2)
    for q, u, _ in zip(*states(), strict=True):
        found = dict(zip(revealed.names, reactions(q, u, [0.0], parameters=given), strict=True))
        close(found["q1 Fy"], m * g * np.cos(theta))
        close(-found["rolling"], -m * g * np.sin(theta) - m * u1dot)


@every_set
def test_the_normal_force_of_the_sliding_disk(sliding, given):
    revealed = kane.reveal_reactions(sliding.equations, "q1")
    reactions = kane.RevealedReactions(sliding, revealed)
    for q, u, Ff in zip(*states(), strict=True):
        found = dict(zip(revealed.names, reactions(q, u, [Ff], parameters=given), strict=True))
        close(found["q1 Fy"], given["m"] * given["g"] * np.cos(given["theta"]))


def test_friction_may_be_a_share_of_the_normal_force_that_the_equations_themselves_bring_into_evidence():
    """Sliding up, Ff = 0.35 N: u1' = -g (sin + 0.35 cos), u2' = -0.35 m g cos r^2 / J."""
    model = sliding_disk()
    slide, B = model.connections[0], model.bodies[-1]
    friction = 0.35 * slide.reaction_force.dot(slide.child.y)
    model.load(kane.Force(slide.child.point(), (-friction, 0.0, 0.0)))
    model.load(kane.Torque(B, (0.0, 0.0, -SETS[0]["r"] * friction)))
    dyn = kane.build(kane.formulate(model))
    m, J, r, g, theta = (SETS[0][k] for k in ("m", "J", "r", "g", "theta"))
    expected = [-g * (np.sin(theta) + 0.35 * np.cos(theta)), -0.35 * m * g * np.cos(theta) * r**2 / J]
    for q, u, _ in zip(*states(), strict=True):
        close(dyn.forward(q, u, [0.0]), np.array(expected))


def test_the_friction_input_may_be_replaced_by_a_share_of_the_normal_force():
    """The same by ``kane.substitute``; the normal force revealed afterwards is m g cos."""
    model, (m, g, theta) = sliding_disk(), (SETS[0][k] for k in ("m", "g", "theta"))
    slide = model.connections[0]
    friction = 0.35 * slide.reaction_force.dot(slide.child.y)
    dyn = kane.build(kane.substitute(kane.formulate(model), Ff=friction))
    assert dyn.equations.inputs == ()
    revealed = kane.reveal_reactions(dyn.equations, "q1")
    reactions = kane.RevealedReactions(dyn, revealed)
    for q, u, _ in zip(*states(), strict=True):
        close(dyn.forward(q, u)[0], np.array(-g * (np.sin(theta) + 0.35 * np.cos(theta))))
        close(dict(zip(revealed.names, reactions(q, u), strict=True))["q1 Fy"], np.array(m * g * np.cos(theta)))


def test_a_disk_that_rolls_keeps_its_energy_and_one_that_slides_loses_what_friction_takes(sliding, rolling):
    """2 s of constant acceleration, which Runge-Kutta methods of order 8 integrate without error; energies of 100 J."""
    run = kane.simulate(rolling, until=2.0, u={"u1": 1.0, "u2": -1.0})
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=0, atol=1e-12 * 100.0)
    Ff = 2.0
    run = kane.simulate(sliding, until=2.0, u={"u1": 1.0}, inputs={"Ff": Ff})
    slip = run["q1"] + 0.2 * run["q2"]  # of the lowest point, up the ramp
    np.testing.assert_allclose(run.energy - run.energy[0], -Ff * slip, rtol=0, atol=1e-12 * 100.0)


def test_a_disk_thrown_up_the_ramp_comes_to_roll_when_its_closed_form_says():
    """The slip u1 + u2 = v - (g sin + Ff/m + Ff r^2/J) t ends; from there the rolling disk goes on with the same u1."""
    m, J, r, g, theta = (SETS[0][k] for k in ("m", "J", "r", "g", "theta"))
    Ff, v = 0.4 * m * g * np.cos(theta), 2.0
    model = sliding_disk()
    slip = model.rate("q1") + r * model.rate("q2")
    slides = kane.build(kane.formulate(model))
    ends = kane.Event(slip, direction=-1, terminal=True)
    run = kane.simulate(slides, until=5.0, u={"u1": v}, inputs={"Ff": Ff}, events=[ends])
    time = v / (g * np.sin(theta) + Ff / m + Ff * r**2 / J)
    assert run.time[-1] == pytest.approx(time, rel=1e-9)  # the root of a line
    u1 = v - (g * np.sin(theta) + Ff / m) * time
    np.testing.assert_allclose(run.final.u, [u1, -u1], rtol=1e-8)
