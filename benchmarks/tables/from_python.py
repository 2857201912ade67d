"""One call of one state from Python: kane beside Pinocchio's and MuJoCo's bindings."""

from collections.abc import Callable
from typing import Any

import kane
from benchmarks.mode import Mode
from benchmarks.peers.mujoco_steps import mujoco_model
from benchmarks.peers.pinocchio_models import pinocchio
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.report import Table
from benchmarks.robots import ARMS, FIVE, Robot
from benchmarks.states import layout, random_states
from benchmarks.timing import Figure, interleaved

TITLE = "One state from Python"
COLUMNS = ("robot", "call", "kane, us", "with out, us", "a batch of one, us", "peer", "us", "x")
NOTE = (
    "Medians (least-greatest) of CPU time a call, arguments being arrays of the right shape: `dyn.forward(q, u, "
    "inputs)`, `dyn.inverse(q, u, udot)`, `dyn.mass_matrix(q)`. Pinocchio: pin.aba, pin.rnea and pin.crba (one "
    "triangle) with data that it keeps. MuJoCo: mj_forward, contacts and constraints off, its arguments in place "
    "already; it computes more than accelerations. step: `stepper.step(1e-3)` by RK4, and mj_step by RK4 with contacts "
    "and constraints off, each from its own last state. x is the peer's time over kane's without out."
)
Call = Callable[[], object]
STEP = 1e-3  # s


def table(mode: Mode) -> Table:
    """Measures the robots of the mode."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for robot in ARMS if mode.quick else FIVE:
        _rows(robot, mode, result)
    return result


def _rows(robot: Robot, mode: Mode, result: Table) -> None:
    dynamics = kane.build(kane.formulate(robot.model()))
    try:
        peers = _peers(robot, dynamics)
    except PeerMissingError as missing:
        peers = {}
        result.note(f"No peers: {missing}.")
    for name, ours in _ours(dynamics).items():
        beside = peers.get(name, {})
        figures = interleaved({key: _loop(call) for key, call in (ours | beside).items()}, batches=mode.batches)
        cells = [_microseconds(figures[key]) if key in ours else "-" for key in ("kane", "out", "batch")]
        for peer in beside or ("missing",):
            ratio = result.ratio(f"{robot.title}, {name} from Python", peer, figures["kane"], figures.get(peer))
            theirs = _microseconds(figures[peer]) if beside else "-"
            result.rows.append([robot.title, name, *cells, peer, theirs, ratio])


def _ours(dynamics: kane.Dynamics) -> dict[str, dict[str, Call]]:
    states = random_states(dynamics.equations, 1)
    calls = {
        "forward": (dynamics.forward, (states.q, states.u, states.efforts)),
        "inverse": (dynamics.inverse, (states.q, states.u, states.udot)),
        "mass_matrix": (dynamics.mass_matrix, (states.q,)),
    }
    stepper = kane.Stepper(dynamics, integrator=kane.RK4(), q=states.q[0], u=states.u[0])
    return {name: _three(*call) for name, call in calls.items()} | {"step": {"kane": lambda: stepper.step(STEP)}}


def _three(method: Any, batch: tuple[Any, ...]) -> dict[str, Call]:
    one = [array[0] for array in batch]
    out = method(*one)
    return {
        "kane": lambda: method(*one),
        "out": lambda: method(*one, out=out),
        "batch": lambda: method(*batch),
    }


def _peers(robot: Robot, dynamics: kane.Dynamics) -> dict[str, dict[str, Call]]:
    pin, model = pinocchio(), robot.peer_model()
    data, order, states = model.createData(), layout(dynamics.equations, model), random_states(dynamics.equations, 1)
    q, v, a = states.q[0, order.q], states.u[0, order.u], states.udot[0, order.u]
    tau = order.peer_efforts(states.efforts)[0]
    mujoco, theirs, scratch = mujoco_model(model, STEP)
    scratch.qvel[:] = v
    moving = mujoco_model(model, STEP)[2]
    moving.qvel[:] = v
    return {
        "forward": {
            "pin.aba": lambda: pin.aba(model, data, q, v, tau),
            "mujoco.mj_forward": lambda: mujoco.mj_forward(theirs, scratch),
        },
        "inverse": {"pin.rnea": lambda: pin.rnea(model, data, q, v, a)},
        "mass_matrix": {"pin.crba": lambda: pin.crba(model, data, q)},
        "step": {"mujoco.mj_step": lambda: mujoco.mj_step(theirs, moving)},
    }


def _loop(call: Call) -> Callable[[int], None]:
    def run(calls: int) -> None:
        for _ in range(calls):
            call()

    return run


def _microseconds(figure: Figure) -> str:
    return f"{figure.median * 1e6:.2f} ({figure.low * 1e6:.2f}-{figure.high * 1e6:.2f})"
