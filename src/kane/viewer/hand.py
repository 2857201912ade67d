"""Pages of running haptic sessions: the mechanism, the proxy, and the forces between them."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.display.live_motion import LEDGER, page, posed_form
from kane.display.scene import scene_of
from kane.display.thinned_run import trace_form
from kane.expression.number_arguments import number
from kane.haptics.coupling.rigid_coupler import AnyCoupler
from kane.haptics.devices.pointer import Pointer
from kane.haptics.loop.report import FAULTS
from kane.haptics.loop.snapshot import Snapshot
from kane.haptics.recording.session_page import COUPLER_ARROW, HAND_ARROW, describe_handle, name_coupling_parameters
from kane.haptics.session import Session
from kane.viewer.websockets import Listener, Served

# Scalar quantities in each frame of a stream.
COURSES = (*LEDGER, "kinetic_energy", "potential_energy")


def served_hand(session: Session, traces: Sequence[Any]) -> Served:
    """Return a page of a running session; neither the loop nor the page waits for the other."""
    coupling = session.coupling
    dyn, _, hand, coupler = coupling
    eqs, mouse, parameters = dyn.equations, isinstance(hand, Pointer), name_coupling_parameters(coupling)
    hand_form = describe_handle(coupling)
    scene = scene_of(eqs, parameters=parameters, q=session.snapshot().q)
    traced = [trace_form(trace, eqs, (eqs.bodies[0], *eqs.posed)) for trace in traces]
    words = _words(mouse)

    def message() -> str:
        now = session.snapshot()
        extra = {
            "traces": traced,
            "arrows": [COUPLER_ARROW, HAND_ARROW],
            "stream": {"values": COURSES, "words": list(words.values())},
            "hand": {**hand_form, "mouse": mouse, "scale": coupler.scale},
        }
        start = now.time, [*now.q, *now.u]
        return page("stream", eqs, scene, posed_form(eqs, parameters), start=start, programs=(), extra=extra).message()

    def frame() -> bytes:
        now = session.snapshot()
        place = list(words).index((now.status, now.fault))
        held = [*_held(now, coupler), *now.energies]
        numbers = [now.time, *now.q, *now.u, *held, place]
        return struct.pack(f"<{len(numbers)}d", *numbers)

    taken: list[_Mouse] = []
    listener = (lambda: _Mouse(session, hand, taken)) if isinstance(hand, Pointer) else None
    return Served(f"{eqs.name} - kane", message, frame, listener)


def _words(mouse: bool) -> dict[tuple[str, str], str]:
    """Return the text that a page shows for each status and fault."""
    how = "; press on the mechanism and drag" if mouse else ""
    found = {}
    for fault in FAULTS.values():
        why = f": {fault}" if fault else ""
        found["idle", fault] = f"no force{why}{how}"
        found["armed", fault], found["ending", fault] = "in the hand", f"the force ends{why}"
    return found


def _held(now: Snapshot, coupler: AnyCoupler) -> list[float]:
    """Return start, force and torque of COUPLER_ARROW and HAND_ARROW, (18,); NaN while the session is idle."""
    if now.status == "idle":
        return [math.nan] * 18
    felt = *(now.force / coupler.force_scale), *(now.torque / coupler.torque_scale)
    return [*now.handle, *now.pull, *now.proxy, *felt]


class _Mouse(Listener):
    """Listener that moves a Pointer with the mouse of one page; its button arms and disarms the session."""

    def __init__(self, session: Session, hand: Pointer, taken: list[_Mouse]) -> None:
        self._session, self._hand, self._taken, self._pressed = session, hand, taken, False

    def hear(self, said: Mapping[str, Any]) -> str:
        x, y, z = (number(part, "a coordinate of the mouse", "metres") for part in said["hand"])
        pressed = said["pressed"]
        if not isinstance(pressed, bool):
            return "pressed is neither true nor false"
        if not self._taken:
            self._taken.append(self)
        if self._taken[0] is not self:
            return "another page holds the mechanism" if pressed else ""
        self._hand.move(np.array([x, y, z]), pressed)
        if pressed and self._session.is_closed:
            return "the session is closed"
        if pressed and not self._pressed:
            self._session.arm()
        if self._pressed and not pressed:
            self._session.disarm()
        self._pressed = pressed
        return ""

    def leave(self) -> None:
        if self in self._taken:
            self._hand.leave()
            self._taken.remove(self)
