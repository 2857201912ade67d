"""The server of views: who is let in, who is not, and what pages may say."""

import json
import logging
import socket
import struct
import sys
import threading
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
import pytest
from oracles.hostile_values import NO_NUMBERS
from oracles.waiting import ENOUGH, until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import kane
from kane.errors import ModelError
from kane.viewer.websockets import SERVER_LOGGER, STRANGERS, PageServer


def dynamics():
    return kane.build(kane.formulate(kane.library.n_link_pendulum(1)))


@pytest.fixture(scope="module")
def shown():
    with kane.view(kane.library.n_link_pendulum(1)) as view:
        yield view


def parts(view):
    """Host with port, and token."""
    address, _, token = view.url.partition("#")
    return address.removeprefix("http://").rstrip("/"), token


@contextmanager
def joined(view, *, token=None, origin=None):
    """A WebSocket that has sent its token."""
    here, right = parts(view)
    with connect(f"ws://{here}/", origin=origin or f"http://{here}", max_size=None) as page:
        page.send(right if token is None else token)
        yield page


def heard(page, times):
    """What a page hears, so many times."""
    return [page.recv(timeout=ENOUGH) for _ in range(times)]


def poured(page, said):
    """Far more messages than anybody means, then what is heard."""
    for _ in range(20_000):
        page.send(said)
    return heard(page, 5)


def asked(view, path="/", **headers):
    request = urllib.request.Request(f"http://{parts(view)[0]}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=ENOUGH) as answer:
        return answer.read().decode(), answer.headers


def test_the_page_is_served_without_content_and_bound_to_this_machine(shown):
    text, headers = asked(shown)
    here, token = parts(shown)
    assert here.startswith("127.0.0.1:")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in text
    assert "pendulum" not in text.replace("pendulum1 - kane", "")
    assert token not in text
    assert len(token) >= 32


def test_the_token_opens_the_content(shown):
    with joined(shown) as page:
        content = json.loads(page.recv(timeout=ENOUGH))
    assert content["page"]["title"] == "pendulum1"
    assert "kane_programs" in content["source"]


@pytest.mark.parametrize("token", ["", "x", "0" * 32, "\u03b8"])
def test_a_wrong_token_is_refused_and_nothing_is_sent(shown, token):
    with joined(shown, token=token) as page, pytest.raises(ConnectionClosed) as ended:
        page.recv(timeout=ENOUGH)
    assert ended.value.rcvd.code == 1008
    assert "token is wrong" in ended.value.rcvd.reason


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1:{port}"])
def test_pages_of_other_origins_are_refused(shown, origin):
    port = parts(shown)[0].partition(":")[2]
    with pytest.raises(InvalidStatus) as refused, joined(shown, origin=origin.format(port=port)):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1"])
def test_other_names_of_the_host_are_refused(shown, host):
    with pytest.raises(urllib.error.HTTPError) as refused:
        asked(shown, Host=host)
    assert refused.value.code == 403


def test_there_is_one_page(shown):
    for path in ("/x", "/../etc/passwd", "//", "/?a"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            asked(shown, path)
        assert refused.value.code == 404


@pytest.mark.parametrize("said", ['{"input": "F", "value": 1}', "x", b"\0" * 10])
def test_who_may_only_look_is_shown_the_door_when_it_speaks(shown, said):
    with joined(shown) as page:
        page.recv(timeout=ENOUGH)
        page.send(said)
        with pytest.raises(ConnectionClosed) as ended:
            page.recv(timeout=ENOUGH)
    assert "only be looked at" in ended.value.rcvd.reason


def test_long_messages_end_the_connection(shown):
    with joined(shown) as page:
        page.recv(timeout=ENOUGH)
        page.send("x" * 10_000)
        with pytest.raises(ConnectionClosed):
            page.recv(timeout=ENOUGH)


def test_a_view_closes_though_somebody_has_connected_and_asks_for_nothing(monkeypatch):
    """As browsers do in advance. However long the library would wait for them: here without end."""
    serve, connection = PageServer._library()
    monkeypatch.setattr(PageServer, "_library", lambda self: (partial(serve, open_timeout=None), connection))
    view = kane.view(kane.library.n_link_pendulum(1))
    host, _, port = parts(view)[0].partition(":")
    with socket.create_connection((host, int(port))) as silent:
        until(lambda: view._server._strangers)
        closing = threading.Thread(target=view.close, daemon=True)
        closing.start()
        closing.join(ENOUGH)
        assert not closing.is_alive()
        assert silent.recv(1) == b""


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ModelError, match=f"port {port} cannot be used"):
            kane.view(kane.library.n_link_pendulum(1), port=port)


@pytest.mark.parametrize("port", [-1, 70_000, "80", None, True])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(ModelError, match="port"):
        kane.view(kane.library.n_link_pendulum(1), port=port)


def test_a_closed_view_lets_nobody_in():
    view = kane.view(kane.library.n_link_pendulum(1))
    view.close()
    view.close()
    with pytest.raises(OSError, match="refused"):
        asked(view)


def test_a_stepper_is_followed_and_steered_by_who_has_control():
    stepper = kane.Stepper(dynamics())
    with kane.view(stepper, control=True) as view, joined(view) as page:
        assert [s["name"] for s in json.loads(page.recv(timeout=ENOUGH))["page"]["sliders"]] == ["F"]
        page.recv(timeout=ENOUGH)  # the state at the beginning
        page.send(json.dumps({"input": "F", "value": 2.5}))
        until(lambda: view.inputs == {"F": 2.5})
        stepper.inputs = view.inputs
        stepper.step(0.1)
        numbers = struct.unpack("<5d", page.recv(timeout=ENOUGH))
    np.testing.assert_array_equal(numbers, [stepper.time, *stepper.q, *stepper.u])
    assert stepper.u[0] > 0.0


@pytest.mark.parametrize(
    "said",
    [
        '{"input": "G", "value": 1}',
        '{"input": "F", "value": NaN}',
        '{"input": "F"}',
        "[" * 3000,
        '{"input": [], "value": 1}',
        *(f'{{"input": "F", "value": {value}}}' for value in NO_NUMBERS),
    ],
)
def test_what_is_not_understood_ends_the_connection_and_changes_nothing(said):
    with kane.view(kane.Stepper(dynamics()), control=True) as view:
        with joined(view) as page:
            page.recv(timeout=ENOUGH)
            page.send(said)
            with pytest.raises(ConnectionClosed) as ended:
                heard(page, 5)
            assert ended.value.rcvd.code == 1008
        assert view.inputs == {"F": 0.0}
        with joined(view) as page:
            assert page.recv(timeout=ENOUGH)


def test_a_stream_of_messages_is_cut_off(monkeypatch):
    """So few a second that a busy machine reads more."""
    monkeypatch.setattr("kane.viewer.websockets.MOST_MESSAGES", 20)
    with kane.view(kane.Stepper(dynamics()), control=True) as view, joined(view) as page:
        page.recv(timeout=ENOUGH)
        with pytest.raises(ConnectionClosed) as ended:
            poured(page, '{"input": "F", "value": 1}')
    assert ended.value.rcvd.reason == "too many messages"


def test_what_cannot_be_viewed_is_refused_by_name():
    run = kane.simulate(dynamics(), until=0.1)
    many = kane.simulate_many(dynamics(), until=0.1, q=np.zeros((2, 2)))
    for source, given, words in [
        (3, {}, "3 cannot be viewed"),
        (kane.Model("nothing"), {}, "no bodies"),
        (run, {"ghosts": [3]}, "not a run"),
        (run, {"ghosts": run}, "list|not a run"),
        (run, {"arrows": ["nowhere"]}, "no joint, constraint, contact or load 'nowhere'"),
        (run, {"traces": ["nowhere"]}, "cannot be traced"),
        (run, {"plots": ["nowhere"]}, "no quantity 'nowhere'"),
        (run, {"control": True}, "Stepper"),
        (many, {}, "does not hold its model"),
        (many, {"model": dynamics(), "arrows": ["q1"]}, "arrows= is for a run"),
        (dynamics(), {"traces": ["x"]}, "traces= is for"),
        (kane.Stepper(dynamics()), {"ghosts": [run]}, "ghosts= is for a run"),
        (many, {"model": dynamics(), "plots": [[1.0]]}, "one of the names in plots"),
        (many, {"model": kane.library.four_bar()}, "the ensemble has the coordinates"),
    ]:
        with pytest.raises(ModelError, match=words):
            kane.view(source, **given)


def test_an_ensemble_is_a_run_and_its_ghosts():
    many = kane.simulate_many(dynamics(), until=0.1, q=np.linspace(0, 1, 8).reshape(4, 2))
    with kane.view(many, model=dynamics()) as view, joined(view) as page:
        content = json.loads(page.recv(timeout=ENOUGH))["page"]
    assert [run["name"] for run in content["runs"]] == [f"trajectory {i}" for i in range(4)]


def test_a_run_from_a_file_is_shown_with_the_model_that_the_file_holds(tmp_path):
    run = kane.simulate(dynamics(), until=0.1)
    run.save(tmp_path / "run.nc")
    loaded = kane.Trajectory.load(tmp_path / "run.nc")
    assert loaded.to_xarray().identical(run.to_xarray())
    with kane.view(loaded) as view, joined(view) as page:
        assert json.loads(page.recv(timeout=ENOUGH))["page"]["mode"] == "run"
    run.to_xarray().to_netcdf(tmp_path / "bare.nc", engine="h5netcdf")
    bare = kane.Trajectory.load(tmp_path / "bare.nc")
    with pytest.raises(ModelError, match="does not hold its model"):
        kane.view(bare)
    with kane.view(bare, model=kane.library.n_link_pendulum(1)) as view:
        assert view.url


def raw(view, *lines, host="127.0.0.1"):
    """A connection that has sent these lines of HTTP, whatever they are."""
    connected = socket.create_connection((host, int(parts(view)[0].partition(":")[2])), timeout=ENOUGH)
    connected.sendall("".join(f"{line}\r\n" for line in lines).encode())
    return connected


def status(connected):
    """The status of the answer."""
    with connected, connected.makefile("rb") as answer:
        return int(answer.readline().split()[1])


UPGRADE = (
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: " + 22 * "A" + "==",
)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8")
def test_nobody_listens_on_other_addresses_of_this_machine(shown):
    raw(shown).close()
    with pytest.raises(OSError, match="refused"):
        raw(shown, host="127.0.0.2")


def test_a_websocket_that_does_not_say_where_it_comes_from_is_refused(shown):
    here = parts(shown)[0]
    assert status(raw(shown, "GET / HTTP/1.1", f"Host: {here}", *UPGRADE, f"Origin: http://{here}", "")) == 101
    assert status(raw(shown, "GET / HTTP/1.1", f"Host: {here}", *UPGRADE, "")) == 403


@pytest.mark.parametrize("second", ["{here}", "evil.example"])
@pytest.mark.parametrize("word", ["Host", "Origin"])
def test_two_hosts_or_two_origins_are_refused_in_either_order(shown, word, second):
    here = parts(shown)[0]
    right = {"Host": f"Host: {here}", "Origin": f"Origin: http://{here}"}
    other = f"{word}: {'http://' if word == 'Origin' else ''}{second.format(here=here)}"
    for pair in ((right[word], other), (other, right[word])):
        rest = [line for name, line in right.items() if name != word]
        assert status(raw(shown, "GET / HTTP/1.1", *pair, *rest, *UPGRADE, "")) == 403


def test_a_request_without_a_host_is_refused(shown):
    assert status(raw(shown, "GET / HTTP/1.1", "")) == 403


def test_the_page_may_not_be_framed_by_others_nor_kept_nor_taken_for_something_else(shown):
    _, headers = asked(shown)
    assert headers["X-Frame-Options"] == "SAMEORIGIN"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_a_message_longer_than_any_command_changes_nothing_and_ends_the_connection():
    """It would be understood if it were read."""
    said = '{"input": "F", "value": 1}'
    with kane.view(kane.Stepper(dynamics()), control=True) as view, joined(view) as page:
        page.recv(timeout=ENOUGH)
        page.send(said.replace("}", (4097 - len(said)) * " " + "}"))
        with pytest.raises(ConnectionClosed) as ended:
            heard(page, 5)
        assert ended.value.rcvd.code == 1009
        assert view.inputs == {"F": 0.0}


def sleeping(view):
    """A page that was let in and reads nothing, like a tab that the browser has put to sleep."""
    here, token = parts(view)
    connected = raw(view, "GET / HTTP/1.1", f"Host: {here}", *UPGRADE, f"Origin: http://{here}", "")
    with connected.makefile("rb") as answer:
        while answer.readline() != b"\r\n":
            pass
    connected.sendall(bytes([0x81, 0x80 | len(token), 0, 0, 0, 0]) + token.encode())  # masked with zeros
    until(lambda: view._server._guests)
    return connected


def test_a_view_closes_at_once_though_a_page_does_not_read(monkeypatch):
    """However long the library would wait for its farewell: here without end."""
    serve, connection = PageServer._library()
    monkeypatch.setattr(PageServer, "_library", lambda self: (partial(serve, close_timeout=None), connection))
    view = kane.view(kane.Stepper(dynamics()))
    with sleeping(view):
        closing = threading.Thread(target=view.close, daemon=True)
        closing.start()
        closing.join(ENOUGH)
        assert not closing.is_alive()


def test_half_requests_are_limited_in_number_and_others_are_still_served(monkeypatch):
    """However long each of them might stay: the oldest make room."""
    monkeypatch.setattr("kane.viewer.websockets.TOKEN_TIMEOUT", 1000.0)
    before = threading.active_count()
    with kane.view(kane.library.n_link_pendulum(1)) as view, ExitStack() as kept:
        first = kept.enter_context(raw(view, "GET / HTTP/1.1", "Host: x"))
        for _ in range(150):
            kept.enter_context(raw(view, "GET / HTTP/1.1", "Host: x"))
        assert first.recv(1) == b""
        until(lambda: threading.active_count() - before < 3 * STRANGERS + 5)
        assert len(view._server._strangers) <= STRANGERS
        assert asked(view)[0]


def test_half_requests_are_cut_when_their_time_is_over(monkeypatch):
    monkeypatch.setattr("kane.viewer.websockets.TOKEN_TIMEOUT", 0.5)
    monkeypatch.setattr("kane.viewer.websockets.LOOK", 0.1)
    with kane.view(kane.library.n_link_pendulum(1)) as view, raw(view, "GET / HTTP/1.1") as half:
        assert half.recv(1) == b""
        with joined(view) as page:
            assert page.recv(timeout=ENOUGH)


def test_a_page_that_was_let_in_stays_when_the_time_of_strangers_is_over(monkeypatch):
    monkeypatch.setattr("kane.viewer.websockets.TOKEN_TIMEOUT", 0.2)
    monkeypatch.setattr("kane.viewer.websockets.LOOK", 0.05)
    with kane.view(kane.library.n_link_pendulum(1)) as view, joined(view) as page:
        page.recv(timeout=ENOUGH)
        with raw(view) as stranger:
            assert stranger.recv(1) == b""
        assert page.ping().wait(ENOUGH)


def test_connections_that_break_off_or_talk_nonsense_print_nothing_and_are_logged(capfd, caplog):
    with caplog.at_level("DEBUG", "kane.viewer"), kane.view(kane.library.n_link_pendulum(1)) as view:
        for lines in (
            ("GET / HTTP/1.1", "Host: x"),
            ("nonsense", ""),
            ("GET / HTTP/1.1", f"Content-Length: {400 * '9'}", ""),
        ):
            with raw(view, *lines) as connected:
                connected.shutdown(socket.SHUT_WR)
                while connected.recv(4096):
                    pass
    said = capfd.readouterr()
    assert "Traceback" not in said.err + said.out
    assert any(record.name == "kane.viewer" for record in caplog.records)


def test_the_logger_of_views_prints_nothing_by_itself():
    """Python prints what no handler takes."""
    assert any(isinstance(handler, logging.NullHandler) for handler in SERVER_LOGGER.handlers)
