"""Claims of a certificate about speeds of ``Model.speeds`` and about embedded constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np

from kane.analysis.assembly.assemble import Assembly, assemble
from kane.analysis.certificate.claims import Found, common_digits
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.dynamics.build import build
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.derivative import linear_coefficients, total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import RATE
from kane.expression.traverse import substitute_nodes
from kane.formulation.equations import Equations
from kane.formulation.formulate import formulate
from kane.formulation.random_states import RandomStates
from kane.formulation.read_model import snapshot
from kane.geometry.quaternion import normalise_quaternions
from kane.geometry.scalars import dot

# Number of guesses from which a state that satisfies the constraints is sought; the claim fails if all fail.
GUESSES = 10
# Standard deviation [m or rad] of states around the one near which dependent speeds were selected.
AROUND = 0.1
T = TypeVar("T")


def first_success(attempt: Callable[[], T], error: type[Exception]) -> T:
    """Return the result of the first of GUESSES attempts without this error; raise the error of the last attempt."""
    for _ in range(GUESSES - 1):
        with suppress(error):
            return attempt()
    return attempt()


@dataclass(frozen=True, eq=False)
class Declared:
    """A model as declared, and without its speed definitions and constraints.

    Attributes:
        equations: declared equations.
        own: unconstrained equations in the joints' own speeds.
        count, seed: number and seed of random states.
    """

    equations: Equations
    own: Equations
    count: int
    seed: int

    @cached_property
    def dyn(self) -> Dynamics:
        """Compiled declared equations."""
        return build(self.equations)

    @cached_property
    def numerical(self) -> Dynamics:
        """Compiled equations that select the independent speeds numerically at each state."""
        model = snapshot(self.equations.model)
        model.speed_choice = replace(model.speed_choice, dependent=(), near=None)
        return build(formulate(model))

    @cached_property
    def unconstrained(self) -> Dynamics:
        """Compiled equations in the joints' own speeds w, with constraints as separate rows."""
        return build(self.equations.own)

    @cached_property
    def own_motion(self) -> CompiledFunction:
        """w and wdot as functions of q, u and udot."""
        eqs = self.equations
        w, wdot = own_speed_expressions(eqs)
        outputs = [eqs.system.arena.lift(x) for x in (*w, *wdot)]
        state = (eqs.t, *eqs.q, *eqs.u)
        return self.dyn.compile(Program("own speeds", outputs, state=state, rest=eqs.udot, parameters=eqs.parameters))

    def from_own_speeds(self, expressions: Sequence[Any]) -> Sequence[Expr]:
        """Convert expressions of the joints' own speeds and accelerations to the unconstrained generalized speeds."""
        eqs, found = self.equations.unconstrained, [self.own.system.arena.lift(x) for x in expressions]
        if eqs.model.speed_choice.definitions:
            w, wdot = own_speed_expressions(eqs)
            found = substitute_nodes(found, dict(zip((*self.own.u, *self.own.udot), (*w, *wdot), strict=True)))
        return eqs.baked_in(substitute_nodes(found, eqs.controllers))

    @cached_property
    def at_balances(self) -> RandomStates:
        """States of the balances, with default parameters."""
        eqs, balances = self.equations, self.balances
        at = RandomStates(eqs.unconstrained, self.count, self.seed)
        groups = {"t": (eqs.t,), "q": eqs.q, "u": eqs.u, "udot": eqs.udot, "inputs": eqs.inputs}
        for word, leaves in groups.items():
            at = at.with_values(leaves, np.array([np.atleast_1d(getattr(b, word)) for b in balances]).T)
        defaults = np.array([[eqs.defaults[leaf.name]] for leaf in eqs.parameters]).reshape(-1, 1)
        return at.with_values(eqs.parameters, defaults)

    @cached_property
    def balances(self) -> list[Balance]:
        """Balances of forces and accelerations at states that satisfy the constraints."""
        return list(self._balanced())

    def _balanced(self) -> Iterator[Balance]:
        random, times = (np.random.default_rng(seed) for seed in (self.seed, [self.seed, 1]))
        eqs = self.equations

        def assembled() -> tuple[Assembly, float]:
            q = self._middle + self._spread * random.normal(size=len(eqs.q))
            normalise_quaternions(q, eqs.quaternions)
            t = float(times.uniform(0.0, 1.0))
            return assemble(self.dyn, q=q, u=random.normal(size=len(eqs.u)), t=t), t

        for _ in range(self.count):
            state, t = first_success(assembled, ModelError)
            yield Balance.at(self, state.q, state.u, random.normal(size=len(eqs.inputs)), t)

    @property
    def _middle(self) -> np.ndarray:
        near = self.equations.model.speed_choice.near
        return np.array(self.equations.neutral if near is None else [near.q[leaf.name] for leaf in self.equations.q])

    @property
    def _spread(self) -> float:
        return 1.0 if self.equations.model.speed_choice.near is None else AROUND


@dataclass(frozen=True)
class Balance:
    """M wdot + h = A^T lambda and A wdot + remainder = 0 at one state, in the joints' own speeds w.

    Attributes:
        t, q, u, udot, inputs: the state, and the accelerations of the embedded equations.
        terms: M, h, A and the remainder.
        wdot: accelerations of the joints' own speeds by the embedded equations.
    """

    t: float
    q: np.ndarray
    u: np.ndarray
    udot: np.ndarray
    inputs: np.ndarray
    terms: ConstraintTerms
    wdot: np.ndarray

    @classmethod
    def at(cls, declared: Declared, q: np.ndarray, u: np.ndarray, inputs: np.ndarray, t: float) -> Balance:
        """Evaluate the terms at a state."""
        dyn, free = declared.dyn, declared.unconstrained
        udot = dyn.forward(q, u, inputs, t)
        w, wdot = np.split(dyn.evaluate(declared.own_motion, q, u, udot, t), 2)
        return cls(t, q, u, udot, inputs, ConstraintTerms.of(free, q, w, inputs=inputs, t=t), wdot)

    @property
    def forces(self) -> np.ndarray:
        """M wdot + h."""
        return np.asarray(self.terms.M @ self.wdot + self.terms.h)

    @property
    def scale(self) -> np.ndarray:
        """Largest force among M wdot and h, (1,)."""
        return np.array([max(np.abs(self.terms.M @ self.wdot).max(), np.abs(self.terms.h).max())])


def own_speed_expressions(equations: Equations) -> tuple[list[Expr], list[Expr]]:
    """Return the joints' own speeds w in q, u and t, and wdot in udot as well, without constraints."""
    speeds, arena = equations.system.speeds, equations.system.arena
    w = [speeds.rates[arena.leaf(RATE, x.data)] for x in equations.own.u]
    changes = dict(zip((*speeds.q, *speeds.u), (*speeds.kinematics, *speeds.udot), strict=True))
    return w, total_time_derivative(w, changes | {equations.t: arena.one})


def speeds_agree(declared: Declared) -> Found:
    """Compare M udot + bias in the speeds of ``Model.speeds`` with the equations in w, projected by dw/du."""
    eqs, own = declared.equations.unconstrained, declared.own
    if not eqs.model.speed_choice.definitions:
        return None, "the joints' own speeds are the generalized speeds"
    speeds = eqs.system.speeds
    w, _ = own_speed_expressions(eqs)
    needed = declared.from_own_speeds(own.inverse)
    W, _ = linear_coefficients(w, speeds.u)
    projected = [dot([row[r] for row in W], needed) for r in range(len(speeds.u))]
    at = RandomStates(eqs, declared.count, declared.seed)
    return common_digits(at(projected), at(eqs.inverse)), ""


def embedding_agrees(declared: Declared) -> Found:
    """Compare accelerations by embedded constraints and by multipliers, as forces M wdot."""
    worst = 16.0
    for balance in declared.balances:
        difference = balance.terms.M @ (balance.wdot - balance.terms.multiplied()[0])
        worst = min(worst, common_digits(difference, 0.0 * difference, balance.scale))
    return worst, declared.equations.notes_on_embedding


def constraints_persist(declared: Declared) -> Found:
    """Check that the accelerations keep the constraints: A wdot + remainder = 0."""
    worst = 16.0
    for balance in declared.balances:
        A, remainder = balance.terms.A, balance.terms.remainder
        left = A @ balance.wdot + remainder
        size = (np.abs(A) @ np.abs(balance.wdot) + np.abs(remainder)).max(initial=1.0)
        worst = min(worst, common_digits(left, 0.0 * left, np.array([size])))
    return worst, f"{len(declared.equations.own.constraints)} equations"


def constraints_are_workless(declared: Declared) -> Found:
    """Check that constraint forces do no work, w . (M wdot + h) = 0, unless constraints move in time."""
    if any(np.abs(balance.terms.at(balance.q).motion).max(initial=0.0) > 0.0 for balance in declared.balances):
        return None, "moving constraints do work"
    worst = 16.0
    for balance in declared.balances:
        w = balance.terms.u
        power = np.array([w @ balance.forces])
        worst = min(worst, common_digits(power, 0.0 * power, balance.scale * np.abs(w).max(initial=1.0)))
    return worst, ""


def numbers_agree(declared: Declared) -> Found:
    """Compare accelerations by the speed selection near a given state and by the selection at each state."""
    worst = 16.0
    for balance in declared.balances:
        udot = declared.numerical.forward(balance.q, balance.u, balance.inputs)
        worst = min(worst, common_digits(balance.udot, udot, np.array([np.abs(udot).max(initial=1.0)])))
    return worst, "at states around the given one"


ClaimOfEmbedding: TypeAlias = "Callable[[Declared], Found]"
SPEED_CLAIMS: Mapping[str, ClaimOfEmbedding] = {"M udot + bias: speeds of choice = joints' own speeds": speeds_agree}
OF_A_STATE: Mapping[str, ClaimOfEmbedding] = {"udot: embedded symbolically = numerically": numbers_agree}
OF_CONSTRAINTS: Mapping[str, ClaimOfEmbedding] = {
    "udot: embedded constraints = multipliers": embedding_agrees,
    "accelerations keep the constraints": constraints_persist,
    "constraint forces do no work": constraints_are_workless,
}
