"""A handle that follows the mouse of a page: the page says now and then where it is, the handle goes there smoothly.

Pages speak a hundred times a second at most and in leaps. The handle y goes after the place x that was said last as a
mass on a spring with critical damping does, y'' = W^2 (x - y) - 2 W y', which is solved exactly over each tick, and no
faster than a hand: so there is a new, smooth sample in each tick as long as the page speaks.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import integers_at, native_program, vector_at
from kane.engine.realtime.device_sample import MEASURED, POSITION, SAMPLE, SEQUENCE
from kane.engine.realtime.shared_slot import KEPT, SAID, SLOT, look

# Places in the settings: the address of a FENCE; how fast the handle follows, W [1/s]; its largest SPEED [m/s];
# PATIENCE, after which a page that says nothing has gone [s].
FENCE, FOLLOW, FASTEST, PATIENCE = range(4)
SETTINGS = 4
# Places in the memory behind the slot: whether the page has GONE; its last sample; when that came (HEARD); the time NOW
# of the handle; how many samples it has given (GIVEN); its position Y and velocity V.
GONE, LAST, HEARD, NOW, GIVEN, Y, V = SLOT, SLOT + 1, SLOT + 2, SLOT + 3, SLOT + 4, SLOT + 5, SLOT + 8
MEMORY = SLOT + 11


@native_program
def read_pointer(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Where the handle is now; no new sample where the page has gone or says nothing."""
    memory, settings = vector_at(work, 0, MEMORY), vector_at(constants, 0, SETTINGS)
    sample, now = vector_at(out, 0, SAMPLE), vector_at(state, 0, 1)[0]
    look(memory, integers_at(work, SAID, 1), integers_at(constants, FENCE, 1)[0], sample, now)
    new = memory[KEPT + SEQUENCE] != memory[LAST]
    silent = now - memory[HEARD] > settings[PATIENCE]
    if new:
        if silent or memory[LAST] == 0.0:
            memory[NOW] = now
            for i in range(3):
                memory[V + i] = 0.0
                if memory[LAST] == 0.0:
                    memory[Y + i] = memory[KEPT + POSITION + i]
        memory[LAST], memory[HEARD] = memory[KEPT + SEQUENCE], now
    if memory[LAST] > 0.0 and (new or not silent) and memory[GONE] == 0.0:
        t, W, way = max(now - memory[NOW], 0.0), settings[FOLLOW], 0.0
        fall = math.exp(-W * t)
        for i in range(3):
            from_there = memory[Y + i] - memory[KEPT + POSITION + i]
            rate = memory[V + i] + W * from_there
            sample[POSITION + i] = memory[KEPT + POSITION + i] + (from_there + rate * t) * fall
            memory[V + i] = (memory[V + i] - W * rate * t) * fall
            way += (sample[POSITION + i] - memory[Y + i]) ** 2
        share = min(1.0, settings[FASTEST] * t / math.sqrt(way)) if way > 0.0 else 1.0
        for i in range(3):
            memory[Y + i] += share * (sample[POSITION + i] - memory[Y + i])
            memory[V + i] *= share
        memory[NOW] = now
        memory[GIVEN] += 1.0
    for i in range(SAMPLE):
        sample[i] = memory[KEPT + i]
    for i in range(3):
        sample[POSITION + i] = memory[Y + i]
    sample[SEQUENCE], sample[MEASURED] = memory[GIVEN], memory[NOW]
