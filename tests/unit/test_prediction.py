"""Ticks that are taken before they are due. Who vouches: the same session run again without that, to the last bit."""

from types import SimpleNamespace

import numpy as np
import pytest

import kane
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.memory.views import transition_note_at
from kane.engine.realtime import loop_arrays as at
from kane.engine.realtime.tick_prediction import _copy_state
from kane.errors import ModelError
from kane.haptics import Arm, Coupler, PassiveMidpoint, RigidCoupler, Session, Simulated, replay
from kane.haptics.scenes import make_hand_scene


@pytest.fixture(autouse=True)
def stalls(monkeypatch):
    """A machine that stalls for 10 ms ends the force, as it should. That is tried elsewhere, and not wanted here."""
    monkeypatch.setattr("kane.haptics.loop.circuit.MISSED", 1e6)


def ball(height):
    """A ball that falls onto a floor, and the hand of nobody."""
    m = kane.Model("ball", gravity=(0, 0, -9.81))
    body = m.body("ball", mass=0.2)
    m.connect(m.ground, body, kane.Prismatic("z", axis="z"))
    m.contact(body.point(), kane.Plane(m.ground.point(), m.ground.z), restitution=0.5, name="floor")
    coupler = Coupler(body.point(), stiffness=100, damping=1, axes="z")
    return kane.build(kane.formulate(m)), coupler, [height]


@pytest.mark.parametrize("integrator", [None, PassiveMidpoint()])
def test_where_no_hand_pulls_what_was_tried_is_what_the_tick_then_does(integrator):
    """The last tick has the impact in it: its place, impulse and state were found before the tick was due."""
    dyn, coupler, q = ball(0.5 * 9.81 * 0.0496**2)  # meets the floor at 49.6 ms, within the fiftieth tick
    for _ in range(100):  # until it is tried, which a busy machine may come too late for
        with Session(dyn, Simulated(), coupler, q=q, integrator=integrator, predict=True) as s:
            s.run(0.05)
            tried, done = s._loop.circuit.prediction.store, s._loop.integration.store
        if counts_of(tried).steps[0] == 50:
            break
    assert counts_of(done).steps[0] == counts_of(tried).steps[0] == 50
    assert counts_of(done).transitions[0] == 2  # one of them at the start, where a mode is looked for in any case
    assert counts_of(tried).transitions[0] == 1
    one, other = (
        transition_note_at(tried.transitions[0], 0, len(done.x)),
        transition_note_at(done.transitions[1], 0, len(done.x)),
    )
    assert one.time[0] == pytest.approx(0.0496, abs=1e-12 if integrator is None else 1e-3)
    for found, known in ((one.before, other.before), (one.after, other.after), (one.notes, other.notes)):
        np.testing.assert_array_equal(found, known)
    np.testing.assert_array_equal(tried.x, done.x)
    assert clock_of(tried).time[0] == clock_of(done).time[0]


SCENES = [("ball_in_a_box", None), ("ball_in_a_box", PassiveMidpoint()), ("shopping_cart", None)]


@pytest.mark.parametrize(("name", "integrator"), SCENES)
def test_a_session_has_the_same_bits_whether_its_ticks_were_tried_in_time_or_not(name, integrator, tmp_path):
    """A replay tries nothing before it is due; the copies of the session itself became its state, tick by tick."""
    scene = make_hand_scene(name)
    with Session(scene.dyn, scene.hand, scene.coupler, q=scene.q, integrator=integrator, predict=True) as s:
        s.arm()
        s.run(1.5)
        s.save(tmp_path / "it.session")
    again = replay(tmp_path / "it.session", scene.dyn)
    np.testing.assert_array_equal(again.states, s.states)
    for name in set(s.log.dtype.names) - {"work"}:
        np.testing.assert_array_equal(again.log[name], s.log[name])
    assert again.report.events == s.report.events
    assert s.report.events
    assert again.report.predicted == (s.report.predicted[0], 0)
    assert 0 < s.report.predicted[1] <= s.report.predicted[0]
    assert f"correct in {s.report.predicted[0]} ticks" in str(s.report)


def test_the_hand_is_nearly_always_where_it_was_foreseen_and_the_mechanism_feels_it_within_the_bound():
    """K |x - x'| + B |v - v'|, of the image that was taken and of the hand as it was read, which the log has both."""
    scene, found = make_hand_scene("ball_in_a_box"), {}
    for predict in (False, True):
        with Session(scene.dyn, scene.hand, scene.coupler, q=scene.q, predict=predict) as s:
            s.arm()
            s.rehearse(scene.seconds)
            found[predict] = s
    plain, s = found[False], found[True]
    assert plain.report.predicted == (0, 0)
    assert s.report.predicted[0] > 0.99 * len(s.log)
    assert abs(len(s.report.events) - len(plain.report.events)) <= 0.2 * len(plain.report.events)
    c, quantum, T = scene.coupler, scene.hand.traits.quantum, 1e-3
    hand = s.log["sample"]["position"]
    rates = np.diff(hand, axis=0, prepend=hand[:1]) / T
    on = np.array(c.coupled_axes[:3])
    armed = np.flatnonzero(s.log["status"] == at.ARMED)[1:]
    offset = s.log["proxy"][0, :3] - c.scale * hand[0]
    K, B = s.log["stiffness"][:, :1], s.log["damping"][:, :1]
    away = K * np.abs(s.log["proxy"][:, :3] - offset - c.scale * hand)
    away += B * np.abs(s.log["rates"][:, :3] - c.scale * rates)
    bound = 0.01 * 5.0 / c.force_scale + c.scale * quantum * (K + B / T)
    assert (away <= bound * (1 + 1e-9))[armed][:, on].all()
    assert (away > 0.0)[armed][:, on].any()


def test_behind_a_rigid_coupler_ticks_are_tried_too(tmp_path):
    m = kane.Model("slider", gravity=(0, 0, 0))
    body = m.body("slider", mass=0.2)
    m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    dyn, hand = kane.build(kane.formulate(m)), Simulated(arm=Arm(stiffness=250, path=[(0, 0, 0, 0), (0.4, 0.05, 0, 0)]))
    with Session(dyn, hand, RigidCoupler(body.point(), axes="x"), predict=True) as s:
        s.arm()
        s.run(0.5)
        s.save(tmp_path / "it.session")
    assert np.ptp(s.trajectory.q) > 0.02
    again = replay(tmp_path / "it.session", dyn)
    np.testing.assert_array_equal(again.states, s.states)


def test_whether_to_predict_is_said_by_true_or_false():
    dyn, coupler, q = ball(1.0)
    with pytest.raises(ModelError, match="predict"):
        Session(dyn, Simulated(), coupler, q=q, predict="yes")


def test_the_state_that_a_tick_is_tried_from_is_the_present_one():
    """Array by array: what a step changes is copied, and the source stays."""
    names = {"system": ("mode", "stages"), "projection": ("kept", "notes", "least"), "aside": ("kept", "notes")}

    def arrays(first):
        parts = {
            part: SimpleNamespace(**{n: np.full(2, first + k) for k, n in enumerate(of)}) for part, of in names.items()
        }
        system = parts.pop("system")
        system.projection, system.aside = parts["projection"], parts["aside"]
        return system, SimpleNamespace(x=np.full(3, first), clock=np.full(2, first), counts=np.full(2, first))

    def values(system, store):
        parts = {"system": system, "projection": system.projection, "aside": system.aside}
        found = [getattr(parts[part], name).tolist() for part, of in names.items() for name in of]
        return [*found, store.x.tolist(), store.clock.tolist(), store.counts.tolist()]

    source, target = arrays(1.0), arrays(20.0)
    _copy_state(*source, *target)
    assert values(*target) == values(*source) == values(*arrays(1.0))
