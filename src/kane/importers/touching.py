"""Options of importers that turn limits into stops and collision geometry into contacts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

from kane.errors import ImportFileError, ModelError, shown
from kane.expression.number_arguments import number, require, whole
from kane.importers.missing import Missing
from kane.model.contacts import Coulomb
from kane.model.model import Model
from kane.model.shapes import Mesh, Plane, Shape
from kane.progress import ProgressBar, stage

if TYPE_CHECKING:
    from kane.model.contacts.restitution import Restitution

# Text of messages on limits that are left out.
STOPS = "stops=True makes stops of them, stops=False leaves them out"
# The value of ``contacts=`` for contacts of all pairs.
ALL_CONTACTS = "all"


@dataclass(frozen=True)
class Wanted:
    """Options of an importer for limits and collision geometry.

    Attributes:
        stops: whether limits become stops; None leaves them out with a warning, False without.
        floor: height of a level floor that collision geometry can touch [m]; None for no floor.
        friction: friction of all contacts.
        restitution: restitution of all contacts.
        hulls: largest number of corners of the hulls of collision meshes; None if meshes touch nothing.
        contacts: ALL_CONTACTS for contacts between bodies; None for none.

    Raises:
        ModelError: an option has the wrong type, or options of contacts are given without ``floor`` and ``contacts``.
    """

    stops: bool | None = None
    floor: float | None = None
    friction: Coulomb | None = None
    restitution: float | Restitution = 0.0
    hulls: int | None = None
    contacts: str | None = None

    def __post_init__(self) -> None:
        if self.hulls is not None:
            whole(self.hulls, "hulls=", 4)
        require(self.stops, bool | None, "stops= tells whether limits become stops, True or False")
        if self.contacts is not None and not (isinstance(self.contacts, str) and self.contacts == ALL_CONTACTS):
            raise ModelError(
                f'contacts= is {shown(self.contacts)}; give "all" for contacts of all pairs of bodies that are no '
                "neighbours, or None"
            )
        if self.floor is not None:
            object.__setattr__(self, "floor", number(self.floor, "floor=", "metres"))
        if self.touching:
            return
        smooth = isinstance(self.restitution, Real) and self.restitution == 0.0
        if self.friction is not None or self.hulls is not None or not smooth:
            raise ModelError(
                "friction=, restitution= and hulls= belong to contacts, but there are none; give floor=, the height of "
                'a floor, or contacts="all"'
            )

    @property
    def touching(self) -> bool:
        """Whether collision geometry can touch anything."""
        return self.floor is not None or self.contacts is not None

    def plane(self, model: Model) -> Plane:
        """Return the floor as a plane fixed to the ground."""
        assert self.floor is not None
        return Plane(model.ground.point((0.0, 0.0, self.floor)), model.ground.z)

    def contact(self, model: Model, feature: Shape, surface: Shape, name: str) -> None:
        """Add a contact with the wanted properties to a model."""
        model.contact(feature, surface, restitution=self.restitution, friction=self.friction, name=name)


class CollisionPiece(NamedTuple):
    """A piece of collision geometry.

    Attributes:
        name: name of its contacts.
        shape: its shape, on a body of the model.
        place: index in the file: of its geom in MJCF, of its body in URDF.
    """

    name: str
    shape: Shape
    place: int


def add_floor_contacts(model: Model, pieces: Sequence[CollisionPiece], wanted: Wanted) -> None:
    """Add the contacts of pieces with the floor."""
    floor = wanted.plane(model)
    for piece in pieces:
        wanted.contact(model, piece.shape, floor, piece.name)


def add_pair_contacts(
    model: Model,
    pieces: Sequence[CollisionPiece],
    may_touch: Callable[[CollisionPiece, CollisionPiece], bool],
    wanted: Wanted,
) -> None:
    """Add the contacts of all pairs of pieces that may touch, and note the pairs for which kane has no rule."""
    with ProgressBar(model.name):
        for pair in combinations(pieces, 2):
            if may_touch(*pair):
                with stage(f"contacts of {pair[0].name} and {pair[1].name}"):
                    _add_pair(model, pair, wanted)


def _add_pair(model: Model, pair: tuple[CollisionPiece, CollisionPiece], wanted: Wanted) -> None:
    from kane.model.contacts.pairs.contact_pairs import has_rule

    for feature, surface in (pair, pair[::-1]):
        if has_rule(feature.shape, surface.shape):
            wanted.contact(model, feature.shape, surface.shape, f"{feature.name} on {surface.name}")
            return
    names, kinds = (
        " and ".join(words) for words in zip(*((x.name, type(x.shape).__name__) for x in pair), strict=True)
    )
    note = f"{names} pass through each other: kane has no contact rule for {kinds}; give spheres, capsules or boxes"
    model.notes.append(Missing("contacts of pairs", names, note))


def touching_note(who: str, shape: Shape | None, message: str) -> str:
    """Return the note on a collision mesh of a body or link; it counts as missing if no hull replaces it."""
    note = f"{who}: {message}"
    return Missing("contacts of meshes (hulls=20 adds them)", who, note) if shape is None else note


def require_touching(model: Model, source: str, shapes: str, more: str = "") -> None:
    """Raise ImportFileError if a file has no contacts; ``shapes`` names shapes that can touch, ``more`` other cures."""
    if not any(c.gap is not None and c.surfaces for c in model.intermittents):
        raise ImportFileError(
            f"{source}: floor= or contacts= is given, but nothing of the model can touch anything; add {shapes}, let "
            f"meshes touch by hulls=20, {more}or leave floor= and contacts= out"
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
