"""The mouse of a page as a device, and sessions on pages. Who vouches: a client in Python that speaks as the page does,
closed forms of the handle that follows, the loop's own log, and headless Chromium; there is no hand here.
"""

import json
import math
import runpy
import struct
import time
from collections import deque
from contextlib import contextmanager

import numpy as np
import pytest
from oracles.browser import Browser
from oracles.hostile_values import NO_NUMBERS
from oracles.waiting import ENOUGH, until
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import kane
from kane.engine.realtime import loop_arrays as at
from kane.errors import ModelError
from kane.haptics import Coupler, Pointer, Session, Simulated, coupler_limits

VANISHED = "no new sample came from the device"


def pendulum():
    m = kane.Model("pendulum", gravity=(0, 0, -9.81))
    rod = m.body("rod", mass=0.5, com=(0, 0, -0.2))
    joint = m.connect(m.ground, rod, kane.Revolute("q1", axis="y"))
    m.load(kane.Damper(joint, 0.05))
    return kane.build(kane.formulate(m)), rod.point((0, 0, -0.4))


@pytest.fixture(autouse=True)
def stalls(monkeypatch):
    """A machine that stalls for 10 ms ends the force, as it should. That is tried elsewhere, and not wanted here."""
    monkeypatch.setattr("kane.haptics.loop.circuit.MISSED", 1e6)


@pytest.fixture
def session():
    """A busy machine may let a page wait for longer than a hand would hold still: it is given seconds."""
    dyn, handle = pendulum()
    with Session(dyn, Pointer(patience=10.0), Coupler(handle, stiffness=60.0, damping=2.0)) as made:
        yield made


@contextmanager
def joined(view):
    """A page, as a client in Python: it has said its token and heard the content."""
    address, _, token = view.url.partition("#")
    here = address.removeprefix("http://").rstrip("/")
    # Frames that nobody reads are kept, all of them: a full queue would let the closing wait until its time is up.
    with connect(f"ws://{here}/", origin=f"http://{here}", max_size=None, max_queue=None) as page:
        page.send(token)
        page.content = json.loads(page.recv(timeout=ENOUGH))["page"]
        yield page


def say(page, hand, pressed):
    page.send(json.dumps({"hand": list(hand), "pressed": pressed}))


def refusal(page):
    """What the server says as it closes; the frames before it are passed over."""
    with pytest.raises(ConnectionClosed) as ended:
        deque(page, maxlen=0)
    return ended.value.rcvd


def talk(page, enough, hand=lambda t: (0, 0, 0), pressed=True):
    """Say where the mouse is a hundred times a second, as pages do, and hear nothing, until something has happened."""
    began = time.monotonic()

    def said():
        say(page, hand(time.monotonic() - began), pressed)
        time.sleep(0.01)
        return enough()

    until(said)


def opened():
    """A handle without a loop: it is read here, at times of one's own."""
    hand = Pointer()
    return hand, hand.open()


def test_the_handle_goes_after_the_mouse_as_a_critically_damped_mass_does():
    hand, channel = opened()
    hand.move(np.zeros(3), False)
    channel.sample(0.0)
    hand.move(np.array([0.01, 0.0, -0.02]), True)
    W, times = 60.0, np.arange(1, 80) * 1e-3
    found = np.array([channel.sample(t) for t in times])
    left = (1 + W * times) * np.exp(-W * times)
    expected = (1 - left)[:, None] * np.array([0.01, 0.0, -0.02])
    np.testing.assert_allclose(found["position"], expected, atol=1e-15)
    np.testing.assert_array_equal(found["sequence"], np.arange(2, 81))
    np.testing.assert_array_equal(found["measured"], times)
    assert (found["buttons"] == 1.0).all()


def test_the_handle_is_no_faster_than_a_hand_and_stops_where_the_mouse_is():
    hand, channel = opened()
    hand.move(np.zeros(3), False)
    way = [channel.sample(0.0)["position"][0]]
    for k in range(1, 1200):
        hand.move(np.array([0.5, 0.0, 0.0]), True)  # a leap of half a metre
        way.append(channel.sample(k * 1e-3)["position"][0])
    speeds = np.diff(way) / 1e-3
    assert speeds.max() == pytest.approx(0.9, rel=1e-9)
    assert (speeds > -1e-12).all()
    assert way[-1] == pytest.approx(0.5, abs=1e-9)


def test_a_page_that_says_nothing_or_goes_away_gives_no_samples():
    hand, channel = opened()
    assert channel.sample(0.0)["sequence"] == 0.0
    hand.move(np.zeros(3), False)
    numbers = [channel.sample(k * 1e-3)["sequence"] for k in range(1, 300)]
    assert numbers[100] > numbers[90]
    assert numbers[-1] == numbers[110]  # it was patient for a tenth of a second
    hand.move(np.zeros(3), False)
    assert channel.sample(0.4)["sequence"] == numbers[-1] + 1
    hand.leave()
    assert channel.sample(0.401)["sequence"] == numbers[-1] + 1
    hand.move(np.zeros(3), False)
    assert channel.sample(0.402)["sequence"] == numbers[-1] + 2


def test_a_page_that_comes_back_elsewhere_does_not_make_the_handle_leap():
    hand, channel = opened()
    hand.move(np.zeros(3), False)
    channel.sample(0.0)
    hand.move(np.array([3.0, 0.0, 0.0]), False)
    first = channel.sample(7.0)["position"][0]
    assert first <= 0.9e-3
    assert channel.sample(7.001)["position"][0] - first <= 0.9001e-3


def test_the_limits_say_in_numbers_why_so_late_a_device_renders_no_stiff_walls():
    limits = coupler_limits(Pointer())
    rule = (limits.damping + 0.1) / (0.5e-3 + 0.03)  # (b + B)/(T/2 + td)
    assert limits.stable == pytest.approx(rule, rel=0.05)
    assert coupler_limits(Simulated()).stable > 20 * limits.stable
    said = str(limits)
    assert "without its delay of 30 ms" in said
    assert "only draws its force" in said


def test_a_device_that_pushes_nobody_bears_any_coupler_and_one_that_pushes_does_not(recwarn):
    dyn, handle = pendulum()
    Session(dyn, Pointer(), Coupler(handle, stiffness=1e4, damping=1.0)).close()
    assert not recwarn.list
    with pytest.warns(UserWarning, match="not stable with this device"):
        Session(dyn, Simulated(delay=0.03), Coupler(handle, stiffness=1e4, damping=1.0)).close()


@pytest.mark.parametrize("values", [{"speed": 0.0}, {"patience": -1.0}, {"rate": math.nan}, {"speed": "fast"}])
def test_settings_of_a_pointer_that_mean_nothing_are_refused(values):
    with pytest.raises(ModelError):
        Pointer(**values)


def test_a_press_takes_hold_a_drag_moves_the_mechanism_and_letting_go_ends_the_force(session):
    with kane.view(session) as view, joined(view) as page:
        assert page.content["hand"]["mouse"] is True
        session.start(60.0)
        talk(page, lambda: session.snapshot().tick > 20, pressed=False)
        talk(page, lambda: abs(session.snapshot().q[0]) > 0.06, lambda t: (0.1 * min(1.0, 2 * t), 0, 0))
        talk(page, lambda: session.snapshot().status == "idle", lambda t: (0.1, 0, 0), pressed=False)
        session.stop()
    log = session.log
    status, force = log["status"], np.linalg.norm(log["force"], axis=1)
    held = np.flatnonzero(status == at.ARMED)
    assert (np.diff(held) == 1).all()  # once, from the press on
    assert held[0] > 20
    assert np.abs(session.trajectory.q[:, 0]).max() > 0.05
    assert force[held].max() > 0.1
    assert (force[status == at.UNARMED] == 0.0).all()
    assert session.report.faults == ()


def test_a_chain_pulled_by_the_mouse_hangs_along_what_pulls_at_its_joints(root):
    """Statics: tan(angle) is force across over force along in each joint, of a link itself half its weight."""
    example = runpy.run_path(str(root / "examples" / "pulled_chain.py"))
    dyn, hand, n, length = example["chain"](), Pointer(patience=10.0), example["LINKS"], example["LENGTH"]
    end = dyn.equations.model.bodies[-1].point((0, 0, -length))
    with Session(dyn, hand, Coupler(end, stiffness=80.0, damping=2.0)) as s:
        s.start(2.9)
        example["drag"](s, hand)
        s.wait()
    assert s.report.faults == ()
    last = np.flatnonzero(s.log["status"] == at.ARMED)[-1]
    x, _, z = s.log["pull"][last, :3]
    below = example["MASS"] * example["G"] * (n - np.arange(n) - 0.5)
    found = np.cumsum(s.trajectory.q[last])
    np.testing.assert_allclose(found, np.arctan2(-x, below - z), atol=5e-3)  # it still sways by as much
    assert np.abs(found).max() > 0.5


def test_without_a_press_there_is_no_force_whoever_arms_and_while_no_page_is_there_it_is_said(session):
    session.arm()
    session.run(0.2)
    assert session.snapshot().fault == VANISHED
    assert (session.log["force"] == 0.0).all()


def test_a_page_that_goes_away_is_a_device_that_vanishes_and_its_force_fades_within_its_time(session):
    with kane.view(session) as view:
        session.start(60.0)
        with joined(view) as page:
            talk(page, lambda: abs(session.snapshot().q[0]) > 0.2, lambda t: (0.2 * t, 0, 0))
        until(lambda: session.snapshot().fault and session.snapshot().status == "idle")
        ended = session.snapshot().tick
        until(lambda: session.snapshot().tick > ended + 30)
        session.stop()
    (fault,) = session.report.faults
    assert fault.cause == VANISHED
    log = session.log
    force = np.linalg.norm(log["force"], axis=1)
    k = int(np.flatnonzero(log["time"] == fault.time)[0])
    assert force[k - 1] > 0.1
    assert (force[log["time"] > fault.time + 0.021] == 0.0).all()
    fresh = np.flatnonzero(np.diff(log["sample"]["sequence"]) > 0)[-1] + 1
    assert log["time"][k] - log["time"][fresh] < 0.0205 + log["lateness"].max()
    steps = np.abs(np.diff(force[k - 1 : k + 25]))
    assert steps.max() < 2 * force[k - 1] / 19  # a ramp, no step


@pytest.mark.parametrize(
    "said",
    [
        '{"hand": [0, 0, NaN], "pressed": true}',
        '{"hand": [0, 0, 1e999], "pressed": true}',
        '{"hand": [0, 0], "pressed": true}',
        '{"hand": [0, 0, 0, 0], "pressed": true}',
        '{"hand": "far", "pressed": true}',
        '{"hand": [0, 0, 0], "pressed": 1}',
        '{"hand": [0, 0, 0]}',
        '{"input": "q1", "value": 1}',
        "[]",
        "3",
        "[" * 3000,
        *(f'{{"hand": [0, {value}, 0], "pressed": true}}' for value in NO_NUMBERS),
    ],
)
def test_what_no_mouse_says_ends_the_connection_and_moves_nothing(session, said):
    with kane.view(session) as view, joined(view) as page:
        page.send(said)
        ended = refusal(page)
        assert ended.code == 1008
    session.run(0.05)
    assert (session.log["sample"]["sequence"] == 0.0).all()


def test_one_page_at_a_time_has_the_mouse_and_another_may_have_it_afterwards(session):
    with kane.view(session) as view:
        with joined(view) as first, joined(view) as second:
            say(first, (0, 0, 0), False)
            slot, _ = vars(session.coupling.device)["_page"]
            until(lambda: slot.has_sample)
            say(second, (0, 0, 0), False)  # it may look
            say(second, (0, 0, 0), True)
            ended = refusal(second)
            assert "another page" in ended.reason
        with joined(view) as third:
            session.start(60.0)
            talk(third, lambda: session.snapshot().status == "armed")
            session.stop()
    assert (session.log["status"] == at.ARMED).any()


def test_pages_of_sessions_with_other_devices_may_only_look():
    dyn, handle = pendulum()
    with Session(dyn, Simulated(), Coupler(handle, stiffness=60.0, damping=0.2)) as s:
        with kane.view(s) as view, joined(view) as page:
            assert page.content["hand"]["mouse"] is False
            say(page, (0, 0, 0), True)
            ended = refusal(page)
            assert "only be looked at" in ended.reason
        with pytest.raises(ModelError, match="control= is for a Stepper"):
            kane.view(s, control=True)


def test_a_frame_is_what_the_session_is_at():
    dyn, handle = pendulum()
    arm = kane.haptics.Arm(mass=0.5, damping=8.0, stiffness=250.0, path=[(0, 0, 0, 0), (0.5, 0.1, 0, 0)])
    with Session(dyn, Simulated(arm=arm), Coupler(handle, stiffness=60.0, damping=0.2, force_scale=0.5)) as s:
        s.arm()
        s.start(0.4)
        with kane.view(s) as view, joined(view) as page:
            seen = [page.recv(timeout=ENOUGH) for _ in range(12)]
            names, words = page.content["stream"]["values"], page.content["stream"]["words"]
        s.wait()
        log, states = s.log, s.states
    frames = np.array([struct.unpack("<26d", frame) for frame in seen])
    assert names == ["work_on_hand", "work_on_mechanism", "kinetic_energy", "potential_energy"]
    held = frames[[words[int(f[-1])] == "in the hand" for f in frames]]
    assert len(held) >= 3
    for f in held:
        k = int(np.argmin(np.abs(states[:, 0] - f[0])))
        row = log[k - 1]
        np.testing.assert_array_equal(f[:3], states[k])
        np.testing.assert_array_equal(f[3:6], row["handle"][:3])
        np.testing.assert_array_equal(f[6:9], row["pull"][:3])
        np.testing.assert_array_equal(f[9:12], row["pull"][3:])
        np.testing.assert_array_equal(f[12:15], row["proxy"][:3])
        np.testing.assert_array_equal(f[15:18], row["force"] / 0.5)
        np.testing.assert_array_equal(f[18:21], row["torque"])
        given = log["energies"][k]
        assert f[22:25].tolist() == [given["to_mechanism"], given["kinetic"], given["potential"]]
        assert f[21] == row["energies"]["to_operator"] + row["energies"]["to_operator_by_torque"]


def test_who_looks_on_changes_no_bit_of_what_happens():
    dyn, handle = pendulum()
    arm = kane.haptics.Arm(mass=0.5, damping=8.0, stiffness=250.0, path=[(0, 0, 0, 0), (0.5, 0.1, 0, 0)])
    found = []
    for looked_at in (False, True):
        with Session(dyn, Simulated(arm=arm), Coupler(handle, stiffness=60.0, damping=0.2)) as s:
            s.arm()
            if looked_at:
                with kane.view(s) as view, joined(view) as page:
                    s.rehearse(2.0)
                    page.recv(timeout=ENOUGH)
            else:
                s.rehearse(2.0)
            found.append((s.states, s.log))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


@contextmanager
def tab_of(browser, view):
    """A tab that shows this, and complains of nothing."""
    tab = browser.open(view.url)
    try:
        tab.wait("window.kane && kane.frames > 2")
        yield tab
        assert tab.problems == []
    finally:
        tab.close()


def place(tab, point):
    """Where a point is on the page [pixels]."""
    tab.run("kane.camera.aside = kane.covered() / kane.canvas.clientWidth")
    script = """((p) => { const c = kane.camera, {x, y, z} = c.axes(), d = V.sub(p, c.eye()), t = Math.tan(FIELD / 2);
      const w = kane.canvas.clientWidth, h = kane.canvas.clientHeight, depth = -V.dot(d, z);
      return [(V.dot(d, x) / depth / t / (w / h) - c.aside + 1) * w / 2, (1 - V.dot(d, y) / depth / t) * h / 2]; })"""
    return tab.run(f"{script}({json.dumps(list(point))})")


def test_the_mouse_of_a_page_drags_the_mechanism_and_letting_go_ends_the_force(browser):
    """Chromium draws by software here, and slowly: the page is given a patience of seconds."""
    dyn, handle = pendulum()
    with Session(dyn, Pointer(patience=2.0), Coupler(handle, stiffness=60.0, damping=2.0)) as s, kane.view(s) as view:
        with tab_of(browser, view) as tab:
            tab.wait("kane.told.textContent.includes('press on the mechanism')")
            s.start(60.0)
            x, y = place(tab, (0, 0, -0.4))
            tab.mouse("mousePressed", x, y)
            tab.wait("kane.word === 'in the hand'")
            for k in range(1, 11):
                tab.mouse("mouseMoved", x + 8 * k, y)
                time.sleep(0.03)
            tab.wait("Math.hypot(...kane.acted[0].force) > 0.05")
            # the ball of the hand is where the mouse went, seen from where it was pressed
            tab.wait("Math.abs(kane.acted[1].from[2] + 0.4) < 0.05")
            until(lambda: place(tab, tab.run("kane.acted[1].from")) == pytest.approx([x + 80.0, y], abs=8.0))
            assert abs(s.snapshot().q[0]) > 0.02
            tab.mouse("mouseReleased", x + 80, y)
            tab.wait("(kane.word || '').startsWith('no force')")
        s.stop()
        assert (s.log["force"][-1] == 0.0).all()
        assert s.report.faults == ()


def test_a_drag_beside_the_mechanism_turns_the_camera_and_takes_no_hold(browser, session):
    with kane.view(session) as view, tab_of(browser, view) as tab:
        yaw = tab.run("kane.camera.yaw")
        tab.mouse("mousePressed", 200, 600)
        tab.mouse("mouseMoved", 260, 600)
        tab.mouse("mouseReleased", 260, 600)
        assert tab.run("kane.camera.yaw") != yaw
        assert tab.run("kane.mouse.grip") is None


def test_a_session_that_has_ended_plays_with_its_forces_and_its_ledger(browser):
    dyn, handle = pendulum()
    arm = kane.haptics.Arm(mass=0.5, damping=8.0, stiffness=250.0, path=[(0, 0, 0, 0), (0.5, 0.1, 0, 0)])
    with Session(dyn, Simulated(arm=arm), Coupler(handle, stiffness=60.0, damping=0.2)) as s:
        s.rehearse(0.2)
        s.arm()
        s.rehearse(1.0)
    log, run = s.log, s.trajectory
    with kane.view(s) as view, tab_of(browser, view) as tab:
        tab.run("kane.toggle(false), kane.seek(0.7)")
        k = 700
        acting = {a["name"]: a for a in tab.run("kane.actingNow(kane.posesNow())")}
        hand, coupler = acting["force on the hand"], acting["coupler on the mechanism"]
        np.testing.assert_allclose(coupler["force"], log["pull"][k, :3], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(hand["from"], log["proxy"][k, :3], rtol=1e-6, atol=1e-7)
        assert tab.run("kane.holds()") is True
        assert tab.run("kane.plotted") == ["work_on_hand", "work_on_mechanism"]
        work = tab.run("kane.runs[0].series.work_on_mechanism[700]")
        assert work == pytest.approx(log["energies"]["to_mechanism"][k], rel=1e-6, abs=1e-9)
        assert run.time[k] == pytest.approx(0.7)
        tab.run("kane.seek(0.1)")
        assert tab.run("kane.holds()") is False


def test_a_session_run_again_is_a_page_that_plays_from_a_file(browser, tmp_path):
    dyn, handle = pendulum()
    arm = kane.haptics.Arm(mass=0.5, damping=8.0, stiffness=250.0, path=[(0, 0, 0, 0), (0.5, 0.1, 0, 0)])
    with Session(dyn, Simulated(arm=arm), Coupler(handle, stiffness=60.0, damping=0.2)) as s:
        s.arm()
        s.rehearse(0.5)
        s.save(tmp_path / "push.session")
        first = s.page([handle]).message()
    again = kane.haptics.replay(tmp_path / "push.session", dyn)
    assert again.page([handle]).message() == first
    path = again.save_html(tmp_path / "again.html", traces=[handle])
    assert path.stat().st_size < 2_000_000
    tab = browser.open(path.as_uri())
    try:
        tab.wait("window.kane && kane.frames > 2")
        tab.run("kane.toggle(false), kane.seek(0.4)")
        assert tab.run("kane.holds()") is True
        assert tab.problems == []
    finally:
        tab.close()
