"""What every route starts from: links, speeds, frames and mass parameters of a model, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kane.expression.arena import Arena
from kane.expression.node import Expr
from kane.formulation.tree.base_parameters import MassParameters, regrouped
from kane.formulation.tree.declared_velocity import DeclaredVelocity
from kane.formulation.tree.frames import Step
from kane.formulation.tree.links import Link, PlaceInLink
from kane.formulation.tree.speeds import Speeds
from kane.geometry.scalars import Triple


@dataclass(frozen=True)
class System:
    """A model made ready for the recursions.

    Attributes:
        links, steps, masses: by link, parents first, 0 the ground.
        places: place of each body in its link, by body index.
        gravity: acceleration of free fall in N [m/s^2].
        declared_turns, declared_points: angular velocities, and velocities of points, that are declared as speeds, by
            link.
        own: the system in the joints' own speeds, where other speeds are chosen.
        definitions: of the chosen speeds in the joints' own, where there are as many of them.
        completed: names of the constraint equations by which fewer speeds than joints have determine the motion: in
            these speeds they hold by themselves.
        fails_where: expressions that were divided by to solve the speeds for the joints' own: where one vanishes, this
            choice of speeds fails.
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

    def columns(self, index: int) -> range:
        """Positions of a link's natural speeds among all."""
        connection = self.links[index].connection
        start = self.speeds.first[connection] if connection else 0
        return range(start, start + len(self.steps[index].w_u))

    def carried(self, start: int, end: int, v: Triple) -> Triple:
        """A vector from the frame K of one link to that of another, through their common ancestor."""
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
        """The same system with base inertial parameters: same equations of motion, other joint reactions."""
        bases = [index for index, known in self.declared_points.items() if known.whole]
        return replace(self, masses=regrouped(self.masses, self.links, self.steps, bases))
