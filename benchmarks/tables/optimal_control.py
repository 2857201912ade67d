"""Swing-ups of pendulums on a cart by the midpoint rule, beside the same program in CasADi."""

import math
import runpy
import time
from pathlib import Path
from typing import Any

import numpy as np

import kane
from benchmarks.mode import Mode
from benchmarks.peers.casadi_collocation import CART, GRAVITY, HALF, INERTIA, LENGTH, LINK, peer
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.report import Table
from benchmarks.timing import interleaved
from kane.analysis.optimal_control.phased_collocation import solve_phases

TITLE = "Optimal control: an n-link pendulum on a cart, midpoint rule"
COLUMNS = (
    *("links", "intervals", "unknowns", "kane: to the program, s", "CasADi, s"),
    *("constraints, us an interval", "x", "Jacobian, us", "x", "Hessian, us", "x", "kane: solved, s", "CasADi, s"),
    *("iterations", "CasADi", "same optimum"),
)
NOTE = (
    "Swing-up with the least effort, from hanging to upright, at rest at both ends; the same equations, unknowns and "
    "bounds in both programs, and the same Ipopt, from the wheel of CasADi. To the program: CPU time from the model to "
    "compiled derivatives (kane) or to functions (CasADi: SX model by Lagrange's equations, MX maps). x: CasADi's time "
    "over kane's, both called from Python. Solved: CPU time of Ipopt with its calls, from one first guess; local "
    "optima and numbers of iterations may differ. The hopper of the examples lands and leaves the ground."
)
DURATION, INTERVALS, LINKS = 2.0, 100, (1, 2, 5, 10)
HOPPER = Path(__file__).parents[2] / "examples" / "one_legged_hopper.py"
MOST_SOLVED = 1  # longer pendulums take Ipopt hundreds of iterations, whoever calls it


def table(mode: Mode) -> Table:
    """Measure the pendulums of the mode."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for links in LINKS[:2] if mode.quick else LINKS:
        result.rows.append(_row(links, mode, result))
    result.rows.append(_hopper(mode))
    return result


def _hopper(mode: Mode) -> list[str]:
    """Return the row of a one-legged hopper: three phases with two transitions, without a peer."""
    example = runpy.run_path(str(HOPPER))
    began = time.process_time()
    found = example["hop"](*example["hopper"]())
    total = time.process_time() - began
    began = time.process_time()
    again = solve_phases(found.sequence, found.places.fractions, None, found.phases[0].settings)
    solved = time.process_time() - began
    assert again.objective == found.objective
    program, z = found.places.program(), found.solution.z
    weights, intervals = found.solution.multipliers, sum(phase.mesh.intervals for phase in found.phases)
    row = ["hopper, 3 phases", str(intervals), str(len(z)), f"{total - solved:.2f}", ""]
    for one in (
        lambda i: program.constraints(z + 1e-9 * i),
        lambda i: program.jacobian(z + 1e-9 * i),
        lambda i: program.hessian(z, 1.0, weights),
    ):
        figures = interleaved({"kane": _times(one)}, batches=mode.batches)
        row += [f"{figures['kane'].median / intervals * 1e6:.3f}", ""]
    return [*row, f"{solved:.2f}", "", str(len(found.solution.steps)), "", ""]


def _row(links: int, mode: Mode, result: Table) -> list[str]:
    began = time.process_time()
    dyn = _pendulum(links)
    found = _swing_up(dyn, links, 1)
    program, mesh = found.problem.program(found.mesh), found.mesh
    took = time.process_time() - began
    began = time.process_time()
    try:
        theirs = peer(links, INTERVALS, DURATION)
    except PeerMissingError as missing:
        result.note(f"No CasADi: {missing}.")
        theirs = None
    built = time.process_time() - began
    row = [str(links), str(INTERVALS), str(mesh.unknowns), f"{took:.2f}", f"{built:.2f}"]
    if theirs is None:
        return [*row, *["missing"] * 11]
    random = np.random.default_rng(1)
    z, weights = random.normal(size=mesh.unknowns - 2), random.normal(size=theirs.rows)
    own = np.append(z, (0.0, DURATION))
    ours = [
        lambda i: program.constraints(own + 1e-9 * i),
        lambda i: program.jacobian(own + 1e-9 * i),
        lambda i: program.hessian(own, 1.0, weights),
    ]
    others = [lambda i: theirs.constraints(z), lambda i: theirs.jacobian(z), lambda i: theirs.hessian(z, 1.0, weights)]
    for one, other in zip(ours, others, strict=True):
        figures = interleaved({"kane": _times(one), "CasADi": _times(other)}, batches=mode.batches)
        row += [f"{figures['kane'].median / INTERVALS * 1e6:.3f}", f"{figures['kane'].times(figures['CasADi']):.1f}"]
    return row + (_solved(dyn, links, theirs) if links <= MOST_SOLVED else ["", "", "", "", ""])


def _solved(dyn: kane.Dynamics, links: int, theirs: Any) -> list[str]:
    began = time.process_time()
    found = _swing_up(dyn, links, 3000)
    took = time.process_time() - began
    start = _swing_up(dyn, links, 1)
    n = links + 1
    least, most = np.full(theirs.z, -math.inf), np.full(theirs.z, math.inf)
    last = (2 * n) * INTERVALS
    for first, state in ((0, [0.0] * (2 * n)), (last, [0.0, math.pi, *[0.0] * (2 * n - 2)])):
        least[first : first + 2 * n] = most[first : first + 2 * n] = state
    guess = np.zeros(theirs.z)
    guess[: last + 2 * n] = np.linspace(least[: 2 * n], least[last : last + 2 * n], INTERVALS + 1).ravel()
    middles = np.lib.stride_tricks.sliding_window_view(guess[: last + 2 * n].reshape(-1, 2 * n), 2, axis=0).mean(axis=2)
    guess[last + 2 * n : last + 2 * n + middles.size] = middles.ravel()
    began = time.process_time()
    objective, iterations = theirs.solve(guess, least, most)
    other = time.process_time() - began
    same = abs(found.objective - objective) < 1e-6 * objective
    assert start.mesh.unknowns == found.mesh.unknowns
    return [f"{took:.2f}", f"{other:.2f}", str(len(found.solution.steps)), str(iterations), "yes" if same else "no"]


def _times(call: Any) -> Any:
    """Return a function that makes some calls."""

    def run(calls: int) -> None:
        for i in range(calls):
            call(i)

    return run


def _pendulum(links: int) -> kane.Dynamics:
    m = kane.Model(f"pendulum of {links}", gravity=(0, 0, -GRAVITY))
    parent, at = m.body("cart", mass=CART), (0.0, 0.0, 0.0)
    rail = m.connect(m.ground, parent, kane.Prismatic("x", axis="x"))
    for k in range(links):
        link = m.body(f"link{k}", mass=LINK, inertia=(INERTIA,) * 3)
        m.connect(parent, link, kane.Revolute(f"a{k}", axis="y"), at=at, child_at=(0, 0, HALF))
        parent, at = link, (0.0, 0.0, HALF - LENGTH)
    m.load(kane.Motor(rail, m.input("F")))
    return kane.build(kane.formulate(m))


def _swing_up(dyn: kane.Dynamics, links: int, iterations: int) -> kane.Collocation:
    start = dict.fromkeys((leaf.name for leaf in (*dyn.equations.q, *dyn.equations.u)), 0.0)
    objective = kane.integral(dyn.equations.inputs[0] ** 2)
    return kane.collocate(
        dyn,
        duration=DURATION,
        nodes=INTERVALS + 1,
        objective=objective,
        start=start,
        end=start | {"a0": math.pi},
        method="midpoint",
        iterations=iterations,
    )
