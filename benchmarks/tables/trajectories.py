"""Many trajectories of the Stanford Arm on two cores: kane, MuJoCo's rollout, scipy over Pinocchio."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.cores import CORES, two_cores, wall_times
from benchmarks.damped_arm import DAMPING, SECONDS, STIFFNESS, joints, model, peer_model, per_joint, starts
from benchmarks.mode import Mode
from benchmarks.peers.scipy_runs import ScipyRuns
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.report import Table

if TYPE_CHECKING:
    from benchmarks.peers.mujoco_runs import MujocoRuns

Array = npt.NDArray[np.float64]
TITLE = "Trajectories of the Stanford Arm, two cores"
COLUMNS = ("program", "steps chosen by", "error, median", "error, 9 of 10", "trajectories", "a second", "x")
WANTED = 1e-6
OURS = 10_000
NOTE = (
    f"{SECONDS:g} s each, motors off; dampers of {DAMPING['q1']:g} N m s/rad in q1 and q2, {DAMPING['q3']:g} in q3 to "
    f"q5, {DAMPING['q6']:g} N s/m and a spring of {STIFFNESS['q6']:g} N/m in the slide. Starts uniform: q2 within "
    "1 rad of pi/2, the slide within 0.1 m, other angles and all speeds within 1 of zero. The error is the largest of "
    "q and u at the end against kane at 1e-12. Each program gets the coarsest setting of its list that brings nine of "
    f"ten starts within {WANTED:g}: kane's method of order 8 and scipy's DOP853 a tolerance, MuJoCo's Runge-Kutta "
    f"method of order 4 a step. Wall time, {CORES} threads (scipy: {CORES} processes), the programs in turn; medians "
    "(least-greatest). MuJoCo with contacts and constraints off; scipy calls pin.aba from Python."
)
TOLERANCES = tuple(10.0**-e * m for e in (5, 6, 7, 8, 9) for m in (3.0, 1.0))
STEPS = tuple(1 / n for n in (125, 160, 200, 250, 320, 400, 500, 640, 800, 1000, 1280, 1600, 2000, 4000, 8000))
Run = Callable[[Array, float], Array]  # starts and setting -> q and u reached, in kane's order


@dataclass(frozen=True)
class Contestant:
    """A program.

    Attributes:
        run: makes trajectories.
        settings: from coarse to fine.
        unit: of the settings.
        number: of trajectories that are timed at once.
    """

    run: Run
    settings: Sequence[float]
    unit: str
    number: int


def table(mode: Mode) -> Table:
    """Measures all that is there."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    with two_cores() as cores:
        if cores < CORES:
            result.note(f"This machine has {cores} core only.")
        kept: list[MujocoRuns | ScipyRuns] = []
        try:
            _measure(_contestants(result, kept, mode), result, mode)
        finally:
            for peer in kept:
                peer.close()
    return result


def _measure(contestants: dict[str, Contestant], result: Table, mode: Mode) -> None:
    checked = _starts(8 if mode.quick else 64)
    reference = contestants["kane"].run(checked, 1e-12)
    settings, errors = {}, {}
    for name, contestant in contestants.items():
        settings[name], errors[name] = _setting(contestant, checked, reference)
    timed = {name: (_batch(c, settings[name]), c.number) for name, c in contestants.items()}
    figures = wall_times(timed, 3 if mode.quick else mode.batches)
    for name, contestant in contestants.items():
        figure, error = figures[name], errors[name]
        rates = [1.0 / seconds for seconds in (figure.median, figure.high, figure.low)]
        number = f"{contestant.number:,}"
        ratio = ""
        if name != "kane":
            number += f"; {OURS:,} would take {OURS * figure.median:.0f} s, extrapolated"
            peer = f"{name}, extrapolated from {contestant.number} trajectories,"
            ratio = result.ratio("Stanford Arm", peer, figures["kane"], figure)
        setting = f"{contestant.unit} {settings[name]:.3g}"
        spread = "{:,.0f} ({:,.0f}-{:,.0f})" if rates[0] > 100 else "{:.1f} ({:.1f}-{:.1f})"
        cells = [f"{np.median(error):.0e}", f"{_most(error):.0e}", number, spread.format(*rates)]
        result.rows.append([name, setting, *cells, ratio])


def _batch(contestant: Contestant, setting: float) -> Callable[[], Array]:
    chosen = _starts(contestant.number)
    return lambda: contestant.run(chosen, setting)


def _setting(contestant: Contestant, checked: Array, reference: Array) -> tuple[float, Array]:
    """The coarsest setting that is good enough, or the finest, with the error of every start."""
    for setting in contestant.settings:
        error = np.abs(contestant.run(checked, setting) - reference).max(axis=1)
        if _most(error) <= WANTED:
            break
    return setting, error


def _most(error: Array) -> float:
    return float(np.quantile(error, 0.9))


def _starts(n: int) -> Array:
    return np.hstack(starts(n))


def _contestants(result: Table, kept: list["MujocoRuns | ScipyRuns"], mode: Mode) -> dict[str, Contestant]:
    dynamics = kane.build(kane.formulate(model()), target=kane.LLVM(threads=CORES))
    found = {"kane": Contestant(_ours(dynamics), TOLERANCES, "tolerance", 2_000 if mode.quick else OURS)}
    try:
        peer = peer_model()
        order = _order(dynamics, joints(peer))
        scipy = ScipyRuns()
        kept.append(scipy)
        found["scipy and pin.aba"] = Contestant(
            lambda x, tolerance: _back(scipy.run(x[:, order], tolerance), order), TOLERANCES, "tolerance", 16
        )
        mujoco = _mujoco(peer)
        kept.append(mujoco)
        found["mujoco.rollout"] = Contestant(
            lambda x, step: _back(mujoco.run(x[:, order], SECONDS, step), order), STEPS, "step, s", 16
        )
    except PeerMissingError as missing:
        result.note(f"A peer is missing: {missing}.")
    return found


def _mujoco(peer: Any) -> "MujocoRuns":
    try:
        from benchmarks.peers.mujoco_runs import MujocoRuns
    except ImportError as error:
        raise PeerMissingError("mujoco is not installed (pip install '.[bench]')") from error
    return MujocoRuns(peer, per_joint(DAMPING, peer), per_joint(STIFFNESS, peer))


def _ours(dynamics: kane.Dynamics) -> Run:
    def run(x: Array, tolerance: float) -> Array:
        method = kane.RK8(rtol=tolerance, atol=tolerance)
        done = kane.simulate_many(dynamics, until=SECONDS, q=x[:, :6], u=x[:, 6:], integrator=method)
        return np.hstack([done.q[:, -1], done.u[:, -1]])

    return run


def _order(dynamics: kane.Dynamics, names: Sequence[str]) -> npt.NDArray[np.intp]:
    """For every place in a peer's [q, v], the place in kane's [q, u]."""
    ours = [leaf.name for leaf in dynamics.equations.q]
    places = np.array([ours.index(name) for name in names])
    return np.concatenate([places, places + len(ours)])


def _back(theirs: Array, order: npt.NDArray[np.intp]) -> Array:
    ours = np.empty_like(theirs)
    ours[:, order] = theirs
    return ours
