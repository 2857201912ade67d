"""Children that begin by fork while threads of kane work: none hangs, and each does what it is asked for."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from oracles.waiting import ENOUGH, until

import kane
from kane.dynamics.mode_cache import ModeCache
from kane.haptics import Coupler, Session, Simulated
from kane.machine import forks

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def in_child(work):
    """Whether a child that begins by fork does this work, to its end and without an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(int(ENOUGH))  # one that hangs ends by that
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Slow:
    """Functions of which a mode takes until it is let go, under a lock as compilers have one."""

    def __init__(self):
        self.known, self.lock, self.begun, self.go = (), threading.Lock(), threading.Event(), threading.Event()

    def with_mode(self, mode):
        with self.lock:
            self.begun.set()
            assert self.go.wait(ENOUGH)
        return self

    def words(self, mode):
        return str(mode)


def test_a_fork_waits_for_the_thread_that_compiles_and_the_child_compiles_what_was_left():
    functions = Slow()
    met = ModeCache(functions)
    met.meet(["one", "two"])
    assert functions.begun.wait(ENOUGH)
    threading.Timer(0.1, functions.go.set).start()

    def work():
        assert functions.lock.acquire(timeout=10)
        functions.lock.release()
        functions.begun.clear()
        met.meet(["two", "three"])
        met.wait()
        assert functions.begun.is_set()

    assert in_child(work)
    met.wait()  # the parent goes on
    assert not functions.lock.locked()


def test_forks_from_several_threads_and_work_in_others_do_not_wait_for_each_other_for_ever():
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            with forks.working():
                time.sleep(1e-3)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        found = []
        forking = [threading.Thread(target=lambda: found.append(in_child(lambda: None))) for _ in range(3)]
        for thread in forking:
            thread.start()
        for thread in forking:
            thread.join(ENOUGH)
        assert found == [True, True, True]
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def falling(name):
    m = kane.Model(name, gravity=(0, -9.81, 0))
    b = m.body("b", mass=1, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, b, kane.Planar(("x", "y", "th")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(b.point((0.1, -0.1, 0)), floor, friction=kane.Coulomb(0.5), restitution=0.5, name="c")
    return kane.build(kane.formulate(m))


def test_a_child_simulates_while_the_parent_compiles_the_modes_that_it_meets(monkeypatch):
    monkeypatch.setenv("KANE_CACHE", "off")  # so that the thread has work
    fast = kane.compile_modes(falling("first"))
    kane.simulate(fast, until=0.5, q=[0, 0.5, 0.3], u=[1, 0, 2])

    def work():
        kane.simulate(falling("other"), until=0.1, q=[0, 0.5, 0.3])
        kane.simulate(fast, until=0.1, q=[0, 0.5, 0.3])

    assert in_child(work)


def test_constraints_that_wait_to_be_imposed_are_formulated_anew_in_the_child():
    """A fork waits for the first one; the second is left to the child, and to the parent too."""
    m = kane.Model("cart")
    b = m.body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, b, kane.Planar(("x", "y", "th")))
    stepper = kane.Stepper(kane.build(kane.formulate(m)), u=[1.0, 2.0, 0.0])
    stepper.step(0.1)
    stepper.impose(m.rate("x"), name="still")
    revision = stepper.impose(m.rate("y"), name="level")

    def work():
        assert revision.wait(20)
        stepper.step(0.1)
        assert np.abs(stepper.u).max() < 1e-12

    assert in_child(work)
    assert revision.wait(ENOUGH)
    stepper.step(0.1)
    np.testing.assert_allclose(stepper.u, 0.0, atol=1e-12)


def test_a_session_and_a_view_in_a_child_say_where_they_live_and_leave_those_of_the_parent_alone():
    m = kane.Model("slider")
    body = m.body("slider", mass=0.5)
    m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    session = Session(kane.build(kane.formulate(m)), Simulated(), Coupler(body.point(), stiffness=50.0, damping=1.0))
    with kane.view(m) as view, session:
        session.start(1000.0)
        until(lambda: session.snapshot().tick > 0)

        def work():
            for call in (session.arm, session.wait, lambda: session.rehearse(0.1), lambda: session.report):
                with pytest.raises(kane.ModelError, match="belongs to the process that made it"):
                    call()
            session.stop()
            session.close()
            view.close()

        assert in_child(work)
        tick = session.snapshot().tick
        until(lambda: session.snapshot().tick > tick)
        session.stop()
        import urllib.request

        with urllib.request.urlopen(view.url.partition("#")[0], timeout=ENOUGH) as answer:
            assert answer.status == 200
