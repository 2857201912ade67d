"""One call in a native loop over 64 random states: kane, Pinocchio traced to C, Pinocchio in C++."""

from collections.abc import Callable

from benchmarks.contest import AGREEMENT, Ours, Peers, fastest, peers_or_reason
from benchmarks.mode import Mode
from benchmarks.peers.traced import USUAL, strongest
from benchmarks.report import Table, nanoseconds
from benchmarks.robots import ARMS, FIVE, Robot
from benchmarks.timing import Figure, interleaved

STRONGEST = f"traced C, {strongest().words}"
TITLE = "One call in a native loop"
COLUMNS = ("robot", "dynamics", "kane, ns", "traced C, ns", "x", f"{STRONGEST}, ns", "x", "Pinocchio C++, ns", "x")
NOTE = (
    "Medians (least-greatest) of CPU time a call, one state at a time; x is the peer's time over kane's. Traced C: "
    "Pinocchio's algorithm recorded through CasADi, gcc -O3; forward is aba in its LOCAL convention, the shorter one. "
    "The second build of it is the fastest found: -Ofast reorders sums and takes numbers for finite, and its sine and "
    "cosine are kane's polynomials, inlined, good to 1e6 rad. Pinocchio C++: g++ -O3, forward in the faster of its two "
    "conventions. All with -march=native. The last column is the largest relative difference between the results over "
    "the 64 states."
)
CHAINED = (
    "As above, but each call waits for the one before, as in an integrator: zero times its results is added to the "
    "state, on all sides alike."
)


def table(mode: Mode) -> Table:
    """Measures the robots of the mode."""
    result = Table(TITLE, (*COLUMNS, "differs by"), notes=[NOTE])
    for robot in ARMS if mode.quick else FIVE:
        _rows(robot, mode, result, chained=False)
    return result


def chained(mode: Mode) -> Table:
    """Likewise, where a call cannot begin before the one before has ended."""
    result = Table("One call after another", COLUMNS[:-2], notes=[CHAINED])
    for robot in ARMS if mode.quick else FIVE:
        _rows(robot, mode, result, chained=True)
    return result


def _rows(robot: Robot, mode: Mode, result: Table, *, chained: bool) -> None:
    ours = Ours.of(robot)
    peers = peers_or_reason(robot, ours, {"traced": USUAL, "strongest": strongest()})
    if isinstance(peers, str):
        result.note(f"No peers: {peers}.")
    for name in ("inverse", "forward"):
        figures = interleaved(_contestants(name, ours, peers, chained), batches=mode.batches)
        case = f"{robot.title}, {name}" + (", chained" if chained else "")
        cells = _cells(case, figures, result)
        if not chained:
            cells += [*_native(case, figures, result), _verdict(name, ours, peers)]
        result.rows.append([robot.title, name, nanoseconds(figures["kane"]), *cells])
    if isinstance(peers, Peers):
        peers.close()


def _contestants(name: str, ours: Ours, peers: Peers | str, chained: bool) -> dict[str, Callable[[int], object]]:
    loop = ours.loops[name]
    found: dict[str, Callable[[int], object]] = {"kane": loop.chained if chained else loop.run}
    if isinstance(peers, Peers):
        found |= peers.traced_contestants(name, chained=True) if chained else peers.contestants(name)
    return found


def _cells(case: str, figures: dict[str, Figure], result: Table) -> list[str]:
    cells = []
    for key, peer in (("traced", "traced C"), ("strongest", STRONGEST)):
        figure = figures.get(key)
        cells += ["missing" if figure is None else nanoseconds(figure)]
        cells += [result.ratio(case, peer, figures["kane"], figure)]
    return cells


def _native(case: str, figures: dict[str, Figure], result: Table) -> list[str]:
    if "traced" not in figures:
        return ["missing", "-"]
    native = figures[fastest(figures, ["rnea", "aba WORLD", "aba LOCAL"])]
    return [nanoseconds(native), result.ratio(case, "Pinocchio C++", figures["kane"], native)]


def _verdict(name: str, ours: Ours, peers: Peers | str) -> str:
    if isinstance(peers, str):
        return "-"
    difference = peers.disagreement(name, ours)
    return f"{difference:.0e}" + ("" if difference < AGREEMENT else " DISAGREES")
