"""Import geoms of an MJCF file, primitives and meshes, as shapes for pictures and as contacts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, count

from kane.errors import ImportFileError, ModelError
from kane.importers.mesh_folder import MeshFolder
from kane.importers.missing import Missing
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
        ImportFileError: a colliding mesh does not exist, or cannot be read.
    """
    welded, above = _welded(file)
    if wanted.contacts is not None and "CONTACT" in file.disabled:
        note = 'the file disables contacts, so contacts="all" adds none'
        model.notes.append(Missing("contacts that the file disables", file.source, note))
        wanted = replace(wanted, contacts=None)
    touching = [
        geom
        for geom in file.geoms
        if (wanted.floor is not None and any(geom.masks) and welded[geom.body])
        or (wanted.contacts is not None and (any(geom.masks) or geom.partners))
    ]
    pieces = {}
    for geom, name in zip(touching, _names(touching, bodies), strict=True):
        shape = _shape_of(model, bodies[geom.body], geom, file, wanted)
        if shape is not None:
            pieces[geom.index] = CollisionPiece(name, shape, geom.body)
    if wanted.floor is not None:
        moving = [geom for geom in touching if welded[geom.body] and any(geom.masks) and geom.index in pieces]
        add_floor_contacts(model, [pieces[geom.index] for geom in moving], wanted)
    if wanted.contacts is None:
        return
    by_name = {pieces[geom.index].name: geom for geom in touching if geom.index in pieces}

    def may_touch(a: CollisionPiece, b: CollisionPiece) -> bool:
        first, second = welded[a.place], welded[b.place]
        neighbours = first and second and (above[first] == second or above[second] == first)
        excluded = (min(a.place, b.place), max(a.place, b.place)) in file.exclusions
        filtered = excluded or (neighbours and "FILTERPARENT" not in file.disabled)
        listed = by_name[b.name].index in by_name[a.name].partners
        return first != second and (listed or (not filtered and by_name[a.name].touches(by_name[b.name])))

    add_pair_contacts(model, list(pieces.values()), may_touch, wanted)


def _welded(file: MjcfDescription) -> tuple[list[int], list[int]]:
    """Return the body with joints to which each body is fixed, or 0 for the world; then the same for the parents."""
    welded, above = [0], [0]
    for index, entry in enumerate(file.bodies[1:], start=1):
        welded.append(index if entry.joints else welded[entry.parent])
        above.append(welded[entry.parent] if entry.joints else above[entry.parent])
    return welded, above


def _shape_of(model: Model, body: Body, geom: GeomEntry, file: MjcfDescription, wanted: Wanted) -> Shape | None:
    """Return the shape by which a geom touches, or None with a note."""
    if geom.kind in GEOM_SHAPES:
        shape = GEOM_SHAPES[geom.kind](body, geom)
        if not isinstance(shape, Plane) or body is model.ground:
            return shape
        note = f"body {quote(body.name)}: a moving plane touches nothing"
        model.notes.append(Missing("contacts of moving planes", f"body {quote(body.name)}", note))
        return None
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
