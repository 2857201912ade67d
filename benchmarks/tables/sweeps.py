"""A stored sweep of a spacecraft beside kane.simulate_many alone: the cost of drawing, storing and statistics."""

import shutil
import tempfile
from pathlib import Path

import numpy as np

import kane
from benchmarks.mode import Mode
from benchmarks.report import Table
from benchmarks.spacecraft import model
from benchmarks.timing import interleaved

TITLE = "Sweeps: a spacecraft of 14 freedoms"
COLUMNS = ("program", "runs", "runs a core-second", "of simulate_many")
SECONDS, RANGE = 10.0, 0.2  # s; rad/s, of the speeds of the eight gimbals at the start
NOTE = (
    f"{SECONDS:g} s of free motion each, RK8, tolerance 1e-9, one thread; speeds of the eight gimbals uniform within "
    f"{RANGE} rad/s. kane.sweep draws the speeds, computes chunks, evaluates ten outputs, stores them in a folder and "
    "merges statistics. kane.simulate_many gets the same speeds in one call, and keeps last states only. In turn."
)


def table(mode: Mode) -> Table:
    """Measures both."""
    result, n = Table(TITLE, COLUMNS, notes=[NOTE]), 1024 if mode.quick else 16384
    dyn = kane.build(kane.formulate(model()), target=kane.LLVM(threads=1))
    e = dyn.equations
    varied = [leaf.name for leaf in e.u if leaf.name.startswith("g")]
    drawn = kane.sample(n, dict.fromkeys(varied, (-RANGE, RANGE)))
    rows = drawn.seeded(1).rows(0, n)
    outputs = {f"output {k}": leaf for k, leaf in enumerate((*e.q[4:7], *e.u[:7]))}
    folder = Path(tempfile.mkdtemp())

    def sweep(calls: int) -> None:
        for _ in range(calls):
            shutil.rmtree(folder / "store", ignore_errors=True)
            kane.sweep(dyn, until=SECONDS, runs=drawn, seed=1, outputs=outputs, store=folder / "store")

    def alone(calls: int) -> None:
        for _ in range(calls):
            kane.simulate_many(dyn, until=SECONDS, u=dict(zip(varied, np.array(rows.T), strict=True)))

    try:
        figures = interleaved({"kane.sweep": sweep, "kane.simulate_many": alone}, batches=mode.batches)
    finally:
        shutil.rmtree(folder)
    for name, figure in figures.items():
        share = result.ratio("spacecraft", "kane.simulate_many", figure, figures["kane.simulate_many"])
        result.rows.append([name, f"{n:,}", f"{n / figure.median:,.0f}", share if name == "kane.sweep" else ""])
    return result
