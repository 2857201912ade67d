"""How much of what one core can do at most reaches the result."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.contest import Ours
from benchmarks.core_peak import CorePeak, widest
from benchmarks.kane_loop import block_loop
from benchmarks.mode import Mode
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.peers.traced_lanes import WIDTH, blocks
from benchmarks.report import Table
from benchmarks.robots import ARMS, FIVE
from benchmarks.timing import Figure, interleaved

TITLE = "Operations a second beside the peak of the core"
COLUMNS = (
    "robot",
    "dynamics",
    "operations",
    "sin, cos",
    "alone, GFLOP/s",
    "of the peak",
    "of one number's",
    "lanes, GFLOP/s",
    "of the peak",
)
NOTE = (
    "Operations: multiplications, additions and divisions of one evaluation, each one operation, as in the table of "
    "operations; sine and cosine take time and count nothing, so that shares are rather too low. Peak: fused "
    "multiply-adds on registers, two operations each, gcc -O3 -march=native, measured in turn with the rest; one "
    "number's peak is the same without vectors, a limit of code for one state that finds nothing to do side by side. "
    "Alone: one state a call. Lanes: 8 states side by side, per state."
)
BELOW = (
    "What keeps programs below the peaks, its parts not measured one by one: operations that are no pair of a "
    "multiplication and an addition count one where the peak counts two; sines, cosines and divisions take many times "
    "as long as a multiplication; alone, each joint waits for the one before it; in lanes, values that do not fit into "
    "the registers wait for the cache."
)


@dataclass(frozen=True)
class Peaks:
    """The measured limits.

    Attributes:
        vector: in the widest vectors.
        single: one number at a time.
    """

    vector: CorePeak
    single: CorePeak

    def contestants(self) -> dict[str, Callable[[int], object]]:
        """To be timed in turn with the programs."""
        return {"vector": self.vector.run, "single": self.single.run}


def table(mode: Mode) -> Table:
    """Measures the robots of the mode."""
    result = Table(TITLE, COLUMNS, notes=[NOTE, BELOW])
    try:
        peaks = Peaks(CorePeak(width=widest()), CorePeak(width=1))
    except PeerMissingError as missing:
        result.note(f"Not measured: {missing}.")
        return result
    measured: dict[str, list[float]] = {"vector": [], "single": []}
    for robot in ARMS if mode.quick else FIVE:
        ours = Ours.of(robot)
        for name in ("inverse", "forward"):
            result.rows.append([robot.title, name, *_cells(ours, name, peaks, mode, measured)])
    vector, single = (np.median(measured[key]) for key in ("vector", "single"))
    result.note(
        f"Measured peak of the core: {vector:.1f} GFLOP/s in vectors of {peaks.vector.width}, {single:.1f} GFLOP/s one "
        "number at a time."
    )
    return result


def _cells(ours: Ours, name: str, peaks: Peaks, mode: Mode, measured: dict[str, list[float]]) -> list[str]:
    loop, count = ours.loops[name], ours.count(name)
    operations = count["mul"] + count["add"] + count["div"]
    contestants = peaks.contestants() | {"alone": loop.run}
    code = loop.function.lanes()
    if code is not None and code.width == WIDTH:
        state, rest, stage = loop.inputs
        out = blocks(np.zeros((len(loop.out), loop.function.n_out)))
        contestants["lanes"] = block_loop(code, blocks(state), blocks(rest), stage, out)
    figures = interleaved(contestants, batches=mode.batches)
    vector, single = (_rate(figures[key], getattr(peaks, key).operations) for key in ("vector", "single"))
    measured["vector"].append(vector)
    measured["single"].append(single)
    alone = _rate(figures["alone"], operations)
    cells = [str(operations), str(count["trig"]), f"{alone:.1f}", f"{alone / vector:.0%}", f"{alone / single:.0%}"]
    if "lanes" not in figures:
        return [*cells, "no lanes here", "-"]
    lanes = _rate(figures["lanes"], WIDTH * operations)
    return [*cells, f"{lanes:.1f}", f"{lanes / vector:.0%}"]


def _rate(figure: Figure, operations: float) -> float:
    """Operations a second [1e9/s]."""
    return operations / figure.median * 1e-9
