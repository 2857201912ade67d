"""Resolve <include> of MJCF: kane reads the files, from inside one folder, so that MuJoCo opens none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from kane.files.source_file import MAXIMUM_BYTES, Source, read_source
from kane.importers.xml_reader import MAXIMUM_DEPTH, MAXIMUM_ELEMENTS, Element, quote, read_xml

MOST_FILES = 100
MJCF_SUFFIXES = (".xml", ".mjcf")


def with_includes(top: Element, source: Source, root: str | os.PathLike[str] | None) -> Element:
    """Return the elements with every <include> replaced by the children of the included file's outermost element.

    As in MuJoCo 4, a path is relative to the folder of the outermost file or, if no file exists there, to the folder of
    the including file. A file may be included only once. All files must be inside ``root`` after symbolic links are
    resolved; by default, this is the folder of the outermost file. Limits apply to the total of all files.

    Raises:
        ImportFileError: an included file is missing, outside of ``root``, hostile, included twice, or too large.
    """
    folder = Path(source.name).parent if source.name != "<text>" else None if root is None else Path(root)
    return _Includes(source, folder, root).expanded(top, 1)


def beside(element: Element) -> Path:
    """Return the folder of the file that contains an element."""
    return Path(element.place.rsplit(":", 2)[0]).parent


class _Includes:
    """Expansion of <include> elements; counts the included files and their sizes."""

    def __init__(self, source: Source, folder: Path | None, root: str | os.PathLike[str] | None) -> None:
        self.folder = folder
        self.root = folder if root is None else root
        self.seen = {os.path.realpath(source.name)}
        self.bytes = len(source.data)
        self.elements = 0

    def expanded(self, element: Element, depth: int) -> Element:
        self.elements += 1
        if self.elements > MAXIMUM_ELEMENTS or depth > MAXIMUM_DEPTH:
            raise element.fault(
                f"with the included files there are more than {MAXIMUM_ELEMENTS} elements, or elements nested deeper "
                f"than {MAXIMUM_DEPTH}; check that these are robot descriptions"
            )
        children: list[Element] = []
        for child in element.children:
            if child.tag == "include":
                children += self.expanded(self.included(child), depth).children
            else:
                children.append(self.expanded(child, depth + 1))
        return replace(element, children=children)

    def included(self, element: Element) -> Element:
        """Return the outermost element of the file that an <include> names."""
        file = element.attributes.get("file", "")
        if element.children or Path(file).suffix.lower() not in MJCF_SUFFIXES:
            raise element.fault(
                f"<include> must name a file that ends with {' or '.join(MJCF_SUFFIXES)} and contain no elements; it "
                f"names {quote(file)}"
            )
        if self.folder is None:
            raise element.fault(
                f"a text has no folder from which to include {quote(file)}; set root= to the folder of the file"
            )
        name = file.replace("\\", "/")
        path, other = self.folder / name, beside(element) / name
        if other.is_file() and not path.is_file():
            path = other
        real = os.path.realpath(path)
        if real in self.seen:
            raise element.fault(f"{quote(file)} is included already; include a file once")
        self.seen.add(real)
        found = read_source(path, self.root)
        self.bytes += len(found.data)
        if len(self.seen) > MOST_FILES or self.bytes > MAXIMUM_BYTES:
            raise element.fault(
                f"more than {MOST_FILES} files or {MAXIMUM_BYTES // 1024**2} MiB are included; include fewer"
            )
        return read_xml(found)
