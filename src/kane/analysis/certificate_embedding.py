"""What a certificate claims of generalized speeds of choice and of constraints, beside the joints' own speeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from kane.analysis.assemble import assemble
from kane.analysis.certificate_claims import Found, digits
from kane.analysis.random_states import RandomStates
from kane.dynamics.build import build
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.derivative import linear_coefficients, total_time_derivative
from kane.expression.operations import RATE
from kane.expression.traverse import substitute
from kane.formulation.equations import Equations
from kane.formulation.programs import lower_triangle
from kane.formulation.spatial import dot

# So many guesses for each state that satisfies the constraints, before that is given up.
GUESSES = 10


@dataclass(frozen=True, eq=False)
class Declared:
    """A model as declared, and without its choice of speeds and its constraints.

    Attributes:
        equations: as declared.
        own: in the joints' own speeds, unconstrained.
        count, seed: of random states.
    """

    equations: Equations
    own: Equations
    count: int
    seed: int

    @cached_property
    def dyn(self) -> Dynamics:
        """Native code of the equations as declared."""
        return build(self.equations)

    @cached_property
    def balances(self) -> list[Balance]:
        """The balance of forces and accelerations at states that satisfy the constraints."""
        return list(self._balanced())

    def _balanced(self) -> Iterator[Balance]:
        random = np.random.default_rng(self.seed)
        eqs = self.equations
        for _ in range(self.count):
            for trial in range(GUESSES):
                q = np.array(eqs.neutral) + random.normal(size=len(eqs.q))
                for start in eqs.quaternions:
                    q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
                try:
                    state = assemble(self.dyn, q=q, u=random.normal(size=len(eqs.u)))
                except ModelError:
                    if trial == GUESSES - 1:
                        raise
                    continue
                yield Balance.at(self.dyn, state.q, state.u, random.normal(size=len(eqs.inputs)))
                break


@dataclass(frozen=True)
class Balance:
    """M udot + h = A^T lambda and A udot + remainder = 0 at one state, udot by the embedded equations.

    Attributes:
        M, h, A, remainder, u, udot: as there.
        b: of A u + b = 0.
    """

    M: np.ndarray
    h: np.ndarray
    A: np.ndarray
    remainder: np.ndarray
    b: np.ndarray
    u: np.ndarray
    udot: np.ndarray

    @classmethod
    def at(cls, dyn: Dynamics, q: np.ndarray, u: np.ndarray, inputs: np.ndarray) -> Balance:
        """The terms at a state."""
        eqs = dyn.equations
        n, m = len(eqs.u), len(eqs.constraints)
        rows = dyn.evaluate(dyn.function("constraints"), q, u)
        still = dyn.evaluate(dyn.function("constraints"), q, np.zeros(n))
        values = dyn.evaluate(dyn.function("unconstrained"), q, u, inputs)
        M, size = np.zeros((n, n)), n * (n + 1) // 2
        for k, (i, j) in enumerate(lower_triangle(n)):
            M[i, j] = M[j, i] = values[k]
        h, remainder = values[size : size + n], values[size + n : size + n + m]
        return cls(M, h, rows[: n * m].reshape(m, n), remainder, still[n * m :], u, dyn.forward(q, u, inputs))

    @property
    def scale(self) -> np.ndarray:
        """Size of the forces."""
        return np.array([max(np.abs(self.M @ self.udot).max(), np.abs(self.h).max())])

    def multiplied(self) -> np.ndarray:
        """udot with multipliers: the least solution of both equations together."""
        n, m = len(self.h), len(self.A)
        whole = np.block([[self.M, -self.A.T], [self.A, np.zeros((m, m))]])
        return np.asarray(np.linalg.lstsq(whole, -np.concatenate([self.h, self.remainder]), rcond=1e-12)[0][:n])


def speeds_agree(declared: Declared) -> Found:
    """M udot + bias in the speeds of choice is that of the joints' own speeds w, projected by dw/du."""
    eqs, own = declared.equations.unconstrained, declared.own
    if not eqs.model.speed_choice.definitions:
        return None, "the joints' own speeds are the generalized speeds"
    speeds, arena = eqs.system.speeds, eqs.system.arena
    w = [speeds.rates[arena.leaf(RATE, x.data)] for x in own.u]
    changes = dict(zip((*speeds.q, *speeds.u), (*speeds.kinematics, *speeds.udot), strict=True))
    wdot = total_time_derivative(w, changes | {eqs.t: arena.one})
    needed = substitute(own.inverse, dict(zip((*own.u, *own.udot), (*w, *wdot), strict=True)))
    W, _ = linear_coefficients(w, speeds.u)
    projected = [dot([row[r] for row in W], needed) for r in range(len(speeds.u))]
    at = RandomStates(eqs, declared.count, declared.seed)
    return digits(at(projected), at(eqs.inverse)), ""


def embedding_agrees(declared: Declared) -> Found:
    """Accelerations by embedded constraints and by multipliers, as the forces that their difference stands for."""
    worst = 16.0
    for balance in declared.balances:
        difference = balance.M @ (balance.udot - balance.multiplied())
        worst = min(worst, digits(difference, 0.0 * difference, balance.scale))
    return worst, declared.equations.notes_on_embedding


def constraints_persist(declared: Declared) -> Found:
    """The accelerations keep the constraints: A udot + remainder = 0."""
    worst = 16.0
    for balance in declared.balances:
        left = balance.A @ balance.udot + balance.remainder
        size = (np.abs(balance.A) @ np.abs(balance.udot) + np.abs(balance.remainder)).max(initial=1.0)
        worst = min(worst, digits(left, 0.0 * left, np.array([size])))
    return worst, f"{len(declared.equations.constraints)} equations"


def constraints_are_workless(declared: Declared) -> Found:
    """Constraint forces do no work: u . (M udot + h) = 0, where the constraints hold at rest."""
    if any(np.abs(balance.b).max(initial=0.0) > 0.0 for balance in declared.balances):
        return None, "constraints that move do work"
    worst = 16.0
    for balance in declared.balances:
        power = np.array([balance.u @ (balance.M @ balance.udot + balance.h)])
        worst = min(worst, digits(power, 0.0 * power, balance.scale * np.abs(balance.u).max(initial=1.0)))
    return worst, ""


ClaimOfEmbedding: TypeAlias = "Callable[[Declared], Found]"
OF_SPEEDS: Mapping[str, ClaimOfEmbedding] = {"M udot + bias: speeds of choice = joints' own speeds": speeds_agree}
OF_CONSTRAINTS: Mapping[str, ClaimOfEmbedding] = {
    "udot: embedded constraints = multipliers": embedding_agrees,
    "A udot + remainder vanishes": constraints_persist,
    "constraint forces do no work": constraints_are_workless,
}
