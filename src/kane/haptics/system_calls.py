"""System calls with the calling convention of programs: a loop at an address, clock, sleep, fence, exchange."""

from __future__ import annotations

import ctypes
import functools
import re
import time
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from kane.deferred import NamedTuple
from kane.engine.memory.loop_arguments import Indices
from kane.errors import ModelError
from kane.machine.linker import link
from kane.machine.processor import target_machine

# Each function reads 64-bit integers from ``out`` or ``state``, and writes its result to ``out``.
_SYSTEM_CALLS_TEXT = """
declare i32 @clock_gettime(i32, ptr)
declare i32 @nanosleep(ptr, ptr)

define void @kane_step(ptr %state, ptr %rest, ptr %stage, ptr %out, ptr %work) {{
  %loop = load ptr, ptr %state
  %place = getelementptr i64, ptr %state, i64 1
  %words = load ptr, ptr %place
  %status = call i64 %loop(ptr %words)
  store i64 %status, ptr %out
  ret void
}}

define void @kane_clock(ptr %state, ptr %rest, ptr %stage, ptr %out, ptr %work) {{
  %now = alloca [2 x i64]
  %place = getelementptr i64, ptr %now, i64 1
  %failed = call i32 @clock_gettime(i32 {clock}, ptr %now)
  %seconds = load i64, ptr %now
  %nanoseconds = load i64, ptr %place
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %nanoseconds
  store i64 %sum, ptr %out
  ret void
}}

define void @kane_sleep(ptr %state, ptr %rest, ptr %stage, ptr %out, ptr %work) {{
  %for = alloca [2 x i64]
  %place = getelementptr i64, ptr %for, i64 1
  %wanted = load i64, ptr %out
  %seconds = udiv i64 %wanted, 1000000000
  %nanoseconds = urem i64 %wanted, 1000000000
  store i64 %seconds, ptr %for
  store i64 %nanoseconds, ptr %place
  %woken = call i32 @nanosleep(ptr %for, ptr null)
  ret void
}}

define void @kane_fence(ptr %state, ptr %rest, ptr %stage, ptr %out, ptr %work) {{
  fence seq_cst
  ret void
}}

define void @kane_exchange(ptr %state, ptr %rest, ptr %stage, ptr %out, ptr %work) {{
  %new = load i64, ptr %out
  %old = atomicrmw xchg ptr %state, i64 %new seq_cst
  store i64 %old, ptr %out
  ret void
}}
"""
_SYSTEM_CALL_NAMES = ("kane_step", "kane_clock", "kane_sleep", "kane_fence", "kane_exchange")
NATIVE_PROGRAM = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)


class SystemCalls(NamedTuple):
    """Linked code of the system calls.

    Attributes:
        step, clock, sleep, fence, exchange: addresses.
        owner: owner of the code.
    """

    step: int
    clock: int
    sleep: int
    fence: int
    exchange: int
    owner: Any

    def read_clock(self) -> int:
        """Return the clock of the ticks [ns]."""
        out = np.zeros(1, dtype=np.int64)
        _call_address(self.clock, out, out)
        return int(out[0])

    def order_memory(self) -> None:
        """Order memory accesses: other threads see all earlier writes before any later write."""
        out = np.zeros(1, dtype=np.int64)
        _call_address(self.fence, out, out)

    def exchange_number(self, place: Indices, value: int) -> int:
        """Store a value in an integer, (1,), and return its old value, atomically."""
        out = np.array([value], dtype=np.int64)
        _call_address(self.exchange, place, out)
        return int(out[0])


def _call_address(address: int, state: Indices, out: Indices) -> None:
    """Call a function at an address, with arrays of 64-bit integers."""
    NATIVE_PROGRAM(address)(state.ctypes.data, None, None, out.ctypes.data, None)


@functools.cache
def system_calls() -> SystemCalls:
    """Return the code, which is linked once in this process.

    Raises:
        ModelError: the system has no POSIX clock and sleep.
    """
    if not hasattr(time, "CLOCK_MONOTONIC"):
        raise ModelError("haptic sessions need clock_gettime and nanosleep of POSIX; use Linux or macOS")
    machine = target_machine(optimization=1)
    text = _SYSTEM_CALLS_TEXT.format(clock=time.CLOCK_MONOTONIC)
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = machine.triple
    code = bytes(machine.emit_object(module))
    owner, addresses = link("system calls", code, _SYSTEM_CALL_NAMES, re.findall(r"declare .* @(\w+)", text), machine)
    step, clock, sleep, fence, exchange = addresses
    return SystemCalls(step, clock, sleep, fence, exchange, owner)
