"""The automaton of a model with contacts, stops, latches or switches: ``kane.modes_graph``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from kane.analysis.automaton.automaton_check import AutomatonCheck, checked_automaton
from kane.analysis.automaton.drawn_automaton import automaton_svg
from kane.analysis.automaton.mode_edges import ModeEdge, Statuses, edges_from, statuses_allowed
from kane.analysis.automaton.visited_modes import visits
from kane.analysis.random_states import RandomStates
from kane.dynamics.compile_modes import MAX_COMPILED_MODES
from kane.dynamics.compiled_modes import statuses_in_words
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.number_arguments import require
from kane.formulation.contact_mode import active_rows
from kane.formulation.equations import Equations
from kane.model.checks import require_known
from kane.simulation.results.trajectory import Trajectory

# Rows whose singular values are smaller than the largest by this factor are dependent.
RANK_TOLERANCE = 1e-9
# A sequence of modes that repeats at least this often at the end of a run is a cycle.
REPEATS = 3


@dataclass(frozen=True, eq=False, repr=False)
class ModesGraph:
    """Modes of a model as nodes, transitions as edges; prints as a table, and as a drawing in notebooks.

    Attributes:
        dyn: the compiled equations.
        modes: names of the modes, as in ``run.modes``.
        independent: names of the independent speeds of each mode at a regular state; the constraints of the mode
            determine the others.
        edges: possible transitions, by source and target.
    """

    dyn: Dynamics
    modes: tuple[str, ...]
    independent: Mapping[str, tuple[str, ...]]
    edges: tuple[ModeEdge, ...]

    @cached_property
    def between(self) -> Mapping[tuple[str, str], ModeEdge]:
        """The edges by the names of their ends."""
        return {(edge.source, edge.target): edge for edge in self.edges}

    def out_of(self, mode: str) -> tuple[ModeEdge, ...]:
        """Return the edges that leave a mode.

        Raises:
            ModelError: the mode is unknown.
        """
        require_known(mode, self.modes, "mode")
        return tuple(edge for edge in self.edges if edge.source == mode != edge.target)

    def visited(self, run: Trajectory) -> tuple[str, ...]:
        """Return the mode at the start of a run, and the mode after each of its transitions.

        Raises:
            ModelError: the run has no contacts.
        """
        require(run, Trajectory, "a run is a Trajectory, which kane.simulate returns")
        return tuple(visit.mode for visit in visits(run))

    def cycle(self, run: Trajectory) -> tuple[str, ...]:
        """Return the shortest sequence of modes that repeats three times at the end of a run; empty without one."""
        met = self.visited(run)
        for period in range(1, len(met) // REPEATS + 1):
            last = met[len(met) - REPEATS * period :]
            if all(last[i] == last[i + period] for i in range(len(last) - period)):
                return last[:period]
        return ()

    def check(
        self,
        *,
        within: Mapping[str, tuple[float, float]],
        runs: int = 20,
        until: float = 1.0,
        forbidden: Sequence[str] = (),
        inputs: Any = None,
        seed: int = 0,
    ) -> AutomatonCheck:
        """Search for faults of the automaton: forbidden modes, modes without exit, chattering pairs, unreachable modes.

        Runs start at random states of a box. Each fault has a run that shows it. A mode without a path
        of edges from the starts is unreachable, which is proved. Other results come from the runs alone.

        Args:
            within: lowest and highest value of coordinates and speeds, by name; others start at their defaults.
            runs: number of runs.
            until: duration of each run [s].
            forbidden: names of modes that must not occur.
            inputs: inputs of the runs, as for ``kane.simulate``.
            seed: seed of the random states.

        Raises:
            ModelError: an unknown name, an empty range, or a box without a valid start.
        """
        for mode in forbidden:
            require_known(mode, self.modes, "mode")
        return checked_automaton(self, within, (runs, until, seed), tuple(forbidden), inputs)

    def svg(self) -> str:
        """Return the drawing as SVG: transitions of one constraint as arrows with their guards."""
        return automaton_svg(self)

    def __repr__(self) -> str:
        several = sum(not edge.alone for edge in self.edges)
        lines = [f"automaton of {self.dyn.equations.name!r}: {len(self.modes)} modes, {len(self.edges)} edges"]
        for mode in self.modes:
            lines.append(f"  {mode}: independent speeds {', '.join(self.independent[mode]) or 'none'}")
            for edge in self.edges:
                if edge.source == mode and edge.alone:
                    lines += [f"    to {edge.target} if {guard}" for guard in edge.guards]
        return "\n".join([*lines, f"  and {several} edges at which several constraints change at one instant"])

    def _repr_html_(self) -> str:
        return self.svg()


def modes_graph(dyn: Dynamics) -> ModesGraph:
    """Return the automaton of a model with contacts, stops, latches, sticking joints or switches.

    A mode is the set of active constraints and their status. Its motion has n minus rank A independent speeds. An edge
    leads to every mode that a transition can reach:

        impact     gap < 0, M (u+ - u-) = A^T p           opens     normal force < 0
        imposed    on > 0, with an impulse like an impact  deleted   off > 0
        slips      |friction| > static bound               sticks    slip velocity = 0

    Together with the cause all closed constraints may change, because impulses and forces act on them too.

    Args:
        dyn: returned by ``kane.build``.

    Raises:
        ModelError: the model has no intermittent constraints, or more than 100 modes.

    Source: Gillespie 2003, section 4 and Fig. 2.
    """
    require(dyn, Dynamics, "modes_graph needs Dynamics, as kane.build(equations) returns")
    equations = dyn.equations
    intermittents = equations.intermittents
    if not intermittents:
        raise ModelError(
            f"{equations.name!r} has no contacts, stops, latches, sticking joints or switches, so that it has one mode"
        )
    each = [statuses_allowed(c) for c in intermittents]
    if prod(map(len, each)) > MAX_COMPILED_MODES:
        raise ModelError(
            f"{equations.name!r} has {prod(map(len, each))} modes, more than the {MAX_COMPILED_MODES} of a graph; "
            "leave out contacts that cannot close together"
        )
    names = [c.name for c in intermittents]
    words = {statuses: statuses_in_words(statuses, names) for statuses in product(*each)}
    edges = []
    for mode, name in words.items():
        for target, (guards, needs, alone) in edges_from(intermittents, mode).items():
            edges.append(ModeEdge(name, words[target], tuple(dict.fromkeys(guards)), needs, alone))
    independent = {name: mode_independent_speeds(equations, mode) for mode, name in words.items()}
    return ModesGraph(dyn, tuple(words.values()), independent, tuple(edges))


def mode_independent_speeds(equations: Equations, mode: Statuses) -> tuple[str, ...]:
    """Return the speeds that the rows of a mode leave independent: dependent are the declared ones, then the last."""
    names = [leaf.data for leaf in equations.u]
    statuses = zip(equations.intermittents, mode, strict=True)
    rows = [*equations.permanent, *(row for c, status in statuses for row in active_rows(c, status))]
    if not rows:
        return tuple(names)
    zero = equations.t.arena.zero
    free = equations.unconstrained
    entries = free.baked_in([row.coefficients.get(j, zero) for row in rows for j in range(len(names))])
    A = RandomStates(free, 1, 0)(entries)[:, 0].reshape(len(rows), len(names))
    declared = equations.model.speed_choice.dependent
    order = sorted(range(len(names)), key=lambda j: (names[j] not in declared, -j))
    dependent: list[int] = []
    least = RANK_TOLERANCE * np.abs(A).max()
    for j in order:
        if np.linalg.matrix_rank(A[:, [*dependent, j]], tol=least) > len(dependent):
            dependent.append(j)
    return tuple(name for j, name in enumerate(names) if j not in dependent)
