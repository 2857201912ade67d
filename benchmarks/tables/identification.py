"""A UR5 identified from 10 s at 100 Hz, beside Pinocchio's regressors and NumPy; a bicycle linearized."""

from collections.abc import Callable
from typing import Any

import numpy as np

import kane
from benchmarks.mode import Mode
from benchmarks.peers.pinocchio_models import pinocchio
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.report import Table
from benchmarks.robots import FIVE
from benchmarks.states import layout
from benchmarks.timing import Figure, interleaved

TITLE = "Identification and linear systems"
COLUMNS = ("what", "kane, ms", "Pinocchio and NumPy, ms", "x")
NOTE = (
    "Medians (least-greatest) of CPU time. UR5: 60 inertial parameters, 36 combinations of them, 1,000 states with "
    "torques and noise. kane finds at random states what can be identified, then weights, values, errors, and says the "
    "rest in words; the peer calls pin.computeJointTorqueRegressor for every state and np.linalg.lstsq once, without "
    "weights, errors and words. Without accelerations: multiple shooting over q and u. Equations are derived and "
    "compiled before; the bicycle is linearized at one speed, with its constraints eliminated."
)
STATES, PERIOD = 1000, 10.0
UR5 = next(robot for robot in FIVE if robot.title == "UR5")


def table(mode: Mode) -> Table:
    """Measures all rows."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    model = kane.inertial_parameters(UR5.model())
    dyn, names = kane.build(kane.formulate(model)), list(model.parameters)
    time, states = _motion(len(dyn.equations.u))
    random = np.random.default_rng(0)
    tau = dyn.inverse(*states) + 0.2 * random.normal(size=states[0].shape)
    data = kane.Measurements(time, *states, forces=tau)
    runs: dict[str, Callable[[int], object]] = {"kane": _loop(lambda: kane.identify(dyn, data, names))}
    try:
        runs["Pinocchio and NumPy"] = _loop(_peer(dyn, states, tau))
    except PeerMissingError as missing:
        result.note(f"No peer: {missing}.")
    _row("UR5 identified from accelerations and torques", runs, mode, result)
    _row("the same without accelerations", {"kane": _loop(_shot(dyn, names, time))}, mode, result)
    bicycle = kane.build(kane.formulate(kane.library.whipple_bicycle()))
    upright = {"q": {"heave": -0.3}, "u": {"x_dot": 5.0, "rear_dot": -5.0 / 0.3, "front_dot": -5.0 / 0.35}}
    linear = _loop(lambda: kane.linearize(bicycle, **upright))
    _row("Whipple's bicycle linearized", {"kane": linear}, mode, result)
    return result


def _row(case: str, runs: dict[str, Callable[[int], object]], mode: Mode, result: Table) -> None:
    figures = interleaved(runs, batches=mode.batches)
    theirs = figures.get("Pinocchio and NumPy")
    ratio = result.ratio(case, "Pinocchio and NumPy", figures["kane"], theirs)
    if theirs is None:
        result.alone(case, figures["kane"])
    result.rows.append([case, _milliseconds(figures["kane"]), "-" if theirs is None else _milliseconds(theirs), ratio])


def _motion(n: int) -> tuple[Any, tuple[Any, Any, Any]]:
    """Five harmonics in every joint."""
    random, w = np.random.default_rng(1), 2.0 * np.pi / PERIOD * np.arange(1, 6)
    a, b = 0.4 * random.normal(size=(2, 5, n))
    time = PERIOD / STATES * np.arange(STATES)
    s, c = np.sin(np.outer(time, w)), np.cos(np.outer(time, w))
    return time, (s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b)


def _shot(dyn: kane.Dynamics, names: list[str], time: Any) -> Callable[[], object]:
    """A fit of a motion that torques make, which follow a law of damped joints and vary."""
    n = len(dyn.equations.u)
    damped = [-20.0 * u + 30.0 * kane.sin((1.0 + 0.3 * k) * dyn.equations.t) for k, u in enumerate(dyn.equations.u)]
    laws = dict(zip((leaf.name for leaf in dyn.equations.inputs), damped, strict=True))
    run = kane.simulate(dyn, until=time[-1], times=time, inputs=laws)
    random = np.random.default_rng(0)
    q, u = run.q + 1e-4 * random.normal(size=(len(time), n)), run.u + 2e-3 * random.normal(size=(len(time), n))
    data = kane.Measurements(time, q, u, inputs=run.inputs)
    return lambda: kane.identify(dyn, data, names)


def _peer(dyn: kane.Dynamics, states: tuple[Any, Any, Any], tau: Any) -> Callable[[], object]:
    pin, model = pinocchio(), UR5.peer_model()
    data, order = model.createData(), layout(dyn.equations, model)
    q, v, a = states[0][:, order.q], states[1][:, order.u], states[2][:, order.u]
    wanted = tau[:, order.u].ravel()

    def fit() -> object:
        rows = [pin.computeJointTorqueRegressor(model, data, *state).copy() for state in zip(q, v, a, strict=True)]
        return np.linalg.lstsq(np.concatenate(rows), wanted, rcond=1e-10)

    return fit


def _loop(call: Callable[[], object]) -> Callable[[int], None]:
    def run(calls: int) -> None:
        for _ in range(calls):
            call()

    return run


def _milliseconds(figure: Figure) -> str:
    return f"{figure.median * 1e3:.3g} ({figure.low * 1e3:.3g}-{figure.high * 1e3:.3g})"
