"""Import geoms of an MJCF file, primitives and meshes, as shapes for pictures and as contacts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, count

from kane.errors import ImportFileError, ModelError
from kane.importers.mesh_folder import MeshFolder
from kane.importers.mjcf.mjcf_description import GeomEntry, MjcfDescription
from kane.importers.touching import (
    CollisionPiece,
    Wanted,
    add_floor_contacts,
    add_pair_contacts,
    hull_of,
    touching_note,
)
from kane.importers.xml_reader import quote
from kane.model.body import Body
from kane.model.model import Model
from kane.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Shape, Sphere

# MuJoCo by default shows geoms of the groups below this number; the other groups are for collisions.
SHOWN_GROUPS = 3


def add_geoms(model: Model, bodies: Sequence[Body], file: MjcfDescription) -> None:
    """Add the shapes of geoms to bodies, given in the order of the file; note meshes that cannot be shown."""
    for geom in [geom for geom in file.geoms if geom.shown]:
        body = bodies[geom.body]
        if geom.kind in GEOM_SHAPES:
            body.shape(GEOM_SHAPES[geom.kind](body, geom))
            continue
        try:
            model.shapes.append(_mesh(body, geom, file.folder))
        except (ImportFileError, ModelError) as error:
            model.notes.append(f"body {quote(body.name)}: {error}; it is not shown")


def add_geom_contacts(model: Model, bodies: Sequence[Body], file: MjcfDescription, wanted: Wanted) -> None:
    """Add contacts of colliding geoms: with a level floor, and with each other by MuJoCo's rules.

    Raises:
        ImportFileError: a colliding mesh does not exist, or cannot be read; or the file disables contacts.
    """
    if wanted.contacts is not None and "CONTACT" in file.disabled:
        raise ImportFileError(
            f'{file.source}: contacts="all" is given, but the file disables contacts by <flag contact="disable"/>; '
            "remove the flag, or leave contacts= out"
        )
    carriers, above = _carriers(file)
    all_touch = wanted.contacts is not None
    on_floor = {x.index for x in file.geoms if wanted.floor is not None and any(x.masks) and carriers[x.body]}
    touching = [x for x in file.geoms if x.index in on_floor or (all_touch and (any(x.masks) or x.partners))]
    pieces = []
    for geom, name in zip(touching, _names(touching, bodies), strict=True):
        shape = _shape_of(model, bodies[geom.body], geom, file, wanted)
        if shape is not None:
            pieces.append(CollisionPiece(name, shape, geom.index))
    if wanted.floor is not None:
        add_floor_contacts(model, [piece for piece in pieces if piece.place in on_floor], wanted)
    if not all_touch:
        return
    geoms, filters = {geom.index: geom for geom in touching}, "FILTERPARENT" not in file.disabled

    def may_touch(a: CollisionPiece, b: CollisionPiece) -> bool:
        one, other = geoms[a.place], geoms[b.place]
        first, second = carriers[one.body], carriers[other.body]
        neighbours = first and second and (above[first] == second or above[second] == first)
        excluded = (min(one.body, other.body), max(one.body, other.body)) in file.exclusions
        by_masks = one.matches(other) and not excluded and not (neighbours and filters)
        return first != second and (other.index in one.partners or by_masks)

    add_pair_contacts(model, pieces, may_touch, wanted)


def _carriers(file: MjcfDescription) -> tuple[list[int], list[int]]:
    """Return two lists by body: the body with joints that carries it, or 0 for the world; its parent's carrier."""
    carriers, above = [0], [0]
    for index, entry in enumerate(file.bodies[1:], start=1):
        carriers.append(index if entry.joints else carriers[entry.parent])
        above.append(carriers[entry.parent] if entry.joints else above[entry.parent])
    return carriers, above


def _shape_of(model: Model, body: Body, geom: GeomEntry, file: MjcfDescription, wanted: Wanted) -> Shape | None:
    """Return the shape by which a geom touches, or None with a note."""
    if geom.kind in GEOM_SHAPES:
        return GEOM_SHAPES[geom.kind](body, geom)
    try:
        mesh = None if wanted.hulls is None else _mesh(body, geom, file.folder)
        hull, message = hull_of(mesh, wanted.hulls)
    except (ImportFileError, ModelError) as error:
        raise ImportFileError(f"{file.source}: body {quote(body.name)}: {error}") from None
    model.notes.append(touching_note(f"body {quote(body.name)}", hull, message))
    return hull


def _names(geoms: Sequence[GeomEntry], bodies: Sequence[Body]) -> list[str]:
    """Return names of contacts: names of geoms, else names of bodies, with a number if a body has several geoms."""
    taken = {geom.name for geom in geoms}
    several, met, names = Counter(geom.body for geom in geoms), Counter[int](), []
    for geom in geoms:
        body = bodies[geom.body].name
        met[geom.body] += 1
        alone = (body,) if several[geom.body] == 1 else ()
        numbered = (f"{body} {k}" for k in count(met[geom.body]))
        names.append(geom.name or next(name for name in chain(alone, numbered) if name not in taken))
        taken.add(names[-1])
    return names


def _mesh(body: Body, geom: GeomEntry, folder: MeshFolder) -> Mesh:
    if not geom.file:
        raise ImportFileError(
            "a mesh that is written in the MJCF file, or that has refpos or refquat, is not read; store it in its own "
            "file, in its final pose, or leave hulls= out"
        )
    return Mesh(folder.resolved(geom.file), geom.size, body.point(geom.position), geom.orientation)


def _along(body: Body, geom: GeomEntry, z: float) -> tuple[float, ...]:
    """Return the position in the body of a point on the geom's z axis [m]."""
    away = geom.orientation.apply((0.0, 0.0, z))
    return tuple(float(c + x) for c, x in zip(geom.position, away, strict=True))


def _capsule(body: Body, geom: GeomEntry) -> Shape:
    radius, half, _ = geom.size
    return Capsule(body.point(_along(body, geom, -half)), body.point(_along(body, geom, half)), radius)


def _cylinder(body: Body, geom: GeomEntry) -> Shape:
    radius, half, _ = geom.size
    axle = body.direction(geom.orientation.apply((0.0, 0.0, 1.0)))
    return Cylinder(body.point(geom.position), axle, radius, 2.0 * half)


def _box(body: Body, geom: GeomEntry) -> Shape:
    x, y, z = (2.0 * half for half in geom.size)
    return Box(x, y, z, body.point(geom.position), geom.orientation)


GEOM_SHAPES: dict[str, Callable[[Body, GeomEntry], Shape]] = {
    "plane": lambda body, g: Plane(body.point(g.position), body.direction(g.orientation.apply((0.0, 0.0, 1.0)))),
    "sphere": lambda body, g: Sphere(body.point(g.position), g.size[0]),
    "capsule": _capsule,
    "ellipsoid": lambda body, g: Ellipsoid(*g.size, body.point(g.position), g.orientation),
    "cylinder": _cylinder,
    "box": _box,
}
