"""Many robots with contacts that step together, with random inputs: ``kane.Steppers`` beside ``mujoco.rollout``."""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kane
from benchmarks.mode import Mode
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.report import Table
from benchmarks.timing import Figure, interleaved

TITLE = "Many robots that step together, with contacts"
COLUMNS = (
    "robot",
    "contacts and stops",
    "method",
    "us a step of a row",
    "rows with events, %",
    "rollout, us",
    "x",
    "rollout by Euler, us",
    "x",
)
NOTE = (
    "CPU time of a step of one row, of 64 rows in one thread: 250 calls of `Steppers.step(dt, inputs)` from Python, "
    "and a reset of all rows; one call of `mujoco.rollout` for the same steps. Gymnasium's files, steps (Hopper 2 ms, "
    "Ant 10 ms) and starts; the same random inputs of full range. Motions differ: MuJoCo's contacts are soft, with "
    "RK4 that solves them four times in a step, and links of its Hopper may also touch each other. kane's contacts "
    "with the floor are rigid, with friction 0.9, and limits are stops. MoreauJean solves them once, with errors of "
    "order dt; RK4 locates each event. No event is lost: `Steppers.events` has all transitions of each row and step. "
    "MuJoCo reports none. x is the time of the rollout over kane's. Rollouts by Euler solve contacts once, with "
    "errors of order dt too."
)
ROWS, STEPS = 64, 250


class Robot(NamedTuple):
    """Robot of Gymnasium: title, file, coordinates at the start in MuJoCo's order and by name, and step [s]."""

    title: str
    file: str
    qpos: tuple[float, ...]
    q: dict[str, float]
    step: float


ROBOTS = (
    Robot("Hopper", "hopper.xml", (0.0, 1.25, 0.0, 0.0, 0.0, 0.0), {"rootz": 1.25}, 0.002),
    Robot(
        "Ant",
        "ant.xml",
        (0.0, 0.0, 0.75, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0),
        {"root_z": 0.75, "ankle_1": 1.0, "ankle_2": -1.0, "ankle_3": -1.0, "ankle_4": 1.0},
        0.01,
    ),
)


def table(mode: Mode) -> Table:
    """Measures the Hopper by both methods, and the Ant by time steps unless the mode is quick."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    try:
        folder = _assets()
        for robot in ROBOTS[:1] if mode.quick else ROBOTS:
            _rows(robot, folder, mode, result)
    except PeerMissingError as missing:
        result.note(f"Not measured: {missing}.")
    return result


def _assets() -> Path:
    """The folder of Gymnasium's robots, without an import of it."""
    if find_spec("mujoco") is None:
        raise PeerMissingError("mujoco is not installed (pip install '.[bench]')")
    found = find_spec("gymnasium")
    if found is None or found.origin is None:
        raise PeerMissingError("gymnasium, which has the files of the robots, is not installed")
    return Path(found.origin).parent / "envs" / "mujoco" / "assets"


def _rows(robot: Robot, folder: Path, mode: Mode, result: Table) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kane.errors.ImportFileWarning)
        model = kane.load_mjcf(folder / robot.file, stops=True, floor=0.0, friction=kane.Coulomb(0.9))
    dynamics = kane.build(kane.formulate(model), target=kane.LLVM(threads=1))
    inputs = np.random.default_rng(0).uniform(-1.0, 1.0, (STEPS, ROWS, len(dynamics.equations.inputs)))
    ours = {
        method.name: _Ours(kane.Steppers(dynamics, ROWS, q=robot.q, integrator=method), robot, inputs)
        for method in (kane.MoreauJean(), *((kane.RK4(),) if robot is ROBOTS[0] else ()))
    }
    peers = {name: _rollout(robot, folder, inputs, euler="Euler" in name) for name in ("rollout", "rollout by Euler")}
    contestants: dict[str, Callable[[int], object]] = {**ours, **peers}
    figures = interleaved(contestants, batches=mode.batches)
    for name, runs in ours.items():
        row = [robot.title, str(len(dynamics.equations.intermittents)), name, _microseconds(figures[name])]
        row.append(f"{100 * runs.changed:.0f}")
        for peer in peers:
            ratio = result.ratio(f"{robot.title}, {name}", f"mujoco.{peer}", figures[name], figures[peer])
            row += [_microseconds(figures[peer]), ratio]
        result.rows.append(row)


class _Ours:
    """Rollouts of kane; ``changed`` is the share of rows and steps with events in the last one."""

    def __init__(self, runs: kane.Steppers, robot: Robot, inputs: Any) -> None:
        self.runs, self.robot, self.inputs, self.changed = runs, robot, inputs, 0.0

    def __call__(self, calls: int) -> None:
        for _ in range(calls):
            self.runs.reset(range(ROWS), q=self.robot.q)
            found = [self.runs.step(self.robot.step, row).sum() for row in self.inputs]
            self.changed = float(np.sum(found)) / (ROWS * STEPS)


def _rollout(robot: Robot, folder: Path, inputs: Any, *, euler: bool) -> Callable[[int], object]:
    import mujoco
    import mujoco.rollout

    model = mujoco.MjModel.from_xml_path(str(folder / robot.file))
    if euler:
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    data, kind = mujoco.MjData(model), mujoco.mjtState.mjSTATE_FULLPHYSICS
    data.qpos[:] = robot.qpos
    start = np.zeros(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, start, kind)
    starts, controls = np.tile(start, (ROWS, 1)), np.ascontiguousarray(inputs.transpose(1, 0, 2))
    thread = mujoco.rollout.Rollout(nthread=1)

    def run(calls: int) -> None:
        for _ in range(calls):
            thread.rollout(model, [data], starts, controls)

    return run


def _microseconds(figure: Figure) -> str:
    median, low, high = (x * 1e6 / (ROWS * STEPS) for x in (figure.median, figure.low, figure.high))
    return f"{median:.1f} ({low:.1f}-{high:.1f})"
