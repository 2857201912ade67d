"""Modes of contacts, stops, sticks and switches compiled ahead, beside the numeric programs."""

from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import kane
from benchmarks.kane_loop import KaneLoop
from benchmarks.mode import Mode
from benchmarks.report import Table, nanoseconds
from benchmarks.tables.contacts import ten_speeds
from benchmarks.tables.many_contacts import blocks
from benchmarks.timing import interleaved
from kane.dynamics.compiled_modes import statuses_of
from kane.dynamics.contacts.contact_functions import contact_functions
from kane.engine.memory.constraint_memory import contact_constants_of

TITLE = "Contacts: modes compiled ahead"
COLUMNS = (
    "scene: mode",
    "right-hand side in numbers, ns",
    "compiled, ns",
    "guards in numbers, ns",
    "compiled, ns",
    "settling in numbers, ns",
    "compiled, ns",
    "a run in numbers, ms",
    "compiled, ms",
    "x",
    "modes compiled",
    "s of CPU a mode",
)
NOTE = (
    "One call at one state of a run, settling 1e-9 off the rows in force, in numbers and compiled in turn; then whole "
    "runs of kane.simulate, RK4 with steps of 1 ms, all modes compiled that the run meets, in turn too. x is the run "
    "in numbers over the compiled one."
)
G = 9.81
OFF = 1e-9


class Scene(NamedTuple):
    """A model, how its run begins and how long it is, and the mode looked at."""

    model: Callable[[], kane.Model]
    start: dict[str, Any]
    mode: str


def crate() -> kane.Model:
    """On two corners, which slide along x."""
    m = kane.Model("crate", gravity=(0, -G, 0))
    body = m.body("crate", mass=2.0, inertia=(0.02,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "th")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for side, x in (("left", -0.1), ("right", 0.1)):
        m.contact(body.point((x, -0.1, 0)), floor, friction=kane.Coulomb(0.05, 0.02), name=side)
    return m


def rocking() -> kane.Model:
    """A block on its corners in turn."""
    m = kane.Model("rocking block", gravity=(0, -G, 0))
    body = m.body("block", mass=1.0, inertia=(1.0, 1.0, 0.2267))
    m.connect(m.ground, body, kane.Planar(("x", "y", "turn")), child_at=(0, -0.8, 0))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for name, side in (("left", -1), ("right", 1)):
        m.contact(body.point((side * 0.2, -0.8, 0)), floor, friction=kane.Coulomb(5.0), name=name)
    return m


def stone() -> kane.Model:
    """A rattleback."""
    m = kane.Model("rattleback", gravity=(0, 0, -G))
    inertia = ((2e-4, -2e-5, 0.0), (-2e-5, 1.6e-3, 0.0), (0.0, 0.0, 1.7e-3))
    body = m.body("stone", mass=1.0, inertia=inertia, com=(0, 0, -0.01))
    m.connect(m.ground, body, kane.Free("stone"))
    shell, table = body.shape(kane.Ellipsoid(0.2, 0.03, 0.02)), kane.Plane(m.ground.point(), m.ground.z)
    m.contact(shell, table, friction=kane.Coulomb(1.0), name="table")
    return m


def pendulum() -> kane.Model:
    """Two links whose bearings rub, the lower one between stops."""
    m = kane.Model("pendulum", gravity=(0, -G, 0))
    last = m.ground
    for k in (1, 2):
        link = m.body(f"link {k}", mass=1.0, inertia=(0.1,) * 3, com=(0, -0.5, 0))
        hinge = m.connect(last, link, kane.Revolute(f"q{k}", axis="z"), at=(0, 0, 0) if k == 1 else (0, -1, 0))
        m.stick(hinge, static=0.03, kinetic=0.02, name=f"bearing {k}")
        last = link
    m.stop(hinge, lower=-0.8, upper=0.8, restitution=0.5, name="end")
    return m


BOTH = "left sliding, right sliding"
EIGHT = ", ".join(f"c{k} sliding" for k in range(8))
SCENES = {
    "crate": Scene(crate, {"until": 2.0, "q": {"y": 0.1}, "u": {"x_dot": 0.5}}, BOTH),
    "rocking block": Scene(rocking, {"until": 3.0, "q": {"x": 0.0014386, "y": 0.0239424, "turn": -0.12}}, "right held"),
    "rattleback": Scene(
        stone,
        {"until": 2.0, "q": {"stone_z": 0.02}, "u": {"stone_wz": -5.0, "stone_wx": 0.1, "stone_vy": -0.002}},
        "table held",
    ),
    "pendulum": Scene(pendulum, {"until": 3.0, "q": {"q1": 1.5}}, "bearing 1 sliding, bearing 2 sliding"),
    "ten speeds": Scene(
        ten_speeds, {"until": 0.4, "q": {"f_y": 0.5} | {f"q{k}": 0.2 * k for k in range(4)}}, "c0 sliding, c1 sliding"
    ),
    "eight blocks": Scene(lambda: blocks(8).model, {"until": 0.15, **blocks(8).start}, EIGHT),
    "thirty blocks": Scene(
        lambda: blocks(30).model,
        {"until": 0.15, **blocks(30).start},
        ", ".join(f"c{k} sliding" for k in range(30)),
    ),
}


def table(mode: Mode) -> Table:
    """Calls, runs, and what compiling takes."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for name, scene in SCENES.items():
        dyn = kane.build(kane.formulate(scene.model()))
        how = {**scene.start, "integrator": kane.RK4(), "dt": 1e-3}
        run = kane.simulate(dyn, **how)
        began = process_time()
        fast = kane.compile_modes(dyn, run.modes)
        took, functions = process_time() - began, contact_functions(fast)
        assert functions is not None
        compiled = len(functions.parts.modes.modes)
        calls = {
            f"{what} {key}": one for key, d in _pair(dyn, fast) for what, one in _calls(d, run, scene.mode).items()
        }
        figures = interleaved(calls, batches=mode.batches)
        cells = [nanoseconds(figures[f"{what} {key}"]) for what in ("rhs", "guards", "project") for key in KEYS]
        runs = interleaved({key: _runs(d, how) for key, d in _pair(dyn, fast)}, batches=mode.batches)
        cells += [f"{1e3 * runs[key].median:.2f}" for key in KEYS]
        cells.append(result.ratio(name, "in numbers", runs["compiled"], runs["in numbers"]))
        cells += [f"{compiled} of {len(run.modes)}", f"{took / compiled:.2f}"]
        result.rows.append([f"{name}: {_short(scene.mode)}", *cells])
    return result


KEYS = ("in numbers", "compiled")


def _pair(dyn: kane.Dynamics, fast: kane.Dynamics) -> list[tuple[str, kane.Dynamics]]:
    return list(zip(KEYS, (dyn, fast), strict=True))


def _short(mode: str) -> str:
    parts = mode.split(", ")
    return mode if len(parts) < 4 else f"{parts[0]} ... {parts[-1]}"


def _runs(dyn: kane.Dynamics, how: dict[str, Any]) -> Callable[[int], None]:
    return lambda calls: [kane.simulate(dyn, **how) for _ in range(calls)] and None


def _calls(dyn: kane.Dynamics, run: kane.Trajectory, mode: str) -> dict[str, Callable[[int], None]]:
    """One call of each program at the middle of what a run does in a mode."""
    functions = contact_functions(dyn)
    assert functions is not None
    names = [c.name for c in functions.equations.intermittents]
    wanted = statuses_of(mode, names)
    found = run.to_xarray()["status"].to_numpy()
    rows = np.flatnonzero((found == np.array(wanted)).all(axis=1))
    i = rows[len(rows) // 2]
    stage, inputs = functions.rhs.stage(dyn.parameters), np.zeros(len(dyn.equations.inputs))
    contact_constants_of(stage).state.status[:] = wanted
    state = np.concatenate([[run.time[i]], run.q[i], run.u[i]])
    functions.project(state, inputs, stage)
    off = state + np.concatenate([[0.0], OFF * np.random.default_rng(0).normal(size=len(state) - 1)])
    each = {"rhs": state, "guards": state, "project": off}
    return {
        what: KaneLoop(getattr(functions, what), x[None], inputs[None], stage.copy()).run for what, x in each.items()
    }


MANY = "Contacts: many trajectories in compiled modes"
MANY_COLUMNS = ("scene", "trajectories", "steps", "in numbers, us a step", "in lanes", "x")
MANY_NOTE = (
    "kane.simulate_many on one thread, the whole call, RK8, starts drawn by lot, all modes compiled that one of the "
    "trajectories meets; in numbers, and compiled in lanes, in turn. x is the first over the second."
)


class Crowd(NamedTuple):
    """A model, until when, and the starts of n trajectories."""

    model: Callable[[], kane.Model]
    until: float
    starts: Callable[[np.random.Generator, int], dict[str, Any]]


CROWDS = {
    "thrown crates": Crowd(
        crate, 1.0, lambda r, n: {"q": {"y": r.uniform(0.15, 0.4, n), "th": r.uniform(-0.3, 0.3, n)}}
    ),
    "rocking blocks": Crowd(
        rocking, 3.0, lambda r, n: {"q": {"y": 0.2 * np.sin(a := r.uniform(0.05, 0.15, n)), "turn": -a}}
    ),
    "rattlebacks": Crowd(
        stone, 2.0, lambda r, n: {"q": {"stone_z": np.full(n, 0.02)}, "u": {"stone_wz": r.uniform(-5.5, -4.5, n)}}
    ),
    "pendulums": Crowd(pendulum, 3.0, lambda r, n: {"q": {"q1": r.uniform(1.0, 2.0, n)}}),
}


def many(mode: Mode) -> Table:
    """Ensembles."""
    result, n = Table(MANY, MANY_COLUMNS, notes=[MANY_NOTE]), 64 if mode.quick else 512
    for name, crowd in CROWDS.items():
        dyn = kane.build(kane.formulate(crowd.model()), target=kane.LLVM(threads=1))
        given = crowd.starts(np.random.default_rng(1), n)
        first = {word: {key: values[0] for key, values in table.items()} for word, table in given.items()}
        fast = kane.compile_modes(dyn, kane.simulate(dyn, until=crowd.until, **first).modes)
        steps = int(kane.simulate_many(fast, until=crowd.until, **given).steps.sum())

        def run(each: kane.Dynamics, crowd: Crowd = crowd, given: dict[str, Any] = given) -> Callable[[int], None]:
            return lambda calls: [kane.simulate_many(each, until=crowd.until, **given) for _ in range(calls)] and None

        figures = interleaved({key: run(d) for key, d in _pair(dyn, fast)}, batches=mode.batches)
        cells = [f"{1e6 * figures[key].median / steps:.2f}" for key in KEYS]
        ratio = result.ratio(name, "in numbers", figures["compiled"], figures["in numbers"])
        result.rows.append([name, str(n), str(steps), *cells, ratio])
    return result
