"""Effects of a model's loads, except gravity, each with a title; replacement of leaves in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from kane.errors import ExpressionError, ModelError
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.model.loads.load import Effect, Load

TitledLoads: TypeAlias = tuple[tuple[str, Effect], ...]
Replaced = TypeVar("Replaced")


def titled(loads: Sequence[Load]) -> Iterator[tuple[str, Effect]]:
    """Yield the title (kind and place) and the effect of every load: "Motor on q1", numbered if titles repeat."""
    effects = [load.effect() for load in loads]
    titles = [f"{type(load).__name__} on {_where(e)}" for load, e in zip(loads, effects, strict=True)]
    many, seen = Counter(titles), Counter[str]()
    for title, effect in zip(titles, effects, strict=True):
        seen[title] += 1
        yield (f"{title} ({seen[title]})" if many[title] > 1 else title), effect


def _where(effect: Effect) -> str:
    names = [along.connection.name for along, _ in effect.efforts] + [w.point.body.name for w in effect.wrenches]
    return ", ".join(dict.fromkeys(names))


def forces_in(loads: TitledLoads) -> list[Expr]:
    """Return every expression in the efforts and wrenches of loads, without the potential energies."""
    listed: list[object] = []
    for _, effect in loads:
        listed += [e for _, e in effect.efforts]
        listed += [x for w in effect.wrenches for x in (*w.force, *w.torque)]
    return [x for x in listed if isinstance(x, Expr)]


def replaced(loads: TitledLoads, values: Mapping[Expr, Expr]) -> TitledLoads:
    """Return the same loads with leaves replaced."""
    found = forces_in(loads) + [e.potential for _, e in loads if isinstance(e.potential, Expr)]
    image = dict(zip(found, substitute_nodes(found, values), strict=True))

    def changed(x: object) -> object:
        return image[x] if isinstance(x, Expr) else x

    def after(effect: Effect) -> Effect:
        efforts = [(c, changed(e)) for c, e in effect.efforts]
        wrenches = [
            replace(w, force=tuple(map(changed, w.force)), torque=tuple(map(changed, w.torque)))  # type: ignore[arg-type]
            for w in effect.wrenches
        ]
        return Effect(efforts, wrenches, changed(effect.potential))  # type: ignore[arg-type]

    return tuple((title, after(effect)) for title, effect in loads)


def without_inputs(replaced: Callable[[Mapping[Expr, Expr]], Replaced], inputs: Sequence[Expr]) -> Replaced:
    """Return loads with all inputs set to zero; ``replaced`` substitutes leaves in these loads.

    Raises:
        ModelError: a load is undefined at zero inputs, such as 1 / input.
    """
    try:
        return replaced({i: i.arena.zero for i in inputs})
    except ExpressionError as error:
        raise ModelError(
            f"a load has no value where the inputs are zero ({error}), and the bias is undefined; "
            "forward dynamics and simulation are available"
        ) from None


def per_input(forces: Sequence[Expr], inputs: Sequence[Expr]) -> list[list[Expr]]:
    """Return the coefficients of the inputs in forces, one list per input.

    Raises:
        ModelError: a force is not linear in the inputs.
    """
    try:
        rows, _ = linear_coefficients(forces, inputs)
    except ExpressionError as error:
        raise ModelError(
            f"a load is not linear in the inputs ({error}), so that M udot + bias = B inputs has no meaning; "
            "forward dynamics and simulation are available"
        ) from None
    return [[row[j] for row in rows] for j in range(len(inputs))]
