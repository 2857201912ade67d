"""Import the visuals of URDF links: primitives, and meshes inside the package of the file."""

from __future__ import annotations

from kane.errors import ImportFileError, ModelError
from kane.importers.mesh_folder import MeshFolder
from kane.importers.pose import FramePose
from kane.importers.urdf.collision import mesh_of, shape_of
from kane.importers.urdf.tree import Lump
from kane.importers.urdf.urdf_description import single
from kane.importers.xml_reader import Element, quote
from kane.model.body import Body
from kane.model.model import Model
from kane.model.shapes import Shape


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
