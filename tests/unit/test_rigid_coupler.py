"""Display by inverse dynamics. Who vouches: closed forms of a lever, from what the loop logged; inverse dynamics; the
work of the force on the handle against the energy of the mechanism; for the limit growth and decay, found by running.
"""

from contextlib import nullcontext

import numpy as np
import pytest

import kane
from kane.engine.realtime import loop_arrays as at
from kane.errors import ModelError, SimulationError
from kane.haptics import Arm, Coupler, Pointer, RigidCoupler, Session, Simulated, largest_inertia, replay

MASS, COM, LENGTH, INERTIA, DAMPING, G = 0.2, 0.05, 0.1, 1e-3, 0.01, 9.81
PATH = [(0.2, 0, 0, 0), (0.6, 0, 0, -0.05), (1.2, 0, 0, 0.04), (1.6, 0, 0, 0)]


def lever():
    m = kane.Model("lever", gravity=(0, 0, -G))
    body = m.body("lever", mass=MASS, inertia=(1e-4, INERTIA, INERTIA), com=(COM, 0, 0))
    joint = m.connect(m.ground, body, kane.Revolute("angle", axis="y"))
    m.load(kane.Damper(joint, DAMPING))
    return kane.build(kane.formulate(m)), body.point((LENGTH, 0, 0))


def moved(dyn, coupler, path=PATH, seconds=2.0, q=None, **device):
    hand = Simulated(arm=Arm(mass=0.5, damping=8.0, stiffness=250.0, path=path), **device)
    with Session(dyn, hand, coupler, q=q) as s:
        s.arm()
        s.rehearse(seconds)
    return s


def energy_of(run):
    return run["kinetic_energy"] + run["potential_energy"]


@pytest.fixture(scope="module")
def session():
    dyn, handle = lever()
    return moved(dyn, RigidCoupler(handle, axes="z", follow=80.0))


def test_the_force_is_that_of_the_lever_s_equation_at_the_motion_of_the_hand(session):
    """f (-L cos q) = (I + m c^2) q'' + d q' - m g c cos q, with z = -L sin q and z'' = W^2 (x - z) - 2 W z'."""
    log, W = session.log, 80.0
    q, u = session.trajectory.q[1:-1, 0], session.trajectory.u[1:-1, 0]
    x, z, f = log["proxy"][:-1, 2], log["handle"][1:, 2], log["pull"][1:, 2]
    held = log["status"][:-1] == at.ARMED
    np.testing.assert_allclose(z, -LENGTH * np.sin(q), atol=1e-12)
    v = -LENGTH * np.cos(q) * u
    a = W**2 * (x - z) - 2 * W * v
    turned = (a - LENGTH * np.sin(q) * u**2) / (-LENGTH * np.cos(q))
    expected = ((INERTIA + MASS * COM**2) * turned + DAMPING * u - MASS * G * COM * np.cos(q)) / (-LENGTH * np.cos(q))
    np.testing.assert_allclose(f[held], expected[held], rtol=1e-9, atol=1e-9)
    assert np.ptp(f[held]) > 0.3


def test_the_force_is_what_kane_s_inverse_dynamics_says_of_the_motion(session):
    run, log = session.trajectory, session.log
    udot = np.gradient(run.u[:, 0], run.time)
    (moment,) = session.coupling.dyn.inverse(run.q, run.u, udot[:, None], run.time).T
    f = moment / (-LENGTH * np.cos(run.q[:, 0]))
    smooth = slice(700, 1100)  # away from where the path bends
    np.testing.assert_allclose(log["pull"][smooth, 2], f[smooth], atol=2e-3)  # of the second power of a tick


def test_the_hand_feels_it_by_its_scale_and_the_mechanism_has_the_work(session):
    dyn, handle = lever()
    s = moved(dyn, RigidCoupler(handle, axes="z", scale=0.5, force_scale=0.25))
    log = s.log
    risen = log["level"] == 1.0
    np.testing.assert_allclose(log["force"][risen, 2], -0.25 * log["pull"][risen, 2], atol=1e-12)
    assert risen.sum() > 1000
    run = session.trajectory
    lost = np.trapezoid(DAMPING * run.u[:, 0] ** 2, run.time)
    gained = np.diff(energy_of(run)[[0, -1]])[0]
    assert session.report.to_mechanism == pytest.approx(gained + lost, rel=2e-3)


def test_forces_rise_softly_and_end_as_those_of_springs_do(session):
    log = session.log
    force = np.abs(log["force"][:, 2])
    assert force[1] < 0.01
    assert force[-1] == 0.0
    assert np.abs(np.diff(force)).max() < 0.12
    assert session.report.faults == ()


def test_a_closed_loop_is_driven_by_its_piston():
    """Of a slider-crank the work of the force on the piston is what the energies gain: there is no friction."""
    m = kane.library.slider_crank()
    dyn = kane.build(kane.formulate(m))
    start = kane.assemble(dyn, q={"q1": 1.0, "q2": -1.3, "q3": 0.34})
    path = [(0.2, 0, 0, 0), (0.8, -0.03, 0, 0), (1.4, 0.02, 0, 0)]
    coupler = RigidCoupler(m.bodies[-1].point(), axes="x", force_scale=0.1)
    s = moved(dyn, coupler, path, 2.0, q=start.q, rate=4000)
    run = s.trajectory
    assert np.ptp(run["q3"]) > 0.03
    gained = energy_of(run)[:-1] - energy_of(run)[0]
    assert np.ptp(gained) > 0.05
    np.testing.assert_allclose(s.log["energies"]["to_mechanism"], gained, atol=2e-3 * np.ptp(gained))
    r, l = 0.1, 0.3
    closed = r * np.cos(run["q1"]) + l * np.cos(run["q1"] + run["q2"])
    np.testing.assert_allclose(closed, run["q3"], atol=1e-10)


def test_a_session_of_inverse_dynamics_runs_again_bit_for_bit(session, tmp_path):
    session.save(tmp_path / "lever.session")
    again = replay(tmp_path / "lever.session", lever()[0])
    np.testing.assert_array_equal(again.log, session.log)


def slider(mass):
    m = kane.Model("slider", gravity=(0, 0, 0))
    body = m.body("slider", mass=mass)
    m.load(kane.Motor(m.connect(m.ground, body, kane.Prismatic("x", axis="x")), 0.02))
    return kane.build(kane.formulate(m)), body.point()


def warnings_of(unstable):
    return pytest.warns(UserWarning, match="is not stable with") if unstable else nullcontext()


@pytest.mark.parametrize(
    "device", [{}, {"delay": 1e-3}, {"delay": 1e-2}, {"delay": 2.5e-3, "mass": 0.3, "damping": 0.5}, {"rate": 300}]
)
def test_the_largest_inertia_is_where_a_free_handle_begins_to_shake(device):
    """Handle and delay are integrated by the simulated device, the limit is of eigenvalues; 3 % on each side."""
    hand, most = Simulated(**device), largest_inertia(Simulated(**device))
    safety = kane.haptics.Safety(soft=1e-3)
    for part, grows in ((0.97, False), (1.03, True)):
        dyn, handle = slider(part * most)
        with warnings_of(grows), Session(dyn, hand, RigidCoupler(handle, axes="x"), safety=safety) as s:
            s.arm()
            s.rehearse(1.0)
        shaking = np.abs(np.diff(s.log["pull"][:, 0]))
        n = len(shaking)
        early, late = (shaking[int(a * n) : int(b * n)].max() for a, b in ((0.2, 0.3), (0.8, 0.9)))
        assert bool(late > early) is grows


def test_a_mass_that_a_handle_does_not_bear_is_warned_of_and_one_that_shows_only_is_not(recwarn):
    dyn, handle = slider(10.0)
    Session(dyn, Pointer(), RigidCoupler(handle, axes="x")).close()
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"a mass of 10 kg at the hand is not stable .* it may be 1\.4"):
        Session(dyn, Simulated(), RigidCoupler(handle, axes="x")).close()


def test_what_the_handle_does_not_determine_is_refused_by_numbers():
    dyn, handle = lever()
    with pytest.raises(ModelError, match=r"along 3 axes and moves along 1 of them.*1 freedom: give axes="):
        Session(dyn, Simulated(), RigidCoupler(handle))
    m = kane.library.chain(3)
    with pytest.raises(ModelError, match="3 freedoms, of which the handle determines 1"):
        Session(kane.build(kane.formulate(m)), Simulated(), RigidCoupler(m.bodies[-1].point((0, 0, -0.5)), axes="x"))
    cart = kane.library.shopping_cart()
    with pytest.raises(ModelError, match="hold a velocity and no configuration"):
        Session(kane.build(kane.formulate(cart)), Simulated(), RigidCoupler(cart.bodies[-1].point(), axes="xy"))


def test_bad_settings_of_a_rigid_coupler_are_refused():
    dyn, handle = lever()
    for words in ({"follow": 0.0}, {"scale": -1.0}, {"axes": "xx"}, {"axes": ""}):
        with pytest.raises(ModelError):
            RigidCoupler(handle, **words)
    with pytest.raises(ModelError, match="nothing is integrated"):
        Session(dyn, Simulated(), RigidCoupler(handle, axes="z"), integrator=kane.RK4())
    with Session(dyn, Simulated(), RigidCoupler(handle, axes="z")) as s:
        with pytest.raises(ModelError, match="no stiffness"):
            s.set(stiffness=100.0)
        with pytest.raises(ModelError, match="PassiveMidpoint"):
            _ = s.ledger
    with pytest.raises(ModelError, match="point such as"):
        RigidCoupler("lever")


def test_a_handle_that_is_drawn_where_the_mechanism_cannot_go_ends_the_force_and_says_so():
    dyn, handle = lever()
    beyond = [(0.1, 0, 0, 0), (0.6, 0, 0, 0.3)]  # the lever is 0.1 m long
    hand = Simulated(arm=Arm(mass=0.5, damping=8.0, stiffness=250.0, path=beyond))
    with Session(dyn, hand, RigidCoupler(handle, axes="z")) as s:
        s.arm()
        with pytest.raises(SimulationError, match=r"the handle of 'lever' cannot follow the device from t = 0\.29"):
            s.rehearse(2.0)
    (fault,) = s.report.faults
    assert fault.cause == "the simulation could not continue"
    force = np.abs(s.log["force"][:, 2])
    assert force[s.log["time"] < fault.time].max() > 0.5
    assert force[-1] == 0.0
    assert s.log["time"][-1] <= fault.time + 0.0205


def test_a_coupler_that_is_a_spring_has_no_part_of_it():
    """Where the coupler is a spring its pull is K times its stretch and B times its rate, and nothing else."""
    dyn, handle = lever()
    s = moved(dyn, Coupler(handle, stiffness=200.0, damping=1.0, axes="z"))
    log = s.log
    stretch = log["proxy"][:, 2] - log["handle"][:, 2]
    u, q = s.trajectory.u[:-1, 0], s.trajectory.q[:-1, 0]
    rate = log["rates"][:, 2] + LENGTH * np.cos(q) * u
    expected = log["stiffness"][:, 0] * stretch + log["damping"][:, 0] * rate
    np.testing.assert_allclose(log["pull"][:, 2], expected, atol=1e-12)


def test_orientations_are_not_prescribed_and_who_asks_for_them_is_told_what_does():
    _, handle = lever()
    with pytest.raises(ModelError, match=r"turns='z' cannot be.*kane\.haptics\.Coupler"):
        RigidCoupler(handle, axes="xy", turns="z")
