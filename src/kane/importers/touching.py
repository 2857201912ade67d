"""What of limits and collision geometry in a file becomes stops and contacts: what users ask importers for."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from kane.errors import ImportFileError, ModelError, shown
from kane.expression.arguments import number, require, whole
from kane.importers.missing import Missing
from kane.model.contacts import Coulomb, Newton, Poisson
from kane.model.model import Model
from kane.model.shapes import Mesh, Plane, Shape

# How to have limits, or to do without them knowingly.
STOPS = "stops=True makes stops of them, stops=False leaves them out"


@dataclass(frozen=True)
class Wanted:
    """What of limits and collision geometry a user asks for.

    Attributes:
        stops: whether limits become stops; None where nobody says so, and limits that are left out are missing.
        floor: height of a level floor on which collision geometry comes into contact [m]; None for none.
        friction: of the floor.
        restitution: of the floor.
        hulls: how many corners the hulls of collision meshes have at most; None where meshes touch nothing.

    Raises:
        ModelError: a wish that is of the wrong kind, or one of a floor where there is none.
    """

    stops: bool | None = None
    floor: float | None = None
    friction: Coulomb | None = None
    restitution: float | Poisson | Newton = 0.0
    hulls: int | None = None

    def __post_init__(self) -> None:
        if self.hulls is not None:
            whole(self.hulls, "hulls=", 4)
        require(self.stops, bool | None, "stops= says whether limits become stops, True or False")
        if self.floor is not None:
            object.__setattr__(self, "floor", number(self.floor, "floor=", "metres"))
            return
        smooth = isinstance(self.restitution, Real) and self.restitution == 0.0
        if self.friction is not None or self.hulls is not None or not smooth:
            raise ModelError(
                f"friction=, restitution= and hulls= are of a floor, and floor= is {shown(self.floor)}; give it"
            )

    def plane(self, model: Model) -> Plane:
        """The floor."""
        assert self.floor is not None
        return Plane(model.ground.point((0.0, 0.0, self.floor)), model.ground.z)


def touching_note(who: str, shape: Shape | None, said: str) -> str:
    """Return the note on a collision mesh of a body or link, which is missing where no hull touches for it."""
    note = f"{who}: {said}"
    return Missing("contacts of meshes with the floor (hulls=20 adds them)", who, note) if shape is None else note


def require_touching(model: Model, source: str, shapes: str) -> None:
    """Raise ImportFileError if nothing of a file can touch the floor; ``shapes`` names shapes that can."""
    if not any(c.gap is not None and c.surfaces for c in model.candidates):
        raise ImportFileError(
            f"{source}: floor= is given, but nothing of the model can touch a floor; add {shapes}, let meshes touch by "
            "hulls=20, or leave floor= out"
        )


def hull_of(mesh: Mesh | None, corners: int | None) -> tuple[Shape | None, str]:
    """By what a collision mesh touches, a hull of so many corners at most, and what to say of it; None touches nothing.

    Raises:
        ModelError, ImportFileError: a mesh that has no hull, or cannot be read.
    """
    if mesh is None:
        return None, "a collision mesh is left out, it touches nothing; hulls=20 lets a hull of up to 20 corners touch"
    found = mesh.hull(corners)
    out, within = mesh.departure(found)
    return found, (
        f"its collision mesh touches by a hull of {len(found.hull.corners)} corners; the mesh reaches {out:.2g} m "
        f"out of that, and is up to {within:.2g} m inside"
    )
