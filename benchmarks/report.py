"""Tables as text, and the comparisons in them as numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.timing import Figure


@dataclass(frozen=True)
class Comparison:
    """kane beside one peer in one case.

    Attributes:
        case: what was measured.
        peer: whose value the other is; empty where kane stands alone.
        unit: "s" or "operations".
        ours: kane's median.
        theirs: the peer's median, 0 without a peer.
        ratio: median of theirs / ours; above 1 kane needs less. 0 without a peer.
    """

    case: str
    peer: str
    unit: str
    ours: float
    theirs: float
    ratio: float


@dataclass
class Table:
    """One table of results.

    Attributes:
        title: its heading.
        columns: their headings.
        rows: cells as text.
        notes: sentences below it.
        comparisons: the same in numbers, for what is drawn from several tables.
    """

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Adds a sentence below the table, once."""
        if text not in self.notes:
            self.notes.append(text)

    def ratio(self, case: str, peer: str, ours: Figure, theirs: Figure | None) -> str:
        """How many times the peer's time is kane's, as a cell, noted as a comparison; above 1 kane is the faster."""
        if theirs is None:
            return "-"
        times = ours.times(theirs)
        self.comparisons.append(Comparison(case, peer, "s", ours.median, theirs.median, times))
        return f"{times:.2f}"

    def ratio_spread(self, case: str, peer: str, ours: Figure, theirs: Figure | None) -> str:
        """The same with the least and the greatest of the batches."""
        cell = self.ratio(case, peer, ours, theirs)
        return cell if theirs is None else f"{cell} {ours.range_of(theirs)}"

    def compare_counts(self, case: str, peer: str, ours: float, theirs: float) -> None:
        """Notes two numbers of operations."""
        self.comparisons.append(Comparison(case, peer, "operations", ours, theirs, theirs / ours))

    def alone(self, case: str, figure: Figure) -> None:
        """Notes a time of kane's without a peer [s]."""
        self.comparisons.append(Comparison(case, "", "s", figure.median, 0.0, 0.0))

    def markdown(self) -> str:
        """The table with its heading and notes."""
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([f"## {self.title}\n", grid(self.columns, self.rows), *notes]) + "\n"


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, columns aligned so that it reads well as plain text too."""
    cells = [[*columns], *[[*row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def nanoseconds(figure: Figure) -> str:
    """Median and spread [ns]."""
    return f"{figure.median * 1e9:.0f} ({figure.low * 1e9:.0f}-{figure.high * 1e9:.0f})"


def seconds(figure: Figure) -> str:
    """Median and spread [s]."""
    return f"{figure.median:.3g} ({figure.low:.3g}-{figure.high:.3g})"


def operations(count: dict[str, int]) -> str:
    """mul/add/div/trig, and what else there is."""
    text = "/".join(str(count.get(kind, 0)) for kind in ("mul", "add", "div", "trig"))
    return text + (f" +{count['other']}" if count.get("other") else "")
