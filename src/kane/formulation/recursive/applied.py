"""Loads as generalized forces on the joints and wrenches on the links; measures and rates resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kane.errors import ExpressionError, ModelError
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.traverse import substitute
from kane.formulation.recursive.inverse import Wrench
from kane.formulation.recursive.measures import from_body, images, position_in_K
from kane.formulation.tree.spatial import ZERO, Vector, cross, plus
from kane.formulation.tree.system import System
from kane.model.loads.load import Load
from kane.model.loads.load import Wrench as PointWrench


@dataclass(frozen=True)
class Applied:
    """All loads of a model but gravity.

    Attributes:
        efforts: generalized force along each natural speed.
        wrenches: by link, force and moment about O_K in K.
        potential: potential energy of springs [J].
    """

    efforts: tuple[Expr, ...]
    wrenches: dict[int, Wrench]
    potential: Expr

    @property
    def expressions(self) -> list[Expr]:
        """Efforts, potential energy, and the components of all wrenches."""
        lift = self.potential.arena.lift
        return [*self.efforts, self.potential, *(lift(x) for w in self.wrenches.values() for v in w for x in v)]

    def replaced(self, values: Mapping[Expr, Expr]) -> Applied:
        """The same loads with leaves replaced."""
        keys = list(self.wrenches)
        new = substitute(self.expressions, values)
        n = len(self.efforts)
        triples = [tuple(new[i : i + 3]) for i in range(n + 1, len(new), 3)]
        wrenches = {k: (triples[2 * i], triples[2 * i + 1]) for i, k in enumerate(keys)}
        return Applied(tuple(new[:n]), wrenches, new[n])

    def without(self, inputs: Sequence[Expr]) -> Applied:
        """The part that remains when all inputs vanish.

        Raises:
            ModelError: a load has no value there, such as 1 / input.
        """
        try:
            return self.replaced({i: i.arena.zero for i in inputs}) if inputs else self
        except ExpressionError as error:
            raise ModelError(
                f"a load has no value where the inputs are zero ({error}), so that there is no bias without inputs; "
                "forward dynamics and simulation are available"
            ) from None

    def coefficients(self, inputs: Sequence[Expr]) -> list[Applied]:
        """For each input, the loads per unit of it.

        Raises:
            ModelError: a load is not linear in the inputs.
        """
        keys = list(self.wrenches)
        arena = self.potential.arena
        flat = [*self.efforts, *(arena.lift(x) for k in keys for v in self.wrenches[k] for x in v)]
        try:
            rows, _ = linear_coefficients(flat, inputs)
        except ExpressionError as error:
            raise ModelError(
                f"a load is not linear in the inputs ({error}), so that M udot + bias = B inputs has no meaning; "
                "forward dynamics and simulation are available"
            ) from None
        n = len(self.efforts)
        found = []
        for j in range(len(inputs)):
            column = [row[j] for row in rows]
            triples = [tuple(column[i : i + 3]) for i in range(n, len(column), 3)]
            wrenches = {k: (triples[2 * i], triples[2 * i + 1]) for i, k in enumerate(keys)}
            found.append(replace(self, efforts=tuple(column[:n]), wrenches=wrenches))
        return found


def applied_loads(loads: Iterable[Load], system: System) -> Applied:
    """Collect and resolve loads.

    Raises:
        ModelError: a load depends on something that has no value in these equations.
    """
    arena = system.arena
    efforts = [arena.zero] * len(system.speeds.C)
    wrenches: dict[int, Wrench] = {}
    potential = arena.zero
    for declared in loads:
        effect = declared.effect()
        for along, effort in effect.efforts:
            k = system.speeds.first[along.connection] + along.place
            efforts[k] = efforts[k] + effort
        for wrench in effect.wrenches:
            link, f, n = _on_link(system, wrench)
            if link:
                old = wrenches.get(link, (ZERO, ZERO))
                wrenches[link] = plus(old[0], f), plus(old[1], n)
        potential = potential + effect.potential
    found = Applied(tuple(efforts), wrenches, arena.lift(potential))
    return found.replaced(resolved_leaves(system, found))


def _on_link(system: System, wrench: PointWrench) -> tuple[int, Vector, Vector]:
    """Link, force and moment about O_K in K."""
    body = wrench.point.body
    place = system.places[body.index]
    f = from_body(system, wrench.expressed_in.index, place.link, wrench.force)
    n = from_body(system, wrench.expressed_in.index, place.link, wrench.torque)
    p = position_in_K(system, body.index, wrench.point.position_in_body)
    return place.link, f, plus(n, cross(p, f))


def resolved_leaves(system: System, found: Applied) -> dict[Expr, Expr]:
    """Images of the rates and measures on which the loads depend."""
    return images(system, found.expressions)
