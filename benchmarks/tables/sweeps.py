"""A stored sweep of a spacecraft beside kane.simulate_many alone, and beside other programs at equal error."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.mode import Mode
from benchmarks.peers.scipy_spacecraft import scipy_spacecraft
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.report import Table
from benchmarks.spacecraft import model, peer_model
from benchmarks.states import layout
from benchmarks.tables.spacecraft import in_our_layout
from benchmarks.timing import Figure, interleaved

Array = npt.NDArray[np.float64]
TITLE = "Sweeps: a spacecraft of 14 freedoms"
COLUMNS = ("program", "setting", "error", "runs", "runs a core-second", "x")
SECONDS, RANGE = 10.0, 0.2  # s; rad/s, of the speeds of the eight gimbals at the start
WANTED, CHECKED = 1e-6, 8  # error at the end, runs in which it is measured
TOLERANCES = tuple(10.0**-e * m for e in range(3, 10) for m in (3.0, 1.0))
STEPS = tuple(SECONDS / n for n in (10, 20, 25, 40, 50, 80, 100, 200, 400, 1000, 2000, 4000))
NOTE = (
    f"{SECONDS:g} s of free motion each, float64, one thread; eight gimbals with speeds uniform within {RANGE} rad/s. "
    "kane.sweep draws the speeds, computes chunks, evaluates ten outputs, stores them in a folder and merges "
    "statistics. kane.simulate_many gets the same speeds in one call, and keeps last states only. In the first row x "
    "is the rate of kane.sweep over that of kane.simulate_many. The others have equal errors: each program gets the "
    "coarsest setting of its list with which the largest difference of q and u at the end from kane at 1e-12 is at "
    f"most {WANTED:g} in {CHECKED} runs. There x is the time of a run in units of kane.sweep's. Not comparable: MuJoCo "
    "has a fixed step of order 4 and keeps all steps; contacts and constraints are off. scipy calls pin.aba from "
    "Python. Neither draws, stores or merges. CPU time, in turn."
)


@dataclass(frozen=True)
class Peer:
    """A program that makes runs from the speeds of the gimbals.

    Attributes:
        run: returns q and u at the end in kane's order, for speeds (n, 8) and a setting.
        settings: from coarse to fine.
        unit: of the settings.
        number: of runs that are timed at once.
    """

    run: Callable[[Array, float], Array]
    settings: Sequence[float]
    unit: str
    number: int


def table(mode: Mode) -> Table:
    """Measures all that is there."""
    result, n = Table(TITLE, COLUMNS, notes=[NOTE]), 1024 if mode.quick else 16384
    dyn = kane.build(kane.formulate(model()), target=kane.LLVM(threads=1))
    varied = [leaf.name for leaf in dyn.equations.u if leaf.name.startswith("g")]
    drawn = kane.sample(n, dict.fromkeys(varied, (-RANGE, RANGE)))
    rows = drawn.seeded(1).rows(0, n)

    def ours(x: Array, tolerance: float) -> Array:
        method, speeds = kane.RK8(rtol=tolerance, atol=tolerance), dict(zip(varied, np.array(x.T), strict=True))
        done = kane.simulate_many(dyn, until=SECONDS, u=speeds, integrator=method)
        return np.hstack([done.q[:, -1], done.u[:, -1]])

    peers = {"kane.sweep": Peer(ours, TOLERANCES, "tolerance", n), **_peers(dyn, result)}
    chosen = {name: _setting(peer, rows[:CHECKED], ours(rows[:CHECKED], 1e-12)) for name, peer in peers.items()}
    folder = Path(tempfile.mkdtemp())
    runs: dict[str, tuple[Callable[[], Any], int]] = {
        "kane.sweep, tolerance 1e-9": (lambda: _sweep(dyn, drawn, folder, None), n),
        "kane.simulate_many": (lambda: kane.simulate_many(dyn, until=SECONDS, u=_columns(varied, rows)), n),
        "kane.sweep": (lambda: _sweep(dyn, drawn, folder, chosen["kane.sweep"][0]), n),
    }
    for name, peer in peers.items():
        runs.setdefault(name, (lambda p=peer, at=chosen[name][0]: p.run(rows[: p.number], at), peer.number))
    try:
        found = interleaved({name: _calls(run) for name, (run, _) in runs.items()}, batches=mode.batches)
    finally:
        shutil.rmtree(folder)
    figures = {name: Figure(tuple(s / runs[name][1] for s in figure.samples)) for name, figure in found.items()}
    _fill(result, figures, {name: number for name, (_, number) in runs.items()}, peers, chosen)
    return result


def _fill(result: Table, figures: Any, numbers: Any, peers: Any, chosen: Any) -> None:
    for name, figure in figures.items():
        setting, error, share = "tolerance 1e-9", "", ""
        if name in chosen:
            setting, error = f"{peers[name].unit} {chosen[name][0]:.3g}", f"{chosen[name][1]:.0e}"
            if name != "kane.sweep":
                share = result.ratio("spacecraft", name, figures["kane.sweep"], figure)
        elif name != "kane.simulate_many":
            share = result.ratio("spacecraft", "kane.simulate_many", figure, figures["kane.simulate_many"])
        cells = (f"{numbers[name]:,}", f"{1.0 / figure.median:,.0f}", share)
        result.rows.append([name.partition(",")[0], setting, error, *cells])


def _calls(run: Callable[[], Any]) -> Callable[[int], None]:
    def calls(n: int) -> None:
        for _ in range(n):
            run()

    return calls


def _columns(names: Sequence[str], rows: Array) -> dict[str, Array]:
    return dict(zip(names, np.array(rows.T), strict=True))


def _sweep(dyn: kane.Dynamics, drawn: Any, folder: Path, tolerance: float | None) -> None:
    e = dyn.equations
    outputs = {f"output {k}": leaf for k, leaf in enumerate((*e.q[4:7], *e.u[:7]))}
    method = None if tolerance is None else kane.RK8(rtol=tolerance, atol=tolerance)
    shutil.rmtree(folder / "store", ignore_errors=True)
    kane.sweep(dyn, until=SECONDS, runs=drawn, seed=1, outputs=outputs, store=folder / "store", integrator=method)


def _setting(peer: Peer, speeds: Array, reference: Array) -> tuple[float, float]:
    """The coarsest setting that is good enough, or the finest, with its error."""
    for setting in peer.settings:
        error = float(np.abs(peer.run(speeds, setting) - reference).max())
        if error <= WANTED:
            break
    return setting, error


def _peers(dyn: kane.Dynamics, result: Table) -> dict[str, Peer]:
    try:
        peer = peer_model()
        order = layout(dyn.equations, peer)
    except PeerMissingError as missing:
        result.note(f"A peer is missing: {missing}.")
        return {}
    places = np.concatenate([order.q, len(order.q) + order.u])

    def by_scipy(speeds: Array, tolerance: float) -> Array:
        found = scipy_spacecraft(speeds, SECONDS, tolerance)
        ours = np.empty_like(found)
        ours[:, places] = found
        return ours

    peers = {"scipy and pin.aba": Peer(by_scipy, TOLERANCES, "tolerance", 4)}
    try:
        from benchmarks.peers.mujoco_runs import MujocoRuns
    except ImportError:
        result.note("mujoco is not installed (pip install '.[bench]').")
        return peers
    rollout = MujocoRuns(peer, np.zeros(peer.nv), np.zeros(peer.njoints - 1), threads=1)
    still = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, *np.zeros(8 + 6)])

    def by_mujoco(speeds: Array, step: float) -> Array:
        starts = np.hstack([np.tile(still, (len(speeds), 1)), speeds])
        return in_our_layout(rollout.run(starts, SECONDS, step))

    return peers | {"mujoco.rollout": Peer(by_mujoco, STEPS, "step, s", 256)}
