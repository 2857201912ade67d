"""The Inverse3 of Haply, by JSON messages to the Inverse Service over a WebSocket."""

from __future__ import annotations

import json
import mmap
import multiprocessing
import os
import socket
import sys
import tempfile
import time
from importlib.util import find_spec
from typing import Any, final

import numpy as np

from kane.deferred import dataclass
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import device_slot_size
from kane.errors import ModelError, pip_install
from kane.expression.number_arguments import number
from kane.haptics.devices.device import Channel, Device, Traits
from kane.haptics.devices.slot import Slot

HERE = ("localhost", "127.0.0.1", "::1")
# Silence after which a zero force is sent, so that the service answers; longest wait for the first sample [s].
KEEP_ALIVE_SILENCE, FIRST_SAMPLE_WAIT = 0.01, 6.0


@final
@dataclass(frozen=True, kw_only=True)
class Haply(Device):
    """Inverse3 device. It is tested with a server for the documented messages only, not with hardware.

    A separate process exchanges messages with the device; it sends zero forces if the loop does not renew them. The
    axes of the device are used as axes of the ground. The age of samples is not measured; ``coupler_limits`` uses
    ``delay``. A device behind a socket cannot render stiff walls.

    Attributes:
        host, port: address of the service.
        elsewhere: whether ``host`` may be another machine, which then controls the motors in the operator's hand.
        device_id: identity of the device; by default the first device.
        rate: ticks per second [Hz].
        mass, damping, delay: values for ``coupler_limits`` [kg], [N s/m], [s]; measure them for your device.
        force: largest force [N].
        reach: half the width of the workspace [m].
    """

    host: str = "localhost"
    port: int = 10001
    elsewhere: bool = False
    device_id: str = ""
    rate: float = 1000.0
    mass: float = 0.2
    damping: float = 0.05
    delay: float = 3e-3
    force: float = 5.0
    reach: float = 0.5

    def __post_init__(self) -> None:
        if self.host not in HERE and not self.elsewhere:
            raise ModelError(f"the service at {self.host!r} is not on this machine; give elsewhere=True to allow this")
        if not (isinstance(self.port, int) and 0 < self.port < 65536):
            raise ModelError(f"a port is a number from 1 to 65535, not {self.port!r}")
        _ = self.traits

    @property
    def traits(self) -> Traits:
        return Traits(
            rate=self.rate, mass=self.mass, damping=self.damping, delay=self.delay, force=self.force, reach=self.reach
        )

    def open(self) -> Channel:
        """Open the device.

        Raises:
            ModelError: no sample came because the service or the device is missing, another session uses the service,
                or the library websockets is not installed.
        """
        if find_spec("websockets") is None:
            raise ModelError(f"Haply needs the library websockets; {pip_install('haptics')}")
        claim = _claimed(f"kane haply {self.port}")
        with tempfile.NamedTemporaryFile(delete=False) as file:  # other users cannot read it
            file.write(bytes(8 * device_slot_size()))
        slot = Slot(_mapped(file.name))
        url = f"ws://[{self.host}]:{self.port}" if ":" in self.host else f"ws://{self.host}:{self.port}"
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=_speak, args=(file.name, url, self.device_id, os.getpid()), daemon=True)
        process.start()
        vars(self)["_conversation"] = claim, file.name, slot, process
        until = time.monotonic() + FIRST_SAMPLE_WAIT
        while not slot.has_sample and time.monotonic() < until and process.is_alive():
            time.sleep(0.005)
        if not slot.has_sample:
            self._end()
            raise ModelError(f"no sample came from {url}; start the Inverse Service, and see that the device is ready")
        return slot.channel()

    def end(self, channel: Channel, t: float) -> None:
        super().end(channel, t)
        self._end()

    def _end(self) -> None:
        claim, name, slot, process = vars(self).pop("_conversation")
        slot.close()
        process.join(2.0)
        if process.is_alive():
            process.kill()
            process.join()
        os.unlink(name)
        claim.close()


def _claimed(name: str) -> socket.socket:
    """Claim a name exclusively until the process ends, by an abstract socket address; on Linux only.

    Raises:
        ModelError: another session has the name.
    """
    claim = socket.socket(socket.AF_UNIX)
    if sys.platform == "linux":
        try:
            claim.bind(f"\0{name}")
        except OSError:
            claim.close()
            raise ModelError("another session uses this service; close that session first") from None
    return claim


def _mapped(name: str) -> Vector:
    """Return memory that processes share through a file."""
    with open(name, "r+b") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 8 * device_slot_size()), dtype=np.float64)


def _speak(name: str, url: str, device_id: str, parent: int) -> None:
    """Exchange messages with the service, in a separate process, as long as the parent process exists."""
    from kane.haptics.devices.websockets import converse  # imported here, because the library is optional

    slot = Slot(_mapped(name))
    talk = Talk(slot, device_id)
    converse(url, talk.answer, lambda: not slot.is_closing and os.getppid() == parent, KEEP_ALIVE_SILENCE)


@final
class Talk:
    """Dialogue with the service: the position of each message goes into the slot, and the reply is the slot's force."""

    def __init__(self, slot: Slot, device_id: str = "") -> None:
        """Use one device; an empty identity means the first one."""
        self._slot, self._id = slot, device_id

    def answer(self, message: str | None) -> str:
        """Return the reply to a message; None means that no message came in time."""
        heard = message is not None and self._hear(message)
        force = self._slot.force() if heard and not self._slot.is_closing else np.zeros(3)
        values = dict(zip("xyz", map(float, force), strict=True))
        command = {"device_id": self._id, "commands": {"set_cursor_force": {"values": values}}}
        return json.dumps({"inverse3": [command]} if self._id else {"session": {"force_render_full_state": {}}})

    def _hear(self, message: str) -> bool:
        """Put the position of a message into the slot; return whether the message has a valid position."""
        try:
            states: list[Any] = json.loads(message).get("inverse3", [])
            (state, *_) = [s for s in states if self._id in ("", s["device_id"])]
            place = state["state"]["cursor_position"]
            position = [number(place[axis], "a coordinate of the cursor", "metres") for axis in "xyz"]
            identity = state["device_id"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return False
        if not (isinstance(identity, str) and identity):
            return False
        self._id = identity
        self._slot.put(np.array(position), np.array([1.0, 0.0, 0.0, 0.0]))
        return True
