"""Constants of motion: derived from the equations, and checked along a run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.expression.collector import collector_paused
from kane.expression.derivative import total_time_derivative
from kane.expression.functions import absolute
from kane.expression.number_arguments import require
from kane.formulation.equations import Equations
from kane.formulation.matrix_route import require_bodies
from kane.formulation.quantities.energy import energy
from kane.formulation.quantities.momentum import momentum, momentum_sizes
from kane.geometry.quaternion import normalise_quaternions
from kane.simulation.projection import UNPROJECTED, Constraints

if TYPE_CHECKING:
    from kane.simulation.results.trajectory import Trajectory

MOTION_CONSTANT_NAMES = ("energy", "P_x", "P_y", "P_z", "H_x", "H_y", "H_z")
MOTION_CONSTANT_UNITS = ("J", *["kg m/s"] * 3, *["kg m^2/s"] * 3)
MOTION_CONSTANT_KINDS = ((0,), (1, 2, 3), (4, 5, 6))
# Indices of program outputs: the sizes of energy, linear momentum and angular momentum.
MOTION_SIZE_OUTPUTS = (16, 17, 18)
# Relative rates of change below this are rounding errors of terms that cancel; true rates are far larger.
MOTION_RATE_ROUNDING = 1e-8
AUDIT_TRIAL_STATES = 16
# Values below this fraction of their size are rounding of terms that add up to zero.
MOTION_CONSTANT_ROUNDING = 1e-14


class Constant(NamedTuple):
    """Constant of motion along a run.

    Attributes:
        name: energy, a component of linear momentum P or of angular momentum H about the origin of N.
        unit: unit of the values.
        initial: first value.
        drift: largest deviation from the first value; with intermittent constraints, from the first value of each
            interval in which none is active.
        size: scale for rounding errors: the largest sum, along the run, of the magnitudes of its parts (kinetic and
            potential energy, or the momenta of all bodies).
    """

    name: str
    unit: str
    initial: float
    drift: float
    size: float

    @property
    def relative(self) -> float:
        """Drift divided by size."""
        return self.drift / self.size if self.size else 0.0

    @property
    def digits(self) -> float:
        """Number of digits, relative to its size, to which it was conserved, 0 to 16."""
        return -math.log10(min(max(self.relative, 1e-16), 1.0))


class Audit(tuple[Constant, ...]):
    """Constants of motion of a run; prints the number of digits to which each was conserved.

    Attributes:
        apart: whether the run has intermittent constraints; the audit then covers only times without active ones.
    """

    apart: bool

    def __new__(cls, constants: Iterable[Constant], *, apart: bool = False) -> Audit:
        self = super().__new__(cls, constants)
        self.apart = apart
        return self

    def __repr__(self) -> str:
        when = " while no contact, stop, stick, latch or switch is active" if self.apart else ""
        if not self:
            return f"no constant of motion among energy, linear and angular momentum{when}"
        worst = min(self, key=lambda c: c.digits)
        head = f"constants of motion{when}, kept to at least {int(worst.digits)} digits"
        lines = [f"{c.name:8}{_rounded(c):16.9g} {c.unit:10}{int(c.digits):4d} digits" for c in self]
        return "\n".join([head, *lines])

    def table(self) -> str:
        """Return initial value, drift and relative drift of each constant as text."""
        head = f"{'constant':10}{'unit':>10}{'initial':>16}{'drift':>12}{'relative':>12}"
        rows = [f"{c.name:10}{c.unit:>10}{c.initial:16.9g}{c.drift:12.2e}{c.relative:12.2e}" for c in self]
        return "\n".join([head, *rows])


def _rounded(c: Constant) -> float:
    """Return the first value, or zero if it is only rounding."""
    return c.initial if abs(c.initial) > MOTION_CONSTANT_ROUNDING * c.size else 0.0


def audit(run: Trajectory, dyn: Dynamics) -> Audit:
    """Find which of energy, linear and angular momentum the motion conserves, and measure their drift.

    A quantity is a constant of motion if its exact time derivative vanishes at random states, with the run's inputs
    scaled at random: an input that is always zero stays zero. Kane & Levinson check one momentum component, H . n2, in
    this way. Active intermittent constraints change all quantities, so that only intervals without active ones count.

    Source: Kane & Levinson 1983, Eqs. 134-138.
    """
    require(dyn, Dynamics, "audit takes Dynamics, as kane.build(equations) returns")
    require_bodies(dyn.equations, "the audit of a run")
    function = dyn.compile(_constants(dyn.equations))
    parameters = run._run.values("parameters")
    stage = function.stage(parameters)
    states = np.column_stack([run.time, run.q, run.u])
    along = function(states, np.zeros((len(run), function.n_rest)), stage)
    found, stretches = [], _stretches(run)
    states, inputs = _perturbed(run, dyn, parameters)
    forward = dyn.function("forward")
    trials = function(states, forward(states, inputs, forward.stage(parameters)), stage)
    speed = 1.0 + np.abs(trials[:, 14:15])  # scale: rates grow with the kinetic energy
    for kind, sizes in zip(MOTION_CONSTANT_KINDS, MOTION_SIZE_OUTPUTS, strict=True):
        size = float(along[:, sizes].max())
        natural = np.abs(trials[:, kind]).max() + np.abs(trials[:, 14:16]).max()
        for k in kind:
            if np.abs(trials[:, 7 + k : 8 + k] / speed).max() <= MOTION_RATE_ROUNDING * natural:
                drift = max((float(np.abs(along[rows, k] - along[rows[0], k]).max()) for rows in stretches), default=0)
                found.append(
                    Constant(MOTION_CONSTANT_NAMES[k], MOTION_CONSTANT_UNITS[k], float(along[0, k]), drift, size)
                )
    return Audit(found if stretches else (), apart=run.contact_log is not None)


def _stretches(run: Trajectory) -> list[np.ndarray]:
    """Return the indices of the records in each interval between transitions without active constraints."""
    log = run.contact_log
    if log is None:
        return [np.arange(len(run))]
    # A record at the time of a transition may be before or after it.
    free = ~log.statuses.any(axis=1) & ~np.isin(run.time, log.times)
    before = np.searchsorted(log.times, run.time)
    return [np.flatnonzero(free & (before == count)) for count in np.unique(before[free])]


def _constants(equations: Equations) -> Program:
    """Build a program of energy, momenta, their rates for given udot, both energies, and the size of each kind."""
    free = equations.unconstrained
    with collector_paused():
        kinetic, potential = free.baked_in(energy(free.system, free.applied.potential))
        values = (kinetic + potential, *free.baked_in(momentum(free.system)))
        changes = dict(zip((*free.q, *free.u), (*free.kinematics, *free.udot), strict=True))
        sizes = (kinetic + absolute(potential), *free.baked_in(momentum_sizes(free.system)))
        outputs = (*values, *total_time_derivative(values, changes), kinetic, potential, *sizes)
        leaves: dict[str, Any] = {"state": (free.t, *free.q, *free.u), "rest": free.udot, "parameters": free.parameters}
        return Program("constants of motion", outputs, **leaves)


def _perturbed(run: Trajectory, dyn: Dynamics, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return random states near the run's states, on the constraints, and its inputs scaled at random."""
    random = np.random.default_rng(0)
    rows = random.integers(len(run), size=AUDIT_TRIAL_STATES)
    q = run.q[rows] + random.normal(size=(AUDIT_TRIAL_STATES, run.q.shape[1]))
    normalise_quaternions(q, dyn.equations.quaternions)
    u = run.u[rows] + random.normal(size=(AUDIT_TRIAL_STATES, run.u.shape[1]))
    inputs = run.inputs[rows] * random.uniform(0.5, 1.5, size=(AUDIT_TRIAL_STATES, run.inputs.shape[1]))
    states = np.column_stack([run.time[rows], q, u])
    return (states if dyn.project is None else _projected(run, dyn, parameters, rows, states)), inputs


def _projected(
    run: Trajectory, dyn: Dynamics, parameters: np.ndarray, rows: np.ndarray, states: np.ndarray
) -> np.ndarray:
    """Project states onto the constraints; where that fails, return states of the run."""
    assert dyn.project is not None
    stage, constraints = dyn.project.stage(parameters), Constraints(dyn, parameters)
    nq = run.q.shape[1]
    for _ in range(2):  # far from the constraints, the first projection may correct only the coordinates
        found = dyn.project(states, np.zeros(dyn.project.n_rest), stage)
        states = np.column_stack([states[:, 0], found[:, : states.shape[1] - 1]])
    off = np.max(constraints.residuals(states).largest, axis=0) > UNPROJECTED
    states[off, 1 : 1 + nq] = run.q[rows[off]]
    states[off, 1 + nq :] = run.u[rows[off]]
    return states
