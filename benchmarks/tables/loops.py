"""Constraints of many loops embedded in numbers, one call: loop by loop beside dense code."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import kane
from benchmarks.kane_loop import KaneLoop
from benchmarks.mode import Mode
from benchmarks.report import Table, nanoseconds
from benchmarks.timing import interleaved
from kane import library
from kane.engine.rows import embedding
from kane.engine.rows import front_embedding as loops
from kane.library.andrews_squeezer import ANDREWS_START

TITLE = "Constraints of many loops, embedded in numbers"
DENSE = "dense code"
COLUMNS = ("mechanism", "speeds", "as built, ns", "a loop, ns", f"{DENSE}, ns", "x", "settling, ns", "off, ns")
# How far off its constraints a state is that a step ends with [m or rad].
OFF = 1e-9
NOTE = (
    "Right-hand side at one state, the choice of dependent speeds kept from the last settling, and settling there, in "
    "a native loop; off: settling a state whose coordinates are 1e-9 off, as the end of a step is. As built: loop by "
    "loop where the structure of A and M makes that cheaper, else dense; dense: the same call by dense code, where as "
    "built is another. x is dense over as built."
)


class Mechanism(NamedTuple):
    """A model, how many loops it has, and what assembles it."""

    model: Callable[[], kane.Model]
    loops: int
    guess: dict[str, Any]


def _windows(n: int) -> Mechanism:
    rods = {f"a{i}": 0.7 for i in range(n + 1)} | {f"b{i}": -0.7 for i in range(1, n + 1)}
    return Mechanism(lambda: library.n_four_bar(n), n, {"q": rods})


class _Bound(NamedTuple):
    """A function at an address of the user's choice, as KaneLoop reads it."""

    address: int
    n_state: int
    n_rest: int
    n_out: int
    n_work: int


PLATFORM = {"platform_z": 1.0, **{f"l{i}": 1.0 for i in range(1, 7)}}
MECHANISMS = {
    "four-bar linkage": Mechanism(library.four_bar, 1, {"q": {"q1": 1.0, "q3": 1.5}, "fixed": ["q1"]}),
    "Andrews' squeezer": Mechanism(library.andrews_squeezer, 3, {"q": ANDREWS_START, "fixed": ["beta"]}),
    "Stewart platform": Mechanism(library.stewart_platform, 6, {"q": PLATFORM}),
    **{f"{n} windows": _windows(n) for n in (4, 8, 16, 32, 48)},
}


def table(mode: Mode) -> Table:
    """Measures them all."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for name, mechanism in MECHANISMS.items():
        dyn = kane.build(kane.formulate(mechanism.model()))
        runs = runs_of(dyn, mechanism.guess)
        figures = interleaved(runs, batches=mode.batches)
        ours, dense = figures["kane"], figures.get(DENSE)
        alone = f"{1e9 * ours.median / mechanism.loops:.0f}"
        beside = "-" if dense is None else nanoseconds(dense)
        times = result.ratio(name, DENSE, ours, dense)
        sizes = str(len(dyn.equations.u))
        projection = [nanoseconds(figures[run]) for run in ("project", "off")]
        result.rows.append([name, sizes, nanoseconds(ours), alone, beside, times, *projection])
    return result


def runs_of(dyn: kane.Dynamics, guess: dict[str, Any]) -> dict[str, Callable[[int], None]]:
    """The right-hand side ("kane"), settling at a state on its constraints and off them ("project", "off"), and the
    right-hand side by dense code where as built is another.
    """
    state = kane.assemble(dyn, **guess)
    x = np.concatenate([[0.0], state.q, state.u])[None]
    project, rhs = dyn.project, dyn.function("rhs")
    stage, inputs = project.stage(dyn.parameters), np.zeros((1, rhs.n_rest))
    project(x[0], inputs[0], stage)  # makes the choice

    off = x + OFF * np.random.default_rng(0).standard_normal(x.shape)

    def run(function: Any, address: int, states: Any = x) -> Callable[[int], None]:
        bound = _Bound(address, function.n_state, function.n_rest, function.n_out, function.n_work)
        # what a loop reads of an ArrayFunction, at the address of another program
        return KaneLoop(bound, states, inputs, stage).run  # type: ignore[arg-type]

    runs = {"kane": run(rhs, rhs.address), "project": run(project, project.address)}
    runs["off"] = run(project, project.address, off)
    return runs | ({DENSE: run(rhs, embedding.rhs())} if rhs.address == loops.rhs() else {})
