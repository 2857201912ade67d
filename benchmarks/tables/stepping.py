"""Classical Runge-Kutta steps of the UR5 falling under gravity: kane, traced C, MuJoCo."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.mode import Mode
from benchmarks.peers.mujoco_steps import MujocoSteps
from benchmarks.peers.pinocchio_models import text_of
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.peers.traced import Traced
from benchmarks.report import Table, nanoseconds
from benchmarks.robots import UR5
from benchmarks.states import layout
from benchmarks.timing import Figure, interleaved

TITLE = "Runge-Kutta steps of the UR5"
COLUMNS = ("program", "ns a step", "steps a second", "x", "differs by")
NOTE = (
    "Order 4, step 1 ms, motors off, no damping; runs of 100 s, kane's through `kane.simulate` with all it does around "
    "the loop. MuJoCo: its rollout in C, contacts and constraints off. x is the peer's time over kane's; the last "
    "column is the largest difference of q and u from kane's after 1 s."
)
STEP, STEPS, CHECKED = 1e-3, 100_000, 1_000
START = (0.0, -0.7, 0.9, -0.4, 0.6, 0.0)  # rad, away from any singular or resting pose
Array = npt.NDArray[np.float64]
Run = Callable[[int], Array]  # number of steps -> q and u reached, in Pinocchio's order


def table(mode: Mode) -> Table:
    """Measures all that is there."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    runs = _runs(result)
    contestants = {name: _batch(run) for name, run in runs.items()}
    figures = {
        name: Figure(tuple(sample / STEPS for sample in figure.samples))
        for name, figure in interleaved(contestants, batches=mode.batches).items()
    }
    reference = runs["kane"](CHECKED)
    for name, figure in figures.items():
        difference = f"{np.abs(runs[name](CHECKED) - reference).max():.0e}"
        cells = ["", ""] if name == "kane" else [result.ratio("UR5", name, figures["kane"], figure), difference]
        result.rows.append([name, nanoseconds(figure), f"{1 / figure.median:,.0f}", *cells])
    return result


def _batch(run: Run) -> Callable[[int], None]:
    def batch(calls: int) -> None:
        for _ in range(calls):
            run(STEPS)

    return batch


def _runs(result: Table) -> dict[str, Run]:
    dynamics = kane.build(kane.formulate(UR5.model()))
    try:
        model = UR5.peer_model()
    except PeerMissingError as missing:
        result.note(f"No peers: {missing}.")
        return {"kane": _ours(dynamics, np.arange(len(START)))}
    order = layout(dynamics.equations, model).q
    x = np.concatenate([np.array(START)[order], np.zeros(len(START))])
    runs = {"kane": _ours(dynamics, order)}
    makers: dict[str, Callable[[], Run]] = {
        "traced C": lambda: _traced(Traced.of(text_of(model), len(START), len(START)), x),
        "MuJoCo": lambda: MujocoSteps(model, STEP, x).run,
    }
    for name, make in makers.items():
        try:
            runs[name] = make()
        except PeerMissingError as missing:
            result.note(f"No {name}: {missing}.")
    return runs


def _ours(dynamics: kane.Dynamics, order: npt.NDArray[np.intp]) -> Run:
    def run(steps: int) -> Array:
        done = kane.simulate(dynamics, until=steps * STEP, dt=STEP, every=steps, q=np.array(START))
        return np.concatenate([done.q[-1][order], done.u[-1][order]])

    return run


def _traced(traced: Traced, start: Array) -> Run:
    def run(steps: int) -> Array:
        x = start.copy()
        traced.rk4(steps, STEP, x)
        return x

    return run
