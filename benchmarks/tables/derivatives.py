"""First derivatives in a native loop over 64 random states, beside the function itself and Pinocchio's in C++."""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.contest import Ours, Peers, peers_or_reason
from benchmarks.kane_loop import KaneLoop
from benchmarks.mode import Mode
from benchmarks.report import Table, nanoseconds
from benchmarks.robots import ARMS, FIVE, Robot
from benchmarks.timing import interleaved

TITLE = "Derivatives in a native loop"
COLUMNS = ("robot", "derivatives of", "operations", "kane, ns", "x the function", "Pinocchio C++, ns", "x")
NOTE = (
    "Medians (least-greatest) of CPU time a call. Of inverse dynamics by q, u and udot (computeRNEADerivatives), of "
    "forward dynamics by q, u and inputs (computeABADerivatives); kane gives the entries that are not zero. Products "
    "and sums are over those of the function; x the function: over the time of the function alone; x: Pinocchio's "
    "time over kane's. Accelerations of more than 24 speeds are solved for in numbers, which is no native loop: those "
    "rows are missing."
)
WORDS = {"inverse": ("q", "u", "udot"), "forward": ("q", "u", "inputs")}
ALGORITHMS = {"inverse": "rnea derivatives", "forward": "aba derivatives"}


def table(mode: Mode) -> Table:
    """Measures the robots of the mode."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for robot in ARMS if mode.quick else FIVE:
        _rows(robot, mode, result)
    return result


def _rows(robot: Robot, mode: Mode, result: Table) -> None:
    ours = Ours.of(robot)
    peers = peers_or_reason(robot, ours, {})
    if isinstance(peers, str):
        result.note(f"No peers: {peers}.")
    for name in WORDS:
        program = ours.dynamics.derivatives(name, wrt=WORDS[name]).program
        if program is None:
            continue
        function = ours.dynamics.compile(program)
        state, rest, _ = ours.loops[name].inputs
        rest = np.ascontiguousarray(rest[:, : function.n_rest])
        loop = KaneLoop(function, state, rest, function.stage(ours.dynamics.parameters))
        runs: dict[str, Callable[[int], object]] = {"kane": loop.run, "function": ours.loops[name].run}
        if isinstance(peers, Peers):
            runs["Pinocchio"] = partial(peers.native.run, ALGORITHMS[name])
        figures = interleaved(runs, batches=mode.batches)
        theirs = figures.get("Pinocchio")
        count, own = program.count(), ours.count(name)
        case = f"{robot.title}, derivatives of {name}"
        result.rows.append(
            [
                robot.title,
                name,
                f"{(count['mul'] + count['add']) / (own['mul'] + own['add']):.1f}",
                nanoseconds(figures["kane"]),
                f"{figures['kane'].median / figures['function'].median:.1f}",
                "missing" if theirs is None else nanoseconds(theirs),
                result.ratio(case, "Pinocchio C++", figures["kane"], theirs),
            ]
        )
    if isinstance(peers, Peers):
        peers.close()
