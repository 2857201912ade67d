"""Differences of two models, equations, modes or saved files: ``kane.compare``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from html import escape
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

from kane.analysis.differences.entries import (
    Entries,
    Value,
    declared_entries,
    equation_entries,
    same_value,
    sampled,
    written,
)
from kane.analysis.mode_equations import equations_in_mode
from kane.errors import ImportFileError, ModelError, shown
from kane.expression.node import Expr
from kane.expression.operations import ADD, NEG, SUB
from kane.expression.text import format_expression
from kane.files.json_file import format_of
from kane.formulation.equations import Equations
from kane.formulation.equations_form import EQUATIONS_FORMAT, load_equations
from kane.formulation.formulate import formulate
from kane.model.model import Model
from kane.model.model_file import is_model_text, load_model
from kane.model.model_form import MODEL_FORMAT

Comparable: TypeAlias = "Model | Equations | str | PathLike[str]"
# Kinds of changes, and their signs in the printed form.
CHANGE_SIGNS = {"changed": "~", "added": "+", "removed": "-"}


class Change(NamedTuple):
    """One difference.

    Attributes:
        kind: "changed", "added" (only the second has it) or "removed" (only the first has it).
        name: the entry, in the names of the user: "body 'A' com y", "equation of u1: u2**2, centripetal of C".
        before, after: the two values as texts; empty for a missing entry. Unchanged terms of sums are left out.
    """

    kind: str
    name: str
    before: str
    after: str

    def __str__(self) -> str:
        told = f"{self.before} -> {self.after}" if self.kind == "changed" else self.before or self.after
        return f"{CHANGE_SIGNS[self.kind]} {self.name}: {told}"


@dataclass(frozen=True, repr=False)
class Comparison:
    """Differences of two models or equations; prints one line for each, and the counts.

    Attributes:
        names: names of the two models.
        changes: all differences.
        unchanged: number of equal entries.
    """

    names: tuple[str, str]
    changes: tuple[Change, ...]
    unchanged: int

    def __bool__(self) -> bool:
        raise ModelError("a comparison is neither true nor false; ask for comparison.same")

    @property
    def same(self) -> bool:
        """Whether there is no difference."""
        return not self.changes

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of changed, added, removed and unchanged entries."""
        found = Counter(change.kind for change in self.changes)
        return {**{kind: found[kind] for kind in CHANGE_SIGNS}, "unchanged": self.unchanged}

    def __repr__(self) -> str:
        counted = ", ".join(f"{number} {word}" for word, number in self.counts.items())
        return "\n".join([f"{self.names[0]!r} and {self.names[1]!r}: {counted}", *map(str, self.changes)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def compare(a: Comparable, b: Comparable, *, modes: tuple[str, str] | None = None) -> Comparison:
    """Return the differences of two models, equations, modes or saved files, in the names of the user.

    Two models are compared by their declarations: bodies, joints, loads, constraints, contacts, parameters. Equations
    are compared by their speeds, constraint rows, intermittent constraints, partial velocities, and the terms of each
    equation by body and load (``kane.explain``). A model beside equations is formulated. Numbers are equal if all bits
    are. Expressions are equal if their values at random states agree to 1e-11: a different order of factors is no
    difference.

    Args:
        a, b: models, equations, or paths of files that ``save_model`` or ``save_equations`` wrote.
        modes: names of contact modes of a and b, such as ("free", "left held"), to compare the equations in these
            modes.

    Raises:
        ModelError: an argument cannot be compared, or a mode is unknown.
        ImportFileError: a file is missing, damaged, or holds neither a model nor equations.
    """
    first, second = _read(a), _read(b)
    if modes is not None:
        if not isinstance(modes, (tuple, list)) or len(modes) != 2:
            raise ModelError(f'modes= is {shown(modes)}; give two names of modes, such as ("free", "left held")')
        each = [equations_in_mode(_derived(x), mode) for x, mode in zip((first, second), modes, strict=True)]
        return _compared((each[0].equations.name, each[1].equations.name), *(equation_entries(*x) for x in each))
    if isinstance(first, Model) and isinstance(second, Model):
        return _compared((first.name, second.name), declared_entries(first), declared_entries(second))
    first, second = _derived(first), _derived(second)
    return _compared((first.name, second.name), equation_entries(first), equation_entries(second))


def _read(given: Any) -> Model | Equations:
    if isinstance(given, (Model, Equations)):
        return given
    if not isinstance(given, (str, PathLike)):
        raise ModelError(f"compare takes models, equations or paths of saved files, not {shown(given)}")
    if is_model_text(given):
        return load_model(given)
    found = format_of(given)
    if found == EQUATIONS_FORMAT.name:
        return load_equations(given)
    if found == MODEL_FORMAT.name:
        return load_model(given)
    raise ImportFileError(
        f"{str(given)!r} holds neither a model nor equations; give a file from kane.save_model or kane.save_equations"
    )


def _derived(given: Model | Equations) -> Equations:
    return formulate(given) if isinstance(given, Model) else given


def _compared(names: tuple[str, str], a: Entries, b: Entries) -> Comparison:
    changes, unchanged, samples = [], 0, sampled(a) | sampled(b)
    for name in dict.fromkeys((*a, *b)):
        if name not in b:
            changes.append(Change("removed", name, written(a[name]), ""))
        elif name not in a:
            changes.append(Change("added", name, "", written(b[name])))
        elif same_value(a[name], b[name], samples):
            unchanged += 1
        else:
            changes.append(Change("changed", name, *_different(a[name], b[name])))
    return Comparison(names, tuple(changes), unchanged)


def _different(a: Value, b: Value) -> tuple[str, str]:
    """Return two values as texts, without the terms that two sums have in common."""
    if not isinstance(a, Expr) or not isinstance(b, Expr):
        return written(a), written(b)
    if written(a) == written(b):
        return written(a), f"{written(b)}, which differs below the ellipsis"
    first, second = Counter(_terms(a)), Counter(_terms(b))
    common = first & second
    if not common:
        return written(a), written(b)
    folded = f" (and {sum(common.values())} unchanged terms)"
    return " ".join((first - common).elements()) or "0", (" ".join((second - common).elements()) or "0") + folded


def _terms(x: Expr) -> list[str]:
    """Return the terms of a sum with their signs."""
    found, stack = [], [(x, "+")]
    while stack:
        node, sign = stack.pop()
        opposite = "-" if sign == "+" else "+"
        if node.op in (ADD, SUB):
            stack += [(node.args[1], sign if node.op == ADD else opposite), (node.args[0], sign)]
        elif node.op == NEG:
            stack.append((node.args[0], opposite))
        else:
            found.append(f"{sign} {format_expression(node)}")
    return found
