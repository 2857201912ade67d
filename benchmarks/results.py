"""What runs found: the last full one on each processor, kept as JSON, written out as RESULTS.md and in README.md."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.report import Comparison, Table, grid

HEAD = """# Benchmarks

Written by `kane bench` (`python -m benchmarks`). Unless a table says otherwise every time is CPU time of the process,
all contestants on one core with their batches in turn, so that a disturbance meets all alike: the median, and
(least-greatest) where there is room. There is one run for each processor that it was made on, the newest first.
Columns headed x are ratios peer / kane, medians over the batches; above 1 kane is the faster.
"""
SLOWER = "Where kane is slower than a peer, or needs more operations"


@dataclass
class Results:
    """One run.

    Attributes:
        processor: on which it was made.
        conditions: date, machine, versions, load, as lines.
        tables: by the name under which the command line knows them.
    """

    processor: str
    conditions: list[str] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Writes JSON, in the place of what was found on the same processor before."""
        folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "-", self.processor).strip("-").lower()
        (folder / f"{name}.json").write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path) -> "list[Results]":
        """What `save` wrote on all processors, the newest first.

        Raises:
            FileNotFoundError: nothing was saved there.
        """
        found = [cls._read(path) for path in sorted(folder.glob("*.json"))]
        if not found:
            raise FileNotFoundError(f"nothing is kept in {folder}: a full run (`python -m benchmarks`) does that")
        return sorted(found, key=lambda run: run.conditions[0], reverse=True)  # they begin with the date

    @classmethod
    def _read(cls, path: Path) -> "Results":
        data = json.loads(path.read_text())
        for table in data["tables"].values():
            table["comparisons"] = [Comparison(**entry) for entry in table["comparisons"]]
        tables = {name: Table(**table) for name, table in data["tables"].items()}
        return cls(data["processor"], data["conditions"], tables)

    def comparisons(self) -> Iterator[tuple[str, Comparison]]:
        """All of them, each after the title of its table."""
        for table in self.tables.values():
            for comparison in table.comparisons:
                yield table.title, comparison

    def markdown(self) -> str:
        """The part of this run in RESULTS.md."""
        conditions = "".join(f"- {line}\n" for line in self.conditions)
        tables = [table.markdown() for table in self.tables.values()]
        return "\n".join([f"# {self.processor}\n", conditions, self.slower(), *tables])

    def slower(self) -> str:
        """The section of all comparisons in which a peer does better."""
        rows = [
            [title, c.case, c.peer, amount(c.ours, c.unit), amount(c.theirs, c.unit), f"{c.ratio:.2f}"]
            for title, c in self.comparisons()
            if c.peer and c.ratio < 1
        ]
        text = grid(("table", "case", "peer", "kane", "the peer", "x"), rows) if rows else "Nowhere in this run."
        return f"## {SLOWER}\n\n{text}\n"


def document(runs: Sequence[Results]) -> str:
    """The whole of RESULTS.md."""
    return "\n".join([HEAD, *(run.markdown() for run in runs)])


def amount(value: float, unit: str) -> str:
    """A time in the unit that suits it, or a number of operations."""
    if unit != "s":
        return f"{value:.0f}"
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= size:
            return f"{_three_digits(value / size)} {name}"
    return f"{_three_digits(value * 1e9)} ns"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def find(results: Results, table: str, case: str) -> Sequence[Comparison]:
    """The comparisons of one case of one table, named as on the command line; none where it was not measured."""
    found = results.tables.get(table)
    return [] if found is None else [c for c in found.comparisons if c.case == case]
