"""Deriving M and bias: kane's two routes beside SymPy's KanesMethod, and what a certificate costs."""

import numpy as np

from benchmarks.contest import AGREEMENT
from benchmarks.derivations import DERIVATIONS, Derivation
from benchmarks.mode import Mode
from benchmarks.processes import Laps, derivations, in_turn, laps_of, total
from benchmarks.report import Table, operations, seconds
from benchmarks.timing import Figure

TITLE = "Deriving the equations"
ROUTES = ("recursive", "explicit")
PEER = "SymPy KanesMethod"
COLUMNS = ["mechanism", "recursive, s", "explicit, s", "SymPy, s", "x recursive", "x explicit"]
COLUMNS += ["M and f: recursive", "explicit", "SymPy + cse", "cse, s", "differs by"]
NOTE = (
    "CPU seconds from nothing but imported packages to M, bias and input matrix, each run a fresh process. Recursive: "
    "`kane.formulate`. Explicit: `kane.explicit`, Kane's partial velocities. SymPy: KanesMethod, its equations formed; "
    "numbers other than 0, 1 and -1 given as symbols, which is the faster way. x is SymPy's time over that of the "
    "route, sympy.cse left out. Operations mul/add/div/trig of one triangle of M and f together, on all three sides "
    "without what depends on parameters alone, counted once in SymPy's result by kane's rules. The pendulums "
    "have the same angles on all sides: to the vertical, which makes expressions far shorter, or to the link before. "
    "The last column is the largest relative difference of M and bias between the three at one state."
)
CERTIFIED = 20


def table(mode: Mode) -> Table:
    """Measures the mechanisms of the mode."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for key, case in DERIVATIONS.items():
        if case.quick or not mode.quick:
            result.rows.append(_row(key, min(case.batches, mode.processes), result))
    return result


def _row(key: str, batches: int, result: Table) -> list[str]:
    case = DERIVATIONS[key]
    runs = derivations((*ROUTES, "sympy"), key, batches)
    for side, reason in runs.items():
        if isinstance(reason, str):
            result.note(f"No {side}: {reason}.")
    done = {side: laps for side, laps in runs.items() if not isinstance(laps, str)}
    times = {side: total(laps, "derive") for side, laps in done.items()}
    counts = {side: laps[0]["count"] for side, laps in done.items()}
    cells = [seconds(times[side]) if side in times else "missing" for side in (*ROUTES, "sympy")]
    cells += [_beside(case, route, times, counts, result) for route in ROUTES]
    cells += [operations(counts[side]) if side in counts else "missing" for side in (*ROUTES, "sympy")]
    cse = f"{done['sympy'][0]['cse']:.3g}" if "sympy" in done else "-"
    return [case.title, *cells, cse, _disagreement(done)]


def _beside(
    case: Derivation, route: str, times: dict[str, Figure], counts: dict[str, dict[str, int]], result: Table
) -> str:
    if route not in times or "sympy" not in times:
        return "-"
    ours, theirs = (sum(counts[side].values()) for side in (route, "sympy"))
    result.compare_counts(f"{case.title}, M and f by the {route} route", f"{PEER} + cse", ours, theirs)
    return result.ratio(f"{case.title}, derived by the {route} route", PEER, times[route], times["sympy"])


def _disagreement(done: dict[str, list[Laps]]) -> str:
    values = [np.array(laps[0]["values"]) for laps in done.values()]
    n = int(np.sqrt(len(values[0])))  # n^2 entries of M, then n of the bias
    parts = slice(0, n * n), slice(n * n, None)
    errors = [np.abs(v[part] - values[0][part]).max() / np.abs(values[0][part]).max() for v in values for part in parts]
    return f"{max(errors):.0e}" + ("" if max(errors) < AGREEMENT else " DISAGREES")


def certificate(mode: Mode) -> Table:
    """kane.certify of a random tree with joints of every kind."""
    columns = ("bodies", "kinds of joint", "speeds", "certify, s", "claims", "digits of the worst", "holds")
    result = Table("Certificate of a random tree", columns)
    result.notes.append(
        "CPU seconds of `kane.certify` in a fresh process: recursive, explicit, path tables and Lagrange's equations "
        "derived and compared at four random states, and the laws of nature."
    )
    arguments = "derive_once", "certificate", str(CERTIFIED)
    runs = in_turn(["kane"], mode.processes, lambda *_: laps_of(*arguments))["kane"]
    if isinstance(runs, str):
        raise RuntimeError(f"kane could not certify {CERTIFIED} bodies: {runs}")
    time, first = total(runs, "certify"), runs[0]
    result.alone(f"{CERTIFIED} bodies", time)
    cells = [str(CERTIFIED), str(first["kinds"]), str(first["speeds"]), seconds(time), str(first["claims"])]
    result.rows.append([*cells, f"{first['digits']:.1f}", "yes" if first["holds"] else "NO"])
    return result
