"""Where the meshes of a robot description may lie: inside one folder, its package."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kane.errors import ImportFileError
from kane.files.source_file import TEXT, Source
from kane.importers.xml_reader import quote

PACKAGE = "package://"
# How many folders above the file a package is looked for.
HIGHEST = 8


@dataclass(frozen=True)
class MeshFolder:
    """Where the meshes of a file may lie.

    Attributes:
        file: path of the description; None for a text.
        root: the folder that must hold them; unless given, the package of the file.
    """

    file: Path | None
    root: Path | None

    @staticmethod
    def of(source: Source, root: str | os.PathLike[str] | None) -> MeshFolder:
        """That of a description that was read, and the folder that the user names."""
        file = None if source.name == TEXT else Path(os.path.abspath(source.name))
        return MeshFolder(file, None if root is None else Path(os.path.abspath(root)))

    def resolved(self, name: str) -> str:
        """The path of a mesh by the name that a file gives it.

        Raises:
            ImportFileError: it is looked for outside of the folder, or is not there; the message says where.
        """
        allowed, path = self._place(name)
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(allowed)):
            raise ImportFileError(
                f"the mesh {quote(name)} lies outside of {allowed}; give root= a folder that holds it"
            )
        if not real.is_file():
            raise ImportFileError(f"the mesh {quote(name)} is not there: {real}; put it there, or correct the path")
        return str(real)

    def _place(self, name: str) -> tuple[Path, Path]:
        """The folder that must hold a mesh, and its path."""
        if self.file is None and self.root is None:
            raise ImportFileError(f"the mesh {quote(name)} has no folder, for the description is a text; give root=")
        folder = self.file.parent if self.file is not None else self.root
        assert folder is not None
        if name.startswith(PACKAGE):
            package, _, rest = name.removeprefix(PACKAGE).lstrip("/").partition("/")
            found = self._package(folder, package)
            return self.root or found, found / rest
        if "://" in name:
            raise ImportFileError(f"the mesh {quote(name)} is no path of a file; give one, or package://...")
        return self.root or self._own_package(folder), folder / name

    def _package(self, folder: Path, package: str) -> Path:
        """The folder of a package: one above the file, or beside one of those."""
        for above in [folder, *folder.parents][:HIGHEST]:
            for place in (above, above / package):
                if place.name == package and package not in ("", ".", "..") and place.is_dir():
                    return place
        raise ImportFileError(
            f"the package {quote(package)} of a mesh is in no folder above {folder}; give root= its folder"
        )

    def _own_package(self, folder: Path) -> Path:
        """The nearest folder above a file that is a package; the file's own where there is none."""
        above = [folder, *folder.parents][:HIGHEST]
        return next((place for place in above if (place / "package.xml").is_file()), folder)
