"""Export equations as source code and documents in other languages."""

from kane.exporters.c_source import CSource as CSource
from kane.exporters.export import export as export
from kane.exporters.latex_document import LaTeXDocument as LaTeXDocument
from kane.exporters.listing_text import Listing as Listing
from kane.exporters.source_module import JavaScriptSource as JavaScriptSource
from kane.exporters.source_module import JAXSource as JAXSource
from kane.exporters.source_module import NumPySource as NumPySource
