"""A hardened XML reader: elements and attributes with their place in the file, and nothing that XML can do besides.

Document types, entities, external references and processing instructions are refused outright, so no file can make
the reader open another one or grow beyond its own size; depth and counts have ceilings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

from kane.errors import ImportFileError
from kane.files.source_file import Source

MAXIMUM_DEPTH = 64
MAXIMUM_ELEMENTS = 250_000
MAXIMUM_ATTRIBUTES = 64
MAXIMUM_LENGTH = 4096
READERS = {"robot": "load_urdf", "mujoco": "load_mjcf"}  # by the outermost element
ENCODINGS = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "utf-16")


@dataclass(frozen=True, slots=True)
class Element:
    """One XML element.

    Attributes:
        tag: its name, with the prefix if it has one.
        attributes: name to value.
        children: the elements inside, in the order of the file.
        place: "file:line:column" of its opening, for messages.
    """

    tag: str
    attributes: dict[str, str]
    place: str
    children: list[Element] = field(default_factory=list)

    def fault(self, message: str) -> ImportFileError:
        """An error about this element."""
        return ImportFileError(f"{self.place}: {message}")


def read_xml(source: Source) -> Element:
    """The outermost element of an XML text.

    Raises:
        ImportFileError: the text is malformed, wrongly encoded or beyond a ceiling, or it has a document type, an
            entity or a processing instruction.
    """
    handler = _Handler(source)
    parser = handler.parser
    try:
        # In one piece: what Expat does with a token split over many calls takes quadratic time.
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
    """Refuse a file whose outermost element is another, and say who reads it.

    Raises:
        ImportFileError: naming both elements.
    """
    if top.tag != tag:
        reader = READERS.get(top.tag)
        cure = f"kane.{reader} reads that" if reader else f"check that this is {kind}"
        raise top.fault(f"the outermost element is <{quote(top.tag)[1:-1]}>, not <{tag}> of {kind}; {cure}")


def quote(text: str) -> str:
    """``text`` in quotes, safe to print and not long."""
    return ascii(text if len(text) <= 60 else text[:60] + "...")


class _Handler:
    """What Expat calls while it reads."""

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
            self.refuse(f"more than {MAXIMUM_ELEMENTS} elements, no robot description has; check that it is the file")
        if len(self.open) >= MAXIMUM_DEPTH:
            self.refuse(f"elements nested deeper than {MAXIMUM_DEPTH}; a robot description is flat, so check the file")
        self.check_lengths(tag, attributes)
        element = Element(tag, attributes, self.place())
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.outermost = element
        self.open.append(element)

    def check_lengths(self, tag: str, attributes: dict[str, str]) -> None:
        if len(attributes) > MAXIMUM_ATTRIBUTES:
            self.refuse(f"<{quote(tag)}> has more than {MAXIMUM_ATTRIBUTES} attributes; remove those that mean nothing")
        for word in (tag, *attributes, *attributes.values()):
            if len(word) > MAXIMUM_LENGTH:
                self.refuse(f"a name or value in <{quote(tag)}> is longer than {MAXIMUM_LENGTH} characters; shorten it")

    def end(self, tag: str) -> None:
        self.open.pop()

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            self.refuse(f"the encoding {quote(encoding)} is not accepted; save the file as UTF-8")

    def document_type(self, *_: Any) -> NoReturn:
        self.refuse("a document type (<!DOCTYPE ...>) is refused, for it can open files and grow; remove it")

    def entity(self, *_: Any) -> NoReturn:
        self.refuse("an entity is refused, for it can open files and grow; write out what it stands for")

    def external(self, *_: Any) -> NoReturn:
        self.refuse("a reference to another file is refused; put its content into this file")

    def instruction(self, target: str, data: str) -> NoReturn:
        self.refuse(f"the processing instruction <?{quote(target)} ...?> means nothing here and is refused; remove it")
