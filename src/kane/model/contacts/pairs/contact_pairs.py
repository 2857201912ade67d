"""Pairs of features and surfaces that have a contact rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kane.errors import ModelError, shown
from kane.model.body import Point
from kane.model.contacts.pairs import on_capsule, on_height_field, on_plane, on_round
from kane.model.contacts.pairs.boxes import box_on_box
from kane.model.contacts.pairs.capsule_on_polyhedron import capsule_on_solid
from kane.model.contacts.pairs.ellipsoids import disk_on_cylinder, ellipsoid_on_round
from kane.model.contacts.pairs.on_polyhedron import solid_on_solid
from kane.model.contacts.pairs.polyhedra import polyhedron_on_plane
from kane.model.contacts.touch import Touch
from kane.model.shapes import (
    Box,
    Capsule,
    Cylinder,
    Disk,
    Ellipsoid,
    HeightField,
    Mesh,
    Plane,
    Polyhedron,
    Shape,
    Sphere,
)

# Contact rules by classes of feature and surface; a rule returns the nearest points.
CONTACT_RULES: dict[tuple[type, type], Callable[[Any, Any], Sequence[Touch]]] = {
    (Point, Plane): on_plane.balls_on_plane,
    (Sphere, Plane): on_plane.balls_on_plane,
    (Disk, Plane): on_plane.disk_on_plane,
    (Capsule, Plane): on_plane.balls_on_plane,
    (Ellipsoid, Plane): on_plane.ellipsoid_on_plane,
    (Box, Plane): on_plane.balls_on_plane,
    (Cylinder, Plane): on_plane.cylinder_on_plane,
    (Polyhedron, Plane): polyhedron_on_plane,
    (Point, Sphere): on_round.ball_on_round,
    (Sphere, Sphere): on_round.ball_on_round,
    (Disk, Sphere): on_round.disk_on_sphere,
    (Capsule, Sphere): on_round.capsule_on_sphere,
    (Ellipsoid, Sphere): ellipsoid_on_round,
    (Box, Sphere): on_round.solid_on_sphere,
    (Polyhedron, Sphere): on_round.solid_on_sphere,
    (Point, Cylinder): on_round.ball_on_round,
    (Sphere, Cylinder): on_round.ball_on_round,
    (Disk, Cylinder): disk_on_cylinder,
    (Capsule, Cylinder): on_capsule.capsule_on_cylinder,
    (Box, Cylinder): on_round.box_on_cylinder,
    (Ellipsoid, Cylinder): ellipsoid_on_round,
    (Point, Capsule): on_capsule.ball_on_capsule,
    (Sphere, Capsule): on_capsule.ball_on_capsule,
    (Capsule, Capsule): on_capsule.capsule_on_capsule,
    (Sphere, Box): on_round.sphere_on_solid,
    (Sphere, Polyhedron): on_round.sphere_on_solid,
    (Capsule, Box): capsule_on_solid,
    (Capsule, Polyhedron): capsule_on_solid,
    (Box, Box): box_on_box,
    (Polyhedron, Box): solid_on_solid,
    (Box, Polyhedron): solid_on_solid,
    (Polyhedron, Polyhedron): solid_on_solid,
    (Point, HeightField): on_height_field.balls_on_height_field,
    (Sphere, HeightField): on_height_field.balls_on_height_field,
    (Disk, HeightField): on_height_field.disk_on_height_field,
    (Cylinder, HeightField): on_height_field.cylinder_on_height_field,
    (Capsule, HeightField): on_height_field.balls_on_height_field,
    (Box, HeightField): on_height_field.balls_on_height_field,
    (Polyhedron, HeightField): on_height_field.balls_on_height_field,
}


def has_rule(feature: Shape, surface: Shape) -> bool:
    """Check whether there is a contact rule for a feature and a surface; cylinders need a length or must not have one.

    Raises:
        ModelError: a mesh is not convex.
    """
    feature, surface = _solid(feature), _solid(surface)
    endless = isinstance(feature, Cylinder) and feature.length is None
    ended = isinstance(surface, Cylinder) and surface.length is not None
    return (type(feature), type(surface)) in CONTACT_RULES and not endless and not ended


def touches(feature: Point | Shape, surface: Shape) -> Sequence[Touch]:
    """Return the nearest points of a feature and a surface; several for a feature with corners or ends.

    Raises:
        ModelError: there is no rule for the pair, or a mesh is not convex.
    """
    feature, surface = _solid(feature), _solid(surface)
    rule = CONTACT_RULES.get((type(feature), type(surface)))
    if rule is None:
        raise ModelError(
            f"there is no contact of {_called(feature)} with {_called(surface)}; {_known(feature, surface)}; "
            f"{_instead(feature, surface)}"
        )
    if isinstance(surface, Cylinder) and surface.length is not None:
        raise ModelError(
            f"the Cylinder of body {surface.origin.body.name!r} has a length, but as a surface it must be infinite; "
            "omit its length, and declare contacts of its ends separately, such as points or spheres"
        )
    if isinstance(feature, Cylinder) and feature.length is None:
        raise ModelError(f"the Cylinder of body {feature.origin.body.name!r} has no ends to touch with; give length=")
    return rule(feature, surface)


def _solid(shape: Any) -> Any:
    """Return a mesh as a polyhedron, if it is convex; other shapes unchanged."""
    return shape.polyhedron if isinstance(shape, Mesh) else shape


def _called(what: Any) -> str:
    return f"a {type(what).__name__}" if isinstance(what, Point | Shape) else shown(what)


def _instead(feature: Any, surface: Any) -> str:
    """Return the end of an error message that suggests another contact."""
    simpler = "give a simpler shape in place of one of them, such as a kane.Sphere, kane.Capsule or corners as points"
    if (type(surface), type(feature)) in CONTACT_RULES:
        return f"exchange them: contact(the {type(surface).__name__}, the {type(feature).__name__}); or {simpler}"
    if not isinstance(feature, Point | Shape) or not isinstance(surface, Point | Shape):
        return "give points and shapes, such as body.point() and kane.Plane(m.ground.point(), m.ground.z)"
    return simpler


def _known(feature: Any, surface: Any) -> str:
    """Return the part of an error message that lists the surfaces for a feature and the features for a surface."""
    surfaces = " or ".join(b.__name__ for a, b in CONTACT_RULES if a is type(feature)) or "nothing"
    features = " or ".join(a.__name__ for a, b in CONTACT_RULES if b is type(surface)) or "nothing"
    return (
        f"as a feature {_called(feature)} touches {surfaces}, as a surface {_called(surface)} is touched by {features}"
    )
