"""Notes of importers on parts of a file that change the motion and that the model does not have: one warning of all."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from kane.errors import ImportFileWarning, listed

# Parts of one kind that the warning names; the notes name all.
NAMED = 4


class Missing(str):
    """A note on a part that the file asks for, that changes the motion and that the model does not have.

    Attributes:
        kind: of part, for the warning.
        what: the part.
    """

    kind: str
    what: str

    def __new__(cls, kind: str, what: str, note: str) -> Missing:
        """Return the note with its kind and its part."""
        made = super().__new__(cls, note)
        made.kind, made.what = kind, what
        return made


def warn_of_missing(source: str, notes: Sequence[str]) -> None:
    """Warn once of all missing parts, for the caller of an importer; not at all if nothing is missing."""
    kinds: dict[str, list[str]] = {}
    for note in notes:
        if isinstance(note, Missing):
            kinds.setdefault(note.kind, []).append(note.what)
    if kinds:
        words = [f"{kind}: {listed(list(dict.fromkeys(parts)), NAMED)}" for kind, parts in kinds.items()]
        warnings.warn(
            f"{source} asks for what the model does not have (model.notes says more). " + "; ".join(words),
            ImportFileWarning,
            stacklevel=3,
        )
