"""All laws of six rough contacts at once: how long their complementarity problem takes, the whole distribution."""

import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from benchmarks.mode import Mode
from benchmarks.report import Table
from kane.engine.compile.entries import OPTIONS, entries
from kane.engine.laws.newton import solve_complementarity
from kane.engine.memory.views import ReactionProblem, reaction_problem_at, reaction_problem_size

Array = npt.NDArray[np.float64]
CONTACTS, SOLVED, AGAIN = 6, 1e-12, 10
LIMIT = 200.0  # us


class Lot(NamedTuple):
    """Problems of a kind.

    Attributes:
        title: of the row.
        tangents: of each contact.
        speeds: of the system.
        rank: of the rows.
    """

    title: str
    tangents: int
    speeds: int
    rank: int


LOTS = (
    Lot("in space, 24 speeds: 18 rows", 2, 24, 18),
    Lot("in space, 10 speeds: 18 rows of rank 10", 2, 10, 10),
    Lot("in space, one body: 18 rows of rank 6", 2, 6, 6),
    Lot("in the plane, 24 speeds: 12 rows", 1, 24, 12),
    Lot("in the plane, one body: 12 rows of rank 3", 1, 3, 3),
)


def table(mode: Mode) -> Table:
    """Random problems, each from no forces on."""
    entries()  # makes what kernels are made of known to numba
    solve = solve_complementarity

    @njit(**OPTIONS)
    def run(p: Any, times: int) -> float:
        left = 0.0
        for _ in range(times):
            for row in range(p.f.size):
                p.f[row] = 0.0
            left = solve(p)
        return left

    shares = (50, 90, 99, 99.9)
    columns = (
        "six rough contacts",
        "problems",
        *(f"p{share:g}, us" for share in shares),
        f"over {LIMIT:g} us",
        "unsolved",
    )
    result = Table("Contacts: all laws of six rough contacts at once", columns)
    for lot in LOTS:
        rng, count = np.random.default_rng(0), 200 * mode.batches
        run(_problem(lot, rng), 1)
        taken, left = np.empty(count), np.empty(count)
        for k in range(count):
            p = _problem(lot, rng)
            left[k] = run(p, 1)
            start = time.thread_time()
            run(p, AGAIN)
            taken[k] = 1e6 * (time.thread_time() - start) / AGAIN
        over, unsolved = f"{100 * np.mean(taken > LIMIT):.2f} %", str(int(np.sum(~(left <= SOLVED))))
        result.rows.append([lot.title, str(count), *(f"{np.percentile(taken, p):.1f}" for p in shares), over, unsolved])
    result.note(
        f"Random inertias, rows, accelerations, friction up to 1; each problem {AGAIN} times in a row from no forces, "
        "CPU time. Scenes are tamer: most switches need no such problem, and the others start at the forces there were."
    )
    return result


def _problem(lot: Lot, rng: np.random.Generator) -> ReactionProblem:
    A, m = rng.normal(size=(lot.speeds, lot.speeds)), CONTACTS * (1 + lot.tangents)
    J = rng.normal(size=(m, lot.rank)) @ rng.normal(size=(lot.rank, lot.speeds))
    W = J @ np.linalg.solve(A @ A.T + 0.1 * np.eye(lot.speeds), J.T)
    friction: Array = rng.uniform(0, 1, CONTACTS)
    p = reaction_problem_at(np.zeros(reaction_problem_size(m, CONTACTS)), 0, m, CONTACTS)
    p.W[:], p.b[:], p.bound[:], p.pushes[:] = 0.5 * (W + W.T), J @ rng.normal(size=lot.speeds), friction, 1
    p.row[:], p.tangents[:] = np.arange(0, m, 1 + lot.tangents), lot.tangents
    return p
