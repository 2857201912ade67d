"""What the loop of a session does to a device, without a session: its program "write" called at its address."""

import ctypes

import numpy as np

from kane.native.haptics.sample import COMMAND, SAMPLE


def written(channel, t, force):
    """Write a force [N] at time t [s], clamped by nobody."""
    command = np.zeros(COMMAND)
    command[0], command[1:4] = t, force
    arrays = command, channel.table, channel.settings, np.zeros(SAMPLE), channel.memory
    code = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(channel.write)
    code(*(array.ctypes.data for array in arrays))
