"""Shapes of URDF links: visuals for pictures; contacts and stops from collision geometry and limits, on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kane.errors import ImportFileError, ModelError
from kane.importers.mesh_folder import MeshFolder
from kane.importers.missing import Missing
from kane.importers.pose import FramePose
from kane.importers.touching import (
    CollisionPiece,
    Wanted,
    add_floor_contacts,
    add_pair_contacts,
    hull_of,
    touching_note,
)
from kane.importers.urdf.tree import Lump
from kane.importers.urdf.urdf_description import read_numbers, read_pose, single
from kane.importers.xml_reader import Element, quote
from kane.model.body import Body, Point
from kane.model.model import Model
from kane.model.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere

CYLINDER_AXIS = (0.0, 0.0, 1.0)


def add_stops(model: Model, lumps: list[Lump]) -> None:
    """Add stops at the limits of all revolute and prismatic joints with <limit>."""
    connections = {c.name: c for c in model.connections}
    for part in lumps:
        joint = part.joint
        if joint is None or joint.limit is None or joint.kind not in ("revolute", "prismatic"):
            continue
        lower, upper = (read_numbers(joint.limit, word, 1, default=(0.0,))[0] for word in ("lower", "upper"))
        if lower < upper:
            model.stop(connections[joint.name], lower=lower, upper=upper)
        else:
            note = f"joint {quote(joint.name)}: its limits {lower:g} and {upper:g} leave no range: no stops"
            model.notes.append(Missing("limits of joints without a range", quote(joint.name), note))


def add_collision_contacts(
    model: Model, bodies: list[Body], lumps: list[Lump], wanted: Wanted, folder: MeshFolder
) -> None:
    """Add contacts of collision primitives, and of the hulls of meshes if requested: with a level floor, and together.

    Raises:
        ImportFileError: a mesh does not exist, or cannot be read.
    """
    pieces: list[CollisionPiece] = []
    for place, (body, part) in enumerate(zip(bodies, lumps, strict=True)):
        for link, pose in part.links if body is not model.ground or wanted.contacts is not None else ():
            for k, element in enumerate(link.collisions, start=1):
                shape = shape_of(element, body, pose)
                if shape is None:
                    mesh = mesh_of(element, body, pose, folder) if wanted.hulls is not None else None
                    try:
                        shape, message = hull_of(mesh, wanted.hulls)
                    except ModelError as error:
                        raise element.fault(f"link {quote(link.name)}: {error}") from None
                    model.notes.append(touching_note(f"link {quote(link.name)}", shape, message))
                if shape is None:
                    continue
                name = link.name if len(link.collisions) == 1 else f"{link.name} {k}"
                pieces.append(CollisionPiece(name, shape, place))
    if wanted.floor is not None:
        add_floor_contacts(model, [piece for piece in pieces if bodies[piece.place] is not model.ground], wanted)
    if wanted.contacts is not None:

        def may_touch(a: CollisionPiece, b: CollisionPiece) -> bool:
            return a.place not in (b.place, lumps[b.place].above) and b.place != lumps[a.place].above

        add_pair_contacts(model, pieces, may_touch, wanted)


def shape_of(collision: Element, body: Body, link: FramePose) -> Shape | None:
    """Return the primitive of a <collision> or <visual>; None for a mesh.

    Args:
        collision: element <collision> or <visual>.
        body: body of the shape.
        link: pose of the link in the body.

    Raises:
        ImportFileError: the element has no shape, or several.
    """
    geometry = single(collision, "geometry")
    found = [e for e in geometry.children if e.tag in (*COLLISION_SHAPES, "mesh")] if geometry is not None else []
    if len(found) != 1:
        raise collision.fault(
            f"<{collision.tag}> needs a <geometry> with one of {', '.join(COLLISION_SHAPES)} or mesh in it"
        )
    if found[0].tag == "mesh":
        return None
    return COLLISION_SHAPES[found[0].tag](found[0], body, link.then(read_pose(collision)))


def mesh_of(element: Element, body: Body, link: FramePose, folder: MeshFolder) -> Mesh:
    """Return the mesh of a <collision> or <visual>; ``link`` is the pose of the link in the body.

    Raises:
        ImportFileError: the mesh is outside of ``folder``, or does not exist.
    """
    geometry = single(element, "geometry")
    assert geometry is not None
    mesh = next(e for e in geometry.children if e.tag == "mesh")
    path = folder.resolved(mesh.attributes.get("filename", ""))
    scale = read_numbers(mesh, "scale", 3, default=(1.0, 1.0, 1.0))
    pose = link.then(read_pose(element))
    return Mesh(path, scale, body.point(pose.position), pose.rotation)


def _box(element: Element, body: Body, pose: FramePose) -> Shape:
    x, y, z = read_numbers(element, "size", 3)
    return Box(x, y, z, body.point(pose.position), pose.rotation)


def _sphere(element: Element, body: Body, pose: FramePose) -> Shape:
    return Sphere(body.point(pose.position), *read_numbers(element, "radius", 1))


def _cylinder(element: Element, body: Body, pose: FramePose) -> Shape:
    radius, length = _sizes(element)
    return Cylinder(body.point(pose.position), body.direction(pose.rotation.apply(CYLINDER_AXIS)), radius, length)


def _capsule(element: Element, body: Body, pose: FramePose) -> Shape:
    radius, length = _sizes(element)
    return Capsule(_along(body, pose, -0.5 * length), _along(body, pose, 0.5 * length), radius)


def _along(body: Body, pose: FramePose, z: float) -> Point:
    return body.point(pose.then(FramePose(pose.rotation.identity(), (0.0, 0.0, z))).position)


def _sizes(element: Element) -> tuple[float, float]:
    return read_numbers(element, "radius", 1)[0], read_numbers(element, "length", 1)[0]


COLLISION_SHAPES: dict[str, Callable[[Element, Body, FramePose], Any]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "capsule": _capsule,
}


def add_visuals(model: Model, bodies: list[Body], lumps: list[Lump], folder: MeshFolder) -> None:
    """Add the shapes of all <visual> elements; shapes that cannot be shown are noted and do not affect the motion."""
    for body, part in zip(bodies, lumps, strict=True):
        for link, pose in part.links:
            for element in link.visuals:
                try:
                    if single(element, "geometry") is not None:
                        model.shapes.append(_visual(element, body, pose, folder))
                except (ImportFileError, ModelError) as error:
                    model.notes.append(f"link {quote(link.name)}: {error}; it is not shown")


def _visual(visual: Element, body: Body, link: FramePose, folder: MeshFolder) -> Shape:
    shape = shape_of(visual, body, link)
    return mesh_of(visual, body, link, folder) if shape is None else shape
