"""1,000 s of a torque-free spacecraft with four two-axis gimbals: Runge-Kutta steps, and what they do to constants."""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

import kane
from benchmarks import spacecraft
from benchmarks.mode import Mode
from benchmarks.peers.mujoco_steps import MujocoSteps
from benchmarks.peers.pinocchio_models import text_of
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.peers.traced import Traced
from benchmarks.report import Table, seconds
from benchmarks.states import layout
from benchmarks.timing import interleaved

TITLE = "1,000 s of a spacecraft with four two-axis gimbals"
CASE = "spacecraft, 1,000 s"
COLUMNS = ("program", "s", "x real time", "x", "energy drifts", "linear momentum", "angular momentum", "differs by")
NOTE = (
    "Free hub of 500 kg, four times a ring of 5 kg and a body of 50 kg on two revolute joints; 14 freedoms, no forces, "
    "rates up to 0.02. Classical Runge-Kutta steps of 0.01 s; kane's through `kane.simulate` with all it does around "
    "the loop, MuJoCo's in its rollout in C, contacts and constraints off. Drifts are the largest over 101 states, "
    "relative to the initial value, computed by kane from the states of both; linear momentum is that of all bodies, "
    "angular momentum about the origin; those of steps of 0.01 s are rounding. Differs by: the largest difference from "
    "kane's final q and u. Traced C: four calls of Pinocchio's aba traced to C a step and nothing else, which any "
    "integrator would add to. RK8: steps chosen for a tolerance of 1e-9."
)
BASILISK = (
    "Basilisk is not measured, because it cannot be installed here. Literature: 6.7 s for its RK4 on this spacecraft, "
    "on another machine, where MuJoCo took 0.96 s."
)
STEP, STEPS, EVERY = 0.01, 100_000, 1_000
SPAN = STEP * STEPS  # s
RATE = 0.02  # rad/s and m/s
STAGES = 4
OURS, RK8, MUJOCO, TRACED = "kane, RK4", "kane, RK8", "MuJoCo, RK4", "traced C, aba alone"
Array = npt.NDArray[np.float64]
Run = Callable[[], Array]  # the states [q, u] at 101 times in kane's layout, (101, 15 + 14)


def table(mode: Mode) -> Table:
    """Measures all that is there."""
    result = Table(TITLE, COLUMNS, notes=[NOTE, BASILISK])
    dynamics = kane.build(kane.formulate(spacecraft.model()))
    u = RATE * np.random.default_rng(0).uniform(-1, 1, len(dynamics.equations.u))
    runs, peers = _runs(dynamics, u, result), _bounds(dynamics, u, result)
    contestants = {name: _batch(run) for name, run in runs.items()} | peers
    figures = interleaved(contestants, batches=mode.batches)
    final = runs[OURS]()[-1]
    for name, figure in figures.items():
        times = "" if name.startswith("kane") else result.ratio(CASE, name, figures[OURS], figure)
        cells = _kept(dynamics, runs[name](), final) if name in runs else ["-"] * 4
        result.rows.append([name, seconds(figure), f"{SPAN / figure.median:,.0f}", times, *cells])
    return result


def _batch(run: Run) -> Callable[[int], None]:
    def batch(calls: int) -> None:
        for _ in range(calls):
            run()

    return batch


def _runs(dynamics: kane.Dynamics, u: Array, result: Table) -> dict[str, Run]:
    runs: dict[str, Run] = {
        OURS: partial(_ours, dynamics, u, dt=STEP, every=EVERY),
        RK8: partial(_ours, dynamics, u, integrator=kane.RK8(), times=np.linspace(0.0, SPAN, STEPS // EVERY + 1)),
    }
    try:
        # MuJoCo's free joint: position, quaternion w x y z; velocity in world axes, here those of the hub at first.
        pose = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        x = np.concatenate([pose, np.zeros(len(u) - 6), u[3:6], u[:3], u[6:]])
        runs[MUJOCO] = partial(_theirs, MujocoSteps(spacecraft.peer_model(), STEP, x), x)
    except PeerMissingError as missing:
        result.note(f"No {MUJOCO}: {missing}.")
    return runs


def _ours(dynamics: kane.Dynamics, u: Array, **options: object) -> Array:
    done = kane.simulate(dynamics, until=SPAN, u=u, **options)  # type: ignore[arg-type]
    return np.hstack([done.q, done.u])


def _theirs(steps: MujocoSteps, start: Array, *, count: int = STEPS) -> Array:
    return in_our_layout(np.vstack([start, steps.states(count)[EVERY - 1 :: EVERY]]))


def in_our_layout(states: Array) -> Array:
    """MuJoCo's states as kane has them: quaternion first, velocity of the hub along its own axes, behind its rates."""
    n = (states.shape[1] - 1) // 2
    q, v = states[:, : n + 1], states[:, n + 1 :]
    turns = [kane.Rotation.quaternion(*row[3:7]).as_numpy() for row in q]
    local = np.einsum("nji,nj->ni", np.array(turns), v[:, :3])
    return np.hstack([q[:, 3:7], q[:, :3], q[:, 7:], v[:, 3:6], local, v[:, 6:]])


def _bounds(dynamics: kane.Dynamics, u: Array, result: Table) -> dict[str, Callable[[int], object]]:
    """What the fastest peer needs for the dynamics of all steps."""
    try:
        model = spacecraft.peer_model()
        traced = Traced.of(text_of(model), model.nq, model.nv)
    except PeerMissingError as missing:
        result.note(f"No {TRACED}: {missing}.")
        return {}
    order = layout(dynamics.equations, model)
    q = np.array(dynamics.equations.neutral, dtype=float)[None, order.q]
    arrays = q, u[None, order.u], np.zeros((1, len(u)))
    return {TRACED: lambda calls: traced.loop("forward", STAGES * STEPS * calls, arrays)}


def _kept(dynamics: kane.Dynamics, states: Array, final: Array) -> list[str]:
    """How well energy and momenta were kept, and the distance from kane's final state."""
    n = len(dynamics.equations.q)
    q, u = states[:, :n], states[:, n:]
    momentum = dynamics.momentum(q, u)
    quantities = [sum(dynamics.energy(q, u))[:, None], *momentum]
    drifts = [float(np.abs(value - value[0]).max() / np.linalg.norm(value[0])) for value in quantities]
    return [f"{drift:.0e}" for drift in drifts] + [f"{np.abs(states[-1] - final).max():.0e}"]
