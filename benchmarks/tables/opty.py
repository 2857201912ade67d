"""Swing-ups of pendulums on a cart: kane.compat.opty beside opty, from the same SymPy equations."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import kane.compat.opty
from benchmarks.mode import Mode
from benchmarks.peers import opty_pendulum
from benchmarks.peers.opty_pendulum import Pendulum
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.report import Table
from benchmarks.stopwatch import Stopwatch
from benchmarks.timing import interleaved
from kane.analysis.optimal_control.ipopt import Bounds, Solution, solve_by_ipopt

TITLE = "kane.compat.opty beside opty: an n-link pendulum on a cart, midpoint rule"
COLUMNS = (
    *("links", "unknowns", "to both functions: opty, s", "kane, s", "x"),
    *("constraints, us an interval: opty", "kane", "x", "Jacobian, us: opty", "kane", "x"),
    *("Hessian, us: kane", "Hessian / Jacobian", "solved, s: opty", "kane, s", "iterations: opty", "kane"),
)
NOTE = (
    "One set of SymPy equations, whose derivation is not counted. To both functions: CPU time from the equations to "
    "the first values of constraints and Jacobian, compilers included. x: opty's time over kane's. Solved: "
    "wall time of one Ipopt, called by kane in both, from one linear guess, without compilation; opty has no Hessian. "
    "A result that is no solution has a star."
)
DURATION, NODES, LINKS, SOLVED = 2.0, 201, (1, 2, 5, 10), 1
ITERATIONS = 300


def table(mode: Mode) -> Table:
    """Measure the pendulums of the mode."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    try:
        peer = opty_pendulum.opty()
    except PeerMissingError as missing:
        result.note(f"No opty: {missing}.")
        return result
    for links in LINKS[:1] if mode.quick else LINKS:
        result.rows.append(_row(peer, links, mode))
    return result


def _row(peer: Any, links: int, mode: Mode) -> list[str]:
    model, watch = opty_pendulum.pendulum(links), Stopwatch()
    watch.lap("derived")
    found = {}
    for name, module in (("opty", peer), ("kane", kane.compat.opty)):
        c = opty_pendulum.collocator(module, model, NODES, DURATION)
        found[name] = c, c.generate_constraint_function(), c.generate_jacobian_function()
        z = np.random.default_rng(1).normal(size=c.num_free)
        _, first, second = found[name]
        first(z), second(z)
        watch.lap(name)
    row = [str(links), str(len(z)), f"{watch.laps['opty']:.1f}", f"{watch.laps['kane']:.2f}"]
    row.append(f"{watch.laps['opty'] / watch.laps['kane']:.0f}")
    for k in (1, 2):
        figures = interleaved({name: _calls(each[k], z) for name, each in found.items()}, batches=mode.batches)
        row += [f"{figures[name].median / (NODES - 1) * 1e6:.3f}" for name in ("opty", "kane")]
        row.append(f"{figures['kane'].times(figures['opty']):.1f}")
    program = found["kane"][0].program
    weights = np.random.default_rng(2).normal(size=found["kane"][0].num_constraints)
    second = {
        "Hessian": _calls(lambda z: program.hessian(z, 0.0, weights), z),
        "Jacobian": _calls(found["kane"][2], z),
    }
    figures = interleaved(second, batches=mode.batches)
    row.append(f"{figures['Hessian'].median / (NODES - 1) * 1e6:.3f}")
    row.append(f"{figures['Jacobian'].times(figures['Hessian']):.1f}")
    return row + (_solved(model, found["opty"][0]) if links <= SOLVED else [""] * 4)


def _calls(f: Callable[[np.ndarray], Any], z: np.ndarray) -> Callable[[int], None]:
    """Return a function that makes some calls, each with other numbers."""

    def run(calls: int) -> None:
        for i in range(calls):
            f(z + 1e-9 * i)

    return run


def _solved(model: Pendulum, theirs: Any) -> list[str]:
    """Return seconds and iterations of whole problems."""
    h = DURATION / (NODES - 1)
    objective = kane.compat.opty.create_objective_function(
        _effort(model), model.states, (model.force,), (), NODES, h, opty_pendulum.METHOD
    )
    ours = kane.compat.opty.Problem(
        *objective, model.equations, model.states, NODES, h, model.constants,
        instance_constraints=opty_pendulum.instances(model, DURATION), integration_method=opty_pendulum.METHOD,
    )  # fmt: skip
    options: dict[str, Any] = {"print_level": 0, "sb": "yes", "max_iter": ITERATIONS}
    for name, value in options.items():
        ours.add_option(name, value)
    guess = ours.create_linear_initial_guess()
    ours.con(guess), ours.con_jac(guess)
    began = time.perf_counter()
    _, info = ours.solve(guess)
    took = time.perf_counter() - began
    endless, zero = np.full(len(guess), 1e20), np.zeros(theirs.num_constraints)
    program = opty_pendulum.OptyProgram(theirs, h)
    options |= {"hessian_approximation": "limited-memory"}
    began = time.perf_counter()
    other = solve_by_ipopt(
        program, Bounds(-endless, endless, zero, zero), Solution(guess, zero, 0.0 * guess), options, lambda _: None
    )
    mark = "" if other.result == 0 else "*"
    own = "" if info["status"] == 0 else "*"
    return [
        f"{time.perf_counter() - began:.2f}{mark}", f"{took:.2f}{own}", str(len(other.steps)), str(len(ours.obj_value)),
    ]  # fmt: skip


def _effort(model: Pendulum) -> Any:
    """Return the integral of F^2."""
    from sympy import Integral

    return Integral(model.force**2, model.time)
