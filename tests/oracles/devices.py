"""Haptic devices: output by a direct call of the native program "write", and memory by name."""

import ctypes

import numpy as np

from kane.engine.memory.views import device_command_at, device_command_size, device_sample_size, simulated_memory_at
from kane.engine.realtime.simulated_device import LONGEST_QUEUE


def written(channel, t, force):
    """Write a force [N] at time t [s], without clamping."""
    command = device_command_at(np.zeros(device_command_size()), 0)
    command.time[0], command.force[:] = t, force
    arrays = command.whole, channel.table, channel.settings, np.zeros(device_sample_size()), channel.memory
    code = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(channel.write)
    code(*(array.ctypes.data for array in arrays))


def memory_of(channel):
    """Return the memory of a simulated device by name."""
    return simulated_memory_at(channel.memory, 0, LONGEST_QUEUE)
