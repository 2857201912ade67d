"""Immutable model data that every formulation route reads: links, speeds, frames and mass parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, TypeVar

from kane.deferred import dataclass
from kane.expression.arena import Arena
from kane.expression.node import Expr
from kane.formulation.tree.declared_velocity import DeclaredVelocity
from kane.formulation.tree.frames import Step
from kane.formulation.tree.links import Link, PlaceInLink
from kane.formulation.tree.mass_parameters import MassParameters, regrouped
from kane.formulation.tree.speeds import Speeds
from kane.geometry.scalars import Triple

SystemResult = TypeVar("SystemResult")


@dataclass(frozen=True)
class System:
    """Model data prepared for the recursions.

    Attributes:
        links, steps, masses: one entry per link, parents first; index 0 is the ground.
        places: pose of each body in its link, by body index.
        gravity: acceleration of free fall in N [m/s^2].
        declared_turns: angular velocities that generalized speeds declare, by link.
        declared_points: velocities of points that generalized speeds declare, by link.
        own: the system in the joints' own speeds; None unless other speeds are chosen.
        definitions: chosen speeds as expressions in the joints' own speeds; empty if there are fewer chosen speeds.
        completed: names of the motion constraints that complete the chosen speeds if these are fewer than the joints'
            own. In the chosen speeds these constraints hold identically.
        fails_where: divisors of the solution for the joints' own speeds. The chosen speeds fail where one of them
            vanishes.
    """

    arena: Arena
    links: list[Link]
    places: dict[int, PlaceInLink]
    speeds: Speeds
    steps: list[Step]
    masses: list[MassParameters]
    gravity: Triple
    declared_turns: Mapping[int, DeclaredVelocity] = field(default_factory=dict)
    declared_points: Mapping[int, DeclaredVelocity] = field(default_factory=dict)
    own: System | None = None
    definitions: tuple[Expr, ...] = ()
    completed: tuple[str, ...] = ()
    fails_where: tuple[Expr, ...] = ()
    _once: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, find: Callable[[System], SystemResult]) -> SystemResult:
        """Return find(self), computed at the first call; its expressions must live as long as this system."""
        if find not in self._once:
            self._once[find] = find(self)
        found: SystemResult = self._once[find]
        return found

    def columns(self, index: int) -> range:
        """Return the indices of a link's natural speeds among all natural speeds."""
        connection = self.links[index].connection
        start = self.speeds.first[connection] if connection else 0
        return range(start, start + len(self.steps[index].w_u))

    def carried(self, start: int, end: int, v: Triple) -> Triple:
        """Transform a vector from the frame K of link ``start`` to the frame K of link ``end``."""
        up, down = start, []
        while end != up:
            if end > up:
                down.append(end)
                end = self.links[end].parent
            else:
                v = self.steps[up].R.apply(v)
                up = self.links[up].parent
        for index in reversed(down):
            v = self.steps[index].R.apply_inverse(v)
        return v

    def regrouped(self) -> System:
        """Return this system with base inertial parameters: same equations of motion, different joint reactions."""
        bases = [index for index, known in self.declared_points.items() if known.whole]
        return replace(self, masses=regrouped(self.masses, self.links, self.steps, bases))
