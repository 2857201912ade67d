"""Constraints that are imposed and deleted during a motion: a thread formulates the equations, a step adopts them.

Source: Gillespie 2003, section 4, block 1 of Fig. 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from itertools import takewhile
from threading import TIMEOUT_MAX
from typing import Any

import numpy as np

from kane.dynamics.build import compiled_equations
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import number
from kane.formulation.formulate import with_other_intermittent
from kane.formulation.read_model import snapshot
from kane.machine.forks import tell_of_forks, working
from kane.model.checks import near, require_word
from kane.model.constraints import Constraint
from kane.model.contacts import IntermittentConstraint
from kane.model.contacts.intermittent_constraint import parts_named
from kane.model.contacts.switch import Imposition
from kane.simulation.events.event import Occurrence
from kane.simulation.initial_value_problem import InitialValueProblem

# Number of sets of equations that are kept, for constraints that are imposed and deleted again.
REMEMBERED = 8


class Revision:
    """Imposition or deletion of a constraint in a ``Stepper``; ``impose`` and ``delete`` return it.

    Attributes:
        name: name of the constraint.
        adds, deletes: intermittent constraints that the revision adds and deletes.
    """

    def __init__(
        self, name: str, *, adds: Sequence[IntermittentConstraint] = (), deletes: Sequence[IntermittentConstraint] = ()
    ) -> None:
        self.name, self.adds, self.deletes = name, tuple(adds), tuple(deletes)
        self.told = False
        self._work: Future[InitialValueProblem] = Future()

    def __repr__(self) -> str:
        what = "imposition" if self.adds else "deletion"
        return f"<{what} of {self.name!r}: {'ready' if self.ready else 'being formulated'}>"

    @property
    def ready(self) -> bool:
        """Whether the new equations are ready; the next step then begins with them."""
        return self._work.done()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the new equations, at most this time [s] unless it is None; return whether they are ready.

        Raises:
            ModelError: the time is not a number, the new constraint restricts nothing, or it is not linear in the
                speeds. The stepper then keeps its equations.
        """
        if is_done_within(self._work, seconds) and self.failed:
            self.told = True
            self._work.result()
        return self.ready

    @property
    def failed(self) -> bool:
        """Whether the new equations cannot be formulated."""
        return self._work.exception() is not None

    @property
    def problem(self) -> InitialValueProblem:
        """Initial value problem with the new equations; waits until it is ready."""
        return self._work.result()

    def follow(self, work: Future[InitialValueProblem]) -> None:
        """Become ready when this work is done."""
        self._work = work

    def changed(self, intermittents: Sequence[IntermittentConstraint]) -> list[IntermittentConstraint]:
        """Return the constraints with the added ones and without the deleted ones."""
        gone = {c.name for c in self.deletes}
        return [*(c for c in intermittents if c.name not in gone), *self.adds]

    def deletions(self, t: float, q: Vector, u: Vector) -> list[Occurrence]:
        """Return the deletions as events at time t."""
        return [Occurrence(c.name, t, q, u, "deleted", np.zeros(len(c.rows))) for c in self.deletes]


def is_done_within(work: Future[Any], seconds: float | None) -> bool:
    """Wait for work, at most this time [s] unless it is None; return whether it is done.

    Raises:
        ModelError: the time is not a number.
    """
    longest = TIMEOUT_MAX if seconds is None else min(number(seconds, "the time to wait", "seconds"), TIMEOUT_MAX)
    wait_for([work], longest)
    return work.done()


class Revisions:
    """Queue of the revisions of one ``Stepper``."""

    def __init__(self, posed: InitialValueProblem, pose: Callable[[Dynamics], InitialValueProblem]) -> None:
        """Take a problem; ``pose`` makes the same problem for other Dynamics."""
        self._posed, self._dyn, self._pose = posed, posed.dyn, pose
        self._in_force: list[IntermittentConstraint] = list(posed.dyn.equations.model.intermittents)
        # Problems by their constraints, so that a return to earlier constraints takes no time.
        self._known = {tuple(self._in_force): posed}
        self._queue: list[Revision] = []
        self._refused = set[IntermittentConstraint]()
        self._worker: ThreadPoolExecutor | None = None
        tell_of_forks(self)

    def after_fork(self) -> None:
        """Formulate anew, in a child process, the revisions that are not ready."""
        self._worker = None
        for k, revision in enumerate(self._queue):
            if not revision.ready:
                self._begin(k)

    def impose(self, motion: Expr | Constraint | Sequence[Expr], name: str | None) -> Revision:
        """See ``Stepper.impose``."""
        model = snapshot(self._dyn.equations.model)
        model.intermittents = self._wanted()
        made = model.intermittent(Imposition(motion), name=name)
        return self._begun(Revision(made[0].name, adds=made))

    def delete(self, name: str) -> Revision:
        """See ``Stepper.delete``."""
        require_word(name)
        known = self._wanted()
        parts = parts_named(name, [c.name for c in known])
        found = [c for c in known if c.name in parts]
        if not found:
            if name in {x.name for x in self._dyn.equations.model.constraints}:
                raise ModelError(
                    f"the constraint {name!r} is permanent; declare what shall be deleted by Model.switch or impose()"
                )
            raise ModelError(
                f"there is no contact, stop, stick, latch, switch or imposed constraint {shown(name)} to be deleted; "
                f"{near(name, [c.name for c in known])}"
            )
        withdrawn = [x for x in self._queue if x.adds and all(c.name in parts for c in x.adds)]
        if withdrawn:  # no step has adopted the imposition, so that there is nothing to delete
            self.refused(withdrawn)
            found = [c for c in self._wanted() if c.name in parts]
        revision = Revision(name, deletes=found)
        if not found:
            revision.follow(_done(self._posed))
            return revision
        return self._begun(revision)

    @property
    def waiting(self) -> bool:
        """Whether a revision is not adopted yet."""
        return bool(self._queue)

    def due(self) -> list[Revision]:
        """Return the revisions that are ready, in order.

        Raises:
            ModelError: a revision failed, and no call has reported it.
        """
        ready = list(takewhile(lambda revision: revision.ready, self._queue))
        failed = next((revision for revision in ready if revision.failed), None)
        if failed is None:
            return ready
        self.refused([failed])
        if not failed.told:
            failed.wait()
        return self.due()

    def adopted(self, due: Sequence[Revision]) -> None:
        """Record that these revisions are part of the equations now."""
        for revision in due:
            self._in_force = revision.changed(self._in_force)
        del self._queue[: len(due)]

    def refused(self, refused: Sequence[Revision]) -> None:
        """Remove revisions that cannot be adopted, and formulate the later ones again without them."""
        first = self._queue.index(refused[0])
        self._queue = [revision for revision in self._queue if revision not in refused]
        for k in range(first, len(self._queue)):
            self._begin(k)

    def _wanted(self) -> list[IntermittentConstraint]:
        """Return the constraints after all revisions."""
        return self._after(len(self._queue))

    def _after(self, count: int) -> list[IntermittentConstraint]:
        """Return the constraints after the first ``count`` revisions."""
        found = list(self._in_force)
        for revision in self._queue[:count]:
            found = revision.changed(found)
        return found

    def _begun(self, revision: Revision) -> Revision:
        self._queue.append(revision)
        self._begin(len(self._queue) - 1)
        return revision

    def _begin(self, k: int) -> None:
        """Let the thread formulate the equations of the k-th revision in the queue."""
        wanted = self._after(k + 1)
        known = self._known.get(tuple(wanted))
        if known is not None:
            self._queue[k].follow(_done(known))
            return
        self._worker = self._worker or ThreadPoolExecutor(1, thread_name_prefix="kane revisions")
        self._queue[k].follow(self._worker.submit(self._formulated, wanted, self._queue[k].adds))

    def _formulated(
        self, wanted: Sequence[IntermittentConstraint], new: Sequence[IntermittentConstraint]
    ) -> InitialValueProblem:
        """Return the compiled problem with these constraints, without those that were refused when they were new."""
        intermittents = [c for c in wanted if c in new or c not in self._refused]
        with working():
            try:
                equations = with_other_intermittent(self._dyn.equations, intermittents)
            except ModelError:
                self._refused.update(new)
                raise
            problem = self._pose(compiled_equations(equations, self._dyn))
            problem.row(0)  # needs the addresses of all programs
        self._known[tuple(intermittents)] = problem
        if len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        return problem


def _done(problem: InitialValueProblem) -> Future[InitialValueProblem]:
    """Return finished work for a known problem."""
    work: Future[InitialValueProblem] = Future()
    work.set_result(problem)
    return work
