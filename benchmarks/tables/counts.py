"""Operations of one evaluation: kane beside Pinocchio's algorithm as traced, and beside the literature."""

from benchmarks.contest import Ours
from benchmarks.mode import Mode
from benchmarks.peers.pinocchio_models import text_of
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.peers.traced import count_operations, source_of
from benchmarks.report import Table, operations
from benchmarks.robots import ARMS, FIVE, Robot, chain, general_arm

TITLE = "Operations at run time"
COLUMNS = ("robot", "inverse: kane", "traced", "forward: kane", "traced", "beyond the peer")
NOTE = (
    "mul/add/div/trig, and + others where there are any; sine and cosine count one each, a change of sign nothing. "
    "Traced: counted in the C that CasADi wrote in this run. The last column names the cells in which kane needs more."
)


def table(mode: Mode) -> Table:
    """Counts for the robots of the mode and for arms of generic geometry."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for robot in (*(ARMS if mode.quick else FIVE), general_arm(6), general_arm(7)):
        result.rows.append(_row(robot, result))
    return result


def _row(robot: Robot, result: Table) -> list[str]:
    ours = Ours.of(robot)
    counts = {name: ours.count(name) for name in ("inverse", "forward")}
    try:
        model = robot.peer_model()
        peer = count_operations(source_of(text_of(model)).read_text())
    except PeerMissingError as missing:
        result.note(f"Not traced: {missing}.")
        return [robot.title, operations(counts["inverse"]), "missing", operations(counts["forward"]), "missing", "-"]
    for name in counts:
        ours_all, theirs_all = (sum(side[name].values()) for side in (counts, peer))
        result.compare_counts(f"{robot.title}, {name}", "traced C", ours_all, theirs_all)
    cells = [operations(side[name]) for name in counts for side in (counts, peer)]
    return [robot.title, *cells, _beyond(counts, peer)]


def _beyond(counts: dict[str, dict[str, int]], peer: dict[str, dict[str, int]]) -> str:
    kinds = ("mul", "add", "div", "trig")
    worse = [f"{name} {kind}" for name in counts for kind in kinds if counts[name][kind] > peer[name][kind]]
    return ", ".join(worse) or "none"


def literature(mode: Mode) -> Table:
    """Inverse dynamics of arms with n revolute joints against Angeles, Ma & Rojas 1988: 105n-109 mul, 90n-105 add."""
    columns = ("joints", "generic arm: kane mul/add", "chain: kane mul/add", "105n-109 / 90n-105", "at or under")
    result = Table("Inverse dynamics of serial arms beside the formula of 1988", columns)
    for n in (3, 6, 9, 12) if mode.quick else range(3, 13):
        bound = 105 * n - 109, 90 * n - 105
        pairs = []
        for robot in (general_arm(n), chain(n)):
            count = Ours.of(robot).count("inverse")
            pairs.append((count["mul"], count["add"]))
        for kind, pair in zip(("generic arm", "chain"), pairs, strict=True):
            result.compare_counts(f"{kind} of {n} joints, inverse", "formula of 1988", sum(pair), sum(bound))
        held = all(m <= bound[0] and a <= bound[1] for m, a in pairs)
        cells = ["/".join(map(str, pair)) for pair in (*pairs, bound)]
        result.rows.append([str(n), *cells, "yes" if held else "NO"])
    return result
