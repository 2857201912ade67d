"""Search for the generalized speeds with which the equations of motion need the fewest operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import COST_CLASSES, MUL, NEG
from kane.expression.traverse import count_operations, leaves
from kane.formulation.equations import Equations
from kane.formulation.formulate import formulate
from kane.formulation.quantities.programs import program
from kane.formulation.read_model import system_of
from kane.formulation.search.speed_candidates import Definition, SpeedGroup, candidates, own_speed_definitions
from kane.model.model import Model
from kane.model.speed_choice import SpeedChoice

# Programs whose counts the table shows. Speed selections are compared by the programs that one state needs; dynamical
# and kinematical equations are counted separately (Gillespie 2003, Table 3).
SHOWN_PROGRAMS = ("forward", "inverse", "kinematics")
# Maximum number of sweeps over the neighbours of a selection; a sweep without improvement ends the search earlier.
SWEEPS = 4
# Number of the best initial selections from which the search climbs.
CLIMB_STARTS = 2
LONGEST_TABLE = 12


@dataclass(frozen=True)
class TriedSpeeds:
    """One speed selection and its operation counts.

    Attributes:
        definitions: definitions of the speeds, in the order of u.
        counts: operations by program and class; parameters count as symbols, and nothing is computed in advance.
        operations: operations of all classes for qdot and udot of one state; None if the speeds do not span the motion.
        fails_where: conditions in which the selection fails, as text.
    """

    definitions: tuple[Definition, ...]
    counts: Mapping[str, Mapping[str, int]]
    operations: int | None
    fails_where: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the speeds, in the order of u."""
        return tuple(d.name for d in self.definitions)

    @property
    def choice(self) -> dict[str, Expr]:
        """Return the definitions by name, for ``model.speeds(**choice)``."""
        return {d.name: d.expression() for d in self.definitions}

    def __repr__(self) -> str:
        total = "do not span the motion" if self.operations is None else f"{self.operations} operations a state"
        return f"<TriedSpeeds {', '.join(self.names)}: {total}>"


@dataclass(frozen=True)
class BestSpeeds:
    """Result of ``best_speeds``; prints as a table.

    Attributes:
        model: name of the model.
        table: every selection that was tried, the best first; speeds that do not span the motion last.
        own: the selection of the joints' own speeds, also in ``table``.
    """

    model: str
    table: tuple[TriedSpeeds, ...]
    own: TriedSpeeds

    @property
    def choice(self) -> dict[str, Expr]:
        """Return the definitions of the best speeds by name, for ``model.speeds(**best.choice)``."""
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
    """Search natural candidates for generalized speeds with which qdot and udot need the fewest run-time operations.

    Candidates are the joints' own speeds and the angular velocity of each body. The angular velocity has one measure
    number if the joint turns the body about one of its axes, or three if three joint speeds turn it. The three are
    along the axes of the body or of a neighbour. The velocity of the mass centre is a candidate if joints slide.
    Mixtures are found by exchanging candidates as long as this saves operations. The joints' own speeds and the speeds
    that the model declares are always compared, so that the result is never worse. Parameters count as symbols, and
    nothing is computed in advance. The model is not changed.

    Raises:
        ModelError: ``model`` is not a Model, or ``formulate`` refuses it.

    Source: Gillespie 2003, Example 2; Mitiguy & Kane 1996.
    """
    require(model, Model, "best_speeds takes a kane.Model")
    search = _SpeedSearch(model)
    search.climb()
    own = search.tried[tuple(d.name for d in search.own)]
    rows = sorted(search.tried.values(), key=_rank)
    return BestSpeeds(model.name, tuple(rows), own)


def with_speeds(model: Model, definitions: Mapping[str, Expr]) -> Model:
    """Return a view of the model with other speeds. It shares all declarations and must not be extended."""
    view = copy(model)
    view.speed_choice = SpeedChoice(dict(definitions), ())
    return view


def _rank(row: TriedSpeeds) -> tuple[float, int]:
    """Return the sort key of a selection: fewest operations, then fewest conditions in which it fails."""
    return (float("inf") if row.operations is None else row.operations), len(row.fails_where)


class _SpeedSearch:
    """Search for speeds, with the selections that were tried, by the names of their speeds."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tried: dict[tuple[str, ...], TriedSpeeds] = {}
        with model.arena.scratch():
            natural = system_of(with_speeds(model, {}))
            self.own = own_speed_definitions(natural)
            self.candidates = candidates(natural)
        self.taken = {"t", *model.parameters, *model.inputs, *(q.name for q in natural.speeds.q)}
        self.taken |= {d.name for d in self.own}

    def climb(self) -> None:
        """Climb from the best initial selections to better neighbours, candidate by candidate."""
        for start in sorted(self.starts(), key=self.rank)[:CLIMB_STARTS]:
            self.climb_from(start)

    def climb_from(self, best: tuple[SpeedGroup, ...]) -> None:
        for _ in range(SWEEPS):
            before = best
            for candidate in self.candidates:
                best = min((best, _without(best, candidate), _with(best, candidate)), key=self.rank)
            if best == before:
                return

    def starts(self) -> Iterator[tuple[SpeedGroup, ...]]:
        """Yield the joints' own speeds, then angular velocities in N for all joints, by one or by three measure
        numbers.
        """
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
        """Return the sort key of a selection, after formulating it if it is new."""
        definitions = list(self.own)
        for candidate in chosen:
            for column, definition in zip(candidate.columns, candidate.definitions, strict=True):
                definitions[column] = self.named(definition)
        return _rank(self.record(tuple(definitions)))

    def named(self, definition: Definition) -> Definition:
        """Return the definition under an unused name."""
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
    """Return the selection with a candidate in the place of the candidates that it overlaps."""
    return (*(c for c in chosen if not _overlapping([c], candidate)), candidate)


def _tried(model: Model, definitions: tuple[Definition, ...]) -> TriedSpeeds:
    """Formulate the equations with a speed selection and count their operations."""
    try:
        equations = formulate(with_speeds(model, {d.name: d.expression() for d in definitions}))
    except ModelError:
        if _are_own(definitions, model):
            raise
        return TriedSpeeds(definitions, {}, None, ("in every state",))
    work = equations.embedding.evaluated
    counts = {
        name: _operations(equations, name) for name in (SHOWN_PROGRAMS if set(work) <= set(SHOWN_PROGRAMS) else work)
    }
    operations = sum(sum(counts[name].values()) for name in work)
    fails_where = dict.fromkeys(where_zero(x) for x in equations.system.fails_where)
    return TriedSpeeds(definitions, counts, operations, tuple(fails_where))


def _are_own(definitions: Sequence[Definition], model: Model) -> bool:
    return [d.name for d in definitions] == [n for c in model.ordered_connections for n in c.speed_names]


def _operations(equations: Equations, name: str) -> dict[str, int]:
    return count_operations(program(equations, name).outputs)


def where_zero(divisor: Expr) -> str:
    """Return the condition in which a divisor vanishes, as text."""
    while divisor.op == NEG or (divisor.op == MUL and divisor.args[0].is_constant):
        divisor = divisor.args[-1]
    text = repr(divisor)
    if "..." in text:
        return f"a function of {', '.join(repr(leaf) for leaf in leaves([divisor]))} = 0"
    return f"{text} = 0"


def _lines(rows: Sequence[TriedSpeeds]) -> Iterator[str]:
    """Yield the lines of a table: operations by program and class, the speeds, and where they fail."""
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
