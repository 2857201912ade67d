"""Ticks of a haptic session beside empty loops in C, in turn, while Python's main thread is busy.

python -m benchmarks.haptics [SECONDS]

The Stanford Arm at 1 kHz, its hand in a simulated one. Lateness is the machine's: the figure is its ratio to that of a
loop in C that does nothing, with the same rights, in the same minute. It needs a C compiler.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import kane
from kane.haptics import Arm, Coupler, Session, Simulated, coupler_limits
from kane.haptics.realtime import promote
from kane.native.haptics.loop_arrays import LATE, WORKED

PERIOD, SLICE = 1e-3, 10.0
EMPTY = r"""
#include <time.h>
static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
void ticks(long n, long period, long spin, double *late) {
    long start = now() + 1000000;
    for (long k = 0; k < n; ++k) {
        long due = start + k * period, left = due - spin - now();
        if (left > 0) { struct timespec t = {left / 1000000000L, left % 1000000000L}; nanosleep(&t, 0); }
        while (spin && now() < due) {}
        late[k] = 1e-9 * (now() - due);
    }
}
"""


def empty_loop():
    """The loop in C, as a function of lateness to be filled and of how long to spin [ns]."""
    folder = Path(tempfile.mkdtemp())
    (folder / "ticks.c").write_text(EMPTY)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", folder / "ticks.so", folder / "ticks.c"], check=True)
    ticks = ctypes.CDLL(str(folder / "ticks.so")).ticks
    ticks.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p)

    def run(late, spin):
        promote([late])
        ticks(len(late), round(PERIOD * 1e9), spin, late.ctypes.data)

    return run


def arm_in_a_hand():
    """A session of the Stanford Arm, which a hand moves on a small circle."""
    model = kane.library.stanford_arm()
    turns = np.linspace(0.0, 40 * np.pi, 1601)
    path = [(0.5 + 0.05 * k, 0.02 * (1 - np.cos(a)), 0.02 * np.sin(a), 0.0) for k, a in enumerate(turns)]
    hand = Simulated(quantum=2e-5, delay=1e-3, arm=Arm(mass=1.0, damping=10.0, stiffness=300.0, path=path))
    limits = coupler_limits(hand)
    coupler = Coupler(model.bodies[-1].point(), stiffness=0.1 * limits.stable, damping=0.2 * limits.damping)
    return Session(kane.build(kane.formulate(model)), hand, coupler, q=START)


START = {"q1": 0.3, "q2": 1.2, "q3": 0.5, "q4": 0.2, "q5": 0.8, "q6": 0.1}


def busy(done):
    """Keep the interpreter's lock until a thread is done."""
    total = 0
    while not done():
        total += sum(range(1000))


def shown(name, late, work=None):
    parts = [np.percentile(1e6 * late, part) for part in (50, 99, 99.9, 100)]
    text = f"{name:28s} late [us] p50 {parts[0]:7.1f}  p99 {parts[1]:7.1f}  p99.9 {parts[2]:8.1f}  max {parts[3]:8.1f}"
    if work is not None:
        parts = [np.percentile(1e6 * work, part) for part in (50, 99, 99.9, 100)]
        text += "   work [us] p50 {:.1f}  p99 {:.1f}  p99.9 {:.1f}  max {:.1f}".format(*parts)
    print(text, flush=True)


def main(seconds):
    """Slices in turn: the session, a plain nanosleep loop, one that sleeps and then spins as the session does."""
    run, late = empty_loop(), {0: [], 60_000: []}
    with arm_in_a_hand() as session:
        while session.snapshot().tick * PERIOD < seconds - 1e-9:
            session.arm()
            session.start(min(SLICE, seconds))
            busy(lambda: not session._thread.is_alive())
            session.wait()
            for spin, kept in late.items():
                part = np.zeros(round(min(SLICE, seconds) / PERIOD))
                thread = threading.Thread(target=run, args=(part, spin))
                thread.start()
                busy(lambda thread=thread: not thread.is_alive())
                kept.append(part)
        shown("session", session.log[:, LATE], session.log[:, WORKED])
        shown("C, nanosleep", np.concatenate(late[0]))
        shown("C, nanosleep, then spin", np.concatenate(late[60_000]))
        print(session.report)


if __name__ == "__main__":
    began = time.time()
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
    print(f"{time.time() - began:.0f} s")
