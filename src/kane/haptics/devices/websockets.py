"""A client's side of a WebSocket, by the library websockets (extra ``haptics``)."""

from __future__ import annotations

from collections.abc import Callable

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

# No message of a device is longer [bytes]; a first one comes within so long [s].
MAX_DEVICE_MESSAGE, OPEN_TIMEOUT = 65536, 5.0


def converse(url: str, answer: Callable[[str | None], str], goes_on: Callable[[], bool], patience: float) -> None:
    """Answer each message, and silence too, until told not to go on or the other side ends.

    Args:
        url: of the service.
        answer: what is said to a message; to None where none has come for ``patience`` seconds.
        goes_on: whether to go on.
        patience: see above [s].
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
        return  # whoever waits for samples sees that none come
