"""Options of importers that turn limits into stops and collision geometry into contacts with a floor."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from kane.errors import ImportFileError, ModelError, shown
from kane.expression.number_arguments import number, require, whole
from kane.importers.missing import Missing
from kane.model.contacts import Coulomb, Newton, Poisson
from kane.model.model import Model
from kane.model.shapes import Mesh, Plane, Shape

# Text of messages on limits that are left out.
STOPS = "stops=True makes stops of them, stops=False leaves them out"


@dataclass(frozen=True)
class Wanted:
    """Options of an importer for limits and collision geometry.

    Attributes:
        stops: whether limits become stops; None leaves them out with a warning, False without.
        floor: height of a level floor that collision geometry can touch [m]; None for no floor.
        friction: friction of the floor.
        restitution: restitution of the floor.
        hulls: largest number of corners of the hulls of collision meshes; None if meshes touch nothing.

    Raises:
        ModelError: an option has the wrong type, or options of a floor are given without ``floor``.
    """

    stops: bool | None = None
    floor: float | None = None
    friction: Coulomb | None = None
    restitution: float | Poisson | Newton = 0.0
    hulls: int | None = None

    def __post_init__(self) -> None:
        if self.hulls is not None:
            whole(self.hulls, "hulls=", 4)
        require(self.stops, bool | None, "stops= tells whether limits become stops, True or False")
        if self.floor is not None:
            object.__setattr__(self, "floor", number(self.floor, "floor=", "metres"))
            return
        smooth = isinstance(self.restitution, Real) and self.restitution == 0.0
        if self.friction is not None or self.hulls is not None or not smooth:
            raise ModelError(
                f"friction=, restitution= and hulls= need a floor, but floor= is {shown(self.floor)}; give its height"
            )

    def plane(self, model: Model) -> Plane:
        """Return the floor as a plane fixed to the ground."""
        assert self.floor is not None
        return Plane(model.ground.point((0.0, 0.0, self.floor)), model.ground.z)


def touching_note(who: str, shape: Shape | None, message: str) -> str:
    """Return the note on a collision mesh of a body or link; it counts as missing if no hull replaces it."""
    note = f"{who}: {message}"
    return Missing("contacts of meshes with the floor (hulls=20 adds them)", who, note) if shape is None else note


def require_touching(model: Model, source: str, shapes: str) -> None:
    """Raise ImportFileError if nothing of a file can touch the floor; ``shapes`` names shapes that can."""
    if not any(c.gap is not None and c.surfaces for c in model.intermittents):
        raise ImportFileError(
            f"{source}: floor= is given, but nothing of the model can touch a floor; add {shapes}, let meshes touch by "
            "hulls=20, or leave floor= out"
        )


def hull_of(mesh: Mesh | None, corners: int | None) -> tuple[Shape | None, str]:
    """Return the hull of a collision mesh with at most ``corners`` corners, and a note; no hull if ``mesh`` is None.

    Raises:
        ModelError, ImportFileError: the mesh has no hull, or cannot be read.
    """
    if mesh is None:
        return None, "a collision mesh is left out, it touches nothing; hulls=20 adds a hull of up to 20 corners"
    found = mesh.hull(corners)
    out, within = mesh.departure(found)
    return found, (
        f"its collision mesh touches by a hull of {len(found.hull.corners)} corners; the mesh extends {out:.2g} m "
        f"beyond the hull, and is up to {within:.2g} m inside it"
    )
