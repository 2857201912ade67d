"""What an importer leaves out: said in notes, or refused where it is essential."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kane.errors import ImportFileError, ModelError, shown
from kane.expression.arguments import words
from kane.importers.missing import Missing
from kane.model.checks import near


class LeftOut:
    """The parts of a file that are not modelled.

    Attributes:
        notes: what they are, in words.
    """

    def __init__(self, kinds: Mapping[str, str], essential: Iterable[str]) -> None:
        """Start with nothing left out.

        Args:
            kinds: of parts that may be left out, and what they are.
            essential: those without which the model is not wanted.

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
        """Leave a part out.

        Args:
            kind: of part.
            place: where it is, for the error.
            what: it is, and what comes of leaving it out.
            part: its name in the warning; ``what`` up to a colon unless given.
            harmless: whether the motion is the same without it.

        Raises:
            ImportFileError: parts of this kind are essential.
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
            said = re.split(r": | (?:is|are) left out", what)[0]
            self.notes.append(Missing(self._kinds[kind], part or said, what))
