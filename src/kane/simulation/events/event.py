"""Events: sign changes of expressions of a model, located during a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector, Watch
from kane.engine.memory.run_codes import EVENTS
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.model.checks import require_word


@dataclass(frozen=True, eq=False)
class Event:
    """Sign change of an expression, located during a run.

    A zero without a sign change is no event, and neither is a zero at the start. A zero that is reached exactly at the
    last time of the run is an event.

    The expression is sampled at four equal parts of each step, and two sign changes within one part may be missed. With
    step-size control, steps also end at inflections, kinks and jumps of expressions of time alone, so that no short
    pulse of them is missed. Steps are only as short as the motion requires: sign changes of an expression that varies
    much faster than the state, such as sin(1000 q), may be missed. Fixed steps may also miss pulses. If
    two sign changes may be a time T apart, use steps shorter than 4 T: ``kane.RK8(max_step=3 * T)``, or ``dt``.

    Attributes:
        expression: of coordinates, speeds, rates, measures, time, parameters and inputs.
        direction: +1 for changes from negative to positive, -1 for the opposite ones, 0 for both.
        terminal: whether the event ends the run.
        name: name in the trajectory; by default "event 1", "event 2", ...

    Raises:
        ModelError: not an expression, an invalid direction, or an invalid name.
    """

    expression: Expr
    direction: int = 0
    terminal: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        require(self.expression, Expr, "an event needs an expression of the model")
        if not isinstance(self.direction, int) or self.direction not in (-1, 0, 1):
            raise ModelError(f"the direction of an event is {shown(self.direction)}; give +1, -1 or 0")
        require(self.terminal, bool, "Event: terminal is True or False")
        if self.name is not None:
            require_word(self.name)


class Occurrence(NamedTuple):
    """Record of an event, or of a transition of an intermittent constraint, in a run.

    Two records are equal if all their values are equal.

    Attributes:
        name: name of the event or the constraint.
        time: time of the event [s].
        q, u: coordinates and speeds just after the sign change, and after the impulse if there is one.
        cause: what the constraint did, for example "imposed", "deleted", "slips", "sticks", "reverses", "bounces" or
            "jams"; "" for events.
        impulse: impulse along the rows of the constraint, normal and tangents, (rows,) [N s or N m s]; empty for
            events.
        energy_lost: energy lost in the impulse [J]. The first of simultaneous records has the loss of all impulses.
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
        message = (self.name, self.time, self.cause, self.energy_lost)
        if message != (other.name, other.time, other.cause, other.energy_lost):
            return False
        pairs = ((self.q, other.q), (self.u, other.u), (self.impulse, other.impulse))
        return all(np.array_equal(a, b) for a, b in pairs)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.name, self.time, self.cause))


def event_names(events: Sequence[Event]) -> tuple[str, ...]:
    """Return the names of the events; unnamed ones are numbered.

    Raises:
        ModelError: an item is not an Event, or two events have the same name.
    """
    for event in events:
        require(event, Event, "events must be kane.Event(expression, ...)")
    names = tuple(event.name or f"event {i + 1}" for i, event in enumerate(events))
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"two events are called {name!r}; give each event its own name")
    return names


def compile_events(
    dyn: Dynamics, events: Sequence[Event], input_program: Mapping[Expr, Expr], unknown: Sequence[str]
) -> CompiledFunction | None:
    """Compile the expressions of the events; None if there are none.

    Args:
        dyn: dynamics of the model.
        events: the events.
        input_program: expression that drives an input, by leaf of the input.
        unknown: names of inputs whose values native code does not know: Python functions.

    Raises:
        ModelError: an event belongs to another model, or depends on a quantity that the state does not determine.
    """
    names = event_names(events)
    if not names:
        return None
    from kane.codegen.programs.program import Program
    from kane.simulation.inputs.known_in_state import known_in_state

    e = dyn.equations
    named = {f"the event {name!r}": event.expression for name, event in zip(names, events, strict=True)}
    outputs = known_in_state(e, named, input_program, unknown)
    return dyn.compile(Program("events", outputs, state=(e.t, *e.q, *e.u), rest=e.inputs, parameters=e.parameters))


def watch_for(events: Sequence[Event]) -> Watch:
    """Return the events in the form of native loops."""
    n = len(events)
    directions = np.array([float(event.direction) for event in events])
    terminal = np.array([float(event.terminal) for event in events])
    return Watch(EVENTS, np.zeros(n), np.zeros(n), directions, terminal, np.zeros(n))
