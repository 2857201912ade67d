"""The mouse in a page as a device with three axes, whose force is drawn as an arrow."""

from __future__ import annotations

from typing import final

import numpy as np

from kane.deferred import dataclass
from kane.engine.memory.devices import POINTER_SETTINGS
from kane.engine.memory.fill import filled
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import pointer_memory_at, pointer_memory_size
from kane.engine.realtime.pointer_device import read_pointer
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number
from kane.haptics.devices.device import Channel, Device, Traits
from kane.haptics.devices.slot import Slot

# Natural frequency with which the device handle follows the mouse [1/s].
FOLLOW = 60.0


@final
@dataclass(frozen=True, kw_only=True)
class Pointer(Device):
    """Mouse in the page that ``kane.view(session)`` serves.

    Pressing the button on the mechanism arms the session. The device handle then follows the mouse smoothly, with
    limited speed, in the plane through the handle that faces the viewer. Releasing the button, or closing the page,
    ends the force. The force is only drawn as an arrow.

    Positions are late by the frames of the page and the transmission, ``delay``. ``coupler_limits`` shows numerically
    that a pushing device with this delay could not render stiff walls.

    Attributes:
        rate: ticks per second [Hz].
        speed: largest speed of the device handle [m/s].
        patience: time without messages after which the page counts as closed [s].
        mass, damping, delay: traits of a pushing device with this delay, for ``coupler_limits`` [kg], [N s/m], [s].
        force: force of the longest arrow [N].
        reach: largest sum of all drags [m].
    """

    rate: float = 1000.0
    speed: float = 0.9
    patience: float = 0.1
    mass: float = 0.1
    damping: float = 0.1
    delay: float = 0.03
    force: float = 5.0
    reach: float = 100.0

    def __post_init__(self) -> None:
        for word in ("speed", "patience"):
            if not number(getattr(self, word), f"{word} of a Pointer") > 0.0:
                raise ModelError(f"{word} of a Pointer must be positive, not {shown(getattr(self, word))}")
        _ = self.traits

    @property
    def traits(self) -> Traits:
        return Traits(
            rate=self.rate,
            mass=self.mass,
            damping=self.damping,
            delay=self.delay,
            force=self.force,
            reach=self.reach,
            pushes=False,
        )

    def open(self) -> Channel:
        memory = np.zeros(pointer_memory_size())
        slot = Slot(memory)
        channel = slot.channel()
        settings = filled(
            POINTER_SETTINGS,
            fence=channel.settings.view(np.int64),
            follow=FOLLOW,
            fastest=self.speed,
            patience=self.patience,
        )
        vars(self)["_page"] = slot, pointer_memory_at(memory, 0)
        return Channel(read_pointer(), channel.write, channel.table, settings.view(np.float64), memory)

    def move(self, position: Vector, pressed: bool) -> None:
        """Set the position of the mouse [m] and the state of its button; no effect without a session."""
        slot, memory = vars(self).get("_page", (None, None))
        if slot is not None:
            slot.put(position, np.array([1.0, 0.0, 0.0, 0.0]), float(pressed))
            memory.gone[0] = 0.0

    def leave(self) -> None:
        """Stop the samples, because the page is closed."""
        if "_page" in vars(self):
            vars(self)["_page"][1].gone[0] = 1.0

    def end(self, channel: Channel, t: float) -> None:
        super().end(channel, t)
        del vars(self)["_page"]
