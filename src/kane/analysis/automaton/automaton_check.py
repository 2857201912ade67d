"""Search for faults of an automaton by random runs and by paths of its edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kane.analysis.automaton.visited_modes import Visit, visits
from kane.errors import ModelError, SimulationError, shown
from kane.expression.number_arguments import number, require
from kane.formulation.equations import Equations
from kane.model.checks import require_known
from kane.simulation.results.trajectory import Trajectory
from kane.simulation.simulate import simulate

if TYPE_CHECKING:
    from kane.analysis.automaton.modes_graph import ModesGraph

# Alternations between two modes that count as chattering, within this fraction of a run; number of draws for a start.
CHATTERS, CHATTER_FRACTION, MOST_DRAWS = 8, 0.05, 20


class Witness(NamedTuple):
    """Run that shows a fault.

    Attributes:
        run: the run.
        time: time at which the fault begins [s].
    """

    run: Trajectory
    time: float


@dataclass(frozen=True, eq=False, repr=False)
class AutomatonCheck:
    """Result of ``ModesGraph.check``; prints as a table.

    Attributes:
        runs: number of runs.
        forbidden: forbidden modes that a run visited.
        without_exit: modes that a run entered and that no run left.
        chattering: pairs of modes between which a run alternated eight times within 5 % of its duration.
        not_edges: transitions of runs that the graph does not have: a fault of kane.
        unreachable: modes that no path of edges reaches from the modes at the starts; proved.
        unvisited: further modes that no run visited; not proved to be unreachable.
        failed: error messages of runs that ended early.
        statement: number of runs and visited modes, and the limits of the proof.
    """

    runs: int
    forbidden: Mapping[str, Witness]
    without_exit: Mapping[str, Witness]
    chattering: Mapping[tuple[str, str], Witness]
    not_edges: Mapping[tuple[str, str], Witness]
    unreachable: tuple[str, ...]
    unvisited: tuple[str, ...]
    failed: tuple[str, ...]
    statement: str

    @property
    def holds(self) -> bool:
        """Whether no forbidden mode, no chattering and no failed run was found."""
        return not (self.forbidden or self.chattering or self.not_edges or self.failed)

    def __repr__(self) -> str:
        tables: tuple[tuple[str, Mapping[Any, Witness]], ...] = (
            ("forbidden mode visited", self.forbidden),
            ("mode without exit", self.without_exit),
            ("chattering pair", self.chattering),
            ("transition that is no edge", self.not_edges),
        )
        lines = [self.statement]
        for title, table in tables:
            for name, witness in table.items():
                words = " and ".join(name) if isinstance(name, tuple) else name
                lines.append(f"  {title}: {words}, at t = {witness.time:.6g} s")
        lines += [f"  unreachable mode: {mode}" for mode in self.unreachable]
        lines += [f"  mode that no run visited: {mode}" for mode in self.unvisited]
        return "\n".join([*lines, *(f"  failed run: {message}" for message in self.failed)])


def checked_automaton(
    graph: ModesGraph,
    within: Mapping[str, tuple[float, float]],
    plan: tuple[int, float, int],
    forbidden: Sequence[str],
    inputs: Any,
) -> AutomatonCheck:
    """Return the result of random runs; ``plan`` has their number, their duration [s] and the seed."""
    equations, (count, until, seed) = graph.dyn.equations, plan
    if not isinstance(count, int) or count < 1:
        raise ModelError(f"runs= is {shown(count)}; give a positive whole number")
    starts = _starts(equations, within, seed)
    runs, failed = [], []
    for _ in range(count):
        run, message = _run(graph, starts, until, inputs)
        runs.append(run)
        failed += [message] * bool(message)
    met = [(run, visits(run)) for run in runs if run is not None]
    visited = {visit.mode for _, each in met for visit in each}
    reached = _reached(graph, {each[0].mode for _, each in met})
    left = {a.mode for _, each in met for a, b in pairwise(each) if a.mode != b.mode}
    return AutomatonCheck(
        runs=count,
        forbidden=_first(met, lambda k, each: each[k].mode if each[k].mode in forbidden else None),
        without_exit=_first(
            met, lambda k, each: each[k].mode if k == len(each) - 1 > 0 and each[k].mode not in left else None
        ),
        chattering=_first(met, lambda k, each: _chatters(k, each, CHATTER_FRACTION * until)),
        not_edges=_first(met, lambda k, each: _no_edge(graph, each, k)),
        unreachable=tuple(mode for mode in graph.modes if mode not in reached),
        unvisited=tuple(mode for mode in graph.modes if mode in reached - visited),
        failed=tuple(dict.fromkeys(failed)),
        statement=(
            f"{count} runs of {until:.12g} s from random states of the box visited {len(visited)} of "
            f"{len(graph.modes)} modes. Edges contain every possible transition, so that unreachable modes are proved; "
            "modes and faults that no run showed are not proved to be absent."
        ),
    )


def _first(met: Sequence[tuple[Trajectory, list[Visit]]], fault: Any) -> dict[Any, Witness]:
    """Return the first witness of each fault that ``fault(index of visit, visits)`` names."""
    found: dict[Any, Witness] = {}
    for run, each in met:
        for k, visit in enumerate(each):
            name = fault(k, each)
            if name is not None:
                found.setdefault(name, Witness(run, visit.time))
    return found


def _no_edge(graph: ModesGraph, each: Sequence[Visit], k: int) -> tuple[str, str] | None:
    pair = (each[k - 1].mode, each[k].mode) if k else None
    return pair if pair is not None and pair not in graph.between else None


def _chatters(k: int, each: Sequence[Visit], span: float) -> tuple[str, str] | None:
    """Return the two modes if the visits from k on alternate between them within ``span`` [s]."""
    part = each[k : k + CHATTERS + 1]
    modes = [visit.mode for visit in part]
    if len(modes) <= CHATTERS or modes[0] == modes[1] or part[-1].time - part[0].time > span:
        return None
    alternate = all(mode == modes[i % 2] for i, mode in enumerate(modes))
    first, second = sorted(modes[:2])
    return (first, second) if alternate else None


def _reached(graph: ModesGraph, starts: set[str]) -> set[str]:
    found, stack = set(starts), list(starts)
    while stack:
        for edge in graph.out_of(stack.pop()):
            if edge.target not in found:
                found.add(edge.target)
                stack.append(edge.target)
    return found


def _run(
    graph: ModesGraph, starts: Iterator[tuple[dict[str, float], dict[str, float]]], until: float, inputs: Any
) -> tuple[Trajectory | None, str]:
    """Return a run from a valid random start, and the message of an error that ended it."""
    refused = ""
    for _ in range(MOST_DRAWS):
        start = next(starts)
        try:
            return simulate(graph.dyn, until=until, inputs=inputs, q=start[0], u=start[1]), ""
        except SimulationError as error:
            return error.trajectory, str(error)
        except ModelError as error:
            refused = str(error)
    raise ModelError(f"no start in the box is valid in {MOST_DRAWS} draws: {refused}")


def _starts(equations: Equations, within: Any, seed: int) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
    """Return random starts of a box, without end."""
    require(within, Mapping, 'within= is a box such as {"q1": (-0.5, 0.5), "u1": (0.0, 2.0)}')
    names = {group: [leaf.data for leaf in getattr(equations, group)] for group in ("q", "u")}
    box: dict[str, tuple[float, float]] = {}
    for name, ends in within.items():
        require_known(name, [*names["q"], *names["u"]], "coordinate or speed")
        if not isinstance(ends, (tuple, list)) or len(ends) != 2:
            raise ModelError(f"the range of {name!r} is {shown(ends)}; give the lowest and the highest value")
        low, high = (number(x, f"the range of {name!r}") for x in ends)
        if low > high:
            raise ModelError(f"the range of {name!r} is empty: {low:.12g} is more than {high:.12g}; exchange them")
        box[name] = low, high
    random = np.random.default_rng(seed)

    def draw() -> Iterator[tuple[dict[str, float], dict[str, float]]]:
        while True:
            values = {name: float(random.uniform(*ends)) for name, ends in box.items()}
            q, u = ({n: values[n] for n in names[group] if n in values} for group in ("q", "u"))
            yield q, u

    return draw()
