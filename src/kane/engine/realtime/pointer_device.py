"""Program of a device handle that follows the mouse of a page smoothly.

A page sends positions at most a hundred times per second, in steps. The device handle y follows the last position x
like a mass on a critically damped spring, y'' = W^2 (x - y) - 2 W y'. Its speed is limited. The equation is solved
exactly over each tick, so that every tick gets a new sample while the page sends.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_program, vector_at
from kane.engine.memory.views import device_sample_at, device_slot_at, pointer_memory_at, pointer_settings_at
from kane.engine.realtime.shared_slot import keep_sample


@native_program
def read_pointer(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Give the present state of the device handle, or the last sample if the page is closed or silent."""
    memory, settings = pointer_memory_at(work, 0), pointer_settings_at(constants, 0)
    sample, now = device_sample_at(out, 0), vector_at(state, 0, 1)[0]
    kept = keep_sample(work, device_slot_at(work, memory.slot), settings.fence[0], sample, now)
    new, silent = kept.sequence[0] != memory.last[0], now - memory.heard[0] > settings.patience[0]
    if new:
        if silent or memory.last[0] == 0.0:
            memory.now[0] = now
            for i in range(3):
                memory.v[i] = 0.0
                if memory.last[0] == 0.0:
                    memory.y[i] = kept.position[i]
        memory.last[0], memory.heard[0] = kept.sequence[0], now
    if memory.last[0] > 0.0 and (new or not silent) and memory.gone[0] == 0.0:
        t, W, way = max(now - memory.now[0], 0.0), settings.follow[0], 0.0
        fall = math.exp(-W * t)
        for i in range(3):
            away = memory.y[i] - kept.position[i]
            rate = memory.v[i] + W * away
            sample.position[i] = kept.position[i] + (away + rate * t) * fall
            memory.v[i] = (memory.v[i] - W * rate * t) * fall
            way += (sample.position[i] - memory.y[i]) ** 2
        ratio = min(1.0, settings.fastest[0] * t / math.sqrt(way)) if way > 0.0 else 1.0
        for i in range(3):
            memory.y[i] += ratio * (sample.position[i] - memory.y[i])
            memory.v[i] *= ratio
        memory.now[0] = now
        memory.sequence[0] += 1.0
    for i in range(sample.whole.size):
        sample.whole[i] = kept.whole[i]
    for i in range(3):
        sample.position[i] = memory.y[i]
    sample.sequence[0], sample.measured[0] = memory.sequence[0], memory.now[0]
