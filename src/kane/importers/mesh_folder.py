"""Folder that must contain the meshes of a robot description: by default, its package."""

from __future__ import annotations

import os
from pathlib import Path

from kane.deferred import dataclass
from kane.errors import ImportFileError
from kane.files.source_file import TEXT, Source
from kane.importers.xml_reader import quote

PACKAGE = "package://"
# Number of folders, from the file's own upwards, in which a package is searched.
HIGHEST = 8


@dataclass(frozen=True)
class MeshFolder:
    """Folder that must contain the meshes of a file.

    Attributes:
        file: path of the description; None for a text.
        root: folder given by the user; None selects the package of the file.
    """

    file: Path | None
    root: Path | None

    @staticmethod
    def of(source: Source, root: str | os.PathLike[str] | None) -> MeshFolder:
        """Return the mesh folder of a description and of the folder ``root`` that the user gave, if any."""
        file = None if source.name == TEXT else Path(os.path.abspath(source.name))
        return MeshFolder(file, None if root is None else Path(os.path.abspath(root)))

    def resolved(self, name: str) -> str:
        """Return the real path of a mesh from its name in the description.

        Raises:
            ImportFileError: the mesh is outside of the folder or does not exist; the message names the path.
        """
        allowed, path = self._place(name)
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(allowed)):
            raise ImportFileError(
                f"the mesh {quote(name)} lies outside of {allowed}; set root= to a folder that contains it"
            )
        if not real.is_file():
            raise ImportFileError(f"the mesh {quote(name)} does not exist: {real}; put it there, or correct the path")
        return str(real)

    def _place(self, name: str) -> tuple[Path, Path]:
        """Return the folder that must contain a mesh, and the path of the mesh."""
        if self.file is None and self.root is None:
            raise ImportFileError(f"the mesh {quote(name)} has no folder, because the description is a text; set root=")
        folder = self.file.parent if self.file is not None else self.root
        assert folder is not None
        if name.startswith(PACKAGE):
            package, _, rest = name.removeprefix(PACKAGE).lstrip("/").partition("/")
            found = self._package(folder, package)
            return self.root or found, found / rest
        if "://" in name:
            raise ImportFileError(f"the mesh {quote(name)} is not a file path; give a path, or package://...")
        return self.root or self._own_package(folder), folder / name

    def _package(self, folder: Path, package: str) -> Path:
        """Return the folder of a package: a folder above the file, or a subfolder of one."""
        for above in [folder, *folder.parents][:HIGHEST]:
            for place in (above, above / package):
                if place.name == package and package not in ("", ".", "..") and place.is_dir():
                    return place
        raise ImportFileError(
            f"the package {quote(package)} of a mesh is in no folder above {folder}; set root= to its folder"
        )

    def _own_package(self, folder: Path) -> Path:
        """Return the nearest folder above the file that contains package.xml, else the file's own folder."""
        above = [folder, *folder.parents][:HIGHEST]
        return next((place for place in above if (place / "package.xml").is_file()), folder)
