"""Who vouches: a server on this machine that speaks the messages that are documented; there is no hardware here.

The messages are those of shared/realtime.md, section 1.4: one reply a message, the configuration in the first one only.
"""

import contextlib
import json
import math
import threading

import numpy as np
import pytest
from oracles.devices import written
from oracles.hostile_values import NO_NUMBERS
from oracles.waiting import ENOUGH, until
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

import kane
from kane.engine.memory.views import device_slot_size
from kane.haptics import Coupler, Haply, Session
from kane.haptics.devices.haply import Talk
from kane.haptics.devices.slot import Slot
from kane.haptics.devices.websockets import converse


class Service:
    """The Inverse Service with one device, whose handle moves on a line as it likes; it answers what it is told."""

    def __init__(self, most=10**9):
        self.forces, self.most, self.told = [], most, 0
        self.server = serve(self.talk, "127.0.0.1", 0)
        self.port = self.server.socket.getsockname()[1]
        self.ended = threading.Event()  # a talk is over: all that was told is in `forces`
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def message(self):
        x = 0.03 * math.sin(0.02 * self.told)
        state = {"cursor_position": {"x": x, "y": 0.01, "z": 0.0}, "cursor_velocity": {"x": 0, "y": 0, "z": 0}}
        device = {"device_id": "0513", "state": state}
        if self.told == 0:
            device["config"] = {"handedness": "right", "port": "COM3"}
            device["status"] = {"ready": True, "calibrated": True}
        self.told += 1
        return json.dumps({"inverse3": [device], "wireless_verse_grip": []})

    def talk(self, connection):
        with contextlib.suppress(ConnectionClosed):
            self.answer_all(connection)
        self.ended.set()

    def answer_all(self, connection):
        connection.send(self.message())
        for text in connection:
            heard = json.loads(text)
            for device in heard.get("inverse3", []):
                assert device["device_id"] == "0513"
                values = device["commands"]["set_cursor_force"]["values"]
                self.forces.append([values[axis] for axis in "xyz"])
            if self.told >= self.most:
                return
            with contextlib.suppress(ConnectionClosed):  # the last force may still wait to be read
                connection.send(self.message())

    def close(self):
        self.server.shutdown()


@pytest.fixture
def service(monkeypatch):
    # Its process starts slowly on a busy machine.
    monkeypatch.setattr("kane.haptics.devices.haply.FIRST_SAMPLE_WAIT", ENOUGH)
    made = Service()
    yield made
    made.close()


def slider():
    m = kane.Model("slider")
    body = m.body("slider", mass=0.5)
    joint = m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    m.load(kane.Spring(joint, 200.0))
    m.load(kane.Damper(joint, 5.0))
    return kane.build(kane.formulate(m)), body.point()


def test_what_the_loop_writes_is_what_the_service_is_told_and_its_positions_come_back(service):
    """Without a clock: the loop's side is called here, once for each message."""
    slot = Slot(np.zeros(device_slot_size()))
    channel, talk, seen = slot.channel(), Talk(slot), []

    def answer(message):
        written(channel, 0.0, np.array([0.1 * len(seen), -1.0, 0.5]))
        said = talk.answer(message)
        sample = channel.sample(0.001 * len(seen))
        seen.append((sample["sequence"], sample["position"][0]))
        return said

    converse(f"ws://127.0.0.1:{service.port}", answer, lambda: len(seen) < 50, 5.0)
    assert service.ended.wait(ENOUGH)  # the service may hear the last message after the loop has left
    numbers, positions = np.array(seen[:50]).T
    assert (numbers == np.arange(1, 51)).all()
    assert positions == pytest.approx(0.03 * np.sin(0.02 * np.arange(50)))
    forces = np.array(service.forces[:50])
    assert forces[:, 0] == pytest.approx(0.1 * np.arange(50))
    assert (forces[:, 1:] == [-1.0, 0.5]).all()


def test_a_force_that_the_loop_does_not_renew_is_not_passed_on(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("kane.haptics.devices.slot.time.monotonic", lambda: now[0])
    slot = Slot(np.zeros(device_slot_size()))
    channel = slot.channel()
    assert (slot.force() == 0.0).all()
    written(channel, 0.0, np.array([1.0, 2.0, 3.0]))
    assert (slot.force() == [1.0, 2.0, 3.0]).all()
    now[0] = 0.019
    assert (slot.force() == [1.0, 2.0, 3.0]).all()
    now[0] = 0.021
    assert (slot.force() == 0.0).all()
    written(channel, 0.0, np.array([math.nan, 2.0, 3.0]))
    assert (slot.force() == 0.0).all()


@pytest.mark.parametrize(
    "message",
    [
        "",
        "no json",
        "[]",
        "3",
        '{"inverse3": []}',
        '{"inverse3": 3}',
        '{"inverse3": [{"device_id": "a"}]}',
        '{"inverse3": [{"device_id": "a", "state": {"cursor_position": {"x": 1, "y": 2}}}]}',
        '{"inverse3": [{"device_id": "a", "state": {"cursor_position": {"x": NaN, "y": 2, "z": 0}}}]}',
        '{"inverse3": [{"device_id": 7, "state": {"cursor_position": {"x": 1, "y": 2, "z": 0}}}]}',
        '{"inverse3": [{"device_id": "a", "state": {"cursor_position": {"x": "far", "y": 2, "z": 0}}}]}',
        "[" * 5000,
        *(
            f'{{"inverse3": [{{"device_id": "a", "state": {{"cursor_position": {{"x": {value}, "y": 2, "z": 0}}}}}}]}}'
            for value in NO_NUMBERS
        ),
    ],
)
def test_messages_that_are_none_move_nothing_and_are_answered_without_a_force(message):
    slot = Slot(np.zeros(device_slot_size()))
    channel, talk = slot.channel(), Talk(slot)
    written(channel, 0.0, np.array([1.0, 2.0, 3.0]))
    assert "set_cursor_force" not in talk.answer(message)  # it knows no device yet
    assert not slot.has_sample


def test_a_session_runs_by_the_service_within_its_limits_and_leaves_no_force(service):
    """In real time, on whatever machine: what is asked for holds however late messages come."""
    dyn, handle = slider()
    hand = Haply(port=service.port)
    with Session(dyn, hand, Coupler(handle, stiffness=40.0, damping=0.2)) as s:
        with pytest.raises(kane.errors.ModelError, match="another session"):
            Session(dyn, Haply(port=service.port), Coupler(handle, stiffness=40.0, damping=0.2))
        s.arm()
        s.start(60.0)
        told = service.told
        until(lambda: service.told > told + 500)
        s.stop()
        log = s.log
    assert service.ended.wait(ENOUGH)  # it may hear the last message after the session has closed
    assert len(set(log["sample"]["sequence"])) > 5  # samples came
    told = np.array(service.forces)
    assert np.linalg.norm(told, axis=1).max() <= 5.0
    written = {tuple(row) for row in log["force"] + 0.0} | {(0.0, 0.0, 0.0)}
    assert {tuple(row) for row in told + 0.0} <= written
    assert (told[-1] == 0.0).all()


def test_a_service_that_ends_is_a_device_that_vanishes(monkeypatch):
    monkeypatch.setattr("kane.haptics.devices.haply.FIRST_SAMPLE_WAIT", ENOUGH)
    service = Service(most=60)
    dyn, handle = slider()
    with Session(dyn, Haply(port=service.port), Coupler(handle, stiffness=40.0, damping=0.2)) as s:
        s.arm()
        s.start(60.0)
        assert service.ended.wait(ENOUGH)
        ended = s.snapshot().tick
        until(lambda: s.snapshot().tick > ended + 300)
        s.stop()
        assert s.snapshot().status == "idle"
        assert (s.log["force"][-200:] == 0.0).all()
        for _ in range(100):  # a machine that stalls before that is another fault
            s.arm()
            s.run(0.1)
            if s.snapshot().fault == "no new sample came from the device":
                break
        assert s.snapshot().fault == "no new sample came from the device"
    service.close()


def test_where_there_is_no_service_it_is_said_and_the_device_is_free_again(service):
    dyn, handle = slider()
    service.close()
    hand = Haply(port=service.port)
    for _ in range(2):
        with pytest.raises(kane.errors.ModelError, match="start the Inverse Service"):
            Session(dyn, hand, Coupler(handle, stiffness=40.0, damping=0.2))


@pytest.mark.parametrize("values", [{"host": "example.org"}, {"port": 0}, {"port": "10001"}, {"rate": 0.0}])
def test_devices_elsewhere_and_ports_that_are_none_are_refused(values):
    with pytest.raises(kane.errors.ModelError):
        Haply(**values)
