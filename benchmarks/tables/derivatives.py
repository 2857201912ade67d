"""First derivatives in a native loop over 64 random states, beside the function itself, Pinocchio's in C++ and in C."""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.contest import Ours, Peers, peers_or_reason
from benchmarks.kane_loop import KaneLoop, block_loop
from benchmarks.mode import Mode
from benchmarks.peers.pinocchio_models import text_of
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.peers.traced import USUAL, strongest
from benchmarks.peers.traced_derivatives import TracedDerivatives
from benchmarks.report import Table, nanoseconds
from benchmarks.robots import ARMS, FIVE, Robot
from benchmarks.timing import Figure, interleaved

TITLE = "Derivatives in a native loop"
COLUMNS = (
    *("robot", "derivatives of", "operations", "kane, ns", "x the function", "Pinocchio C++, ns", "x"),
    *("gcc, ns", "x", "clang, ns", "x", "kane in lanes, ns a state", "x the function in lanes"),
)
NOTE = (
    "Medians (least-greatest) of CPU time a call. Of inverse dynamics by q, u and udot (computeRNEADerivatives), of "
    "forward dynamics by q, u and inputs (computeABADerivatives). Products and sums are over those of the function; x "
    "the function: over the time of the function alone; x: a peer's time over kane's. All write their results over "
    "those of the call before. gcc, clang: Pinocchio's algorithms traced through CasADi, "
    f"{USUAL.words} and {strongest().words}, zeros left out; clang does not "
    "come to an end with Talos. Where operations are missing accelerations are solved for "
    "in numbers, which has no lanes."
)
WORDS = {"inverse": ("q", "u", "udot"), "forward": ("q", "u", "inputs")}
ALGORITHMS = {"inverse": "rnea derivatives", "forward": "aba derivatives"}
BUILDS = {"gcc": USUAL, "clang": strongest()}
# With more speeds clang -Ofast works at the traced C, 5 MB of it, for more than half an hour; gcc takes some minutes.
MOST_FOR_CLANG = 30


def table(mode: Mode) -> Table:
    """Measures the robots of the mode."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for robot in ARMS if mode.quick else FIVE:
        _rows(robot, mode, result)
    return result


def _rows(robot: Robot, mode: Mode, result: Table) -> None:
    ours = Ours.of(robot)
    peers = peers_or_reason(robot, ours, {})
    traced: dict[str, TracedDerivatives] = {}
    if isinstance(peers, str):
        result.note(f"No peers: {peers}.")
    else:
        traced = _traced(peers, result)
    for name in WORDS:
        loop = _loop(ours, name)
        runs: dict[str, Callable[[int], object]] = {"kane": loop.run, "function": ours.loops[name].run}
        if isinstance(peers, Peers):
            runs["Pinocchio C++"] = partial(peers.native.run, ALGORITHMS[name])
            runs |= {key: partial(_run, code, name, peers) for key, code in traced.items()}
        runs |= _lanes(ours, name, loop)
        figures = interleaved(runs, batches=mode.batches)
        row = [robot.title, name, _operations(ours, name, loop), nanoseconds(figures["kane"])]
        row.append(f"{figures['kane'].median / figures['function'].median:.1f}")
        case = f"{robot.title}, derivatives of {name}"
        for key in ("Pinocchio C++", *BUILDS):
            theirs = figures.get(key)
            row.append("missing" if theirs is None else nanoseconds(theirs))
            row.append(result.ratio(case, key, figures["kane"], theirs))
        result.rows.append([*row, *_lane_cells(figures)])
    if isinstance(peers, Peers):
        peers.close()


def _loop(ours: Ours, name: str) -> KaneLoop:
    """Derivatives over the states of the function, each call writing over the results of the one before."""
    function = ours.dynamics.derivatives(name, wrt=WORDS[name]).function
    assert function is not None
    state, rest, _ = ours.loops[name].inputs
    rest = np.ascontiguousarray(rest[:, : function.n_rest])
    return KaneLoop(function, state, rest, function.stage(ours.dynamics.parameters), kept=False)


def _traced(peers: Peers, result: Table) -> dict[str, TracedDerivatives]:
    model = peers.model
    builds = {key: how for key, how in BUILDS.items() if key != "clang" or model.nv <= MOST_FOR_CLANG}
    try:
        return {key: TracedDerivatives.of(text_of(model), model.nq, model.nv, how) for key, how in builds.items()}
    except PeerMissingError as missing:
        result.note(f"No derivatives in C: {missing}.")
        return {}


def _run(code: TracedDerivatives, name: str, peers: Peers, calls: int) -> object:
    return code.loop(name, calls, peers.arrays[name])


def _operations(ours: Ours, name: str, loop: KaneLoop) -> str:
    if loop.function.program is None:
        return "missing"
    count, own = loop.function.program.count(), ours.count(name)
    return f"{(count['mul'] + count['add']) / (own['mul'] + own['add']):.1f}"


def _lanes(ours: Ours, name: str, loop: KaneLoop) -> dict[str, Callable[[int], object]]:
    """Derivatives and function in lanes, a call for each block of states; nothing where there are none."""
    found = {}
    for key, of in (("lanes", loop), ("function in lanes", ours.loops[name])):
        code = of.function.lanes()
        if code is None:
            return {}
        state, rest, stage = of.inputs
        blocks = [np.ascontiguousarray(x.reshape(-1, code.width, x.shape[1]).swapaxes(1, 2)) for x in (state, rest)]
        out = np.zeros((1, of.function.n_out, code.width)).repeat(len(blocks[0]), axis=0)
        found[key] = block_loop(code, *blocks, stage, out), code.width
    return {key: partial(_each, run, width) for key, (run, width) in found.items()}


def _each(run: Callable[[int], object], width: int, calls: int) -> object:
    """So many states, at least one block of them."""
    return run(-(-calls // width))


def _lane_cells(figures: dict[str, Figure]) -> list[str]:
    if "lanes" not in figures:
        return ["missing", "missing"]
    ratio = figures["lanes"].median / figures["function in lanes"].median
    return [nanoseconds(figures["lanes"]), f"{ratio:.1f}"]
