"""Closed loops whose choices of dependent speeds are compiled, beside the numeric embedding."""

from collections.abc import Callable
from dataclasses import replace
from time import process_time

import numpy as np

import kane
from benchmarks.kane_loop import block_loop
from benchmarks.mode import Mode
from benchmarks.peers.traced_lanes import blocks
from benchmarks.report import Table, nanoseconds
from benchmarks.tables.loops import MECHANISMS, runs_of
from benchmarks.timing import Figure, interleaved
from kane import library
from kane.dynamics.embedded.compiled_selections import SelectionFunction

TITLE = "Closed loops: modes compiled ahead"
COLUMNS = (
    "mechanism",
    "right-hand side in numbers, ns",
    "compiled, ns",
    "x",
    "in lanes, ns",
    "settling in numbers, ns",
    "compiled, ns",
    "1e-9 off in numbers, ns",
    "compiled, ns",
    "compiling, s of CPU",
)
NAMES = ("four-bar linkage", "Andrews' squeezer", "Stewart platform", "4 windows")
NOTE = (
    "One call at one state, the choice of dependent speeds kept, in numbers and compiled in turn; in lanes: of one "
    "state of several side by side. x is in numbers over compiled."
)
MANY = "Trajectories of a four-bar through all its choices"
MANY_COLUMNS = ("trajectories", "steps", "in numbers, us a step", "compiled, us a step", "x")
MANY_NOTE = (
    "kane.simulate_many on one thread, the whole call, RK8: 20 s of a four-bar whose three angles all turn back, "
    "starting faster or slower. In numbers one by one, compiled side by side. Steps are the same to rounding."
)


def table(mode: Mode) -> Table:
    """Right-hand sides and settling."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for name in NAMES:
        model, _, guess = MECHANISMS[name]
        dyn = kane.build(kane.formulate(model()))
        state = kane.assemble(dyn, **guess)
        modes = kane.simulate(dyn, until=1e-3, q=state.q, u=state.u).modes
        began = process_time()
        fast = kane.compile_modes(dyn, modes, near=state)
        took = process_time() - began
        runs = {
            f"{what} {how}": run
            for how, d in (("in numbers", dyn), ("compiled", fast))
            for what, run in runs_of(d, guess).items()
        }
        figures = interleaved({**runs, **_in_lanes(fast, state)}, batches=mode.batches)
        cells = [name, *(nanoseconds(figures[f"kane {how}"]) for how in ("in numbers", "compiled"))]
        cells.append(result.ratio(name, "in numbers", figures["kane compiled"], figures["kane in numbers"]))
        cells.append(nanoseconds(figures["lanes"]) if "lanes" in figures else "-")
        cells += [
            nanoseconds(figures[f"{what} {how}"]) for what in ("project", "off") for how in ("in numbers", "compiled")
        ]
        result.rows.append([*cells, f"{took:.2f}"])
    return result


def _in_lanes(fast: kane.Dynamics, state: kane.Assembly) -> dict[str, Callable[[int], None]]:
    """The right-hand side of the first choice at as many states as there are lanes, one call counted for each."""
    project = fast.project
    assert isinstance(project, SelectionFunction)
    program = project.parts.choices[0].programs[0]
    code = program.lanes()
    if code is None:
        return {}
    states = np.tile(np.concatenate([[0.0], state.q, state.u]), (code.width, 1))
    given = (states, np.zeros((code.width, program.n_rest)), np.zeros((code.width, program.n_out)))
    x, rest, out = (blocks(array) for array in given)
    run = block_loop(code, x, rest, program.stage(fast.parameters), out)
    return {"lanes": lambda calls: run(-(-calls // code.width))}


def many(mode: Mode) -> Table:
    """Ensembles."""
    dyn = kane.build(kane.formulate(library.four_bar()), target=kane.LLVM(threads=1))
    parameters = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.5, "g": 0.0}
    turning = {"q": {"q1": 1.0, "q3": 1.5}, "u": {"u2": 3.0}, "fixed": ["q1", "u2"], "parameters": parameters}
    start = kane.assemble(dyn, **turning)
    fast = kane.compile_modes(dyn, kane.simulate(dyn, until=5.0, q=start.q, u=start.u, parameters=parameters).modes)
    result = Table(MANY, MANY_COLUMNS, notes=[MANY_NOTE])
    for n in (100,) if mode.quick else (100, 1000):
        given = {
            "q": np.tile(start.q, (n, 1)),
            "u": np.linspace(0.5, 1.5, n)[:, None] * start.u,
            "parameters": parameters,
        }
        steps = int(kane.simulate_many(fast, until=20.0, **given).steps.sum())

        def run(each: kane.Dynamics, given: dict[str, object] = given) -> Callable[[int], None]:
            return lambda calls: [kane.simulate_many(each, until=20.0, **given) for _ in range(calls)] and None

        figures = interleaved({"in numbers": run(dyn), "compiled": run(fast)}, batches=mode.batches)
        each = {key: _a_step(figure, steps) for key, figure in figures.items()}
        cells = [f"{1e6 * each[key].median:.2f}" for key in ("in numbers", "compiled")]
        ratio = result.ratio(f"{n} four-bars", "in numbers", each["compiled"], each["in numbers"])
        result.rows.append([str(n), str(steps), *cells, ratio])
    return result


def _a_step(figure: Figure, steps: int) -> Figure:
    return replace(figure, samples=tuple(sample / steps for sample in figure.samples))
