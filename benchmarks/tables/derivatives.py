"""First derivatives in a native loop over 64 random states, beside the function itself, Pinocchio's in C++ and in C."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

import kane
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
from kane.codegen.jit.compiler import lane_width

WIDTH = lane_width()
TITLE = "Derivatives in a native loop"
COLUMNS = (
    *("robot", "derivatives of", "operations", "kane, ns", "x the function", "Pinocchio C++, ns", "x"),
    *("gcc, ns", "x", "clang, ns", "x", "kane in lanes, ns a state", "x the function in lanes"),
    *("derived and compiled, s", "lanes, s"),
)
NOTE = (
    "Medians (least-greatest) of CPU time a call. Of inverse dynamics by q, u and udot (computeRNEADerivatives), of "
    "forward dynamics by q, u and inputs (computeABADerivatives). Products and sums are over those of the function, "
    "where two numbers are given those of single numbers and those of links or columns side by side; x the function: "
    "over the time of the function alone, batch by batch; x: a peer's time over kane's, likewise. All write their "
    f"results over those of the call before. gcc, clang: Pinocchio's algorithms traced through CasADi, {USUAL.words} "
    f"and {strongest().words}, zeros left out; clang does not come to an end with Talos. In lanes: {WIDTH} states "
    "side by side. Derived and compiled: CPU time from the model to native code, nothing kept on disk; lanes come "
    "on top where batches ask for them."
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
        row.append(_times(figures["function"], figures["kane"]))
        case = f"{robot.title}, derivatives of {name}"
        for key in ("Pinocchio C++", *BUILDS):
            theirs = figures.get(key)
            row.append("missing" if theirs is None else nanoseconds(theirs))
            row.append(result.ratio_spread(case, key, figures["kane"], theirs))
        result.rows.append([*row, *_lane_cells(figures), *_made(robot, name)])
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
    own = ours.count(name)
    function, size = loop.function, own["mul"] + own["add"]
    if function.program is None:
        operations = getattr(function, "operations", ())
        return " + ".join(f"{count / size:.1f}" for count in operations) or "missing"
    count = function.program.count()
    return f"{(count['mul'] + count['add']) / size:.1f}"


def _lanes(ours: Ours, name: str, loop: KaneLoop) -> dict[str, Callable[[int], object]]:
    """Derivatives and function in lanes, a call for each block of states."""
    found: dict[str, Callable[[int], object]] = {}
    for key, of in (("lanes", loop), ("function in lanes", ours.loops[name])):
        code = of.function.lanes() if WIDTH > 1 else None
        if code is None:
            continue
        state, rest, stage = of.inputs
        blocks = [np.ascontiguousarray(x.reshape(-1, code.width, x.shape[1]).swapaxes(1, 2)) for x in (state, rest)]
        out = np.zeros((1, of.function.n_out, code.width)).repeat(len(blocks[0]), axis=0)
        found[key] = partial(_each, block_loop(code, *blocks, stage, out), code.width)
    return found


def _each(run: Callable[[int], object], width: int, calls: int) -> object:
    """So many states, at least one block of them."""
    return run(-(-calls // width))


def _lane_cells(figures: dict[str, Figure]) -> list[str]:
    if not {"lanes", "function in lanes"} <= {*figures}:
        return ["missing", "missing"]
    return [nanoseconds(figures["lanes"]), _times(figures["function in lanes"], figures["lanes"])]


def _times(function: Figure, derivatives: Figure) -> str:
    """How many times the function's time the derivatives take."""
    return f"{function.times(derivatives):.1f} {function.range_of(derivatives)}"


def _made(robot: Robot, name: str) -> list[str]:
    """CPU time from a model to native code, and from there to that in lanes."""
    model, start = robot.model(), time.process_time()
    dynamics = kane.build(kane.formulate(model), target=kane.LLVM(cache=False))
    function = dynamics.derivatives(name, wrt=WORDS[name]).function
    assert function is not None
    alone = time.process_time()
    lanes = function.lanes() if WIDTH > 1 else None
    return [f"{alone - start:.2f}", "missing" if lanes is None else f"{time.process_time() - alone:.2f}"]
