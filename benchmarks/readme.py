"""The block of figures in README.md, written from the results of the last full run."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import Comparison, grid
from benchmarks.results import Results, amount, find

BEGIN = "<!-- figures: written by `python -m benchmarks --readme` from benchmarks/results -->"
END = "<!-- end of figures -->"
# What it is called here, its table, its case there.
MAIN = (
    ("Panda 7R: inverse dynamics", "calls", "Panda 7R, inverse"),
    ("Panda 7R: forward dynamics", "calls", "Panda 7R, forward"),
    ("Talos, free base: inverse dynamics", "calls", "Talos reduced, free base, inverse"),
    ("Talos, free base: forward dynamics", "calls", "Talos reduced, free base, forward"),
    ("Panda 7R: operations of inverse dynamics", "counts", "Panda 7R, inverse"),
    ("Panda 7R: operations of forward dynamics", "counts", "Panda 7R, forward"),
    ("UR5: forward dynamics of one state, from Python", "python", "UR5, forward from Python"),
    ("Panda 7R: forward dynamics, each call after the one before", "chained", "Panda 7R, forward, chained"),
    ("UR5: from its file to the first numbers", "first", "UR5"),
    ("UR5: the same, with the imports of all packages", "first", "UR5, with imports"),
    ("UR5: kane's own with native code on disk", "first", "UR5, again"),
    ("Talos, free base: from its file to the first numbers", "first", "Talos reduced, free base"),
    ("Chain of 30 joints: equations and native code", "chains", "30 joints"),
    ("UR5: one Runge-Kutta step", "steps", "UR5"),
    ("Stanford Arm: 10 s to 1e-6, one of 10,000 trajectories, wall time of two cores", "trajectories", "Stanford Arm"),
    ("Panda 7R: 10 s of damped fall to 1e-8", "accuracy", "Panda 7R, 10 s to 1e-8"),
    ("Panda 7R: the same, all by RK4 in equal steps", "accuracy", "Panda 7R, 10 s to 1e-8, all by RK4"),
    ("Spacecraft with four gimbals: 1,000 s in steps of 10 ms", "spacecraft", "spacecraft, 1,000 s"),
    ("Panda 7R: equations derived", "derivation", "Panda 7R, derived by the recursive route"),
    ("Stanford Arm: equations derived, as in the paper", "derivation", "Stanford Arm, derived by the explicit route"),
    (
        "Stanford Arm: operations of M and bias, as in the paper",
        "derivation",
        "Stanford Arm, M and f by the explicit route",
    ),
    (
        "Pendulum of 20 links on a cart: equations derived",
        "derivation",
        "20-link pendulum, angles to the vertical, derived by the recursive route",
    ),
    ("20-body tree of every joint: certificate", "certificate", "20 bodies"),
)


def block(results: Results) -> str:
    """The block with its markers.

    Args:
        results: of a run; what it did not measure is left out.
    """
    found = [(label, find(results, table, case)) for label, table, case in MAIN]
    rows = [_row(label, comparisons) for label, comparisons in found if comparisons]
    table = grid(("", "kane", "peers", "peer / kane"), rows)
    note = (
        f"CPU time of one core, medians, on {results.processor}; {results.conditions[0]}. Traced C: Pinocchio's "
        "algorithms recorded through CasADi, gcc -O3. All figures, and where kane is the slower one: "
        "[benchmarks/RESULTS.md](benchmarks/RESULTS.md)."
    )
    return f"{BEGIN}\n\n{table}\n\n{note}\n\n{END}"


def _row(label: str, comparisons: Sequence[Comparison]) -> list[str]:
    beside = [c for c in comparisons if c.peer]
    peers = ", ".join(f"{c.peer} {amount(c.theirs, c.unit)}" for c in beside)
    ratios = ", ".join(f"{c.ratio:.1f}" if c.ratio < 10 else f"{c.ratio:.0f}" for c in beside)
    return [label, amount(comparisons[0].ours, comparisons[0].unit), peers, ratios]


def rewrite(readme: Path, results: Results) -> None:
    """Puts the block where the markers are.

    Raises:
        ValueError: the markers are not there, once each and in order.
    """
    text = readme.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"{readme} must hold one line {BEGIN!r} and after it one line {END!r}")
    before, after = text[: text.index(BEGIN)], text[text.index(END) + len(END) :]
    readme.write_text(before + block(results) + after)
