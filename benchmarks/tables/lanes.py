"""States side by side: kane in lanes, kane one by one, and the 8-wide build of Pinocchio traced to C."""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from benchmarks.contest import AGREEMENT, Ours
from benchmarks.kane_loop import block_loop
from benchmarks.mode import Mode
from benchmarks.peers.pinocchio_models import text_of
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.peers.traced_lanes import WIDTH, TracedLanes, blocks
from benchmarks.report import Table
from benchmarks.robots import ARMS, FIVE, Robot
from benchmarks.states import layout
from benchmarks.timing import Figure, interleaved
from kane.codegen.jit.batches import LaneCode

Array = npt.NDArray[np.float64]
Contestants = dict[str, Callable[[int], object]]
TITLE = "A state among many, one core"
COLUMNS = (
    "robot",
    "dynamics",
    "kane alone, ns",
    "kane, blocks, ns",
    "kane, rows, ns",
    "traced C x 8, ns",
    "x",
    "differs by",
)
NOTE = (
    "Medians (least-greatest) of CPU time a state. Alone: one call a state. Blocks: 64 states in blocks laid out value "
    "by value, which is how traced C gets them too: its numbers are gcc's vectors of 8 doubles, sine and cosine those "
    "of libmvec, -O3 -march=native. Rows: 4,096 states one after the other as users hand them over, turned and turned "
    "back on the way, called from Python. x: traced C over kane, both in blocks."
)
ROWS = 4096


def table(mode: Mode) -> Table:
    """Measures the robots of the mode."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for robot in ARMS if mode.quick else FIVE:
        ours = Ours.of(robot)
        try:
            peer: _Peer | None = _Peer(robot, ours)
        except PeerMissingError as missing:
            peer = None
            result.note(f"No peer: {missing}.")
        for name in ("inverse", "forward"):
            result.rows.append([robot.title, name, *_cells((robot.title, name), ours, peer, mode, result)])
    return result


class _Peer:
    """The traced C of one robot with the states of kane."""

    def __init__(self, robot: Robot, ours: Ours) -> None:
        model = robot.peer_model()
        self.order = layout(ours.dynamics.equations, model)
        self.code = TracedLanes(text_of(model), model.nq, model.nv)
        s, order = ours.states, self.order
        q, v = blocks(s.q[:, order.q]), blocks(s.u[:, order.u])
        last = {"inverse": s.udot[:, order.u], "forward": order.peer_efforts(s.efforts)}
        self.states = {name: (q, v, blocks(x)) for name, x in last.items()}

    def run(self, name: str, calls: int) -> Array:
        """Results of "inverse" or "forward", in blocks."""
        return self.code.loop(name, calls, self.states[name])


def _cells(case: tuple[str, str], ours: Ours, peer: _Peer | None, mode: Mode, result: Table) -> list[str]:
    title, name = case
    loop = ours.loops[name]
    code = loop.function.lanes()
    if code is None or code.width != WIDTH:
        return ["-", "no lanes here", *["-"] * 4]
    out = blocks(np.zeros((len(loop.out), loop.function.n_out)))
    figures = _figures(name, ours, out, peer, mode)
    cells = [_nanoseconds(figures[key]) for key in ("alone", "blocks", "rows")]
    if peer is None:
        return [*cells, "missing", "-", "-"]
    ratio = result.ratio(f"{title}, {name}, among many", "traced C x 8", figures["blocks"], figures["traced"])
    return [*cells, _nanoseconds(figures["traced"]), ratio, _verdict(name, peer, out)]


def _figures(name: str, ours: Ours, out: Array, peer: _Peer | None, mode: Mode) -> dict[str, Figure]:
    """Times of one state; afterwards the blocks ``out`` hold kane's results."""
    loop = ours.loops[name]
    code = loop.function.lanes()
    assert code is not None
    state, rest, stage = loop.inputs
    run = block_loop(code, blocks(state), blocks(rest), stage, out)
    contestants: Contestants = {"alone": loop.run, "blocks": run, "rows": _rows(ours, name, code)}
    if peer is not None:
        contestants["traced"] = partial(peer.run, name)
    figures = interleaved(contestants, batches=mode.batches)
    run(len(out))
    return {key: _each(f, {"alone": 1, "rows": ROWS}.get(key, WIDTH)) for key, f in figures.items()}


def _verdict(name: str, peer: _Peer, out: Array) -> str:
    theirs, size = peer.run(name, len(out)), np.abs(out).max(axis=1, keepdims=True)
    difference = float((np.abs(theirs - out[:, peer.order.u]) / size).max())
    return f"{difference:.0e}" + ("" if difference < AGREEMENT else " DISAGREES")


def _rows(ours: Ours, name: str, code: LaneCode) -> Callable[[int], object]:
    """The states many times over, one after the other, in as many calls of native code."""
    loop = ours.loops[name]
    state, rest, stage = loop.inputs
    times = ROWS // len(state)
    out = np.empty((ROWS, loop.function.n_out))
    start = code.ranges((np.tile(state, (times, 1)),), np.tile(rest, (times, 1)), stage, batch=(ROWS,), out=out)
    native = start()

    def run(calls: int) -> None:
        for _ in range(calls):
            native(0, ROWS)

    return run


def _each(figure: Figure, states: int) -> Figure:
    return Figure(tuple(sample / states for sample in figure.samples))


def _nanoseconds(figure: Figure) -> str:
    return f"{figure.median * 1e9:.1f} ({figure.low * 1e9:.1f}-{figure.high * 1e9:.1f})"
