"""Loads as generalized forces on the joints and wrenches on the links, with measures and rates replaced by values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.recursive.measures import from_body, images, position_in_K
from kane.formulation.tree.loads import per_input
from kane.formulation.tree.spatial import plus
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, Triple, cross
from kane.model.loads.load import Effect, Wrench

if TYPE_CHECKING:
    from kane.formulation.recursive.inverse import LinkWrench


@dataclass(frozen=True)
class Applied:
    """All loads of a model except gravity.

    Attributes:
        efforts: generalized force along each natural speed.
        wrenches: force and moment about O_K in K, by link [N, N m].
        potential: potential energy of springs [J].
    """

    efforts: tuple[Expr, ...]
    wrenches: Mapping[int, LinkWrench]
    potential: Expr

    @property
    def expressions(self) -> list[Expr]:
        """Return the efforts, the potential energy, and the components of all wrenches."""
        lift = self.potential.arena.lift
        return [*self.efforts, self.potential, *(lift(x) for w in self.wrenches.values() for v in w for x in v)]

    def replaced(self, values: Mapping[Expr, Expr]) -> Applied:
        """Return the same loads with leaves replaced."""
        keys = list(self.wrenches)
        new = substitute_nodes(self.expressions, values)
        n = len(self.efforts)
        triples = [tuple(new[i : i + 3]) for i in range(n + 1, len(new), 3)]
        wrenches = {k: (triples[2 * i], triples[2 * i + 1]) for i, k in enumerate(keys)}
        return Applied(tuple(new[:n]), wrenches, new[n])

    def coefficients(self, inputs: Sequence[Expr]) -> list[Applied]:
        """Return the loads per unit of each input.

        Raises:
            ModelError: a load is not linear in the inputs.
        """
        keys = list(self.wrenches)
        arena = self.potential.arena
        flat = [*self.efforts, *(arena.lift(x) for k in keys for v in self.wrenches[k] for x in v)]
        n = len(self.efforts)
        found = []
        for column in per_input(flat, inputs):
            triples = [tuple(column[i : i + 3]) for i in range(n, len(column), 3)]
            wrenches = {k: (triples[2 * i], triples[2 * i + 1]) for i, k in enumerate(keys)}
            found.append(replace(self, efforts=tuple(column[:n]), wrenches=wrenches))
        return found


def applied_loads(effects: Iterable[Effect], system: System) -> Applied:
    """Return the sum of the loads' effects, in q, u, t, parameters and inputs.

    Raises:
        ModelError: a load depends on something that has no value in these equations.
    """
    arena = system.arena
    efforts = [arena.zero] * len(system.speeds.C)
    wrenches: dict[int, LinkWrench] = {}
    potential = arena.zero
    for effect in effects:
        for along, effort in effect.efforts:
            k = system.speeds.first[along.connection] + along.place
            efforts[k] = efforts[k] + effort
        for wrench in effect.wrenches:
            link, f, n = _on_link(system, wrench)
            if link:
                old = wrenches.get(link, (ZERO_VECTOR, ZERO_VECTOR))
                wrenches[link] = plus(old[0], f), plus(old[1], n)
        potential = potential + effect.potential
    found = Applied(tuple(efforts), wrenches, arena.lift(potential))
    return found.replaced(images(system, found.expressions))


def _on_link(system: System, wrench: Wrench) -> tuple[int, Triple, Triple]:
    """Return the link of a wrench, and its force and moment about O_K in K."""
    body = wrench.point.body
    place = system.places[body.index]
    f = from_body(system, wrench.expressed_in.index, place.link, wrench.force)
    n = from_body(system, wrench.expressed_in.index, place.link, wrench.torque)
    p = position_in_K(system, body.index, wrench.point.position_in_body)
    return place.link, f, plus(n, cross(p, f))
