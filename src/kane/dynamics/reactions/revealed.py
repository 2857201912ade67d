"""Numerical evaluation of reactions by three methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.codegen.jit.compiled import CompiledFunction
from kane.dynamics.build import build
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.least_solution import SINGULAR_VALUE_CUTOFF, solve_minimum_norm
from kane.dynamics.reactions.reaction_values import INDETERMINATE, ReactionValues
from kane.dynamics.run_interface import (
    STEPPED_OVER,
    TIME_STEPPING,
    Recorded,
    recorded_parameters,
    recorded_variables,
)
from kane.errors import ModelError, shown
from kane.expression.number_arguments import numbers, require
from kane.formulation.reactions.reactions import Reactions
from kane.model.checks import require_known


@dataclass(frozen=True)
class States:
    """States at which reactions are evaluated, and the quantities that the methods need there.

    Attributes:
        dyn, revealed: the dynamics, and the reactions.
        function: compiled program of the reactions.
        q, u, inputs, t, parameters: as given by the user; inputs and t are given if the reactions depend on them.
        contacts: forces of the rows of intermittent constraints, (..., rows); None if no constraint is active.
    """

    dyn: Dynamics
    revealed: Reactions
    function: CompiledFunction
    q: Any
    u: Any
    inputs: Any
    t: Any
    parameters: Any
    contacts: Array | None = None

    def forward(self) -> Array:
        """Return udot, shape (..., n)."""
        if self.contacts is not None:
            return self.multiplied()[0]
        return self.dyn.forward(self.q, self.u, self.inputs, self.t, parameters=self.parameters)

    def parts(self, udot: Array) -> tuple[Array, Array]:
        """Return -(F_r + F*_r) and A, over the joints' own speeds followed by the k auxiliary speeds.

        Their shapes are (..., n + k) and (..., m, n + k); contact forces are applied as loads.
        """
        rest = np.concatenate([udot, self._inputs(udot)], axis=-1)
        values = self.dyn.evaluate(self.function, self.q, self.u, rest, self.t, parameters=self.parameters)
        width = self.revealed.own + len(self.revealed.names)
        needed, rows = values[..., :width], values[..., width:].reshape(*values.shape[:-1], -1, width)
        A, touching = np.split(rows, [len(self.revealed.rows)], axis=-2)
        if self.contacts is not None:
            needed = needed - np.einsum("...mk,...m->...k", touching, self.contacts)
        return needed, A

    def multiplied(self) -> tuple[Array, Array]:
        """Return udot and the multiplier of every row, from M udot + h = A^T lambda and A udot + remainder = 0."""
        inputs = self._inputs(np.asarray(self.u, float))
        values = self.dyn.parameter_values(self.parameters)
        terms = ConstraintTerms.of(
            self.dyn, self.q, self.u, inputs=inputs, t=0.0 if self.t is None else self.t, parameters=values
        )
        udot, found = terms.multiplied(self._pushed(terms))
        places = [self.revealed.row_names.index(name) for name in terms.names]
        multipliers = np.zeros((*udot.shape[:-1], len(self.revealed.rows)))
        multipliers[..., places] = found
        return udot, multipliers

    def _pushed(self, terms: ConstraintTerms) -> Array | None:
        """Return the generalized forces of the contacts, (..., n)."""
        if self.contacts is None:
            return None
        whole = self.dyn.derived(
            "with candidates", lambda: build(self.dyn.equations.with_intermittent_rows, target=self.dyn)
        )
        A = replace(terms, dyn=whole).A[..., len(self.dyn.equations.constraints) :, :]
        return np.asarray(np.einsum("...mn,...m->...n", A, self.contacts))

    def held_by_speeds(self) -> list[int]:
        """Return the indices of rows that the generalized speeds satisfy identically."""
        names = {row.name for row in self.dyn.equations.constraints}
        return [k for k, name in enumerate(self.revealed.row_names) if name not in names]

    def _inputs(self, like: Array) -> Array:
        """Return the inputs, broadcast to the batch of ``like``."""
        eqs = self.dyn.equations
        array = np.zeros(len(eqs.inputs)) if self.inputs is None else numbers(self.inputs, "inputs must be numbers")
        return np.broadcast_to(array, (*like.shape[:-1], array.shape[-1]))


@dataclass(frozen=True, kw_only=True)
class Jumps(States):
    """States at impulses, with impulses in place of forces; finite loads have no impulse.

    -(F_r + F*_r) is linear in udot. Its value at u+ - u- minus its value at zero is the change of momentum.

    Attributes:
        jump: u+ - u-, (records, n).
    """

    jump: Array

    def forward(self) -> Array:
        return self.jump

    def parts(self, udot: Array) -> tuple[Array, Array]:
        without, _ = States.parts(replace(self, contacts=None), np.zeros_like(udot))
        needed, A = super().parts(udot)
        return needed - without, A


class ReactionRoute(ABC):
    """Method that computes reactions.

    In the formulas of the subclasses, ``needed`` is -(F_r + F*_r) for the joints' own speeds, ``needed_k`` for the
    auxiliary speeds. A has the columns of the own speeds, A_k those of the auxiliary speeds.
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @abstractmethod
    def reactions(self, states: States) -> tuple[Array, Array]:
        """Return the reactions, shape (..., k), and A, shape (..., m, n + k)."""


class AuxiliarySpeeds(ReactionRoute):
    """Auxiliary speeds (Kane): R = needed_k + D^T needed, with D from A D = -A_k (motion on the constraints)."""

    def reactions(self, states: States) -> tuple[Array, Array]:
        needed, A = states.parts(states.forward())
        n = states.revealed.own
        D = -solve_minimum_norm(A[..., :n], A[..., n:])
        return needed[..., n:] + np.einsum("...nk,...n->...k", D, needed[..., :n]), A


class OrthogonalComplement(ReactionRoute):
    """Kinetostatic equations in the constrained directions: R = needed_k - A_k^T lambda, A^T lambda = needed."""

    def reactions(self, states: States) -> tuple[Array, Array]:
        needed, A = states.parts(states.forward())
        n = states.revealed.own
        forces = solve_minimum_norm(np.swapaxes(A[..., :n], -1, -2), needed[..., :n, None])[..., 0]
        return needed[..., n:] - np.einsum("...mk,...m->...k", A[..., n:], forces), A


class Multipliers(ReactionRoute):
    """R = needed_k - A_k^T lambda, with lambda and udot from M udot + h = A^T lambda and A udot + remainder = 0.

    These equations exclude rows that the generalized speeds satisfy identically (fewer speeds than rates). The
    multipliers of the excluded rows balance the remaining part of ``needed``.
    """

    def reactions(self, states: States) -> tuple[Array, Array]:
        udot, forces = states.multiplied()
        needed, A = states.parts(udot)
        n = states.revealed.own
        own = np.swapaxes(A[..., :n], -1, -2)
        left = needed[..., :n] - np.einsum("...nm,...m->...n", own, forces)
        held = states.held_by_speeds()
        forces[..., held] = solve_minimum_norm(own[..., held], left[..., None])[..., 0]
        return needed[..., n:] - np.einsum("...mk,...m->...k", A[..., n:], forces), A


class RevealedReactions:
    """Native code of revealed reactions.

    Args:
        dyn: dynamics of the equations from which the reactions were revealed.
        revealed: returned by ``reveal_reactions``.
        route: AuxiliarySpeeds() unless given; OrthogonalComplement() and Multipliers() give the same values.

    Raises:
        ModelError: the reactions were revealed from other equations.
    """

    def __init__(self, dyn: Dynamics, revealed: Reactions, *, route: ReactionRoute | None = None) -> None:
        if not isinstance(dyn, Dynamics) or not isinstance(revealed, Reactions):
            raise ModelError(
                "RevealedReactions takes Dynamics, from kane.build, and the result of kane.reveal_reactions"
            )
        if dyn.equations is not revealed.equations:
            raise ModelError("the reactions belong to other equations; reveal them from dyn.equations")
        self._dyn, self._revealed = dyn, revealed
        if not isinstance(route, ReactionRoute | None):
            raise ModelError(f"route= is {shown(route)}; give a method such as kane.Multipliers()")
        self._route = route or AuxiliarySpeeds()
        self._function = dyn.compile(revealed.program())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle or copy the arguments of the constructor instead of native code."""
        return partial(RevealedReactions, route=self._route), (self._dyn, self._revealed)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the reactions, in the order of the values."""
        return self._revealed.names

    def __call__(
        self, q: Any, u: Any = None, inputs: Any = None, t: Any = None, *, parameters: Any = None, contacts: Any = None
    ) -> Array:
        """Return the reactions, shape (..., k) [N, N m].

        A reaction that redundant constraints share is NaN and prints as "indeterminate".

        Args:
            q: a trajectory, then the only argument, because it has its own inputs, times and parameters; or coordinates
                (..., nq).
            u, inputs, t, parameters: values that belong to these coordinates, as for ``Dynamics.forward``; inputs and t
                may be omitted only if the reactions do not depend on them.
            contacts: forces of intermittent constraints at these coordinates by name, (..., rows), as in
                ``Trajectory.reactions``; constraints that are omitted are not active. A trajectory contains its own.

        Raises:
            ModelError: as ``Dynamics.forward``; the trajectory is of another model, or is given with other arguments.
        """
        if isinstance(q, Recorded):
            q, u, inputs, t, parameters, forces = self._recorded(q, (u, inputs, t, parameters, contacts))
        elif u is None:
            raise ModelError("reactions take a trajectory, or q and u, with inputs and t if they depend on them")
        else:
            forces = self._forces(contacts)
        self._require(inputs, t)
        states = States(self._dyn, self._revealed, self._function, q, u, inputs, t, parameters, forces)
        found, A = self._route.reactions(states)
        return np.where(self._shared(A), INDETERMINATE, found).view(ReactionValues)

    def impulses(self, run: Recorded) -> Array:
        """Return the impulses of the reactions at the transitions of a run, (records, k) [N s, N m s].

        They satisfy the equations of the reactions at frozen q, with u+ - u- in place of udot and impulses of contacts
        in place of their forces. Rows follow ``run.contact_log.records``; all records of one transition have the same
        impulses. An impulse that redundant constraints share is NaN and prints as "indeterminate". Single
        Moreau-Jean time steps are NaN, because loads also change the speeds in a step.

        Args:
            run: a trajectory, also from a file.

        Raises:
            ModelError: ``run`` is not a trajectory, is of another model, or consists of Moreau-Jean time steps.

        Source: Gillespie 2003, section 4; Kane & Levinson 1985, Dynamics: Theory and Applications, section 4.9.
        """
        require(run, Recorded, "impulses of reactions take a trajectory, which kane.simulate returns")
        _, _, inputs, time, parameters, _ = self._recorded(run, ())
        found = recorded_variables(run)
        if found.attributes["integrator"] == TIME_STEPPING:
            raise ModelError(
                f"loads also change the speeds in the steps of kane.{TIME_STEPPING}, so that impulses of reactions are "
                "unknown; simulate with a method that locates events, such as kane.RK8()"
            )
        if "change_time" not in found:
            return np.zeros((0, len(self.names))).view(ReactionValues)
        names = ("change_time", "change_q", "change_u_before", "change_u", "change_impulse", "change_kind")
        t, q, before, after, contacts, kinds = (found.values(name) for name in names)
        recorded = inputs[np.searchsorted(time, t, side="right") - 1]
        given = (self._dyn, self._revealed, self._function, q, before, recorded, t, parameters, contacts)
        values, A = AuxiliarySpeeds().reactions(Jumps(*given, jump=after - before))
        values[np.isin(t, t[kinds == STEPPED_OVER])] = np.nan
        return np.where(self._shared(A), INDETERMINATE, values).view(ReactionValues)

    def __repr__(self) -> str:
        named = zip(self.names, self._revealed.units, strict=True)
        return f"<RevealedReactions of {self._dyn.equations.name!r}: {', '.join(f'{n} [{unit}]' for n, unit in named)}>"

    def _recorded(self, run: Recorded, more: tuple[Any, ...]) -> tuple[Any, ...]:
        if any(argument is not None for argument in more):
            raise ModelError("a trajectory has its own u, inputs, t and parameters; give it alone")
        eqs, inputs = self._dyn.equations, run.inputs
        values = recorded_parameters(run, eqs)
        forces = recorded_variables(run).values("reaction") if eqs.intermittents else None
        return run.q, run.u, inputs, run.time, dict(zip((p.name for p in eqs.parameters), values, strict=True)), forces

    def _forces(self, contacts: Any) -> Array | None:
        """Return the forces of the rows of all intermittent constraints, (..., rows); None if there are none."""
        intermittents = self._dyn.equations.intermittents
        if contacts is None:
            return None
        require(contacts, Mapping, "contacts= is a dict from names to forces, such as run.reactions")
        for name in contacts:
            require_known(name, [c.name for c in intermittents], "contact, stop, stick, latch or switch")
        given = {name: numbers(x, f"the forces of {name!r} must be numbers") for name, x in contacts.items()}
        for c in intermittents:
            if c.name in given and given[c.name].shape[-1:] != (len(c.rows),):
                raise ModelError(
                    f"the forces of {c.name!r} have shape {given[c.name].shape}; give one number for each row: "
                    + ", ".join(row.name for row in c.declared)
                )
        found = [given.get(c.name, np.zeros(len(c.rows))) for c in intermittents]
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in found))
        return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in found], axis=-1) if found else None

    def _require(self, inputs: Any, t: Any) -> None:
        """Raise if inputs or time are missing on which the reactions or the accelerations depend."""
        eqs = self._dyn.equations
        read = self._function.reads | self._dyn.function("forward").reads
        leaves = (*(() if inputs is not None else eqs.inputs), *(() if t is not None else (eqs.t,)))
        missing = [leaf.name for leaf in leaves if leaf in read]
        if missing:
            raise ModelError(
                f"the reactions depend on {', '.join(missing)}: give reactions(run), which takes all values from a "
                "trajectory, or reactions(q, u, inputs, t)"
            )

    def _shared(self, A: Array) -> NDArray[np.bool_]:
        """Return which reactions redundant constraints share, shape (..., k).

        A reaction is shared if no motion along the joints' own speeds makes its auxiliary motion satisfy the rows A.
        """
        n = self._revealed.own
        left = A[..., n:] - A[..., :n] @ solve_minimum_norm(A[..., :n], A[..., n:])
        size = np.abs(A).max(axis=(-1, -2), initial=1.0)
        return np.asarray(np.abs(left).max(axis=-2, initial=0.0) > SINGULAR_VALUE_CUTOFF * size[..., None])
