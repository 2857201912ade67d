"""Andrews' squeezing mechanism to 1e-7: every program at the loosest setting that gets there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.mode import Mode
from benchmarks.peers.exudyn_squeezer import ExudynSqueezer
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.report import Table
from benchmarks.timing import interleaved
from kane.library import andrews_squeezer
from kane.library.andrews_squeezer import ANDREWS_START

Array = npt.NDArray[np.float64]
TITLE = "Andrews' squeezing mechanism to 1e-7"
CASE = "Andrews' squeezer, 0.03 s to 1e-7"
COLUMNS = ("program", "setting", "CPU, ms", "x", "error at 0.03 s")
NOTE = (
    "Seven bodies in three loops, one freedom, driven to 16 rad in 0.03 s. Every program runs at the loosest setting "
    "of its list that, like all tighter ones, ends within 1e-7 rad of the angles that the test set for IVP solvers "
    "prints. "
    "kane.simulate is the whole call, constraints embedded in numbers, states settled after each step; Exudyn's is its "
    "solver in C++, the system assembled before: the implicit trapezoidal rule with multipliers, which is what it has "
    "for joints, full Newton steps at its own tolerances."
)
WANTED, SPAN = 1e-7, 0.03  # rad, s
TOLERANCES = tuple(10.0 ** (-half / 2) for half in range(20, 9, -1))
STEPS = (120_000, 90_000, 68_000, 50_000)
# beta, Theta, gamma, Phi, delta, Omega, epsilon at 0.03 s.
PUBLISHED = np.array(
    [
        *(15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948),
        *(0.5244099658805304, 0.5347301163226948, 1.048080741042263),
    ]
)


@dataclass(frozen=True)
class Contestant:
    """A program.

    Attributes:
        run: the angles at 0.03 s, by a setting.
        settings: from tight to loose.
        unit: what they are.
    """

    run: Callable[[float], Array]
    settings: Sequence[float]
    unit: str

    def error(self, setting: float) -> float:
        """The largest of the angles [rad]."""
        return float(np.abs(self.run(setting) - PUBLISHED).max())

    def loosest(self) -> tuple[float, float]:
        """The loosest setting before the first that is not good enough, and its error; the tightest where none is."""
        chosen = self.settings[0], self.error(self.settings[0])
        for setting in self.settings[1:]:
            error = self.error(setting)
            if error > WANTED:
                break
            chosen = setting, error
        return chosen


def table(mode: Mode) -> Table:
    """Measures all that is there."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    contestants = _contestants(result)
    chosen = {name: contestant.loosest() for name, contestant in contestants.items()}
    runs = {name: _batch(contestant, chosen[name][0]) for name, contestant in contestants.items()}
    figures = interleaved(runs, batches=min(mode.batches, 2 if mode.quick else 5))
    ours = min((name for name in figures if name.startswith("kane")), key=lambda name: figures[name].median)
    for name, figure in figures.items():
        setting, error = chosen[name]
        times = "" if name.startswith("kane") else result.ratio(CASE, name, figures[ours], figure)
        reached = f"{error:.0e}" if error <= WANTED else f"{error:.0e}, not reached"
        label = (
            f"{contestants[name].unit} {setting:,.2g}" if setting < 1 else f"{setting:,.0f} {contestants[name].unit}"
        )
        result.rows.append([name, label, f"{figure.median * 1e3:.3g}", times, reached])
    return result


def _batch(contestant: Contestant, setting: float) -> Callable[[int], None]:
    def batch(calls: int) -> None:
        for _ in range(calls):
            contestant.run(setting)

    return batch


def _contestants(result: Table) -> dict[str, Contestant]:
    dynamics = kane.build(kane.formulate(andrews_squeezer()))
    found = {
        f"kane.simulate, {method.__name__}": Contestant(partial(_ours, dynamics, method), TOLERANCES, "tolerance")
        for method in (kane.RK8, kane.RK5)
    }
    try:
        squeezer = ExudynSqueezer()
        found["Exudyn"] = Contestant(lambda steps: squeezer.run(round(steps), SPAN), STEPS, "steps")
    except PeerMissingError as missing:
        result.note(f"No Exudyn: {missing}.")
    return found


def _ours(dynamics: kane.Dynamics, method: type[kane.RK5] | type[kane.RK8], tolerance: float) -> Array:
    integrator = method(rtol=tolerance, atol=tolerance)
    run = kane.simulate(dynamics, until=SPAN, q=ANDREWS_START, integrator=integrator, times=[SPAN])
    return np.asarray(run.q[-1])
