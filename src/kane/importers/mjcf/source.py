"""Make MJCF text safe for MuJoCo's parser, which opens any file that the text names.

Only elements from a list that matter for dynamics are written for MuJoCo, each on its own line. So line numbers in
MuJoCo's messages can be mapped to the original file. Mesh files are passed in memory under new names, and includes are
resolved beforehand.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path, PurePosixPath

from kane.deferred import dataclass
from kane.errors import ImportFileError
from kane.files.source_file import Source, read_source
from kane.importers.left_out import LeftOut
from kane.importers.mjcf.include import beside, with_includes
from kane.importers.touching import Wanted
from kane.importers.xml_reader import Element, quote, read_xml, require_outermost
from kane.model.checks import near

MAKES_CONTACTS = 'contacts="all" makes them touch each other'
# Kinds of parts that may be left out, with their descriptions for messages.
MJCF_PART_KINDS = {
    "contact": "contacts",
    "pair": 'contact pairs that are listed one by one, without contacts="all"',
    "equality": "equality constraints",
    "tendon": "tendons",
    "friction": "dry friction in joints",
    "limit": "limits of joints, controls and forces",
    "actuator": "actuators of this kind",
    "spring": "springs of this kind",
    "armature": "armature of joints with several freedoms",
    "fluid": "forces of a fluid",
    "flexible": "flexible bodies",
    "plugin": "plugins",
    "mocap": "mocap bodies",
    "keyframe": "keyframes",
    "sensor": "sensors",
}
# Sections that are left out with a note, and their kinds.
_ACTING = {"equality": "equality", "tendon": "tendon", "deformable": "flexible", "extension": "plugin",
           "keyframe": "keyframe", "sensor": "sensor"}  # fmt: skip
_PASSIVE = ("size", "visual", "statistic", "custom")
_BODY_PARTS = {"composite": "flexible", "flexcomp": "flexible", "plugin": "plugin"}
_UNSEEN = ("camera", "light")
_DEFAULTS_LEFT_OUT = ("material", "texture", "camera", "light", "pair", "equality", "tendon", "plugin")
# Attributes of <compiler> that name folders, or that would merge or remove bodies.
_COMPILER_LEFT_OUT = ("meshdir", "texturedir", "assetdir", "strippath", "fusestatic", "discardvisual")
_OTHER_TRANSMISSIONS = ("tendon", "body", "cranksite", "slidersite", "refsite")
MOST_COPIES = 10_000
_NAMING = ("name", "class", "childclass", "joint", "jointinparent", "site", "mesh", "model", "prefix", "material")
# Vertices of a tetrahedron that replaces meshes. Its sides differ, and a mesh scale of 1e-6 does not make it too small.
STAND_IN = "0 0 0 100 0 0 0 200 0 0 0 300"
_NOT_FINITE = re.compile(r"(?:^|\s)[+-]?(?:nan|inf|infinity)(?:\s|$)", re.IGNORECASE)


@dataclass
class SafeText:
    """MJCF text that names no files except ``assets``.

    Attributes:
        name: name of the source, for messages.
        text: text for MuJoCo.
        assets: contents of files, by their names in the text.
        places: "file:line:column" of the element on each line of the text.
        meshes: paths of mesh files by mesh name, in a text for shapes, where stand-ins replace the meshes.
    """

    name: str
    text: str
    assets: dict[str, bytes] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    meshes: dict[str, str] = field(default_factory=dict)

    def in_the_original(self, message: str) -> str:
        """Return a message of MuJoCo with its line number replaced by the file and line of the original."""

        def original(found: re.Match[str]) -> str:
            line = int(found[1])
            if not 0 < line <= len(self.places):
                return found[0]
            file, number, _ = self.places[line - 1].rsplit(":", 2)
            return f"line {number} of {file}"

        return re.sub(r"line (\d{1,9})\b", original, message)


def safe_text(
    source: Source, root: str | os.PathLike[str] | None, left_out: LeftOut, wanted: Wanted, *, looks: bool = False
) -> SafeText:
    """Return the parts of an MJCF text that matter for dynamics, as text that is safe for MuJoCo.

    Args:
        source, root: the text, and the folder that must contain its included files.
        left_out: collects the parts that are left out.
        wanted: options of contacts.
        looks: keep all geoms, without mass, for shapes. Meshes are not opened; a stand-in replaces each.

    Raises:
        ImportFileError: the text is not well-formed, has a document type, or needs a file outside of ``root``; or an
            essential part would be left out.
    """
    top = read_xml(source)
    require_outermost(top, "mujoco", "an MJCF file")
    top = with_includes(top, source, root)
    _refuse_other_files(top, 1)
    cleaned = _Cleaner(top, left_out, looks, wanted).cleaned()
    _require_finite(cleaned)
    folder = Path(source.name).parent if source.name != "<text>" else None
    meshes = _stand_ins(top, cleaned, folder) if looks else {}
    assets = {} if looks else _mesh_files(top, cleaned, folder, root)
    return SafeText(source.name, "".join(_written(cleaned)), assets, [e.place for e in every(cleaned)], meshes)


def every(element: Element) -> Iterator[Element]:
    """Yield an element and all elements inside it."""
    yield element
    for child in element.children:
        yield from every(child)


def _refuse_other_files(element: Element, copies: int) -> None:
    """Raise ImportFileError for elements that load other files, and for more than MOST_COPIES copies."""
    if element.tag == "attach" or (element.tag == "model" and "file" in element.attributes):
        raise element.fault(
            f"<{element.tag}> loads another file and is refused; put its content into this file (MuJoCo writes a "
            "model as one file: mujoco.MjSpec.from_file(path).to_xml())"
        )
    if element.tag == "replicate":
        copies *= _whole(element, "count")
        if copies > MOST_COPIES:
            raise element.fault(f"<replicate> makes more than {MOST_COPIES} copies; make fewer")
    for child in element.children:
        _refuse_other_files(child, copies)


def _require_finite(top: Element) -> None:
    """Raise ImportFileError for NaN and infinity; MuJoCo accepts some of them and only writes to its log file."""
    for element in every(top):
        for word, value in element.attributes.items():
            if word not in _NAMING and _NOT_FINITE.search(value):
                raise element.fault(f"{word}={quote(value)} of <{element.tag}> is not finite; give finite numbers")


def _whole(element: Element, attribute: str) -> int:
    text = element.attributes.get(attribute, "1").strip()
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise element.fault(f"{attribute}={quote(text)} of <{element.tag}> is not a whole number; give one")
    return int(text)


class _Cleaner:
    """Copies the elements that matter, and records the elements that are left out."""

    def __init__(self, top: Element, left_out: LeftOut, looks: bool, wanted: Wanted) -> None:
        self.top = top
        self.floor, self.all_touch = wanted.floor is not None, wanted.contacts is not None
        self.looks = looks
        self.left_out = left_out
        compilers = [e.attributes for e in top.children if e.tag == "compiler"]
        self.infers_always = any(a.get("inertiafromgeom") == "true" for a in compilers)
        # The mass of fixed bodies matters only if the file specifies the total mass.
        self.all_mass_counts = any("settotalmass" in a for a in compilers)

    def cleaned(self) -> Element:
        rows = {
            "compiler": self.compiler,
            "option": lambda e: [e],
            "default": self.defaults,
            "asset": lambda e: [replace(e, children=[self.plain(c) for c in e.children if c.tag == "mesh"])],
            "worldbody": self.world,
            "actuator": self.actuators,
            "contact": self.contacts,
        }
        made = replace(self.top, children=[])
        for section in self.top.children:
            if section.tag in rows:
                made.children.extend(rows[section.tag](section))
            elif section.tag in _ACTING:
                self.section_left_out(section)
            elif section.tag not in _PASSIVE:
                hint = near(section.tag, [*rows, *_ACTING, *_PASSIVE])
                raise section.fault(f"<{quote(section.tag)[1:-1]}> is not a part of MJCF; {hint}")
        return made

    def section_left_out(self, section: Element) -> None:
        if section.tag == "sensor" and section.children:
            self.left_out.add("sensor", section.place, f"{len(section.children)} sensors are left out", harmless=True)
            return
        for part in section.children:
            name = f" {quote(part.attributes['name'])}" if "name" in part.attributes else ""
            kind = _ACTING[section.tag]
            what = f"{section.tag} <{part.tag}>{name} is left out"
            self.left_out.add(kind, part.place, what, harmless=kind == "keyframe")

    def compiler(self, element: Element) -> list[Element]:
        attributes = {k: v for k, v in element.attributes.items() if k not in _COMPILER_LEFT_OUT}
        # Disabled, because MuJoCo would simulate the model to find the length ranges of muscles, which are left out.
        still = Element("lengthrange", {"mode": "none"}, element.place)
        return [replace(element, attributes=attributes, children=[still])]

    def defaults(self, element: Element) -> list[Element]:
        kept = [c for c in element.children if c.tag not in _DEFAULTS_LEFT_OUT]
        inner = [d for c in kept for d in (self.defaults(c) if c.tag == "default" else [self.plain(c)])]
        return [replace(element, children=inner)]

    def plain(self, element: Element) -> Element:
        """Return an element without children, plugins and materials."""
        for child in element.children:
            if child.tag == "plugin":
                self.left_out.add("plugin", child.place, f"a plugin of <{element.tag}> is left out")
        attributes = {k: v for k, v in element.attributes.items() if k != "material"}
        return replace(element, attributes=attributes, children=[])

    def world(self, element: Element) -> list[Element]:
        geoms = [e for e in every(element) if e.tag == "geom" and not _touches_nothing(e)]
        fields = [e for e in geoms if "hfield" in e.attributes]
        if self.all_touch and fields:
            what = f"contacts of height fields are left out (geoms: {len(fields)}): bodies pass through them"
            self.left_out.add("contact", fields[0].place, what, part=f"{len(fields)} height fields")
        elif geoms and not self.all_touch:
            through = "each other" if self.floor else "each other and through the floor; floor=0 makes them touch it"
            what = f"contacts are left out (geoms: {len(geoms)}): bodies pass through {through}; {MAKES_CONTACTS}"
            part = f"{len(geoms)} geoms{'' if self.floor else ' (floor=0 makes them touch a floor)'}"
            self.left_out.add("contact", geoms[0].place, what, part=part)
        return [self.body(element, keeps_geoms=False, moves=False)]

    def body(self, element: Element, *, keeps_geoms: bool, moves: bool) -> Element:
        """Return the relevant parts of a body, frame or replicate.

        Geoms are kept if inertia is inferred from them (``keeps_geoms``), and without mass for shapes.
        """
        children = []
        for child in element.children:
            if child.tag == "body":
                moved = moves or any(e.tag in ("joint", "freejoint") for e in _of_body(child))
                inferred = self.infers_always or not any(e.tag == "inertial" for e in _of_body(child))
                counts = inferred and (moved or self.all_mass_counts)
                children.append(self.body(child, keeps_geoms=counts, moves=moved))
            elif child.tag in ("frame", "replicate"):
                children.append(self.body(child, keeps_geoms=keeps_geoms, moves=moves))
            elif child.tag in _BODY_PARTS:
                self.left_out.add(_BODY_PARTS[child.tag], child.place, f"<{child.tag}> is left out")
            elif child.tag not in _UNSEEN and (child.tag != "geom" or keeps_geoms):
                children.append(self.plain(child))
            elif child.tag == "geom" and self.looks and "hfield" not in child.attributes:
                plain = self.plain(child)
                children.append(replace(plain, attributes={**plain.attributes, "mass": "0"}))
        return replace(element, children=children)

    def actuators(self, element: Element) -> list[Element]:
        kept = []
        for actuator in element.children:
            through = [word for word in _OTHER_TRANSMISSIONS if word in actuator.attributes]
            if through or actuator.tag in ("muscle", "adhesion", "plugin"):
                name = quote(actuator.attributes.get("name", ""))
                how = f" through a {through[0]}" if through else ""
                what = f"actuator <{actuator.tag}> {name}{how} is left out, with its input"
                self.left_out.add("actuator", actuator.place, what)
            else:
                kept.append(self.plain(actuator))
        return [replace(element, children=kept)]

    def contacts(self, element: Element) -> list[Element]:
        """Return pairs and exclusions in a text for shapes; note pairs that are left out."""
        fields = {e.attributes.get("name") for e in every(self.top) if e.tag == "geom" and "hfield" in e.attributes}
        kept = []
        for pair in element.children:
            named = {pair.attributes.get("geom1"), pair.attributes.get("geom2")}
            if self.looks and pair.tag in ("pair", "exclude") and (pair.tag == "exclude" or not named & fields):
                kept.append(self.plain(pair))
            if pair.tag == "pair" and not self.all_touch:
                both = " and ".join(quote(pair.attributes.get(word, "?")) for word in ("geom1", "geom2"))
                self.left_out.add("pair", pair.place, f"the contact of geoms {both} is left out; {MAKES_CONTACTS}")
        return [replace(element, children=kept)] if kept else []


def _of_body(body: Element) -> Iterator[Element]:
    """Yield the parts of a body itself, including parts inside frames."""
    for child in body.children:
        yield child
        if child.tag == "frame":
            yield from _of_body(child)


def _touches_nothing(geom: Element) -> bool:
    return all(geom.attributes.get(word) == "0" for word in ("contype", "conaffinity"))


def _compiler(top: Element) -> dict[str, str]:
    """Return the attributes of all <compiler> elements together."""
    found: dict[str, str] = {}
    for element in top.children:
        if element.tag == "compiler":
            found.update(element.attributes)
    return found


def _name_of(mesh: Element) -> str:
    file = mesh.attributes.get("file", "")
    return mesh.attributes.get("name", PurePosixPath(file.replace("\\", "/")).stem)


def _stand_ins(top: Element, cleaned: Element, folder: Path | None) -> dict[str, str]:
    """Replace each mesh by a tetrahedron, from which MuJoCo resolves scale and pose; return mesh files by name."""
    compiler, files = _compiler(top), dict[str, str]()
    for asset in [e for e in cleaned.children if e.tag == "asset"]:
        for k, mesh in enumerate(asset.children):
            name, file = _name_of(mesh), mesh.attributes.get("file")
            if file is not None and not {"refpos", "refquat"} & set(mesh.attributes):
                files[name] = str(_place(mesh, compiler, folder))
            kept = {word: text for word, text in mesh.attributes.items() if word in ("class", "scale")}
            asset.children[k] = replace(mesh, attributes={"name": name, **kept, "vertex": STAND_IN})
    return files


def _mesh_files(
    top: Element, cleaned: Element, folder: Path | None, root: str | os.PathLike[str] | None
) -> dict[str, bytes]:
    """Read the meshes from which inertia is inferred, under new names, and remove the other meshes."""
    compiler = _compiler(top)
    wanted = {e.attributes["mesh"] for e in every(cleaned) if e.tag == "geom" and "mesh" in e.attributes}
    files: dict[str, bytes] = {}
    for asset in [e for e in cleaned.children if e.tag == "asset"]:
        kept = []
        for mesh in asset.children:
            file = mesh.attributes.get("file")
            name = _name_of(mesh)
            if name not in wanted:
                continue
            attributes = {**mesh.attributes, "name": name}
            if file is not None:
                attributes["file"] = f"mesh{len(files)}{PurePosixPath(file).suffix}"
                files[attributes["file"]] = _mesh_file(mesh, _place(mesh, compiler, folder), folder, root)
            kept.append(replace(mesh, attributes=attributes))
        asset.children[:] = kept
    return files


def _place(mesh: Element, compiler: Mapping[str, str], folder: Path | None) -> PurePosixPath:
    """Return the path of a mesh relative to the model's folder; the folder of the included file is tried second."""
    path = PurePosixPath(mesh.attributes["file"].replace("\\", "/"))
    if compiler.get("strippath") == "true":
        path = PurePosixPath(path.name)
    found = PurePosixPath(compiler.get("meshdir", compiler.get("assetdir", ""))) / path
    if folder is not None and not (folder / found).is_file() and (other := beside(mesh) / path).is_file():
        return PurePosixPath(os.path.relpath(other, folder))
    return found


def _mesh_file(mesh: Element, path: PurePosixPath, folder: Path | None, root: str | os.PathLike[str] | None) -> bytes:
    start = folder if folder is not None else Path(root) if root is not None else None
    if start is None:
        raise mesh.fault(
            f"inertia is inferred from the mesh {quote(str(path))}, but a text has no folder; set root= to the folder "
            "of the file, or give the bodies <inertial>"
        )
    try:
        return read_source(start / path, start if root is None else root).data
    except ImportFileError as error:
        raise mesh.fault(f"inertia is inferred from a mesh, but: {error}") from None


def _written(element: Element) -> Iterator[str]:
    """Yield the text of an element; every element begins a line."""
    words = "".join(f' {k}="{html.escape(v)}"'.replace("\n", "&#10;") for k, v in element.attributes.items())
    yield f"<{element.tag}{words}>"
    for child in element.children:
        yield "\n"
        yield from _written(child)
    yield f"</{element.tag}>"
