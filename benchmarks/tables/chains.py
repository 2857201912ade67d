"""Chains of many joints: what grows with n, and how fast."""

from collections.abc import Callable

from benchmarks.contest import Ours, Peers, fastest, peers_or_reason
from benchmarks.mode import Mode
from benchmarks.peers.traced import USUAL
from benchmarks.processes import first_numbers, total
from benchmarks.report import Table, nanoseconds, seconds
from benchmarks.robots import chain
from benchmarks.timing import interleaved

LENGTHS = (10, 30, 100, 300, 1000)
QUICK_LENGTHS = (10,)
LONGEST_TRACED = 30
LONGEST_PINOCCHIO = 300  # its Data holds 6 n^3 numbers (a kinematic Hessian): 1.3 GB here, 48 GB for 1000 joints


def derivation(mode: Mode) -> Table:
    """Operations, time to derive and compile, and memory, each run a fresh process."""
    columns = ["joints", "operations inverse", "a joint", "forward", "a joint", "derive, s", "compile, s", "memory, MB"]
    columns += ["traced + gcc, s", "x"]
    result = Table("Chains: from the model to native code", columns)
    result.notes.append(
        "Inverse and forward together, CPU seconds; memory is the greatest resident set of the process. Traced C is "
        f"not compiled beyond {LONGEST_TRACED} joints: gcc takes minutes there."
    )
    for n in QUICK_LENGTHS if mode.quick else LENGTHS:
        result.rows.append(_derivation_row(n, mode, result))
    return result


def _derivation_row(n: int, mode: Mode, result: Table) -> list[str]:
    sides = ("kane", "traced") if n <= LONGEST_TRACED else ("kane",)
    runs = first_numbers(sides, f"chain-{n}", mode.processes)
    ours, peer = runs["kane"], runs.get("traced")
    if isinstance(ours, str):
        raise RuntimeError(f"kane failed on a chain of {n} joints: {ours}")
    operations = [int(ours[0][name]) for name in ("inverse", "forward")]
    cells = [text for count in operations for text in (str(count), f"{count / n:.0f}")]
    cells += [seconds(total(ours, lap)) for lap in ("derive", "compile")]
    cells.append(f"{total(ours, 'memory').median / 1e6:.0f}")
    if isinstance(peer, str):
        result.note(f"No traced C: {peer}.")
    if not isinstance(peer, list):
        return [str(n), *cells, "-", "-"]
    both = total(ours, "derive", "compile"), total(peer, "derive", "compile")
    return [str(n), *cells, seconds(both[1]), result.ratio(f"{n} joints", "traced C + gcc", *both)]


def running(mode: Mode) -> Table:
    """Time of one call in a native loop."""
    columns = ("joints", "dynamics", "kane, ns", "a joint", "traced C, ns", "x", "Pinocchio C++, ns", "x", "differs by")
    result = Table("Chains: one call in a native loop", columns)
    result.notes.append(
        "As in the table of single calls. Pinocchio's Data holds 6 n^3 numbers whatever is computed: it is left out "
        f"beyond {LONGEST_PINOCCHIO} joints, where that fills the memory of this machine."
    )
    for n in QUICK_LENGTHS if mode.quick else LENGTHS:
        ours = Ours.of(chain(n))
        peers = _peers(n, ours)
        for name in ("inverse", "forward"):
            result.rows.append([str(n), name, *_running_cells((n, name), ours, peers, mode, result)])
        if isinstance(peers, Peers):
            peers.close()
        elif peers:
            result.note(f"No peers: {peers}.")
    return result


def _peers(n: int, ours: Ours) -> Peers | str:
    if n > LONGEST_PINOCCHIO:
        return ""
    return peers_or_reason(chain(n), ours, {"traced": USUAL} if n <= LONGEST_TRACED else {})


def _running_cells(which: tuple[int, str], ours: Ours, peers: Peers | str, mode: Mode, result: Table) -> list[str]:
    (n, name), case = which, f"{which[0]} joints, {which[1]}"
    contestants: dict[str, Callable[[int], object]] = {"kane": ours.loops[name].run}
    if isinstance(peers, Peers):
        contestants |= peers.contestants(name)
    figures = interleaved(contestants, batches=mode.batches)
    kane, traced = figures["kane"], figures.get("traced")
    cells = [nanoseconds(kane), f"{kane.median * 1e9 / n:.1f}"]
    cells += ["-", "-"] if traced is None else [nanoseconds(traced), result.ratio(case, "traced C", kane, traced)]
    if not isinstance(peers, Peers):
        return [*cells, "missing" if peers else "-", "-", "-"]
    native = figures[fastest(figures, ["rnea", "aba WORLD", "aba LOCAL"])]
    cells += [nanoseconds(native), result.ratio(case, "Pinocchio C++", kane, native)]
    return [*cells, f"{peers.disagreement(name, ours):.0e}"]
