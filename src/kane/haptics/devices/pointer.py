"""The mouse in a page as a device of three axes, whose force is an arrow there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.arguments import number
from kane.haptics.devices.device import Channel, Device, Traits
from kane.haptics.devices.slot import Slot
from kane.native.arrays import Vector
from kane.native.haptics import pointer as native

# How fast the handle goes after the mouse [1/s].
FOLLOW = 60.0


@final
@dataclass(frozen=True, kw_only=True)
class Pointer(Device):
    """The mouse in the page that ``kane.view(session)`` serves.

    Who presses its button on the mechanism takes hold: the session is armed, and the handle goes along with the mouse
    in the plane through the handle that faces the reader, smoothly, and no faster than a hand. Who lets go, or whose
    page goes away, has no force any more. The force is drawn as an arrow; nobody feels it. What a page says is as old
    as its frames and the way here, ``delay``: a handle that pushed so late could render no stiff walls, as
    ``coupler_limits`` says in numbers.

    Attributes:
        rate: of the ticks [Hz].
        speed: the handle follows no faster [m/s].
        patience: a page that says nothing for so long has gone [s].
        mass, damping, delay: of a handle that would push as late, for ``coupler_limits`` [kg], [N s/m], [s].
        force: the longest arrow [N].
        reach: how far drags may add up to [m].
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
        memory, settings = np.zeros(native.MEMORY), np.zeros(native.SETTINGS)
        slot = Slot(memory)
        channel = slot.channel()
        settings[native.FENCE] = channel.settings[0]
        settings[native.FOLLOW], settings[native.FASTEST], settings[native.PATIENCE] = FOLLOW, self.speed, self.patience
        vars(self)["_page"] = slot, memory
        return Channel(native.read_pointer(), channel.write, channel.table, settings, memory)

    def move(self, position: Vector, pressed: bool) -> None:
        """Where the mouse of the page is [m], and whether its button is pressed; without a session nothing."""
        slot, memory = vars(self).get("_page", (None, None))
        if slot is not None:
            slot.put(position, np.array([1.0, 0.0, 0.0, 0.0]), float(pressed))
            memory[native.GONE] = 0.0

    def leave(self) -> None:
        """The page has gone: no samples come any more."""
        if "_page" in vars(self):
            vars(self)["_page"][1][native.GONE] = 1.0

    def end(self, channel: Channel, t: float) -> None:
        super().end(channel, t)
        del vars(self)["_page"]
