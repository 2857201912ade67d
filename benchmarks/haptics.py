"""Ticks of a haptic session beside empty loops in C, and with prediction beside without, in turn.

python -m benchmarks.haptics [SECONDS]

The Stanford Arm at 1 kHz, its hand in a simulated one, while Python's main thread is busy. Lateness is the machine's:
the figure is its ratio to that of a loop in C that does nothing, with the same rights, in the same minute. It needs a C
compiler. Then what a tick works where the next one is tried ahead and where it is not, in scenes with many hits:
ticks in which the mode changes apart from the others. Then ticks in which chains adopt revised constraints.
"""

from __future__ import annotations

import ctypes
import importlib.util
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
from kane.haptics.scenes import HandScene, make_hand_scene

PERIOD, SLICE = 1e-3, 1.0
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


def arm_in_a_hand(predict=False):
    """A session of the Stanford Arm, which a hand moves on a small circle; its joints have bearings that damp.

    It has no weight: where the machine stalls for more than ten ticks the hand lets go, and the arm would fall about
    for the rest of the slice, ever faster as it is caught again.
    """
    model = kane.library.stanford_arm()
    model.gravity = (0.0, 0.0, 0.0)
    for joint in model.connections:
        model.load(kane.Damper(joint, 0.5))
    turns = np.linspace(0.0, 40 * np.pi, 1601)
    path = [(0.5 + 0.05 * k, 0.02 * (1 - np.cos(a)), 0.02 * np.sin(a), 0.0) for k, a in enumerate(turns)]
    hand = Simulated(quantum=2e-5, delay=1e-3, arm=Arm(mass=1.0, damping=10.0, stiffness=300.0, path=path))
    limits = coupler_limits(hand)
    coupler = Coupler(model.bodies[-1].point(), stiffness=0.1 * limits.stable, damping=0.2 * limits.damping)
    return Session(kane.build(kane.formulate(model)), hand, coupler, q=START, predict=predict)


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


def ratios(ours, theirs, parts=(50, 99, 99.9)):
    """Of percentiles of lateness, over slices drawn again and again: the middle and where nine of ten lie."""
    rng, drawn = np.random.default_rng(1), []
    for _ in range(500):
        of = [np.concatenate([late[k] for k in rng.integers(len(late), size=len(late))]) for late in (ours, theirs)]
        drawn.append([np.percentile(of[0], part) / max(np.percentile(of[1], part), 1e-7) for part in parts])
    low, middle, high = np.percentile(drawn, (5, 50, 95), axis=0)
    return ", ".join(
        f"p{part} {m:.2f} ({a:.2f} to {b:.2f})" for part, a, m, b in zip(parts, low, middle, high, strict=True)
    )


def main(seconds):
    """Slices of a second in turn, in another order each time, so that what the machine does meets all alike.

    The session, a loop in C that sleeps to the time of a tick, and one that sleeps and then spins as the session does.
    """
    run, order = empty_loop(), np.random.default_rng(1)
    late = {"session": [], "session, predicted": [], "C, nanosleep": [], "C, then spin": []}
    spins = {"C, nanosleep": 0, "C, then spin": 60_000}
    with arm_in_a_hand() as plain, arm_in_a_hand(predict=True) as predicted:
        sessions = {"session": plain, "session, predicted": predicted}
        for _ in range(round(seconds / SLICE)):
            for name in order.permutation(list(late)):
                session = sessions.get(name)
                if session is not None:
                    session.arm()
                    session.start(SLICE)
                    busy(lambda thread=session._thread: thread.is_at_rest)
                    session.wait()
                    continue
                part = np.zeros(round(SLICE / PERIOD))
                thread = threading.Thread(target=run, args=(part, spins[name]))
                thread.start()
                busy(lambda thread=thread: not thread.is_alive())
                late[name].append(part)
        ticks = round(SLICE / PERIOD)
        for name, session in sessions.items():
            late[name] = [session.log["lateness"][k * ticks : (k + 1) * ticks] for k in range(round(seconds / SLICE))]
        for name, parts in late.items():
            shown(name, np.concatenate(parts), sessions[name].log["work"] if name in sessions else None)
        for name in sessions:
            print(f"{name} / C, nanosleep: {ratios(late[name], late['C, nanosleep'])}")
            print(f"{name} / C, then spin: {ratios(late[name], late['C, then spin'])}")
        print(plain.report)


def piano_key():
    """The key of examples/piano_key.py, at 1 kHz."""
    spec = importlib.util.spec_from_file_location("piano_key", "examples/piano_key.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    dyn = example.action()
    front = dyn.equations.model.bodies[1].point((example.LEVER, 0, 0))
    hand = Simulated(arm=Arm(mass=0.3, damping=8.0, stiffness=600.0, path=example.FINGER))
    return HandScene(dyn, hand, Coupler(front, stiffness=400, damping=0.5, axes="z"), None, 2.0)


HITS = {
    "ball in a box": lambda: make_hand_scene("ball_in_a_box"),
    "crank and stop": lambda: make_hand_scene("crank"),
    "piano key": piano_key,
    "dragged box": lambda: make_hand_scene("dragged_box"),
}


def works(session):
    """What the ticks of a session worked [s], of those in which the mode changed and of the others."""
    times = session._loop.integration.transitions.time
    work, changed = session.log["work"], np.zeros(len(session.log), bool)
    changed[np.clip(np.ceil(times / PERIOD - 1e-9).astype(int) - 1, 0, len(work) - 1)] = True
    return work[changed], work[~changed]


def with_and_without(rounds):
    """Each scene so many times from its start, with prediction and without, in turn."""
    order = np.random.default_rng(2)
    for name, make in HITS.items():
        found = {True: ([], []), False: ([], [])}
        for _ in range(rounds):
            for predict in order.permutation([True, False]):
                scene = make()
                settings = {"q": scene.q, "predict": bool(predict)}
                with Session(scene.dyn, scene.hand, scene.coupler, **settings) as session:
                    session.arm()
                    session.run(scene.seconds)
                    for kept, part in zip(found[bool(predict)], works(session), strict=True):
                        kept.append(part)
        for predict, parts in found.items():
            for kind, part in zip(("mode changes", "others"), parts, strict=True):
                text = "{:.1f}  p99 {:.1f}  p99.9 {:.1f}  max {:.1f}".format(
                    *(np.percentile(1e6 * np.concatenate(part), share) for share in (50, 99, 99.9, 100))
                )
                word = "predicted" if predict else "not predicted"
                print(
                    f"{name:16s} {word:14s} {kind:13s} {sum(map(len, part)):6d} ticks, work [us] p50 {text}", flush=True
                )


def chain(links):
    """A hanging chain with damped joints: Dynamics, the second joint, and a point at the end."""
    m = kane.Model("chain", gravity=(0, 0, -9.81))
    before, joints = m.ground, []
    for k in range(links):
        body = m.body(f"B{k + 1}", mass=0.3, inertia=(1e-3,) * 3, com=(0.1, 0, 0))
        place = (0.2 if k else 0, 0, 0)
        joints.append(m.connect(before, body, kane.Revolute(f"q{k + 1}", axis="y"), at=place))
        m.load(kane.Damper(joints[-1], 0.05))
        before = body
    return kane.build(kane.formulate(m)), joints[1], before.point((0.2, 0, 0))


def adopt(revision):
    """Wait until a running session has adopted a revision, and 0.1 s more."""
    while not revision.adopted:
        time.sleep(1e-3)
    time.sleep(0.1)


def revised(times):
    """Print the work of the ticks in which a joint of a chain is locked and freed, and of the other ticks [us]."""
    for links in (2, 6, 12):
        dyn, joint, end = chain(links)
        arm = Arm(stiffness=250.0, damping=8.0, path=[(0, 0, 0, 0), (0.5, 0.05, 0, 0.05), (1.0, -0.05, 0, 0)])
        with Session(dyn, Simulated(arm=arm), Coupler(end, stiffness=60, damping=1)) as session:
            session.arm()
            session.start(60.0)
            for _ in range(times):
                adopt(session.impose(joint.qdot, name="lock"))
                adopt(session.delete("lock"))
            session.stop()
            work, events = 1e6 * session.log["work"], session.report.events
        ticks = {cause: [round(time / PERIOD) for time, _, kind in events if kind == cause] for _, _, cause in events}
        others = np.delete(work, np.concatenate([*ticks.values()]))
        text = "".join(f"{cause} {np.median(work[k]):.1f} (max {work[k].max():.1f}), " for cause, k in ticks.items())
        text += f"others {np.median(others):.1f} (max {others.max():.1f})"
        print(f"chain of {links:2d}, work of a tick [us]: {text}", flush=True)


if __name__ == "__main__":
    began = time.time()
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    main(seconds)
    with_and_without(max(1, round(seconds / 12)))
    revised(max(3, round(seconds / 6)))
    print(f"{time.time() - began:.0f} s")
