"""Events: sign changes of expressions of a model, looked for along a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression.arguments import require
from kane.expression.node import Expr
from kane.model.checks import require_word
from kane.native.arrays import EVENTS, Vector, Watch
from kane.simulation.asked.in_state import known_in_state


@dataclass(frozen=True, eq=False)
class Event:
    """The times at which an expression changes its sign.

    A zero that is touched and not crossed is no event, and neither is a start at zero; one that is reached exactly at
    the last time of the run is an event.

    The expression is evaluated at four equal parts of each step, and two changes within one part may go unseen.
    Integrators that choose their steps end a step where an expression of time alone bends the other way, has a kink or
    jumps. So they miss no peak of time. Otherwise steps are as long as the motion allows, and an expression of the
    state that changes faster, such as sin(1000 q), may be missed. Fixed steps may also miss expressions of time. Where
    two changes may lie a time T apart, give steps shorter than 4 T: ``kane.RK8(max_step=3 * T)``, or ``dt``.

    Attributes:
        expression: of coordinates, speeds, rates, measures, time, parameters and inputs.
        direction: +1 for changes from negative to positive, -1 for the others, 0 for both.
        terminal: whether the run ends there.
        name: what the trajectory calls it; by default "event 1", "event 2", ...

    Raises:
        ModelError: not an expression, another direction, what is no name.
    """

    expression: Expr
    direction: int = 0
    terminal: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.expression, Expr):
            raise ModelError(f"an event needs an expression of the model, not {shown(self.expression)}")
        if not isinstance(self.direction, int) or self.direction not in (-1, 0, 1):
            raise ModelError(f"the direction of an event is {shown(self.direction)}; give +1, -1 or 0")
        require(self.terminal, bool, "whether an event is terminal is True or False")
        if self.name is not None:
            require_word(self.name)


class Occurrence(NamedTuple):
    """What happened in a run: an event of the user's, or the change of a constraint that comes and goes.

    Two are equal if all their values are.

    Attributes:
        name: of the event, or of the constraint.
        time: when [s].
        q, u: coordinates and speeds, just after the change of sign; behind the impulse, where there is one.
        cause: what the constraint did: "imposed", "deleted", "slips", "sticks", "reverses", "bounces" or "jams", for
            instance; "" for events.
        impulse: along the rows of the constraint, normal and tangents, (rows,) [N s or N m s]; of no rows for events.
        energy_lost: by the impulse [J]; where impulses meet in one instant, by all of them, with the first event of it.
    """

    name: str
    time: float
    q: Vector
    u: Vector
    cause: str = ""
    impulse: Vector = np.zeros(0)
    energy_lost: float = 0.0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Occurrence):
            return False
        said = (self.name, self.time, self.cause, self.energy_lost)
        if said != (other.name, other.time, other.cause, other.energy_lost):
            return False
        pairs = ((self.q, other.q), (self.u, other.u), (self.impulse, other.impulse))
        return all(np.array_equal(a, b) for a, b in pairs)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.name, self.time, self.cause))


def event_names(events: Sequence[Event]) -> tuple[str, ...]:
    """Names of the events, those without one numbered.

    Raises:
        ModelError: not events, or two of one name.
    """
    for event in events:
        if not isinstance(event, Event):
            raise ModelError(f"events must be kane.Event(expression, ...), not {shown(event)}")
    names = tuple(event.name or f"event {i + 1}" for i, event in enumerate(events))
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"two events are called {name!r}; give them names of their own")
    return names


def compile_events(
    dyn: Dynamics, events: Sequence[Event], controls: Mapping[Expr, Expr], unknown: Sequence[str]
) -> CompiledFunction | None:
    """The expressions of the events as a native program; None where there are none.

    Args:
        dyn: what is simulated.
        events: what is looked for.
        controls: leaf of an input to the expression in its place.
        unknown: names of inputs whose values native code does not know: Python functions.

    Raises:
        ModelError: an event belongs to another model, or depends on what is not known in the state.
    """
    names = event_names(events)
    if not names:
        return None
    e = dyn.equations
    named = {f"the event {name!r}": event.expression for name, event in zip(names, events, strict=True)}
    outputs = known_in_state(e, named, controls, unknown)
    return dyn.compile(Program("events", outputs, state=(e.t, *e.q, *e.u), rest=e.inputs, parameters=e.parameters))


def watch_for(events: Sequence[Event]) -> Watch:
    """The events for native loops."""
    n = len(events)
    directions = np.array([float(event.direction) for event in events])
    terminal = np.array([float(event.terminal) for event in events])
    return Watch(EVENTS, np.zeros(n), np.zeros(n), directions, terminal, np.zeros(n))
