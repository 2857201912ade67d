"""Output to a haptic device as in the loop of a session, by a direct call of its native program "write"."""

import ctypes

import numpy as np

from kane.engine.realtime.device_sample import COMMAND, SAMPLE


def written(channel, t, force):
    """Write a force [N] at time t [s], without clamping."""
    command = np.zeros(COMMAND)
    command[0], command[1:4] = t, force
    arrays = command, channel.table, channel.settings, np.zeros(SAMPLE), channel.memory
    code = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(channel.write)
    code(*(array.ctypes.data for array in arrays))
