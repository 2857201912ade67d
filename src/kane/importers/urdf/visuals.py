"""What links of a URDF file look like: primitives, and meshes inside the package of the file."""

from __future__ import annotations

from kane.errors import ImportFileError, ModelError
from kane.importers.mesh_folder import MeshFolder
from kane.importers.pose import FramePose
from kane.importers.urdf.collision import shape_of
from kane.importers.urdf.description import read_numbers, read_pose, single
from kane.importers.urdf.tree import Lump
from kane.importers.xml_reader import Element, quote
from kane.model.body import Body
from kane.model.model import Model
from kane.model.shapes import Mesh, Shape


def add_visuals(model: Model, bodies: list[Body], lumps: list[Lump], folder: MeshFolder) -> None:
    """Shapes of all <visual> elements; what cannot be shown is noted, for it has no bearing on the motion."""
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
    if shape is not None:
        return shape
    geometry = single(visual, "geometry")
    assert geometry is not None
    mesh = next(e for e in geometry.children if e.tag == "mesh")
    path = folder.resolved(mesh.attributes.get("filename", ""))
    scale = read_numbers(mesh, "scale", 3, default=(1.0, 1.0, 1.0))
    pose = link.then(read_pose(visual))
    return Mesh(path, scale, body.point(pose.position), pose.rotation)
