"""The server of a page: HTTP and WebSocket on 127.0.0.1, by the library websockets (extra ``view``)."""

from __future__ import annotations

import contextlib
import hmac
import json
import logging
import os
import secrets
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kane.deferred import dataclass
from kane.display.page import served
from kane.errors import ModelError, pip_install

HOST = "127.0.0.1"
# Frames per second; time to wait for the token [s]; limits for messages of a page: size [bytes] and number per second.
FRAME_RATE, TOKEN_TIMEOUT, MAX_PAGE_MESSAGE, MOST_MESSAGES = 60.0, 5.0, 4096, 200
# Connections without the token: largest number, and time between checks of their deadlines [s]. A new connection
# replaces the oldest. Time for pages to answer a closing handshake [s].
STRANGERS, LOOK, PARTING = 32, 1.0, 0.25
# Logger of failed connections, which prints nothing unless the user adds a handler.
SERVER_LOGGER = logging.getLogger("kane.viewer")
SERVER_LOGGER.addHandler(logging.NullHandler())
REFUSED = 1008  # close code of WebSocket: a message violates the rules


class Listener(ABC):
    """Receiver of the messages of one page."""

    @abstractmethod
    def hear(self, said: Mapping[str, Any]) -> str:
        """Process a message; return "", or an error text if the message is invalid."""

    @abstractmethod
    def leave(self) -> None:
        """Handle the end of the connection."""


@dataclass(frozen=True)
class Served:
    """Content of a page server.

    Attributes:
        title: title of the page.
        message: function that returns the first message to a page, with content and programs.
        frame: function that returns the current state as packed doubles; None if nothing moves by itself.
        listener: function that makes a listener for each page; None if pages are read-only.
    """

    title: str
    message: Callable[[], str]
    frame: Callable[[], bytes] | None = None
    listener: Callable[[], Listener] | None = None


class PageServer:
    """Server of one page for browsers on this machine that know its token.

    It listens on 127.0.0.1 only. A request must name this host and, for a WebSocket, come from this page; this refuses
    DNS rebinding and pages of other origins. A page must first send the token, the part of its address after #, before
    it gets any data. Further messages are refused unless there is a listener.

    Raises:
        ModelError: websockets is not installed, or the port is in use.
    """

    def __init__(self, shown: Served, port: int = 0) -> None:
        self.shown, self.token = shown, secrets.token_urlsafe(24)
        serve, self._connection = self._library()
        self._strangers: dict[socket.socket, float] = {}  # deadlines for the token, oldest first
        self._guests: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._socket = _bound(port)
        self.port = int(self._socket.getsockname()[1])
        self._hosts = {f"{HOST}:{self.port}", f"localhost:{self.port}"}
        self._page = served(shown.title, " ".join(f"ws://{host}" for host in sorted(self._hosts)))
        self._server = serve(
            self._talk,
            sock=self._socket,
            create_connection=self._accepted,
            process_request=self._answer,
            compression=None,
            max_size=MAX_PAGE_MESSAGE,
            max_queue=None,  # a page that sends too much is closed at once; a full queue would block its close frame
            server_header=None,
            logger=SERVER_LOGGER,
        )
        self._open, self._closing, self._process = True, threading.Event(), os.getpid()
        for name, work in (("", self._server.serve_forever), (" strangers", self._show_out)):
            threading.Thread(target=work, name=f"kane view {self.port}{name}", daemon=True).start()

    @property
    def url(self) -> str:
        """Address of the page, with the token."""
        return f"http://{HOST}:{self.port}/#{self.token}"

    def close(self) -> None:
        """Stop the server; open pages report this. Cut connections that do not answer the closing handshake at once."""
        if not self._open:
            return
        self._open = False
        if self._process != os.getpid():  # a fork has a copy of the socket but no threads
            self._socket.close()
            return
        self._closing.set()
        with self._lock:
            _cut(self._strangers)
        cutting = threading.Timer(PARTING, self._cut_guests)
        cutting.start()
        self._server.shutdown()
        cutting.cancel()

    def _cut_guests(self) -> None:
        with self._lock:
            _cut([*self._strangers, *self._guests])

    @staticmethod
    def _library() -> tuple[Any, Any]:
        try:
            from websockets.sync.server import ServerConnection, serve
        except ImportError:
            raise ModelError(f"pages are served by the library websockets; {pip_install('view')}") from None
        return serve, ServerConnection

    def _accepted(self, connected: socket.socket, *given: Any, **named: Any) -> Any:
        """Accept a connection, which must send the token in time; if too many wait for it, drop the oldest."""
        with self._lock:
            if len(self._strangers) >= STRANGERS:
                _cut([next(iter(self._strangers))])
                del self._strangers[next(iter(self._strangers))]
            self._strangers[connected] = time.monotonic() + TOKEN_TIMEOUT
            if not self._open:
                _cut([connected])
        return self._connection(connected, *given, **named)

    def _show_out(self) -> None:
        """Cut connections that miss the deadline for the token, until the server closes."""
        while not self._closing.wait(LOOK):
            with self._lock:
                now = time.monotonic()
                self._strangers = {one: end for one, end in self._strangers.items() if one.fileno() >= 0}
                _cut([one for one, end in self._strangers.items() if end < now])

    def _answer(self, connection: Any, request: Any) -> Any:
        """Return the response to an HTTP request; None accepts a WebSocket."""
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return connection.respond(403, "This page is served to this machine alone.\n")
        if "Upgrade" in request.headers:
            if len(origins) != 1 or origins[0] not in {f"http://{host}" for host in self._hosts}:
                return connection.respond(403, "Only the page of this server may connect.\n")
            return None
        if request.path != "/":
            return connection.respond(404, "There is one page here, at /.\n")
        response = connection.respond(200, self._page)
        del response.headers["Content-Type"]
        for name, value in (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "SAMEORIGIN"),
        ):
            response.headers[name] = value
        return response

    def _talk(self, connection: Any) -> None:
        """Serve one connection, from its token to its end."""
        try:
            token = connection.recv(timeout=TOKEN_TIMEOUT)
        except TimeoutError:
            token = ""
        if not isinstance(token, str) or not hmac.compare_digest(token.encode(), self.token.encode()):
            connection.close(REFUSED, "the token is wrong; open the whole address, with the part after #")
            return
        with self._lock:
            self._strangers.pop(connection.socket, None)
            self._guests = {one for one in self._guests if one.fileno() >= 0} | {connection.socket}
        connection.send(self.shown.message())
        listener = self.shown.listener() if self.shown.listener else None
        try:
            self._go_on(connection, listener)
        finally:
            if listener is not None:
                listener.leave()

    def _go_on(self, connection: Any, listener: Listener | None) -> None:
        """Send a frame whenever the state changes, and process messages of the page."""
        from websockets.exceptions import ConnectionClosed

        sent, second, heard, due = b"", time.monotonic(), 0, time.monotonic()
        try:
            while self._open:
                wait = max(0.0, due - time.monotonic()) if self.shown.frame else None
                try:
                    said = connection.recv(timeout=wait)
                except TimeoutError:
                    due = max(due + 1.0 / FRAME_RATE, time.monotonic())
                    frame = self.shown.frame() if self.shown.frame else b""
                    if frame != sent:
                        connection.send(frame)
                        sent = frame
                    continue
                now = time.monotonic()
                second, heard = (now, 1) if now > second + 1.0 else (second, heard + 1)
                wrong = "too many messages" if heard > MOST_MESSAGES else self._heard(said, listener)
                if wrong:
                    connection.close(REFUSED, wrong[:100])
                    return
        except ConnectionClosed:
            pass

    @staticmethod
    def _heard(said: Any, listener: Listener | None) -> str:
        """Pass a message to the listener; return "", or an error text if the message is invalid."""
        if listener is None:
            return "this view may only be looked at; start it with control=True"
        try:
            return listener.hear(json.loads(said))
        except (ValueError, KeyError, TypeError, RecursionError):
            return "a message is not understood"


def _cut(connections: Iterable[socket.socket]) -> None:
    """Shut connections down without a closing handshake."""
    for connected in connections:
        with contextlib.suppress(OSError):  # already closed
            connected.shutdown(socket.SHUT_RDWR)


def _bound(port: int) -> socket.socket:
    """Return a socket that listens on a port of this machine; 0 means any free port."""
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError, TypeError) as error:
        raise ModelError(f"port {port} cannot be used: {error}; give another, or leave port= out") from None
