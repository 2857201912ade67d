"""Search for the generalized speeds with which the equations of motion take the fewest operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.operations import COST_CLASSES, MUL, NEG
from kane.expression.traverse import count, leaves
from kane.formulation.equations import Equations
from kane.formulation.formulate import formulate
from kane.formulation.quantities.programs import program
from kane.formulation.read_model import system_of
from kane.formulation.search.candidates import Definition, SpeedGroup, candidates, own_speeds
from kane.model.model import Model
from kane.model.speed_choice import SpeedChoice

# Shown of choices of which there are expressions; compared is what one state takes, dynamical and kinematical equations
# counted by themselves (Gillespie 2003, Table 3).
SHOWN = ("forward", "inverse", "kinematics")
# The neighbours of a choice are tried again as long as one of them was better, but not more often than this.
SWEEPS = 4
# Of the choices to start from, the search climbs from this many of the best.
STARTS = 2
LONGEST_TABLE = 12


@dataclass(frozen=True)
class TriedSpeeds:
    """One choice of speeds.

    Attributes:
        names: of the speeds, in the order of u.
        counts: operations by program and class; parameters are symbols like others, nothing is computed beforehand.
        operations: of all classes together, for qdot and for udot of one state; None where the speeds do not span the
            motion.
        fails_where: what vanishes where this choice fails, in words.
    """

    definitions: tuple[Definition, ...]
    counts: Mapping[str, Mapping[str, int]]
    operations: int | None
    fails_where: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the speeds, in the order of u."""
        return tuple(d.name for d in self.definitions)

    @property
    def choice(self) -> dict[str, Expr]:
        """Definitions by name: ``model.speeds(**choice)``."""
        return {d.name: d.expression() for d in self.definitions}

    def __repr__(self) -> str:
        total = "do not span the motion" if self.operations is None else f"{self.operations} operations a state"
        return f"<TriedSpeeds {', '.join(self.names)}: {total}>"


@dataclass(frozen=True)
class BestSpeeds:
    """What ``best_speeds`` found; prints as a table.

    Attributes:
        table: every choice that was tried, the best first; speeds that do not span the motion last.
        own: the joints' own speeds among them.
    """

    model: str
    table: tuple[TriedSpeeds, ...]
    own: TriedSpeeds

    @property
    def choice(self) -> dict[str, Expr]:
        """Definitions of the best speeds by name: ``model.speeds(**best.choice)``."""
        return self.table[0].choice

    def __repr__(self) -> str:
        best = self.table[0]
        lines = [
            f"speeds of {self.model!r}: {best.operations} operations a state with {', '.join(best.names)}; "
            f"{self.own.operations} with the joints' own, {', '.join(self.own.names)}",
            *_lines(self.table[:LONGEST_TABLE]),
        ]
        left = len(self.table) - LONGEST_TABLE
        return "\n".join([*lines, f"and {left} more choices, in .table"] if left > 0 else lines)


def best_speeds(model: Model) -> BestSpeeds:
    """Generalized speeds with which qdot and udot take the fewest run-time operations, among natural candidates.

    Tried are the joints' own speeds; for each body its angular velocity, by one measure number where its joint turns
    it about an axis of its own, by three, along its own axes or those of a neighbour, where three joint speeds make
    it; the velocity of its mass centre where joints slide; and mixtures, by exchanging candidates as long as
    operations are saved. The joints' own speeds and those declared in the model are among what is compared, so that
    the answer is never worse. Parameters count as symbols, nothing is computed beforehand. The model stays as it is.

    Raises:
        ModelError: what ``formulate`` refuses.

    Source: Gillespie 2003, Example 2; Mitiguy & Kane 1996.
    """
    if not isinstance(model, Model):
        raise ModelError(f"best_speeds takes a kane.Model, not {shown(model)}")
    search = _SpeedSearch(model)
    search.climb()
    own = search.tried[tuple(d.name for d in search.own)]
    rows = sorted(search.tried.values(), key=_rank)
    return BestSpeeds(model.name, tuple(rows), own)


def with_speeds(model: Model, definitions: Mapping[str, Expr]) -> Model:
    """The model with other speeds: a view of the same declarations, to be read and not to be added to."""
    view = copy(model)
    view.speed_choice = SpeedChoice(dict(definitions), ())
    return view


def _rank(row: TriedSpeeds) -> tuple[float, int]:
    """Fewest operations first; among equals the one that fails in the fewest places."""
    return (float("inf") if row.operations is None else row.operations), len(row.fails_where)


class _SpeedSearch:
    """Choices tried so far, by the names of their speeds."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tried: dict[tuple[str, ...], TriedSpeeds] = {}
        with model.arena.scratch():
            natural = system_of(with_speeds(model, {}))
            self.own = own_speeds(natural)
            self.candidates = candidates(natural)
        self.taken = {"t", *model.parameters, *model.inputs, *(q.name for q in natural.speeds.q)}
        self.taken |= {d.name for d in self.own}

    def climb(self) -> None:
        """From the best starts to better neighbours, candidate by candidate."""
        for start in sorted(self.starts(), key=self.rank)[:STARTS]:
            self.climb_from(start)

    def climb_from(self, best: tuple[SpeedGroup, ...]) -> None:
        for _ in range(SWEEPS):
            before = best
            for candidate in self.candidates:
                best = min((best, _without(best, candidate), _with(best, candidate)), key=self.rank)
            if best == before:
                return

    def starts(self) -> Iterator[tuple[SpeedGroup, ...]]:
        """The joints' own speeds; angular velocities in N for all joints, by single measure numbers or by threes."""
        declared = self.model.speed_choice.definitions
        if declared:
            self.record(tuple(Definition(name, lambda x=x: x) for name, x in declared.items()))  # type: ignore[misc]
        yield ()
        for size in (1, 3):
            chosen: tuple[SpeedGroup, ...] = ()
            for candidate in self.candidates:
                if candidate.direct and len(candidate.columns) == size and not _overlapping(chosen, candidate):
                    chosen = (*chosen, candidate)
            yield chosen

    def rank(self, chosen: Sequence[SpeedGroup]) -> tuple[float, int]:
        """How good a choice is; it is tried if it has not been yet."""
        definitions = list(self.own)
        for candidate in chosen:
            for column, definition in zip(candidate.columns, candidate.definitions, strict=True):
                definitions[column] = self.named(definition)
        return _rank(self.record(tuple(definitions)))

    def named(self, definition: Definition) -> Definition:
        """A definition under a name that is free."""
        name = definition.name
        while name in self.taken:
            name += "_"
        return Definition(name, definition.expression)

    def record(self, definitions: tuple[Definition, ...]) -> TriedSpeeds:
        names = tuple(d.name for d in definitions)
        if names not in self.tried:
            with self.model.arena.scratch():
                self.tried[names] = _tried(self.model, definitions)
        return self.tried[names]


def _overlapping(chosen: Sequence[SpeedGroup], candidate: SpeedGroup) -> bool:
    return any(set(c.columns) & set(candidate.columns) for c in chosen)


def _without(chosen: tuple[SpeedGroup, ...], candidate: SpeedGroup) -> tuple[SpeedGroup, ...]:
    return tuple(c for c in chosen if c != candidate)


def _with(chosen: tuple[SpeedGroup, ...], candidate: SpeedGroup) -> tuple[SpeedGroup, ...]:
    """A candidate in the place of those that it overlaps."""
    return (*(c for c in chosen if not _overlapping([c], candidate)), candidate)


def _tried(model: Model, definitions: tuple[Definition, ...]) -> TriedSpeeds:
    """A choice, formulated and counted."""
    try:
        equations = formulate(with_speeds(model, {d.name: d.expression() for d in definitions}))
    except ModelError:
        if _are_own(definitions, model):
            raise
        return TriedSpeeds(definitions, {}, None, ("in every state",))
    work = equations.embedding.evaluated
    counts = {name: _operations(equations, name) for name in (SHOWN if set(work) <= set(SHOWN) else work)}
    operations = sum(sum(counts[name].values()) for name in work)
    fails_where = dict.fromkeys(where_zero(x) for x in equations.system.fails_where)
    return TriedSpeeds(definitions, counts, operations, tuple(fails_where))


def _are_own(definitions: Sequence[Definition], model: Model) -> bool:
    return [d.name for d in definitions] == [n for c in model.ordered_connections for n in c.speed_names]


def _operations(equations: Equations, name: str) -> dict[str, int]:
    return count(program(equations, name).outputs)


def where_zero(divisor: Expr) -> str:
    """Where a divisor vanishes."""
    while divisor.op == NEG or (divisor.op == MUL and divisor.args[0].is_constant):
        divisor = divisor.args[-1]
    text = repr(divisor)
    if "..." in text:
        return f"a function of {', '.join(repr(leaf) for leaf in leaves([divisor]))} = 0"
    return f"{text} = 0"


def _lines(rows: Sequence[TriedSpeeds]) -> Iterator[str]:
    """A table: operations by program and class, the speeds, and where they fail."""
    programs = list(rows[0].counts)
    classes = [c for c in COST_CLASSES if any(row.counts[p][c] for row in rows if row.counts for p in programs)]
    width = 6 * len(classes)
    yield "".join(f"{p:>{width}}" for p in programs) + f"{'':>8}"
    yield "".join(f"{c:>6}" for _ in programs for c in classes) + f"{'all':>8}  speeds"
    for row in rows:
        cells = [row.counts[p][c] if row.counts else "-" for p in programs for c in classes]
        total = "-" if row.operations is None else row.operations
        fails = f"; fails where {' or '.join(row.fails_where)}" if row.fails_where else ""
        if row.operations is None:
            fails = "; do not span the motion"
        yield "".join(f"{x:>6}" for x in cells) + f"{total:>8}  {', '.join(row.names)}{fails}"
