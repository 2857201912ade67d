"""A hardened XML reader that accepts only elements and attributes, and records their place in the file.

It rejects document types, entities, external references and processing instructions. So no file can make the reader
open another file or expand beyond its own size. Depth and counts are limited.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, NoReturn
from xml.parsers import expat

from kane.deferred import dataclass
from kane.errors import ImportFileError
from kane.files.source_file import Source

MAXIMUM_DEPTH = 64
MAXIMUM_ELEMENTS = 250_000
MAXIMUM_ATTRIBUTES = 64
MAXIMUM_LENGTH = 4096
READERS = {"robot": "load_urdf", "mujoco": "load_mjcf"}  # functions of kane, by outermost element
ENCODINGS = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "utf-16")


@dataclass(frozen=True, slots=True)
class Element:
    """One XML element.

    Attributes:
        tag: name, with the prefix if there is one.
        attributes: values by name.
        place: "file:line:column" of the opening tag, for messages.
        children: elements inside, in the order of the file.
    """

    tag: str
    attributes: dict[str, str]
    place: str
    children: list[Element] = field(default_factory=list)

    def fault(self, message: str) -> ImportFileError:
        """Return an error about this element."""
        return ImportFileError(f"{self.place}: {message}")


def read_xml(source: Source) -> Element:
    """Return the outermost element of an XML text.

    Raises:
        ImportFileError: the text is malformed, wrongly encoded or beyond a limit, or it has a document type, an entity
            or a processing instruction.
    """
    handler = _Handler(source)
    parser = handler.parser
    try:
        # In one call, because Expat takes quadratic time for tokens that are split over many calls.
        parser.Parse(source.data, True)
    except expat.ExpatError as error:
        raise ImportFileError(
            f"{source.name}:{error.lineno}:{error.offset + 1}: not well-formed XML ({expat.ErrorString(error.code)}); "
            "check that the file is complete, is XML and is in the encoding it declares"
        ) from None
    if handler.outermost is None:
        raise ImportFileError(f"{source.name}: holds no XML element; check that it is the right file")
    return handler.outermost


def require_outermost(top: Element, tag: str, kind: str) -> None:
    """Raise ImportFileError unless the outermost element has this tag.

    Raises:
        ImportFileError: the message names both elements, and the function that reads the file if there is one.
    """
    if top.tag != tag:
        reader = READERS.get(top.tag)
        cure = f"kane.{reader} reads that" if reader else f"check that this is {kind}"
        raise top.fault(f"the outermost element is <{quote(top.tag)[1:-1]}>, not <{tag}> of {kind}; {cure}")


def quote(text: str) -> str:
    """Return ``text`` in quotes, in printable ASCII and shortened to about 60 characters."""
    return ascii(text if len(text) <= 60 else text[:60] + "...")


class _Handler:
    """Callbacks of the Expat parser."""

    def __init__(self, source: Source) -> None:
        self.source = source.name
        self.outermost: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.parser = expat.ParserCreate(source.encoding)
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.XmlDeclHandler = self.declaration
        self.parser.StartDoctypeDeclHandler = self.document_type
        self.parser.EntityDeclHandler = self.entity
        self.parser.ExternalEntityRefHandler = self.external
        self.parser.SkippedEntityHandler = self.entity
        self.parser.ProcessingInstructionHandler = self.instruction

    def place(self) -> str:
        return f"{self.source}:{self.parser.CurrentLineNumber}:{self.parser.CurrentColumnNumber + 1}"

    def refuse(self, message: str) -> NoReturn:
        raise ImportFileError(f"{self.place()}: {message}")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAXIMUM_ELEMENTS:
            self.refuse(f"the file has more than {MAXIMUM_ELEMENTS} elements; check that it is a robot description")
        if len(self.open) >= MAXIMUM_DEPTH:
            self.refuse(f"elements are nested deeper than {MAXIMUM_DEPTH}; check that it is a robot description")
        self.check_lengths(tag, attributes)
        element = Element(tag, attributes, self.place())
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.outermost = element
        self.open.append(element)

    def check_lengths(self, tag: str, attributes: dict[str, str]) -> None:
        if len(attributes) > MAXIMUM_ATTRIBUTES:
            self.refuse(f"<{quote(tag)}> has more than {MAXIMUM_ATTRIBUTES} attributes; remove the meaningless ones")
        for word in (tag, *attributes, *attributes.values()):
            if len(word) > MAXIMUM_LENGTH:
                self.refuse(f"a name or value in <{quote(tag)}> is longer than {MAXIMUM_LENGTH} characters; shorten it")

    def end(self, tag: str) -> None:
        self.open.pop()

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            self.refuse(f"the encoding {quote(encoding)} is not accepted; save the file as UTF-8")

    def document_type(self, *_: Any) -> NoReturn:
        self.refuse("a document type (<!DOCTYPE ...>) is refused, because it can open files and grow; remove it")

    def entity(self, *_: Any) -> NoReturn:
        self.refuse("an entity is refused, because it can open files and grow; write out its value")

    def external(self, *_: Any) -> NoReturn:
        self.refuse("a reference to another file is refused; put its content into this file")

    def instruction(self, target: str, data: str) -> NoReturn:
        self.refuse(f"the processing instruction <?{quote(target)} ...?> is meaningless here and refused; remove it")
