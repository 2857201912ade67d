"""Constraints that come and go: a right-hand side with rows in force, a change of the mode, and what the laws say."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

import kane
from benchmarks.kane_loop import KaneLoop, _call
from benchmarks.mode import Mode
from benchmarks.report import Table, nanoseconds
from benchmarks.timing import interleaved
from kane.dynamics.contacts.contact_functions import ContactFunctions, contact_functions
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import OPEN, SLIDING, STICKING

Array = npt.NDArray[np.float64]
G = 9.81


class Scene(NamedTuple):
    """A model with candidates and what runs it at a state.

    Attributes:
        dyn, functions: built.
        stage: in which the mode is.
        status: of each candidate, a view of the stage.
    """

    dyn: kane.Dynamics
    functions: ContactFunctions
    stage: Array
    status: npt.NDArray[np.int64]


def ten_speeds(*, contacts: bool = True, pressed: float = 0.0, static: float = 0.5) -> kane.Model:
    """A body with four limbs, ten speeds, over a floor: two contacts of the body, one of each limb.

    Two of the points can be pressed down with a force each [N].
    """
    m = kane.Model("ten speeds", gravity=(0, -G, 0))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    trunk = m.body("trunk", mass=2, inertia=(0.02, 0.03, 0.025))
    m.connect(m.ground, trunk, kane.Free("f"))
    points = [trunk.point((0.1, -0.1, 0.1)), trunk.point((-0.1, -0.1, -0.1))]
    for k in range(4):
        limb = m.body(f"limb{k}", mass=0.5, inertia=(1e-3,) * 3, com=(0.1, 0, 0))
        joint = kane.Revolute(f"q{k}", axis="z" if k % 2 else "x")
        m.connect(trunk, limb, joint, at=(0.1 * (-1) ** k, 0, 0.1 if k < 2 else -0.1))
        points.append(limb.point((0.2, -0.1, 0.02 * k)))
    if pressed:
        for k in STANDING:
            m.load(kane.Force(points[k], (0, -pressed, 0)))
    for k, point in enumerate(points if contacts else []):
        m.contact(point, floor, restitution=0.3, friction=kane.Coulomb(static=static, kinetic=0.4), name=f"c{k}")
    return m


def _scene(model: kane.Model) -> Scene:
    dyn = kane.build(kane.formulate(model))
    functions = contact_functions(dyn)
    assert functions is not None
    stage = functions.rhs.stage(dyn.parameters)
    status = contact_constants_of(stage).state.status
    return Scene(dyn, functions, stage, status)


# The points on which it stands in "steps", one of the body and one of a limb, and the line through them; it leans about
# that line, so that the other corner of the body is lifted, and three limbs are raised. A limb strikes the floor at
# 0.195 s; the steps end before that.
STANDING = (1, 3)
LINE = np.array([0.2, 0.0, 0.22]) / math.hypot(0.2, 0.22)
LEAN, RAISED = 0.3, {"q0": 1.2, "q2": 1.2, "q3": 0.8}
STEP, STEPS = 5e-6, 36_000

MODES = {
    "none in force": [OPEN] * 6,
    "one contact sticks: 3 rows": [OPEN, OPEN, STICKING, OPEN, OPEN, OPEN],
    "two contacts stick: 6 rows": [STICKING, OPEN, STICKING, OPEN, OPEN, OPEN],
    "two of one body stick: 6 rows, one repeats": [STICKING, STICKING, OPEN, OPEN, OPEN, OPEN],
    "three slide, one sticks: 6 rows": [SLIDING, OPEN, STICKING, SLIDING, SLIDING, OPEN],
    "all six slide: 6 rows": [SLIDING] * 6,
}


def table(mode: Mode) -> Table:
    """The right-hand side beside the compiled one of the same model without contacts."""
    scene = _scene(ten_speeds())
    dyn, rng = scene.dyn, np.random.default_rng(0)
    q, u = np.zeros(11), rng.normal(size=10) * 0.5
    q[dyn.equations.quaternions[0]], q[7:] = 1.0, rng.normal(size=4) * 0.3
    x = np.concatenate([[0.0], q, u])[None]
    free = dyn.function("rhs")
    runs = {"free": KaneLoop(free, x, np.zeros((1, 0)), free.stage(dyn.parameters)).run}
    for name, statuses in MODES.items():
        scene.status[:] = statuses
        stage = scene.stage.copy()
        state = np.concatenate([[0.0], scene.functions.project(x[0], np.zeros(0), stage)[: len(q) + len(u)]])[None]
        runs[name] = KaneLoop(scene.functions.rhs, state, np.zeros((1, 0)), stage).run
    figures = interleaved(runs, batches=mode.batches)
    result = Table("Contacts: a right-hand side with 10 speeds and 6 contacts", ("rows in force", "ns", "x"))
    result.note(
        "x is how many times the right-hand side of the same model without contacts, compiled by itself, which is the "
        "first row. A native loop, one state."
    )
    for name, figure in figures.items():
        result.rows.append([name, nanoseconds(figure), f"{figure.times(figures['free']) ** -1:.2f}"])
    return result


def steps(mode: Mode) -> Table:
    """An ordinary step with six rows in force beside one of the same machine without contacts."""
    dyn, free = (
        kane.build(kane.formulate(ten_speeds(contacts=contacts, pressed=60.0, static=5.0)))
        for contacts in (True, False)
    )
    standing = ", ".join(f"c{k} held" for k in STANDING)
    machines = {"six rows in force": dyn, "six rows in force, mode compiled": kane.compile_modes(dyn, [standing])}
    machines["without contacts"] = free
    runs = {name: partial(_integration, each) for name, each in machines.items()}
    for run in runs.values():
        run(1)
    figures = interleaved(runs, batches=mode.batches)
    result = Table("Contacts: a step with 10 speeds and 6 rows in force", ("machine", "us a step", "x"))
    for name, figure in figures.items():
        ratio = figure.times(figures["without contacts"]) ** -1
        result.rows.append([name, f"{1e6 * figure.median / STEPS:.2f}", f"{ratio:.2f}"])
    result.note(
        f"{STEPS:,} fixed RK4 steps of {STEP:g} s in which no mode changes: the machine stands on two points that "
        "stick, and its limbs swing. A step with contacts also settles the state and looks at the guards of six "
        "candidates."
    )
    return result


def _integration(dyn: kane.Dynamics, runs: int) -> None:
    """Standing on two points: turned about the line through them, limbs aside."""
    turn, corner = math.sin(LEAN / 2) * LINE, np.array([-0.1, -0.1, -0.1])
    beside = corner - LINE * (LINE @ corner)
    height = -(corner - beside + beside * math.cos(LEAN) + np.cross(LINE, corner) * math.sin(LEAN))[1]
    q = {"f_qw": math.cos(LEAN / 2), "f_qx": turn[0], "f_qy": turn[1], "f_qz": turn[2], "f_y": height, **RAISED}
    for _ in range(runs):
        kane.simulate(dyn, until=STEPS * STEP, integrator=kane.RK4(), dt=STEP, every=STEPS, q=q)


@njit(nogil=True)
def _switch(addresses: Any, pointers: Any, before: Any, stage: Any, x: Any, start: Any, out: Any) -> None:
    """A change, what settles behind it, guards and the slope of the next step: at a mode and state as they were."""
    for i in range(stage.size):
        stage[i] = before[i]
    for i in range(x.size):
        x[i] = start[i]
    for k in range(addresses.size):
        _call(addresses[k], pointers[0], pointers[1], pointers[2], pointers[3], pointers[4])
        if k < 2:
            for i in range(x.size - 1):
                x[1 + i] = out[i]


@njit(nogil=True)
def _nothing(x: Any) -> float:
    """As long as a switch, roughly: by what other processes do to it the distribution of switches is judged."""
    total = 0.0
    for _ in range(20):
        for i in range(x.size):
            total = total * 0.999 + x[i]
    return total


def switches(mode: Mode) -> Table:
    """How long a change of the mode takes in a run, the whole distribution."""
    scene = _scene(ten_speeds())
    run = kane.simulate(scene.dyn, until=1.0, q={"f_y": 0.5} | {f"q{k}": 0.2 * k for k in range(4)})
    data = run.to_xarray()
    times, first = np.unique(data["change_time"].to_numpy(), return_index=True)
    after, q, u = (data[f"change_{name}"].to_numpy()[first] for name in ("status", "q", "u_before"))
    held, struck = [], []
    _warm(scene)
    for k in range(1, len(times)):
        given = np.concatenate([[times[k]], q[k], u[k]])
        _put(scene, after[k - 1], given)
        impact = bool(np.any(data["change_energy_lost"].to_numpy()[first[k]] > 1e-12))
        (struck if impact else held).append(_timed(scene, given, 40 * mode.batches))
    empty = _timed_nothing(40 * mode.batches * len(held + struck))
    columns = ("switch", "changes", "median, us", "p90, us", "p99, us", "p99.9, us", "over 100 us")
    result = Table("Contacts: a switch of the mode with 10 speeds and 6 contacts", columns)
    for name, samples in (("without impact", held), ("with impact", struck), ("a loop of sums, beside", [empty])):
        if samples:
            every = 1e6 * np.concatenate(samples)
            shares = [f"{np.percentile(every, p):.1f}" for p in (50, 90, 99, 99.9)]
            result.rows.append([name, str(len(samples)), *shares, f"{100 * np.mean(every > 100):.2f} %"])
    result.note(
        "Change, settling behind it, guards and the first slope of the next step, at the changes of a drop onto the "
        "floor, each again and again. The loop of sums does no more than add: what it takes at the upper end is what "
        "other processes take."
    )
    return result


def _put(scene: Scene, statuses: Any, given: Array) -> None:
    """The mode of a run at a state into the stage: settling finds the directions of slip of what slides."""
    scene.stage[:] = scene.functions.rhs.stage(scene.dyn.parameters)
    scene.status[:] = statuses
    scene.functions.project(given, np.zeros(0), scene.stage)


def _warm(scene: Scene) -> None:
    _timed(scene, np.zeros(scene.functions.rhs.n_state), 1)
    _timed_nothing(1)


def _timed(scene: Scene, given: Array, count: int) -> Array:
    f = scene.functions
    parts = (f.transition, f.project_step_end, f.guards, f.rhs)
    x, stage, work = np.zeros(len(given)), scene.stage.copy(), np.zeros(max(p.n_work for p in parts))
    out, rest = np.zeros(max(p.n_out for p in parts)), np.zeros(1)
    addresses = np.array([p.address for p in parts])
    pointers = np.array([a.ctypes.data for a in (x, rest, stage, out, work)])
    arguments = (addresses, pointers, scene.stage.copy(), stage, x, given, out)
    return _clocked(lambda: _switch(*arguments), count)


def _timed_nothing(count: int) -> Array:
    x = np.ones(64)
    return _clocked(lambda: _nothing(x), count)


def _clocked(run: Callable[[], Any], count: int) -> Array:
    """Wall time of each of so many calls [s]."""
    found = np.empty(count)
    for k in range(count):
        start = time.perf_counter()
        run()
        found[k] = time.perf_counter() - start
    return found


def laws(mode: Mode) -> Table:
    """What is known exactly: kane beside it, and MuJoCo where it is installed."""
    result = Table("Contacts: what closed forms say", ("quantity", "kane", "MuJoCo, steps of 1 ms"))
    drift, slip = _incline()
    ball, energy = _ball()
    mujoco = f"{_mujoco_drift():.2g} m" if find_spec("mujoco") else "-"
    result.rows += [
        ["drift of a block that sticks on an incline, in 4 s", f"{drift:.1g} m", mujoco],
        ["acceleration of the block that slips, relative error", f"{slip:.1g}", "-"],
        ["times of a ball's bounces, relative error", f"{ball:.1g}", "-"],
        ["energy before, less what impacts have lost", f"{energy:.1g} J", "-"],
    ]
    result.note(
        "A block of 2 kg on two corners, slope 0.4, friction 0.5 and 0.4; a ball dropped from 1 m, restitution 0.8."
    )
    return result


def _incline() -> tuple[float, float]:
    slope = math.atan(0.4)
    m = kane.Model("incline", gravity=(0, -G, 0))
    block = m.body("block", mass=2, inertia=(0.02,) * 3)
    m.connect(m.ground, block, kane.Planar(("x", "y", "th")))
    plane = kane.Plane(m.ground.point(), m.ground.direction((-math.sin(slope), math.cos(slope), 0)))
    for name, x in (("left", -0.1), ("right", 0.1)):
        m.contact(block.point((x, -0.05, 0)), plane, friction=kane.Coulomb(static=0.5, kinetic=0.4), name=name)
    dyn, q = kane.build(kane.formulate(m)), [-0.05 * math.sin(slope), 0.05 * math.cos(slope), slope]
    rest = kane.simulate(dyn, until=4.0, q=q)
    drift = float(np.abs(rest.q - rest.q[0]).max())
    along = np.array([math.cos(slope), math.sin(slope)])
    run = kane.simulate(dyn, until=0.03, q=q, u=[*(0.3 * along), 0.0])
    found = (run.final.u[:2] @ along - 0.3) / 0.03
    exact = -G * (math.sin(slope) + 0.4 * math.cos(slope))
    return drift, abs(found / exact - 1.0)


def _ball() -> tuple[float, float]:
    m = kane.Model("ball", gravity=(0, 0, -G))
    ball = m.body("ball", mass=1)
    m.connect(m.ground, ball, kane.Prismatic("z", axis="z"))
    m.contact(ball.point(), kane.Plane(m.ground.point(), m.ground.z), restitution=0.8, name="floor")
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=6.0, q={"z": 1.0})
    bounces = [e.time for e in run.events if e.cause == "bounces"]
    fall = math.sqrt(2.0 / G)
    exact = fall + 2 * fall * np.concatenate([[0.0], np.cumsum(0.8 ** np.arange(1, len(bounces)))])
    lost = sum(e.energy_lost for e in run.events)
    return float(np.abs(bounces / exact - 1.0).max()), abs(G - lost - sum(dyn.energy(run.final.q, run.final.u)))


MJCF = """<mujoco><option timestep="0.001" gravity="{x} 0 {z}"/><worldbody>
<geom type="plane" size="9 9 1" friction=".5"/><body pos="0 0 .05"><freejoint/>
<geom type="box" size=".1 .1 .05" mass="2" friction=".5"/></body></worldbody></mujoco>"""


def _mujoco_drift() -> float:
    """How far MuJoCo's block creeps in 4 s [m], once it has settled into the plane for a second."""
    import mujoco

    slope = math.atan(0.4)
    model = mujoco.MjModel.from_xml_string(MJCF.format(x=-G * math.sin(slope), z=-G * math.cos(slope)))
    data = mujoco.MjData(model)
    positions: Sequence[float] = []
    for k in range(5001):
        if k in (1000, 5000):
            positions = [*positions, float(data.qpos[0])]
        mujoco.mj_step(model, data)
    return abs(positions[1] - positions[0])
