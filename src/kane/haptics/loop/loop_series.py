"""Loops of a session, one after another: constraints are imposed and deleted while ticks run.

A thread formulates the revised equations, prepares a loop with them, and offers it to the running loop, which takes its
next step with the offered loop. See ``kane.engine.realtime.offered_loop``.

Source: Gillespie 2003, section 4, block 1 of Fig. 2.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import final

import numpy as np

from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.engine.memory.run_codes import GOING
from kane.engine.realtime.loop_arrays import BY_CLOCK, NO_OFFER, OFFERED, REVISION_ADOPTED, REVISION_REFUSED
from kane.errors import ModelError, warn
from kane.expression.node import Expr
from kane.haptics.coupling.rigid_coupler import AnyCoupler, RigidCoupler
from kane.haptics.loop.loop import Loop
from kane.haptics.realtime import lock_memory
from kane.haptics.system_calls import system_calls
from kane.machine.forks import working
from kane.model.constraints import Constraint
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.modes.revisions import Revision, Revisions, is_done_within


@final
class SessionRevision:
    """Imposition or deletion of a constraint in a ``Session``; ``impose`` and ``delete`` return it.

    Attributes:
        name: name of the constraint.
    """

    def __init__(self, equations: Revision, update: Callable[[], object]) -> None:
        """Take the revision of the equations; ``update`` reads the result of an offer from the loop."""
        self.name, self.equations, self.told = equations.name, equations, False
        self._work, self._update = Future[None](), update
        self._adopted, self._refusal = False, ""

    def __repr__(self) -> str:
        state = "adopted" if self.adopted else "refused" if self.ready and self.refusal else "not adopted yet"
        return f"<{'imposition' if self.equations.adds else 'deletion'} of {self.name!r}: {state}>"

    @property
    def ready(self) -> bool:
        """Whether equations and memory are ready; the next tick then begins with them."""
        return self._work.done()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the revision is ready, at most this time [s] unless it is None; return whether it is ready.

        Raises:
            ModelError: the time is not a number, or the constraint cannot be imposed: it restricts nothing, is not
                linear in the speeds, or the method does not support it. The session then keeps its constraints.
        """
        if is_done_within(self._work, seconds):
            self.told = self.told or self._work.exception() is not None
            self._work.result()
        return self.ready

    @property
    def adopted(self) -> bool:
        """Whether a tick has begun with the revised constraints."""
        self._update()
        return self._adopted

    @property
    def refusal(self) -> str:
        """Reason why the constraints were not revised; empty if they were, or may still be."""
        self._update()
        error = self._work.exception() if self.ready else None
        self.told = self.told or error is not None or bool(self._refusal)
        return self._refusal if error is None else str(error)

    def follow(self, work: Future[None]) -> None:
        """Become ready when this work is done."""
        self._work = work

    def conclude(self, refusal: str = "") -> None:
        """Record that the loop has adopted the revision, or refused it for a reason."""
        self._adopted, self._refusal = not refusal, refusal


@final
class LoopSeries:
    """Loops of one session; the last one is current."""

    def __init__(
        self, loop: Loop, coupler: AnyCoupler, pose: Callable[[Dynamics], InitialValueProblem], x: Vector
    ) -> None:
        """Begin with a loop.

        Args:
            loop: the first loop.
            coupler: the coupler of the session.
            pose: sets up the initial value problem of the session for other Dynamics.
            x: state [q, u] at the start of the session.
        """
        self._loops, self._coupler, self._x = [loop], coupler, x
        self._counts, self._revisions = loop.circuit.counts, Revisions(loop.problem, pose)
        self._worker: ThreadPoolExecutor | None = None
        self._lock = threading.RLock()
        self._waiting: SessionRevision | None = None
        self._offered: Loop | None = None
        self._last: SessionRevision | None = None

    @property
    def current(self) -> Loop:
        """The loop that runs, or ran last."""
        self._update()
        return self._loops[-1]

    @property
    def whole(self) -> Sequence[Loop]:
        """All loops, in the order of time."""
        self._update()
        return tuple(self._loops)

    @property
    def states(self) -> Matrix:
        """States [t, q, u] at the start and after each tick; every loop begins with the last state of the one before.

        If an imposition changes the speeds, the state at its time is the one before the impulse.
        """
        first, *later = (loop.integration.states() for loop in self.whole)
        return np.vstack([first, *(states[1:] for states in later)])

    def impose(self, motion: Expr | Constraint | Sequence[Expr], name: str | None) -> SessionRevision:
        """See ``Session.impose``."""
        return self._begin(lambda: self._revisions.impose(motion, name))

    def delete(self, name: str) -> SessionRevision:
        """See ``Session.delete``."""
        return self._begin(lambda: self._revisions.delete(name))

    def prepare(self, ticks: int, how: int) -> None:
        """Prepare ticks of the current loop, see ``Loop.prepare``, and offer it the loop that waits.

        Raises:
            ModelError: a constraint could not be imposed, and no call has reported it.
        """
        loop = self.current
        with self._lock:
            last = self._last
            if last is not None and self._waiting is None and not last.told:
                last.wait()
            self._counts.offer[0] = NO_OFFER  # no tick runs
            loop.prepare(ticks, how)
            if self._offered is not None:
                self._offer(self._offered)

    def require_one(self, result: str) -> Loop:
        """Return the only loop.

        Raises:
            ModelError: constraints were imposed or deleted, so that one result does not describe the session.
        """
        if len(self.whole) > 1:
            raise ModelError(
                f"constraints were imposed or deleted in this session, so that it has no {result}; session.states, "
                "session.log and session.report have all ticks, and session.trajectories the motion between revisions"
            )
        return self._loops[0]

    def warn_of_refusal(self) -> None:
        """Warn once of a revision that a tick has refused, unless a call has reported it."""
        self._update()
        last = self._last
        if last is not None and self._waiting is None and last.ready and not last.told and last.refusal:
            warn(f"the session did not adopt {last!r}: {last.refusal}")

    def _begin(self, revise: Callable[[], Revision]) -> SessionRevision:
        """Let the thread prepare a revision of the equations."""
        if isinstance(self._coupler, RigidCoupler):
            raise ModelError(
                "a session with a RigidCoupler keeps its constraints, because the device prescribes the motion; use "
                "kane.haptics.Coupler"
            )
        self.warn_of_refusal()
        if self._counts.step[0] != GOING:
            raise ModelError(
                "the mechanism of this session cannot continue, and takes no revisions; make another session from its "
                "last state, session.states[-1]"
            )
        with self._lock:
            if self._waiting is not None:
                raise ModelError(
                    f"{self._waiting!r} comes first, and a session revises its constraints one at a time; run the "
                    "session until adopted is True"
                )
            self._last = self._waiting = SessionRevision(revise(), self._update)
            self._worker = self._worker or ThreadPoolExecutor(1, thread_name_prefix="kane haptic revisions")
            self._waiting.follow(self._worker.submit(self._make, self._waiting.equations))
            return self._waiting

    def _make(self, revision: Revision) -> None:
        """Prepare a loop with revised equations, and offer it; a thread calls this."""
        try:
            problem = revision.problem
            with working():
                loop = self._loops[-1].revised(problem, self._coupler, self._x)
                with self._lock:
                    self._offer(loop)
                    self._offered = loop
        except BaseException:
            with self._lock:
                self._waiting = None
                self._revisions.refused([revision])
            raise

    def _offer(self, loop: Loop) -> None:
        """Offer a loop to the current loop, which may be running."""
        running = self._loops[-1]
        messages = running.circuit.messages
        loop.fit(messages, running.integration.course.steps)
        if running.pace.clock[0] == BY_CLOCK:
            lock_memory(loop.memory)
        messages.offered[:] = np.concatenate([loop.taking_over(running), loop.words])
        system_calls().order_memory()
        self._counts.offer[0] = OFFERED

    def _update(self) -> None:
        """Record whether the running loop has adopted or refused the offered loop."""
        if self._counts.offer[0] not in (REVISION_ADOPTED, REVISION_REFUSED):
            return
        with self._lock:
            loop, waiting, adopted = self._offered, self._waiting, self._counts.offer[0] == REVISION_ADOPTED
            if loop is None or waiting is None:  # another thread was faster
                return
            self._counts.offer[0] = NO_OFFER
            if adopted:
                loop.deletions = waiting.equations.deletions(*self._loops[-1].rewind())
                loop.continue_mode(self._loops[-1])
                self._loops.append(loop)
                self._revisions.adopted([waiting.equations])
                waiting.conclude()
            else:
                waiting.conclude(str(loop.failure(int(self._counts.trial[0]))))
                self._revisions.refused([waiting.equations])
            self._offered = self._waiting = None
