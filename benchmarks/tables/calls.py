"""One call in a native loop over 64 random states: kane, Pinocchio traced to C, Pinocchio in C++."""

from collections.abc import Callable

from benchmarks.contest import AGREEMENT, Ours, Peers, fastest, peers_or_reason
from benchmarks.mode import Mode
from benchmarks.report import Table, nanoseconds
from benchmarks.robots import ARMS, FIVE, Robot
from benchmarks.timing import Figure, interleaved

TITLE = "One call in a native loop"
COLUMNS = ("robot", "dynamics", "kane, ns", "traced C, ns", "x", "Pinocchio C++, ns", "x", "differs by")
NOTE = (
    "Medians (least-greatest) of CPU time a call, one state at a time; x is the peer's time over kane's. Traced C: "
    "Pinocchio's algorithm recorded through CasADi, gcc -O3 -march=native; forward is aba in its LOCAL convention, "
    "the shorter one. Pinocchio C++: g++ -O3 -march=native, forward in the faster of its two conventions. The last "
    "column is the largest relative difference between the results over the 64 states."
)


def table(mode: Mode) -> Table:
    """Measures the robots of the mode."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for robot in ARMS if mode.quick else FIVE:
        _rows(robot, mode, result)
    return result


def _rows(robot: Robot, mode: Mode, result: Table) -> None:
    ours = Ours.of(robot)
    peers = peers_or_reason(robot, ours)
    if isinstance(peers, str):
        result.note(f"No peers: {peers}.")
    for name in ("inverse", "forward"):
        figures = _figures(name, ours, peers, mode)
        cells = _cells(f"{robot.title}, {name}", figures, result)
        result.rows.append([robot.title, name, *cells, _verdict(name, ours, peers)])
    if isinstance(peers, Peers):
        peers.close()


def _figures(name: str, ours: Ours, peers: Peers | str, mode: Mode) -> dict[str, Figure]:
    contestants: dict[str, Callable[[int], object]] = {"kane": ours.loops[name].run}
    if isinstance(peers, Peers):
        contestants |= peers.contestants(name)
    return interleaved(contestants, batches=mode.batches)


def _cells(case: str, figures: dict[str, Figure], result: Table) -> list[str]:
    kane, traced = figures["kane"], figures.get("traced")
    if traced is None:
        return [nanoseconds(kane), *["missing", "-"] * 2]
    native = figures[fastest(figures, ["rnea", "aba WORLD", "aba LOCAL"])]
    cells = [nanoseconds(traced), result.ratio(case, "traced C", kane, traced)]
    return [nanoseconds(kane), *cells, nanoseconds(native), result.ratio(case, "Pinocchio C++", kane, native)]


def _verdict(name: str, ours: Ours, peers: Peers | str) -> str:
    if isinstance(peers, str):
        return "-"
    difference = peers.disagreement(name, ours)
    return f"{difference:.0e}" + ("" if difference < AGREEMENT else " DISAGREES")
