"""What links of a URDF file look like: primitives, and meshes inside the package of the file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kane.errors import ImportFileError, ModelError
from kane.importers.pose import FramePose
from kane.importers.urdf.collision import shape_of
from kane.importers.urdf.description import read_numbers, read_pose, single
from kane.importers.urdf.tree import Lump
from kane.importers.xml_reader import Element, quote
from kane.model.body import Body
from kane.model.model import Model
from kane.model.shapes import Mesh, Shape

PACKAGE = "package://"
# How many folders above the file a package is looked for.
HIGHEST = 8


@dataclass(frozen=True)
class MeshFolder:
    """Where the meshes of a file may lie.

    Attributes:
        file: path of the URDF; None for a text.
        root: the folder that must hold them; unless given, the package of the file.
    """

    file: Path | None
    root: Path | None

    def resolved(self, name: str) -> str:
        """The path of a mesh by the name that a file gives it.

        Raises:
            ImportFileError: it is looked for outside of the folder, or is not there; the message says where.
        """
        allowed, path = self._place(name)
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(allowed)):
            raise ImportFileError(f"the mesh {quote(name)} lies outside of {allowed}")
        if not real.is_file():
            raise ImportFileError(f"the mesh {quote(name)} is not there: {real}")
        return str(real)

    def _place(self, name: str) -> tuple[Path, Path]:
        """The folder that must hold a mesh, and its path."""
        if self.file is None and self.root is None:
            raise ImportFileError(f"the mesh {quote(name)} has no folder, for the URDF is a text; give root=")
        folder = self.file.parent if self.file is not None else self.root
        assert folder is not None
        if name.startswith(PACKAGE):
            package, _, rest = name.removeprefix(PACKAGE).lstrip("/").partition("/")
            found = self._package(folder, package)
            return self.root or found, found / rest
        if "://" in name:
            raise ImportFileError(f"the mesh {quote(name)} is no file")
        return self.root or self._own_package(folder), folder / name

    def _package(self, folder: Path, package: str) -> Path:
        """The folder of a package: one above the file, or beside one of those."""
        for above in [folder, *folder.parents][:HIGHEST]:
            for place in (above, above / package):
                if place.name == package and package not in ("", ".", "..") and place.is_dir():
                    return place
        raise ImportFileError(f"the package {quote(package)} of a mesh is in no folder above {folder}")

    def _own_package(self, folder: Path) -> Path:
        """The nearest folder above a file that is a package; the file's own where there is none."""
        above = [folder, *folder.parents][:HIGHEST]
        return next((place for place in above if (place / "package.xml").is_file()), folder)


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
