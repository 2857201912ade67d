"""WebSocket client, by the library websockets (extra ``haptics``)."""

from __future__ import annotations

from collections.abc import Callable

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

# Largest message of a device [bytes]; time to open a connection [s].
MAX_DEVICE_MESSAGE, OPEN_TIMEOUT = 65536, 5.0


def converse(url: str, answer: Callable[[str | None], str], goes_on: Callable[[], bool], patience: float) -> None:
    """Answer each message, or the lack of one, until ``goes_on`` returns False or the connection ends.

    Args:
        url: address of the service.
        answer: function that returns the reply to a message, or to None if no message came in time.
        goes_on: function that returns whether to continue.
        patience: time to wait for a message [s].
    """
    try:
        with connect(url, max_size=MAX_DEVICE_MESSAGE, open_timeout=OPEN_TIMEOUT, compression=None) as connection:
            while goes_on():
                try:
                    message = connection.recv(timeout=patience)
                except TimeoutError:
                    message = None
                connection.send(answer(message if isinstance(message, str) else None))
            connection.send(answer(None))
    except (OSError, WebSocketException):
        return  # the loop detects that no more samples come
