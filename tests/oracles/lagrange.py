"""Lagrange's equations from each joint's R_FM and p_FM alone: no velocity map, no remainders, no recursion.

T and V are functions of the coordinates and their rates. Velocities are time derivatives of positions, and angular
velocities come from R^T dR/dt. The speeds have their documented meaning: rates of single coordinates, or w_FM and v_FM
in M, also from R_FM and p_FM. Motions of quaternions are tangential to the unit sphere, so that the values of T and V
off the sphere do not affect the projected equations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kane.expression.derivative import gradient, total_time_derivative
from kane.expression.operations import INPUT
from kane.formulation.equations import Equations
from kane.model.joints import Gimbal, Weld
from kane.model.model import Model
from oracles.numbers import State, interpreted, values_of

Rows = list[list[Any]]


def product(A: Rows, B: Rows) -> Rows:
    """Return A B."""
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*B, strict=True)] for row in A]


def transposed(A: Rows) -> Rows:
    """Return A^T."""
    return [list(column) for column in zip(*A, strict=True)]


class LagrangeTwin:
    """Lagrange's equations of a model, evaluated at states of its equations."""

    def __init__(self, model: Model, equations: Equations) -> None:
        self.equations = equations
        self.lift = model.arena.lift
        self.q = equations.q
        self.rates = {q: model.arena.leaf(INPUT, f"rate of {q.name}") for q in self.q}
        self.second = {r: model.arena.leaf(INPUT, f"rate of {r.name}") for r in self.rates.values()}
        self.quasi = self._speeds(model)
        kinetic, potential = self._energies(model)
        self.kinetic, self.potential = kinetic, potential
        rates = list(self.rates.values())
        momenta = gradient(kinetic, rates)
        changed = total_time_derivative(momenta, self.rates | self.second)
        slopes = gradient(kinetic - potential, self.q)
        self.left = [a - b for a, b in zip(changed, slopes, strict=True)]
        self.curvature = [gradient(p, rates) for p in momenta]
        self.quasi_slopes = [gradient(w, rates) for w in self.quasi]
        self.quasi_remainders = total_time_derivative(self.quasi, self.rates)

    def _derivative(self, entries: list[Any]) -> list[Any]:
        return total_time_derivative([self.lift(x) for x in entries], self.rates)

    def _turning(self, R: Rows) -> list[Any]:
        """Return w along the axes of the moving frame, from R^T dR/dt."""
        flat = self._derivative([x for row in R for x in row])
        W = product(transposed(R), [flat[0:3], flat[3:6], flat[6:9]])
        return [W[2][1], W[0][2], W[1][0]]

    def _speeds(self, model: Model) -> list[Any]:
        """Return every u as an expression of coordinates and rates, in the order of the equations."""
        named: dict[str, Any] = {}
        for c in model.connections:
            if c.joint.one_dof:
                named |= {s: self.rates[q] for s, q in zip(c.speed_names, c.coordinates, strict=False)}
            elif c.speed_names and self._speeds_are_rates(c):
                named |= {s: self.rates[q] for s, q in zip(c.speed_names, c.coordinates, strict=True)}
            elif isinstance(c.joint, Gimbal):  # name_wx: the measure number along x
                turning = dict(zip("xyz", self._turning(self._relative(c)[0]), strict=True))
                named |= {s: turning[s[-1]] for s in c.speed_names}
            elif c.speed_names:
                R, p = self._relative(c)
                velocity = product(transposed(R), [[x] for x in self._derivative(p)])
                named |= dict(zip(c.speed_names, [*self._turning(R), *(row[0] for row in velocity)], strict=False))
        return [self.lift(named[u.name]) for u in self.equations.u]

    @staticmethod
    def _speeds_are_rates(c: Any) -> bool:
        u = tuple(c.child.model.arena.leaf(INPUT, f"unused {k}") for k in range(c.joint.nu))
        rates = c.joint.motion(c.coordinates, u).kinematics
        return len(rates) == len(u) and all(a is b for a, b in zip(rates, u, strict=True))

    def _relative(self, c: Any) -> tuple[Rows, list[Any]]:
        if isinstance(c.joint, Weld):
            return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0, 0.0]
        unused = tuple(c.child.model.arena.leaf(INPUT, f"unused {k}") for k in range(c.joint.nu))
        motion = c.joint.motion(c.coordinates, unused)
        return [list(row) for row in motion.R_FM.entries], list(motion.p_FM)

    def _energies(self, model: Model) -> tuple[Any, Any]:
        places: dict[str, tuple[Rows, list[Any]]] = {
            "ground": ([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], [0.0, 0.0, 0.0])
        }
        waiting = list(model.connections)
        kinetic = potential = self.lift(0.0)
        while waiting:
            c = next(x for x in waiting if x.parent.name in places)
            waiting.remove(c)
            R, p = self._child(c, *places[c.parent.name])
            places[c.child.name] = R, p
            body = c.child
            com = self._point(R, p, body.com)
            v, w = self._derivative(com), self._turning(R)
            spin = sum(w[i] * body.inertia[i][j] * w[j] for i in range(3) for j in range(3))
            kinetic = kinetic + 0.5 * (body.mass * sum(x * x for x in v) + spin)
            potential = potential - body.mass * sum(g * x for g, x in zip(model.gravity, com, strict=True))
        return kinetic, potential

    def _child(self, c: Any, R: Rows, p: list[Any]) -> tuple[Rows, list[Any]]:
        R_FM, p_FM = self._relative(c)
        p_NF = self._point(R, p, c.p_PF)
        R_NF = product(R, [list(row) for row in c.R_PF.entries])
        R_NM = product(R_NF, R_FM)
        p_NM = self._point(R_NF, p_NF, p_FM)
        R_NC = product(R_NM, transposed([list(row) for row in c.R_CM.entries]))
        return R_NC, [a - b for a, b in zip(p_NM, self._point(R_NC, [0.0] * 3, c.p_CM), strict=True)]

    @staticmethod
    def _point(R: Rows, p: Any, r: Any) -> list[Any]:
        return [x + sum(a * b for a, b in zip(row, r, strict=True)) for x, row in zip(p, R, strict=True)]

    def motion(self, state: State) -> tuple[dict[Any, float], np.ndarray]:
        """Return values of all leaves for the state's u and udot, and N with dq/dt = N u + ..."""
        values = values_of(self.equations, state)
        nq, rates = len(self.q), list(self.rates.values())
        values |= dict.fromkeys((*rates, *self.second.values()), 0.0)
        normals = np.zeros((len(self.equations.quaternions), nq))
        for k, start in enumerate(self.equations.quaternions):
            normals[k, start : start + 4] = state.q[start : start + 4]
        W = interpreted(self.equations, [x for row in self.quasi_slopes for x in row], values).reshape(-1, nq)
        free = interpreted(self.equations, self.quasi, values)
        inverse = np.linalg.inv(np.vstack([W, normals]))
        qdot = inverse @ np.concatenate([state.u - free, np.zeros(len(normals))])
        values |= dict(zip(rates, qdot, strict=True))
        drift = interpreted(self.equations, self.quasi_remainders, values)
        curved = [-np.sum(qdot[s : s + 4] ** 2) for s in self.equations.quaternions]
        values |= dict(zip(self.second.values(), inverse @ np.concatenate([state.udot - drift, curved]), strict=True))
        return values, inverse[:, : len(W)]

    def inverse(self, state: State) -> np.ndarray:
        """Return M udot + bias without loads other than gravity."""
        values, N = self.motion(state)
        return N.T @ interpreted(self.equations, self.left, values)

    def mass_matrix(self, state: State) -> np.ndarray:
        """Return N^T d2T/dqdot2 N."""
        values, N = self.motion(state)
        entries = [x for row in self.curvature for x in row]
        return N.T @ interpreted(self.equations, entries, values).reshape(len(self.q), -1) @ N

    def energy(self, state: State) -> np.ndarray:
        """Return T and V."""
        values, _ = self.motion(state)
        return interpreted(self.equations, [self.kinetic, self.potential], values)
