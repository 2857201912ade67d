"""What every route starts from: links, speeds, frames and mass parameters of a model, frozen."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kane.expression.arena import Arena
from kane.formulation.base_parameters import MassParameters, mass_parameters, regrouped
from kane.formulation.frames import Step, computational_frames
from kane.formulation.links import Link, Place, link_tree
from kane.formulation.spatial import Vector
from kane.formulation.speeds import Speeds, natural_speeds
from kane.model.model import Model


@dataclass(frozen=True)
class System:
    """A model made ready for the recursions.

    Attributes:
        links, steps, masses: by link, parents first, 0 the ground.
        places: place of each body in its link, by body index.
        gravity: acceleration of free fall in N [m/s^2].
    """

    arena: Arena
    links: list[Link]
    places: dict[int, Place]
    speeds: Speeds
    steps: list[Step]
    masses: list[MassParameters]
    gravity: Vector

    def columns(self, index: int) -> range:
        """Positions of a link's natural speeds among all."""
        connection = self.links[index].connection
        start = self.speeds.first[connection] if connection else 0
        return range(start, start + len(self.steps[index].w_u))

    def regrouped(self) -> System:
        """The same system with base inertial parameters: same equations of motion, other joint reactions."""
        return replace(self, masses=regrouped(self.masses, self.links, self.steps))


def system_of(model: Model) -> System:
    """Read a model.

    Raises:
        ModelError: the model is not a tree rooted in the ground, or a joint moves nothing.
    """
    tree = link_tree(model)
    connections = [link.connection for link in tree.links if link.connection is not None]
    speeds = natural_speeds(model, connections)
    steps = computational_frames(tree.links, speeds)
    masses = mass_parameters(tree.links, steps)
    return System(model.arena, tree.links, tree.places, speeds, steps, masses, model.gravity)
