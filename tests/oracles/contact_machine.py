"""Native functions of intermittent constraints at any state, and the same results by dense linear algebra."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import kane
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.dynamics.contacts.contact_functions import contact_functions
from kane.engine.laws.slip import BLURRED, LEAST_BEGUN, SLOW
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import OPEN, SLIDING, STICKING
from kane.engine.memory.views import transition_at


class Changed(NamedTuple):
    """Outputs of the native function "transition", by name."""

    u: np.ndarray
    status: int
    cause: int
    kind: int
    energy_lost: float
    impulses: np.ndarray
    statuses: list[int]


class ContactMachine:
    """Native functions of a model with one array of constants, whose contact mode can be read and written.

    Attributes:
        status, along: status and direction of each intermittent constraint, views of the constants.
        rows: indices of the rows of each intermittent constraint; a normal row is first.
        inputs: inputs of all calls, initially zero.
    """

    def __init__(self, model: kane.Model) -> None:
        self.equations = kane.formulate(model)
        self.dyn = kane.build(self.equations)
        self.functions = contact_functions(self.dyn)
        e = self.functions.equations
        self.intermittents, self.n, self.nq, self.m = e.intermittents, len(e.u), len(e.q), len(e.constraints)
        self.stage = self.functions.rhs.stage(self.dyn.parameters)
        state = contact_constants_of(self.stage).state
        self.status, self.along = state.status, state.along
        first = self.m - sum(len(c.rows) for c in self.intermittents)
        self.permanent, self.rows = list(range(first)), []
        for c in self.intermittents:
            self.rows.append(list(range(first, first + len(c.rows))))
            first += len(c.rows)
        self._free, self.inputs = kane.build(e), np.zeros(len(e.inputs))

    def fresh(self) -> None:
        """Reset the constants to their values at the start of a run."""
        self.stage[:] = self.functions.rhs.stage(self.dyn.parameters)

    def call(self, name: str, q: Any, u: Any, t: float = 0.0) -> np.ndarray:
        """Call a native function by name at a state."""
        state = np.array([t, *q, *u], float)
        return np.array(getattr(self.functions, name)(state, self.inputs, self.stage))

    def guards(self, q: Any, u: Any, t: float = 0.0) -> np.ndarray:
        """Return two guards for each intermittent constraint."""
        return self.call("guards", q, u, t)[: 2 * len(self.intermittents)]

    def transition(self, q: Any, u: Any, t: float = 0.0) -> Changed:
        """Compute the transition at a state."""
        return self.changed(self.call("transition", q, u, t))

    def changed(self, out: np.ndarray) -> Changed:
        """Return the named outputs of "transition"."""
        found = transition_at(out, 0, len(self.intermittents), self.m, self.n, self.nq)
        numbers = (int(found.status[0]), int(found.cause[0]), int(found.kind[0]), float(found.energy_lost[0]))
        return Changed(found.u, *numbers, found.impulses, [int(x) for x in found.statuses])

    def projected(self, q: Any, u: Any, t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return q and u projected onto the active rows."""
        out = self.call("project", q, u, t)
        return out[: self.nq], out[self.nq : self.nq + self.n]

    def terms(self, q: Any, u: Any, t: float = 0.0) -> ConstraintTerms:
        """Return M, h, A and the other terms of all rows."""
        return ConstraintTerms.of(self._free, np.array(q, float), np.array(u, float), t=t, inputs=self.inputs)

    def in_force(self) -> list[int]:
        """Return the indices of the active rows."""
        found = list(self.permanent)
        for c, rows, status in zip(self.intermittents, self.rows, self.status, strict=True):
            normal = rows[: 1 if c.normal is not None else 0]
            found += rows if status == STICKING else normal if status == SLIDING else []
        return found

    def accelerations(self, q: Any, u: Any, t: float = 0.0) -> np.ndarray:
        """Return udot in the current contact mode, from one dense system for udot and lambda.

        [M  -A^T - F; A  0] [udot; lambda] = [-h; -remainder]. Columns of F: friction per unit of normal force.
        """
        T, rows = self.terms(q, u, t), self.in_force()
        h, n, k = T.h.copy(), self.n, len(rows)
        K = np.zeros((n + k, n + k))
        K[:n, :n], K[n:, :n], K[:n, n:] = T.M, T.A[rows], -T.A[rows].T
        for i, c in enumerate(self.intermittents):
            if self.status[i] != SLIDING:
                continue
            tangents = self.rows[i][-len(c.tangents) :]
            slip, d = T.motion[tangents], self.along[i][: len(tangents)]
            if len(tangents) == 2:
                least = LEAST_BEGUN
                missing, across = max(least - slip @ d, 0.0), slip - (slip @ d) * d
                share = least / (least + missing)  # friction of a reversed slip acts as if slip continued
                share *= across @ across / (across @ across + (BLURRED * missing) ** 2 + SLOW**2)  # except rounding
                d = share * across + max(slip @ d, least) * d
                d /= np.linalg.norm(d)
            friction = -float(c.constraint.friction.kinetic) * T.A[tangents].T @ d
            if c.normal is None:
                h -= friction
            else:
                K[:n, n + rows.index(self.rows[i][0])] -= friction
        given = np.concatenate([-h, -T.remainder[rows]])
        return np.linalg.lstsq(K, given, rcond=1e-13)[0][:n]


def broken(machine: ContactMachine, q: Any, before: Any, found: Changed, t: float) -> list[str]:
    """Return the names of the laws that a transition violates: momentum, energy, Signorini's and Coulomb's."""
    u, f = found.u, machine.call("reactions", q, found.u, t)
    T = machine.terms(q, u, t)
    a = T.A @ machine.accelerations(q, u, t) + T.remainder
    v, gaps, scale = T.motion, dict(zip(T.closing, T.phi, strict=True)), 1.0 + np.abs(f).max(initial=0.0)
    said = []

    def ask(holds: bool, what: str) -> None:
        if not holds:
            said.append(what)

    def energy(w: np.ndarray) -> float:
        return float(0.5 * w @ T.M @ w)

    before = np.asarray(before)
    # Tolerances are the rounding of speeds, forces and momenta of magnitude 10.
    ask(np.abs(T.M @ (u - before) - T.A.T @ found.impulses).max() < 1e-10, "momentum")
    ask(abs(energy(before) - energy(u) - found.energy_lost) < 1e-10, "energy lost")
    ask(found.energy_lost > -1e-10, "energy made")
    ask(np.abs(v[machine.in_force()]).max(initial=0.0) < 1e-11, "rows in force")
    ask(machine.guards(q, u, t).min() >= 0.0, "guards")
    for k, c in enumerate(machine.intermittents):
        rows, status, tangents = machine.rows[k], machine.status[k], machine.rows[k][-len(c.tangents) or None :]
        N = 1.0
        if c.normal is not None:
            N = f[rows[0]]
            ask(status == OPEN or -1e-10 * scale <= N, f"{c.name} pulls")
            ask(found.impulses[rows[0]] >= -1e-10, f"{c.name} pulls at an instant")
            if status == OPEN and gaps[rows[0]] < 1e-11:
                ask(v[rows[0]] >= -1e-11, f"{c.name} approaches")
                ask(v[rows[0]] > 1e-12 or a[rows[0]] >= -1e-9, f"{c.name} accelerates inwards")
        if c.constraint.friction is not None and status != OPEN and c.tangents:
            bound = float(c.constraint.friction.static) * N
            ask(np.linalg.norm(f[tangents]) <= bound + 1e-10 * scale, f"{c.name} leaves its cone")
            d = machine.along[k][: len(tangents)]
            if status == SLIDING:
                ask(d @ v[tangents] >= -1e-11, f"{c.name} slips against its direction")
                ask(np.linalg.norm(v[tangents]) > 1e-12 or d @ a[tangents] >= -1e-9, f"{c.name} begins backwards")
    return said
