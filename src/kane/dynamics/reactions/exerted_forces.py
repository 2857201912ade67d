"""Forces and torques that loads, joints, constraints and contacts exert on bodies, evaluated at states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.program import Program
from kane.deferred import NamedTuple
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.reactions.revealed import RevealedReactions
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.interpret import interpret
from kane.formulation.reactions.exerted import Exerted, exerted
from kane.formulation.reactions.reactions import reveal_reactions
from kane.model.contacts.intermittent_constraint import parts_named

# Relative eigenvalue, of the normal equations of the arm, below which the arm has no component along the eigenvector.
ARM_EIGENVALUE_CUTOFF = 1e-9


class StatesOfArrows(NamedTuple):
    """States at which forces are to be drawn.

    Attributes:
        q, u, inputs, t: (times, nq), (times, n), (times, inputs), (times,).
        parameters: values by name.
        contacts: forces of intermittent constraints by name, (times, rows); None if unknown.
    """

    q: Any
    u: Any
    inputs: Any
    t: Any
    parameters: Mapping[str, float]
    contacts: Mapping[str, Any] | None = None


class Acting(NamedTuple):
    """Force and torque on a body at states.

    Attributes:
        name: load, joint, constraint or contact that exerts them.
        body: index of the body.
        at: a point of the body, in its frame, (3,) [m].
        arm: vector from ``at`` to the point of application, in N, (times, 3) [m].
        force, torque: expressed in N, the torque about the point of application, (times, 3) [N, N m].
    """

    name: str
    body: int
    at: Array
    arm: Array
    force: Array
    torque: Array


def acting(dyn: Dynamics, name: str, states: StatesOfArrows) -> list[Acting]:
    """Return the force and torque of a load, joint, constraint or contact on each body that moves.

    The name of a contact with several parts, such as a box on a floor, means all parts. All row forces of a constraint
    act at one point, chosen to minimize the torques about it: for a wheel, the contact point.

    Raises:
        ModelError: the name is unknown, redundant constraints make the reaction indeterminate, or the reaction depends
            on contact forces that are not given.
    """
    parts = parts_named(name, [c.name for c in dyn.equations.intermittents]) or [name]
    return [found for part in parts for found in _acting(dyn, part, states)]


def _acting(dyn: Dynamics, name: str, states: StatesOfArrows) -> list[Acting]:
    eqs = dyn.equations
    found = exerted(eqs, name)
    multipliers = _multipliers(dyn, found, states)
    outputs = [eqs.system.arena.lift(x) for part in found.parts for v in (*part.forces, *part.torques) for x in v]
    with collector_paused():
        state, leaves = (eqs.t, *eqs.q, *eqs.u), eqs.parameters
        program = Program("exerted", factor(outputs), state=state, rest=eqs.inputs, parameters=leaves)
    q, u, inputs, t, parameters, _ = states
    values = dyn.evaluate(dyn.compile(program), q, u, inputs, t, parameters=parameters)
    known = {leaf: parameters.get(leaf.name, eqs.defaults[leaf.name]) for leaf in eqs.parameters}
    shown, start = [], 0
    for part in found.parts:
        rows = len(part.forces)
        units = values[:, start : start + 6 * rows].reshape(len(values), 2, rows, 3)
        start += 6 * rows
        force, torque = np.einsum("twrk,tr->wtk", units, multipliers)
        arm = np.zeros_like(force) if found.source == "load" else _arms(units[:, 0], units[:, 1])
        at = np.array(interpret([eqs.system.arena.lift(x) for x in part.at], known), float)
        shown.append(Acting(name, part.body, at, arm, force, torque - np.cross(arm, force)))
    return shown


def _multipliers(dyn: Dynamics, found: Exerted, states: StatesOfArrows) -> Array:
    """Return the multipliers of the rows, (times, rows)."""
    eqs, contacts = dyn.equations, states.contacts
    if found.source == "load":
        return np.ones((len(states.q), 1))
    if found.source == "contact":
        if contacts is None:
            raise ModelError(f"the force of {found.name!r} is known only along a run; draw it with run.save_html")
        return np.asarray(contacts[found.name])
    if eqs.intermittents and contacts is None:
        raise ModelError(
            f"the reaction of {found.name!r} depends on the forces of intermittent constraints, which are known only "
            "along a run; draw it with run.save_html or run.save_video"
        )
    revealed = RevealedReactions(dyn, reveal_reactions(eqs, found.name))
    given = {"parameters": states.parameters, "contacts": contacts}
    values = np.asarray(revealed(states.q, states.u, states.inputs, states.t, **given))
    if np.isnan(values).any(axis=1).all():
        raise ModelError(
            f"redundant constraints make the reaction of {found.name!r} indeterminate, so that it cannot be drawn; "
            "leave it out of arrows="
        )
    return np.nan_to_num(values)


def _arms(forces: Array, torques: Array) -> Array:
    """Return the arms a that minimize the sum over the rows of |a x f - t|^2, (times, 3)."""
    squares = np.einsum("trk,trk->t", forces, forces)[:, None, None] * np.eye(3) - np.einsum(
        "tri,trj->tij", forces, forces
    )
    moments = np.cross(forces, torques).sum(axis=1)
    return np.einsum("tij,tj->ti", np.linalg.pinv(squares, rcond=ARM_EIGENVALUE_CUTOFF, hermitian=True), moments)
