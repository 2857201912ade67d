"""Ten seconds of the damped Panda to 1e-8: every program at the loosest setting that still gets there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.mode import Mode
from benchmarks.peers.lsoda import Slope, damped_aba, odeint, reference
from benchmarks.peers.mujoco_steps import MujocoSteps
from benchmarks.peers.pinocchio_models import text_of
from benchmarks.peers.sympy_arms import kanes_method
from benchmarks.peers.sympy_pydy import require_pydy, right_hand_side
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.peers.traced import Traced, strongest
from benchmarks.report import Table
from benchmarks.robots import PANDA
from benchmarks.states import layout
from benchmarks.timing import Figure, interleaved
from kane.simulation.driver import monitored_advance
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.schedule.course import free_course

TITLE = "Ten seconds of the Panda to 1e-8"
CASE = "Panda 7R, 10 s to 1e-8"
COLUMNS = ("program", "setting", "CPU, ms", "x real time", "x", "x, same method", "error at 10 s")
NOTE = (
    "The Panda falls from rest, motors off, 1 N m s/rad of damping in every joint; its state after 10 s is wanted. "
    "Every program runs at the loosest setting of a ladder (tolerances rtol = atol a quarter of a decade apart, "
    "numbers of fixed steps a tenth apart) that, like all tighter ones, ends within 1e-8 of the reference: scipy's "
    "DOP853 at rtol 1e-13 on Pinocchio's aba, with which LSODA and the fixed steps agree. The error is the largest "
    "over q [rad] and v [rad/s]. kane.simulate is the whole call, arguments checked, energies computed, the trajectory "
    "ready; the loop is its native part, the problem set up before. x is the peer's time over that of kane.simulate "
    "with RK8; x, same method, over that with RK4 in equal steps. Derivation and compilation are in other tables."
)
NO_PYDY = "PyDy + odeint is in full runs only: deriving and compiling its equations of the Panda takes half a minute."
SPAN, DAMPING, WANTED = 10.0, 1.0, 1e-8  # s, N m s/rad, rad and rad/s
START = (0.0, -0.7, 0.0, -2.3, 0.0, 1.6, 0.8)  # rad
TOLERANCES = tuple(10.0 ** (-quarter / 4) for quarter in range(45, 23, -1))
STEPS = tuple(int(20_000 * 0.9**k) for k in range(24))
TRACED, MUJOCO = "traced C, RK4", "MuJoCo, RK4"
FASTEST = f"{TRACED}, {strongest().words}"
EQUAL = (TRACED, FASTEST, MUJOCO)
RARELY = 10**9  # steps between records: the first and the last state only
OURS, OURS_RK4 = "kane.simulate, RK8", "kane.simulate, RK4"
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Program:
    """One way to the state after ten seconds.

    Attributes:
        run: setting -> the state reached, q and v in Pinocchio's order.
        settings: from the tightest to the loosest.
        text: a setting in words.
    """

    run: Callable[[float], Array]
    settings: Sequence[float]
    text: Callable[[float], str]

    def loosest(self, wanted: Array) -> tuple[float, float]:
        """The loosest setting up to which all are within WANTED of the state wanted, and its error.

        The tightest one where not even that is.
        """
        found = self.settings[0], _error(self.run(self.settings[0]), wanted)
        for setting in self.settings[1:]:
            error = _error(self.run(setting), wanted)
            if not error <= WANTED:
                break
            found = setting, error
        return found


def _error(state: Array, wanted: Array) -> float:
    return float(np.abs(state - wanted).max())


def table(mode: Mode) -> Table:
    """Measures all that is there."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    try:
        wanted, programs = _programs(mode, result)
    except PeerMissingError as missing:
        result.note(f"Nothing measured, because nothing vouches for the state after 10 s: {missing}.")
        return result
    chosen = {name: program.loosest(wanted) for name, program in programs.items()}
    contestants = {name: _batch(program, chosen[name][0]) for name, program in programs.items()}
    figures = interleaved(contestants, batches=mode.batches)
    for name, figure in figures.items():
        setting, error = chosen[name]
        times = "" if name.startswith("kane") else result.ratio(CASE, name, figures[OURS], figure)
        same = result.ratio(f"{CASE}, all by RK4", name, figures[OURS_RK4], figure) if name in EQUAL else ""
        verdict = f"{error:.0e}" + ("" if error <= WANTED else " NOT REACHED")
        words = programs[name].text(setting)
        result.rows.append([name, words, _milliseconds(figure), f"{SPAN / figure.median:,.0f}", times, same, verdict])
    return result


def _batch(program: Program, setting: float) -> Callable[[int], None]:
    def batch(calls: int) -> None:
        for _ in range(calls):
            program.run(setting)

    return batch


def _milliseconds(figure: Figure) -> str:
    return f"{figure.median * 1e3:.2f} ({figure.low * 1e3:.2f}-{figure.high * 1e3:.2f})"


def _programs(mode: Mode, result: Table) -> tuple[Array, dict[str, Program]]:
    """The reference, and kane and its peers by name."""
    model = PANDA.peer_model()
    dynamics = _damped()
    order = layout(dynamics.equations, model).q
    x = np.concatenate([np.array(START)[order], np.zeros(len(START))])
    slope = damped_aba(model, DAMPING)
    wanted = reference(slope, x, SPAN)
    programs = _ours(dynamics, order)
    makers: dict[str, Callable[[], Program]] = {
        TRACED: lambda: _fixed(_traced(Traced.of(text_of(model), model.nq, model.nv), x)),
        FASTEST: lambda: _fixed(_traced(Traced.of(text_of(model), model.nq, model.nv, strongest()), x)),
        "Pinocchio aba + odeint": lambda: _by_tolerance(partial(odeint, slope, x, SPAN)),
        MUJOCO: lambda: _fixed(_mujoco(model, x)),
    }
    if mode.quick:
        result.note(NO_PYDY)
    else:
        makers["PyDy + odeint"] = lambda: _by_tolerance(partial(odeint, _pydy(), x, SPAN))
    for name, make in makers.items():
        try:
            programs[name] = make()
        except PeerMissingError as missing:
            result.note(f"No {name}: {missing}.")
    return wanted, programs


def _damped() -> kane.Dynamics:
    model = PANDA.model()
    for connection in model.connections:
        if connection.coordinate_names:
            model.load(kane.Damper(connection, DAMPING))
    return kane.build(kane.formulate(model))


def _ours(dynamics: kane.Dynamics, order: npt.NDArray[np.intp]) -> dict[str, Program]:
    def simulated(method: type[kane.RK5 | kane.RK8], every: int | None, tolerance: float) -> Array:
        integrator = method(rtol=tolerance, atol=tolerance)
        done = kane.simulate(dynamics, until=SPAN, q=np.array(START), integrator=integrator, every=every)
        return np.concatenate([done.q[-1][order], done.u[-1][order]])

    def stepped(steps: float) -> Array:
        done = kane.simulate(dynamics, until=SPAN, dt=SPAN / steps, q=np.array(START), every=RARELY)
        return np.concatenate([done.q[-1][order], done.u[-1][order]])

    problem = InitialValueProblem.of(dynamics, None, None, ())
    course = free_course(0.0, SPAN, RARELY, None, problem.plan.tables())
    begin = problem.layout.initial_state(np.array(START), None)

    def loop(tolerance: float) -> Array:
        integration, advance = (
            problem.integration(course, begin),
            monitored_advance(problem, kane.RK8(rtol=tolerance, atol=tolerance)),
        )
        while not integration.finished:
            advance(integration, RARELY)
        return np.concatenate([integration.x[: len(order)][order], integration.x[len(order) :][order]])

    return {
        OURS: _by_tolerance(partial(simulated, kane.RK8, RARELY)),
        "kane, the loop alone": _by_tolerance(loop),
        "kane.simulate, RK8, 1,001 states kept": _by_tolerance(partial(simulated, kane.RK8, None)),
        "kane.simulate, RK5": _by_tolerance(partial(simulated, kane.RK5, RARELY)),
        OURS_RK4: _fixed(stepped),
    }


def _by_tolerance(run: Callable[[float], Array]) -> Program:
    return Program(run, TOLERANCES, lambda tolerance: f"tolerance {tolerance:.1e}")


def _fixed(run: Callable[[float], Array]) -> Program:
    return Program(run, STEPS, lambda steps: f"{steps:,.0f} steps")


def _traced(traced: Traced, start: Array) -> Callable[[float], Array]:
    def run(steps: float) -> Array:
        x = start.copy()
        traced.rk4(int(steps), SPAN / steps, x, damping=DAMPING)
        return x

    return run


def _mujoco(model: Any, start: Array) -> Callable[[float], Array]:
    prepared = cache(lambda steps: MujocoSteps(model, SPAN / steps, start, damping=DAMPING))
    prepared(STEPS[0])  # finds out whether MuJoCo is there

    def run(steps: float) -> Array:
        return prepared(steps).run(int(steps))

    return run


def _pydy() -> Slope:
    require_pydy()
    method, efforts, numbers = kanes_method(PANDA.numbers())
    function, n = right_hand_side(method, efforts, numbers), len(efforts)
    return lambda x: function(x, -DAMPING * x[n:])
