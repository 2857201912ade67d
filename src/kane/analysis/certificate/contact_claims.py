"""Claims of a certificate about intermittent constraints, along runs from random states.

Impulses and losses are compared with the kinetic energy, which the contact programs do not use. Forces are compared
with the energy balance over time, and with the contact laws at the recorded times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kane.analysis.assembly.assemble import assemble
from kane.analysis.assembly.closing import null_space
from kane.analysis.certificate.claims import Found, common_digits
from kane.analysis.certificate.embedding_claims import Declared, first_success
from kane.analysis.laws import applied_power, prescribes_motion
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.dynamics.build import build
from kane.dynamics.constraint_terms import Array, ConstraintTerms
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.run_interface import STEPPED_OVER
from kane.engine.memory.contact_codes import OPEN, SLIDING, STICKING
from kane.engine.memory.views import gap_terms_at
from kane.errors import KaneError, ModelError, SimulationError
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.equations import Equations
from kane.formulation.quantities.energy import energy
from kane.formulation.random_states import LEAST_SINGULARITY_DISTANCE, joints_of
from kane.geometry.quaternion import normalise_quaternions
from kane.simulation.events.event import Event
from kane.simulation.integrators.moreau_jean import MoreauJean
from kane.simulation.integrators.rk8 import RK8
from kane.simulation.results.contact_log import ContactLog
from kane.simulation.results.trajectory import Trajectory
from kane.simulation.simulate import simulate

RUN_DURATION = 1.0  # duration of a run [s]
METHOD = RK8(rtol=1e-12, atol=1e-13)
TIME_STEP = 2e-3  # length of the Moreau-Jean time steps [s]
# Gauss nodes per step, or per part of a step between transitions, for integrals over time. The step-size control keeps
# steps short where integrands are steep, for example where friction turns as a slip in space ends.
GAUSS_NODES = 4
# Times closer than this count as equal [s], because of round-off. At a transition the slip may reverse.
INSTANT = 1e-12
# Slips slower than this have no accurate direction [m/s or rad/s]: round-off of speeds of order one, 1e-16, is 1e-9 of
# it.
LEAST_DIRECTED_SLIP = 1e-7


@dataclass(frozen=True, eq=False)
class ContactRun:
    """One run, recorded at Gauss nodes between its transitions.

    Attributes:
        run: the trajectory.
        weights: quadrature weights of the records for integrals over time [s].
        ended: reason why the run ended early; empty otherwise.
    """

    run: Trajectory
    weights: Array
    ended: str

    @cached_property
    def log(self) -> ContactLog:
        """Contact log with the first record of each transition."""
        log = self.run.contact_log
        assert log is not None
        both = np.column_stack([log.times, log.u_before, log.u])
        return log.selected((np.diff(both, axis=0, prepend=np.nan) != 0.0).any(axis=1))

    @cached_property
    def at_once(self) -> ContactLog:
        """Transitions without duration: Moreau-Jean time steps are omitted, because forces also act during them."""
        return self.log.selected(np.array([kind != STEPPED_OVER for kind in self.log.kinds], bool))


@dataclass(frozen=True, eq=False)
class ContactRuns:
    """Runs of a model from random states without penetration.

    Attributes:
        declared: the model.
    """

    declared: Declared

    @property
    def equations(self) -> Equations:
        """Declared equations without intermittent constraints."""
        return self.declared.equations

    @cached_property
    def whole(self) -> Dynamics:
        """Compiled equations with the rows of all intermittent constraints."""
        return build(self.equations.with_intermittent_rows)

    @cached_property
    def energies(self) -> CompiledFunction:
        """Kinetic energy, potential energy of gravity, and power of all loads, springs included."""
        free = self.equations.unconstrained
        kinetic, potential = energy(free.system, free.system.arena.zero)
        outputs = free.baked_in((kinetic, potential, applied_power(free, free.applied)))
        state = (free.t, *free.q, *free.u)
        made = Program("energies", outputs, state=state, rest=free.inputs, parameters=free.parameters)
        return self.whole.compile(made)

    @cached_property
    def runs(self) -> list[ContactRun]:
        """One run for each random state."""
        declared, eqs = self.declared, self.equations
        random = np.random.default_rng([declared.seed, 2])

        def attempt() -> ContactRun:  # raises if no admissible state is found, or if no run can start there
            q = np.array(eqs.neutral) + random.normal(size=len(eqs.q))
            normalise_quaternions(q, eqs.quaternions)
            state = assemble(declared.dyn, q=q, u=random.normal(size=len(eqs.u)), t=0.0)
            return self._run(self._regular(state.q), state.u, random.normal(size=len(eqs.inputs)))

        return [first_success(attempt, KaneError) for _ in range(declared.count)]

    @cached_property
    def singularities(self) -> tuple[Event, ...]:
        """Events that end a run near a gimbal singularity, where the state loses the required digits.

        For example, a box may come to rest on the face at which its angles are singular.
        """
        charts = ((c.name, c.joint.other_chart, self.equations.q[rows]) for c, rows in joints_of(self.equations))
        return tuple(
            Event(
                chart.beyond(q, LEAST_SINGULARITY_DISTANCE),
                terminal=True,
                name=f"the angles of {name!r} approach their singularity",
            )
            for name, chart, q in charts
            if chart is not None
        )

    def _regular(self, q: Array) -> Array:
        """Return the configuration; raise if it is near a singularity of a joint."""
        for connection, rows in joints_of(self.equations):
            singular = connection.joint.singular_at(q[rows], within=LEAST_SINGULARITY_DISTANCE)
            if singular is not None:
                raise ModelError(singular)
        return q

    def _run(self, q: Array, u: Array, inputs: Array) -> ContactRun:
        """Simulate twice from a state: first to find steps and transitions, then with records at the Gauss nodes."""
        asked: dict[str, Any] = {"q": q, "u": u, "inputs": inputs, "integrator": METHOD}
        ended, until = "", RUN_DURATION
        try:
            run = simulate(self.declared.dyn, until=until, every=1, events=self.singularities, **asked)
            if run.time[-1] < until:
                ended, until = run.events[-1].name, float(run.time[-1])
        except SimulationError as error:
            if error.trajectory is None or len(error.trajectory) < 2:
                raise
            ended, run = str(error), error.trajectory
            until = float(run.time[-1])
        times = [event.time for event in run.events if event.time < until]
        edges = np.unique(np.concatenate([run.time, times]))
        edges = edges[np.diff(edges, prepend=-1.0) > INSTANT]
        x, w = np.polynomial.legendre.leggauss(GAUSS_NODES)
        half = 0.5 * np.diff(edges)
        nodes = (edges[:-1, None] + half[:, None] * (1.0 + x)).ravel()
        run = simulate(self.declared.dyn, until=until, times=nodes, **asked)
        weights = (half[:, None] * w).ravel()
        return ContactRun(run, np.concatenate([[0.0], weights, [0.0]]), ended)

    @property
    def remark(self) -> str:
        """Number of transitions and runs, and the reason why runs ended early."""
        many = sum(len(r.log.times) for r in self.runs)
        ended = [r.ended for r in self.runs if r.ended]
        short = f"; {len(ended)} ended early: {ended[0]}" if ended else ""
        return f"{many} transitions in {len(self.runs)} runs of {RUN_DURATION:g} s{short}"

    def energies_at(self, t: Any, q: Array, u: Array, inputs: Any = None) -> Array:
        """Return kinetic energy, potential energy of gravity and power of loads, (..., 3)."""
        stage = self.energies.stage(self.declared.dyn.parameters)
        rest = np.zeros(self.energies.n_rest) if inputs is None else inputs
        return self.energies.join((np.asarray(t)[..., None], q, u), rest, stage)

    def forces(self, run: Trajectory) -> tuple[ConstraintTerms, Array]:
        """Return constraint terms at the records of a run, and the force of each row of intermittent constraints."""
        terms = ConstraintTerms.of(self.whole, run.q, run.u, inputs=run.inputs, t=run.time)
        return terms, np.column_stack([*run.reactions.values()])


def impulses_are_momentum(runs: ContactRuns) -> Found:
    """Check M (u+ - u-) = J^T P, P the impulses of the rows J, along all motions that permanent constraints allow.

    M follows from the kinetic energy K, which is quadratic in u: e_k . M d = K(u + d + e_k) - K(u + d) - K(u + e_k) +
    K(u).
    """
    worst, count = 16.0, 0
    for log in (r.at_once for r in runs.runs):
        struck = (log.impulses != 0.0).any(axis=1)
        if not struck.any():
            continue
        t, q, before, after, P = (x[struck] for x in (log.times, log.q, log.u_before, log.u, log.impulses))
        count += len(t)
        none = np.zeros((1, before.shape[-1]))
        steps = np.concatenate([np.eye(len(none.T)), none])
        K_after, K_before = (
            runs.energies_at(t[:, None], q[:, None], u[:, None] + steps)[..., 0] for u in (after, before)
        )
        gained = K_after[:, :-1] - K_after[:, -1:] - K_before[:, :-1] + K_before[:, -1:]
        A = ConstraintTerms.of(runs.whole, q, before, t=t).A
        permanent = A.shape[1] - P.shape[1]
        pushed = np.einsum("crn,cr->cn", A[:, permanent:], P)
        size = np.abs(pushed).max(axis=1) + 2.0 * (np.abs(K_after).max(axis=1) + np.abs(K_before).max(axis=1))
        for rows, off in zip(A[:, :permanent], (gained - pushed) / size[:, None], strict=True):
            worst = min(worst, _digits(null_space(rows, len(off)).T @ off, 1.0))
    return (worst, runs.remark) if count else (None, f"no impulse acted: {runs.remark}")


def losses_are_kinetic(runs: ContactRuns) -> Found:
    """Check that the recorded energy loss of a transition is the kinetic energy before minus after."""
    if prescribes_motion(runs.equations):
        return None, "motion is prescribed in time: the loss is that of the motion relative to the prescribed one"
    worst, total, count = 16.0, 0.0, 0
    for log in (r.at_once for r in runs.runs if len(r.at_once.times)):
        count += len(log.times)
        before, after = (runs.energies_at(log.times, log.q, u)[:, 0] for u in (log.u_before, log.u))
        total += float(log.energy_lost.sum())
        worst = min(worst, _digits(before - log.energy_lost - after, max(before.max(), after.max())))
    return (worst, f"{total:.4g} J in {runs.remark}") if count else (None, runs.remark)


def energy_is_accounted_for(runs: ContactRuns) -> Found:
    """Check that the energy changes by the work of loads and contact forces minus impact losses."""
    if prescribes_motion(runs.equations):
        return None, "motion is prescribed in time: the prescribed motion does work"
    worst, friction, permanent = 16.0, 0.0, len(runs.equations.constraints)
    for r in runs.runs:
        run = r.run
        E = runs.energies_at(run.time, run.q, run.u, run.inputs)
        terms, forces = runs.forces(run)
        if np.abs(terms.at(run.q).motion[:, :permanent]).max(initial=0.0) > 0.0:
            return None, "moving constraints do work"
        A_u = terms.motion - terms.at(run.q).motion
        # A row without force does no work, also where its direction does not exist, as between parallel capsules.
        power = np.where(forces == 0.0, 0.0, forces * A_u[:, permanent:]).sum(axis=1)
        work = (r.weights * power).sum()
        lost = r.log.energy_lost.sum()
        gained = E[-1, :2].sum() - E[0, :2].sum()
        left = gained - (r.weights * E[:, 2]).sum() - work + lost
        friction += float(work)
        worst = min(worst, _digits(np.array([left]), np.abs(E[:, :2]).sum(axis=1).max()))
    return worst, f"contact forces did {friction:.4g} J of work"


def contacts_keep_their_laws(runs: ContactRuns) -> Found:
    """Check Signorini: gap >= 0, N >= 0; and Coulomb: |f| <= mu_s N sticking, f = -mu_k N v / |v| sliding.

    Records at which a slip in space is too slow to have an accurate direction are skipped, because all contact forces
    depend on this direction.
    """
    worst, active = 16.0, 0
    for r in runs.runs:
        terms, forces = runs.forces(r.run)
        gaps = gap_terms_at(terms.values("gaps"), 0, len(runs.whole.equations.intermittents))
        statuses, eqs, size = r.log.statuses, runs.whole.equations, np.abs(forces).max(initial=0.0)
        parts = list(zip(eqs.intermittents, eqs.intermittent_places, strict=True))
        directed = np.arange(len(r.run)) > 0  # the first record precedes the first transition
        for k, (c, rows) in enumerate(parts):
            if len(c.tangents) == 2:
                slip = terms.motion[:, rows][:, -2:]
                directed &= (statuses[:, k] != SLIDING) | (np.linalg.norm(slip, axis=1) > LEAST_DIRECTED_SLIP)
        for k, (c, rows) in enumerate(parts):
            friction, own = (gaps.static[:, k], gaps.kinetic[:, k]), forces[:, r.log.of == k]
            off = _broken(c, statuses[:, k], friction, own, terms.motion[:, rows])
            worst = min(worst, _digits(off[directed], size))
            if c.normal is not None and not c.constraint.bilateral:  # an opened latch does not stop its gap
                worst = min(worst, _digits(np.minimum(gaps.gap[:, k], 0.0), 1.0))
        active += int((statuses > 0).sum())
    if not active:
        return None, f"no constraint was active: {runs.remark}"
    return worst, f"active {active} times at {sum(len(r.run) for r in runs.runs)} records"


def time_steps_keep_their_laws(runs: ContactRuns) -> Found:
    """Check that impulses of ``kane.MoreauJean`` steps push, and that friction stays within its bounds.

    Each run is repeated in steps of TIME_STEP. Its mean forces are impulses over the length of a step.
    """
    worst, active, eqs = 16.0, 0, runs.whole.equations
    for r in runs.runs:
        start = {"q": r.run.q[0], "u": r.run.u[0], "inputs": r.run.inputs[0], "until": float(r.run.time[-1])}
        try:
            run = simulate(runs.declared.dyn, integrator=MoreauJean(), dt=TIME_STEP, **start)
        except ModelError as error:
            return None, str(error)
        terms, forces = runs.forces(run)
        gaps, size = gap_terms_at(terms.values("gaps"), 0, len(eqs.intermittents)), np.abs(forces).max(initial=0.0)
        for k, c in enumerate(eqs.intermittents):
            own = forces[:, r.log.of == k]
            status = np.where((own != 0.0).any(axis=1), STICKING, OPEN).astype(np.int8)
            worst = min(worst, _digits(_broken(c, status, (gaps.static[:, k], gaps.kinetic[:, k]), own, own), size))
            active += int((status != OPEN).sum())
    if not active:
        return None, f"no constraint was active: {runs.remark}"
    return worst, f"active {active} times in {len(runs.runs)} runs with steps of {TIME_STEP:g} s"


def _broken(
    c: IntermittentEquations, status: NDArray[np.int8], friction: tuple[Array, Array], force: Array, slip: Array
) -> Array:
    """Return by how much the force of an intermittent constraint violates the contact laws, (states,) [N or N m]."""
    if c.constraint.bilateral:
        return np.zeros(len(status))
    along = int(c.normal is not None)
    static, kinetic = friction
    push = force[:, 0] if along else np.ones(len(status))
    f, v = force[:, along:], slip[:, along:]
    speed = np.linalg.norm(v, axis=1)
    held = (status == STICKING) & (c.constraint.friction is not None)
    slides = (status == SLIDING) & (speed > LEAST_DIRECTED_SLIP)
    against = f + (kinetic * push / np.where(slides, speed, 1.0))[:, None] * v
    off = np.where(held, np.linalg.norm(f, axis=1) - static * push, 0.0)
    off = np.where(slides, np.linalg.norm(against, axis=1), off)
    return np.where(status == OPEN, 0.0, np.maximum(off, np.maximum(-push, 0.0)))


def _digits(off: Array, size: float) -> float:
    """Return the number of digits to which ``off`` vanishes relative to its size."""
    return (
        common_digits(np.ravel(off)[:, None], np.zeros((np.size(off), 1)), np.array([size])) if np.size(off) else 16.0
    )


ClaimOfContacts: TypeAlias = "Callable[[ContactRuns], Found]"
OF_CONTACTS: Mapping[str, ClaimOfContacts] = {
    "impulses change the momentum by J^T P": impulses_are_momentum,
    "energy lost = kinetic energy before minus after": losses_are_kinetic,
    "energy: work of loads and contacts minus losses": energy_is_accounted_for,
    "contacts push, friction stays within its bounds": contacts_keep_their_laws,
    "time steps: contacts push, friction within its bounds": time_steps_keep_their_laws,
}
