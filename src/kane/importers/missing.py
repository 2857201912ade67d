"""Notes on parts of a file that would change the motion but are not in the model, and one warning for all of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from kane.errors import ImportFileWarning, list_names

# Largest number of parts of one kind that the warning names; the notes name all.
MAX_NAMED_PARTS = 4


class Missing(str):
    """A note on a part of a file that would change the motion but is not in the model.

    Attributes:
        kind: kind of part, for the warning.
        what: name of the part, for the warning.
    """

    kind: str
    what: str

    def __new__(cls, kind: str, what: str, note: str) -> Missing:
        """Return the note with its kind and the name of its part."""
        made = super().__new__(cls, note)
        made.kind, made.what = kind, what
        return made


def warn_of_missing(source: str, notes: Sequence[str]) -> None:
    """Warn the caller of an importer once about all missing parts, if there are any."""
    kinds: dict[str, list[str]] = {}
    for note in notes:
        if isinstance(note, Missing):
            kinds.setdefault(note.kind, []).append(note.what)
    if kinds:
        words = [f"{kind}: {list_names(list(dict.fromkeys(parts)), MAX_NAMED_PARTS)}" for kind, parts in kinds.items()]
        warnings.warn(
            f"{source} has parts that the model lacks (see model.notes). " + "; ".join(words),
            ImportFileWarning,
            stacklevel=3,
        )
