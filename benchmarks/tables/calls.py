"""One call in a native loop over 64 random states: kane, Pinocchio traced to C, Pinocchio in C++."""

from benchmarks.contest import AGREEMENT, Ours, Peers, fastest, peers_or_reason
from benchmarks.mode import Mode
from benchmarks.report import Table, nanoseconds, ratio
from benchmarks.robots import ARMS, FIVE, Robot
from benchmarks.timing import interleaved

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
        result.rows.append([robot.title, name, *_cells(name, ours, peers, mode)])
    if isinstance(peers, Peers):
        peers.close()


def _cells(name: str, ours: Ours, peers: Peers | str, mode: Mode) -> list[str]:
    contestants = {"kane": ours.loops[name].run}
    if isinstance(peers, str):
        figure = interleaved(contestants, batches=mode.batches)["kane"]
        return [nanoseconds(figure), *["missing", "-"] * 2, "-"]
    figures = interleaved({**contestants, **peers.contestants(name)}, batches=mode.batches)
    kane, traced = figures["kane"], figures["traced"]
    native = figures[fastest(figures, ["rnea", "aba WORLD", "aba LOCAL"])]
    difference = peers.disagreement(name, ours)
    verdict = f"{difference:.0e}" + ("" if difference < AGREEMENT else " DISAGREES")
    return [
        nanoseconds(kane),
        nanoseconds(traced),
        ratio(kane, traced),
        nanoseconds(native),
        ratio(kane, native),
        verdict,
    ]
