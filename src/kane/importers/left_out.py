"""Parts that an importer leaves out: recorded in notes, or rejected if they are essential."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kane.errors import ImportFileError, ModelError, shown
from kane.expression.number_arguments import words
from kane.importers.missing import Missing
from kane.model.checks import near


class LeftOut:
    """Parts of a file that are not modelled.

    Attributes:
        notes: one note for each part.
    """

    def __init__(self, kinds: Mapping[str, str], essential: Iterable[str]) -> None:
        """Start without notes.

        Args:
            kinds: kinds of parts that may be left out, with their descriptions.
            essential: kinds that must not be left out.

        Raises:
            ModelError: an essential kind is unknown.
        """
        self.notes: list[str] = []
        self._kinds = kinds
        given = [essential] if isinstance(essential, str) else words(essential, "essential=", "kinds of parts")
        self._essential = set(given)
        for kind in self._essential:
            if kind not in kinds:
                raise ModelError(f"essential= has {shown(kind)}, which is no kind of part; {near(kind, list(kinds))}")

    def add(self, kind: str, place: str, what: str, *, part: str = "", harmless: bool = False) -> None:
        """Record that the model omits a part of the file.

        Args:
            kind: kind of part.
            place: place in the file, for the error message.
            what: text of the note: the part, and the effect of its omission.
            part: name of the part in the warning; by default ``what`` up to a colon or "is left out".
            harmless: whether the motion is the same without the part.

        Raises:
            ImportFileError: this kind is essential.
        """
        if kind in self._essential:
            rest = sorted(self._essential - {kind})
            raise ImportFileError(
                f"{place}: {what}. kane does not model {self._kinds[kind]}, which are declared essential; to import "
                f"the model without them give essential={tuple(rest)!r}"
            )
        if harmless:
            self.notes.append(what)
        else:
            message = re.split(r": | (?:is|are) left out", what)[0]
            self.notes.append(Missing(self._kinds[kind], part or message, what))
