"""The Inverse3 of Haply, through the Inverse Service, which speaks JSON over a WebSocket."""

from __future__ import annotations

import json
import mmap
import multiprocessing
import os
import socket
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, final

import numpy as np

from kane.errors import ModelError, pip_install
from kane.expression.arguments import number
from kane.haptics.devices.device import Channel, Device, Traits
from kane.haptics.devices.slot import Slot
from kane.native.arrays import Vector
from kane.native.haptics.slot import SLOT

HERE = ("localhost", "127.0.0.1", "::1")
# Silence after which a force of zero keeps the service answering; wait for the first sample [s].
KEEP_ALIVE_SILENCE, FIRST_SAMPLE_WAIT = 0.01, 6.0


@final
@dataclass(frozen=True, kw_only=True)
class Haply(Device):
    """An Inverse3. Not tried with hardware: only with a server that speaks the messages that are documented.

    It is spoken to from a process of its own, which passes on forces of zero where the loop does not renew them. Its
    axes are taken as those of the ground. Samples are as old as their way here, which nobody measures; ``delay`` is
    what ``coupler_limits`` goes by: a device behind a socket renders no stiff walls.

    Attributes:
        host, port: of the service.
        elsewhere: whether a host other than this machine is meant: whoever answers there moves a motor in a hand.
        device_id: of the device; the first one unless given.
        rate: of the ticks [Hz].
        mass, damping, delay: what limits are computed by [kg], [N s/m], [s]; measure yours.
        force: the largest [N].
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
            raise ModelError(
                f"the service at {self.host!r} is not on this machine; give elsewhere=True if that is meant"
            )
        if not (isinstance(self.port, int) and 0 < self.port < 65536):
            raise ModelError(f"a port is a number from 1 to 65535, not {self.port!r}")
        _ = self.traits

    @property
    def traits(self) -> Traits:
        return Traits(
            rate=self.rate, mass=self.mass, damping=self.damping, delay=self.delay, force=self.force, reach=self.reach
        )

    def open(self) -> Channel:
        """See ``Device``.

        Raises:
            ModelError: no sample came: there is no service, or no device with it; another session speaks to it; the
                library websockets is missing.
        """
        if find_spec("websockets") is None:
            raise ModelError(f"Haply needs the library websockets; {pip_install('haptics')}")
        claim = _claimed(f"kane haply {self.port}")
        with tempfile.NamedTemporaryFile(delete=False) as file:  # nobody else may read it
            file.write(bytes(8 * SLOT))
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
    """What one process at a time can have, on Linux, and has no longer when it ends: a name of a socket without a file.

    Raises:
        ModelError: another one has it.
    """
    claim = socket.socket(socket.AF_UNIX)
    if sys.platform == "linux":
        try:
            claim.bind(f"\0{name}")
        except OSError:
            claim.close()
            raise ModelError("another session speaks to this service; close that first") from None
    return claim


def _mapped(name: str) -> Vector:
    """Memory that processes share, under the name of a file."""
    with open(name, "r+b") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 8 * SLOT), dtype=np.float64)


def _speak(name: str, url: str, device_id: str, parent: int) -> None:
    """What the process does, as long as the one that it serves is there."""
    from kane.haptics.devices.websockets import converse  # here, so that an optional library is only asked for here

    slot = Slot(_mapped(name))
    talk = Talk(slot, device_id)
    converse(url, talk.answer, lambda: not slot.is_closing and os.getppid() == parent, KEEP_ALIVE_SILENCE)


@final
class Talk:
    """What is said to the service: the force in the slot, to each of its messages, whose positions go into the slot."""

    def __init__(self, slot: Slot, device_id: str = "") -> None:
        """Of one device, the first one if its identity is empty."""
        self._slot, self._id = slot, device_id

    def answer(self, message: str | None) -> str:
        """The reply to a message, or to silence."""
        heard = message is not None and self._hear(message)
        force = self._slot.force() if heard and not self._slot.is_closing else np.zeros(3)
        values = dict(zip("xyz", map(float, force), strict=True))
        command = {"device_id": self._id, "commands": {"set_cursor_force": {"values": values}}}
        return json.dumps({"inverse3": [command]} if self._id else {"session": {"force_render_full_state": {}}})

    def _hear(self, message: str) -> bool:
        """Put the position of a message into the slot; whether it has one that can be one."""
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
