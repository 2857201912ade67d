"""Tables as text: what is printed and what RESULTS.md holds."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.timing import Figure


@dataclass
class Table:
    """One table of results.

    Attributes:
        title: its heading.
        columns: their headings.
        rows: cells as text.
        notes: sentences below it.
    """

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Adds a sentence below the table, once."""
        if text not in self.notes:
            self.notes.append(text)

    def markdown(self) -> str:
        """The table with its heading, columns aligned so that it reads well as plain text too."""
        cells = [[*self.columns], *[[*row] for row in self.rows]]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in cells]
        lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([f"## {self.title}\n", *lines, *notes]) + "\n"


def nanoseconds(figure: Figure) -> str:
    """Median and spread [ns]."""
    return f"{figure.median * 1e9:.0f} ({figure.low * 1e9:.0f}-{figure.high * 1e9:.0f})"


def seconds(figure: Figure) -> str:
    """Median and spread [s]."""
    return f"{figure.median:.3g} ({figure.low:.3g}-{figure.high:.3g})"


def ratio(ours: Figure, peer: Figure | None) -> str:
    """How many times the peer's cost is kane's; above 1 kane is the faster."""
    return "-" if peer is None else f"{ours.times(peer):.2f}"


def operations(count: dict[str, int]) -> str:
    """mul/add/div/trig, and what else there is."""
    text = "/".join(str(count.get(kind, 0)) for kind in ("mul", "add", "div", "trig"))
    return text + (f" +{count['other']}" if count.get("other") else "")
