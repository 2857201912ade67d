"""Moreau-Jean time stepping: contacts without the location of events."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kane.deferred import dataclass
from kane.dynamics.contacts.contact_functions import ContactFunctions
from kane.dynamics.contacts.time_step_program import NO_TIME_STEP, time_step_program
from kane.engine.call import PreparedCall
from kane.engine.memory.loop_arguments import TimeStep
from kane.engine.step.time_steps import integrate_time_steps
from kane.errors import ModelError
from kane.formulation.constraints.intermittent_rows import read_forces
from kane.simulation.integrator_state import IntegratorState, Status
from kane.simulation.integrators.integrator import Integrator


@dataclass(frozen=True)
class MoreauJean(Integrator):
    """Time stepping for many contacts: fixed steps and impulses, without the location of events.

    A step of h seconds moves coordinates and speeds from q0, u0 to q1, u1, with M, the rows A and the loads f at q_m:

        q_m = q0 + h/2 qdot(q0, u0),   M (u1 - u0) = h f + A^T p,   q1 = q0 + h qdot(q_m, (u0 + u1) / 2).

    The impulses p satisfy the laws of Signorini, Coulomb and Newton's restitution. The time of a step does not depend
    on the number of events in it. So the method suits piles, bulk parts and robots that fall, where methods that locate
    events take very short steps. Errors are of order h, and of order h^2 without active contacts and friction.

    A contact that closes in the second half of a step penetrates at its end, by up to h/2 times the approach velocity.
    The next step ends the approach and the penetration. Active contacts and loops are closed at the end of each step.
    Velocities satisfy contacts in the middle of the step, and loops at its end up to terms of order h^2.

    The law of restitution is Newton's for all contacts, also where ``kane.Poisson`` or ``kane.Stronge`` is declared. So
    an impact with restitution may gain energy where friction ends or turns its slip (Kane's paradox). Without
    restitution, or without friction, contacts never add energy.

    Approaches that the loads of five steps can produce do not rebound. Inputs have their values in the middle of a
    step. Located events and records between steps are on the line between the ends of a step. Contact forces at a
    record are means over the step that ends there.

    ``simulate`` and ``Stepper`` raise ModelError if the model has no contacts, stops, latches, sticks or switches, or a
    row that is not linear in the speeds. They also refuse charts, and closed loops together with speeds of choice. They
    warn of steps that turn a joint or a body by more than 0.5 rad.

    Source: Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988; Jean, The non-smooth contact
    dynamics method, Comput. Methods Appl. Mech. Eng. 177, 1999.
    """

    order: ClassVar[int] = 1
    fixed: ClassVar[bool] = True

    def advance(self, integration: IntegratorState, steps: int) -> Status:
        integration.make_room(steps, 1)
        return Status(integrate_time_steps(*integration.step_arguments, _program(integration), steps))

    def prepared(self, integration: IntegratorState, steps: int) -> PreparedCall | None:
        return integrate_time_steps.prepared(*integration.step_arguments, _program(integration), steps)


def _program(integration: IntegratorState) -> TimeStep:
    """Return the program of a step with its arrays, which have room for the forces at all records of the store.

    Raises:
        ModelError: the equations have no time steps.
    """
    problem, rows = integration.problem, len(integration.store.rows)
    known, program = integration.memory or (None, NO_TIME_STEP)
    if known is not problem.contacts or known is None:
        functions = _required(problem.contacts, repr(problem.layout.model))
        fresh = time_step_program(functions, single=False, asks=problem.plan.needs_python)
        program = fresh if known is None else fresh._replace(forces=program.forces)
    if len(program.forces) < rows:
        missing = np.zeros((rows - len(program.forces), program.rows))
        program = program._replace(forces=np.concatenate([program.forces, missing]))
    integration.memory, integration.drifts = (problem.contacts, program), True
    return program


def _required(functions: ContactFunctions | None, model: str) -> ContactFunctions:
    """Return native functions that have time steps.

    Raises:
        ModelError: names the model, the row or the charts.
    """
    if functions is None:
        raise ModelError(
            f"kane.MoreauJean is for contacts, stops, latches, sticks and switches, and {model} has none; use "
            "kane.RK8(), or kane.Midpoint() for long runs with fixed steps"
        )
    if functions.parts.charts is not None:
        raise ModelError(
            "kane.MoreauJean does not change charts; leave charts out, and use kane.Spherical or kane.Free for bodies "
            "that turn over"
        )
    eqs = functions.equations
    by_force = [c.name for c in eqs.intermittents if read_forces([c])]
    if by_force:
        raise ModelError(
            f"kane.MoreauJean has impulses of whole steps, and on= or off= of {by_force[0]!r} depends on a reaction; "
            "use kane.RK8()"
        )
    bent = [row.name for row in eqs.constraints if not row.linear]
    if bent:
        raise ModelError(
            f"kane.MoreauJean needs rows that are linear in the speeds, and {bent[0]!r} is not; use kane.RK8()"
        )
    closing = {row.name for row in eqs.closing}
    kept = [*eqs.permanent, *(row for c in eqs.intermittents if c.constraint.bilateral for row in c.rows)]
    closed = [row.name for row in kept if row.name in closing]
    if eqs.system.own is not None and closed:
        raise ModelError(
            f"kane.MoreauJean keeps {closed[0]!r} closed in the joints' own speeds only; leave Model.speeds out, or "
            "use kane.RK8()"
        )
    return functions
