"""Dynamics with constraints: embedded on the graph or in numbers, with what puts states onto them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.dynamics.constrained_function import ConstrainedFunction, Parts, embedding_length, settle_length
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.embedded_quantity import RULES, Embedded, EmbeddedQuantity
from kane.errors import ModelError
from kane.formulation.quantities.programs import program
from kane.native.embedding import embedding, rhs
from kane.native.settle import settle


class Residuals(NamedTuple):
    """How far a state is from its constraints.

    Attributes:
        configuration: of each row that restricts the configuration, (..., rows) [m or rad].
        motion: A u + b of each row, (..., rows) [m/s or rad/s].
    """

    configuration: np.ndarray
    motion: np.ndarray


class ConstrainedDynamics(Dynamics):
    """Dynamics of equations with constraints.

    Every method reads the independent speeds, and takes the dependent ones as what these and the constraints make
    them. Where the constraints are embedded in numbers, dependent speeds are chosen at each state by QR with column
    pivoting, the rank of the constraints with them; accelerations are NaN where the mass matrix of the independent
    speeds is singular. q is taken as it is: ``settle`` puts it onto the constraints.

    Source: Gillespie 2003, Eqs. 4-5, 43-45.
    """

    @cached_property
    def settle(self) -> ConstrainedFunction:
        """States put onto the constraints: of [t, q, u] it makes [q, u, residuals, conditioning], nq + n + 3.

        Coordinates move by the least speeds that do it, dependent speeds follow from the independent ones; residuals
        are the largest of configuration and motion before that, conditioning as of ``conditioning``. Called at its
        address, it keeps the choice of dependent speeds in its stage, which serves the program "rhs" also, and makes it
        anew where its conditioning has fallen to a half of the best, or the rank has changed.
        """
        eqs = self.equations
        return ConstrainedFunction(
            "settle", settle, self._parts, settle_length(eqs), mode=self._parts.modes[1], rest=eqs.inputs, threads=1
        )

    def inputs_for(self, q: Any, u: Any, udot: Any, t: Any = None, *, parameters: Any = None) -> np.ndarray:
        """The inputs with B inputs = M udot + bias in the independent speeds, shape (..., m).

        Raises:
            ModelError: there are not as many inputs as independent speeds, or B is singular at a state.
        """
        n, m = len(self.equations.u), len(self.equations.inputs)
        needed = self.inverse(q, u, udot, t, parameters=parameters)
        B = self._call("input_matrix", q, u, t=t, parameters=parameters)
        B = B.reshape(*B.shape[:-1], n, m)
        known = np.isfinite(B).all(axis=(-1, -2))
        freedoms = self._embedded(q, t, parameters).independent.sum(axis=-1)
        if np.any((freedoms != m) & known):
            raise ModelError(
                f"{int(np.max(freedoms))} generalized forces of independent speeds do not determine {m} inputs; "
                "inverse() gives the forces themselves"
            )
        usable = np.where(known[..., None, None], B, 0.0)
        if np.any((np.linalg.matrix_rank(usable) < m) & known):
            raise ModelError("the input matrix is singular at this state: some input moves nothing")
        found = (np.linalg.pinv(usable) @ needed[..., None])[..., 0]
        return np.where(known[..., None], found, np.nan)

    def conditioning(self, q: Any, t: Any = None) -> np.ndarray:
        """Smallest pivot of the dependent columns of the constraints over the largest of any choice, shape (...).

        Near zero the choice of dependent speeds, or where it is free to be the best the mechanism, is singular.
        """
        return self._embedded(q, t).conditioning

    def independent(self, q: Any, t: Any = None) -> tuple[str, ...]:
        """Names of the independent speeds at one state: chosen there, or once for all by the graph."""
        found = self._embedded(q, t).independent
        if found.ndim > 1:
            raise ModelError(f"independent speeds are named for one state, not for a batch {found.shape[:-1]}")
        return tuple(leaf.name for leaf, is_so in zip(self.equations.u, found, strict=True) if is_so)

    def constraint_residuals(self, q: Any, u: Any, t: Any = None, *, parameters: Any = None) -> Residuals:
        """What the constraints leave over at a state as it is, dependent speeds included."""
        n, m = len(self.equations.u), len(self.equations.constraints)
        rows = self._call("constraints", q, u, t=t, parameters=parameters)
        return Residuals(self._call("configuration", q, u, t=t, parameters=parameters), rows[..., n * m :])

    def _embedded(self, q: Any, t: Any, parameters: Any = None) -> Embedded:
        n, inputs = len(self.equations.u), np.zeros(len(self.equations.inputs))
        return Embedded.of(self._call("embedding", q, np.zeros(n), inputs, t=t, parameters=parameters), n)

    def _make(self, name: str) -> CompiledFunction:
        eqs, n = self.equations, len(self.equations.u)
        if name == "embedding":
            return self._embedding_function()
        if eqs.embedding is None and name in ("rhs", "forward"):
            first = 0 if name == "rhs" else len(eqs.q)
            return self._constrained(name, rhs, len(eqs.q) + n - first, first=first)
        if eqs.embedding is None and name in RULES:
            free = self.compile(program(eqs.unconstrained, RULES[name][0]))
            return EmbeddedQuantity(name, self._embedding_function(), free)
        return super()._make(name)

    def _embedding_function(self) -> ConstrainedFunction:
        # Of the unconstrained equations it takes remainders, which depend on nothing that A u + b does not depend on.
        length = embedding_length(len(self.equations.u))
        return self._constrained("embedding", embedding, length, decisive=1)

    def _constrained(
        self, name: str, native: Callable[[], int], length: int, *, first: int = 0, decisive: int | None = None
    ) -> ConstrainedFunction:
        mode, inputs = self._parts.modes[0], self.equations.inputs
        return ConstrainedFunction(
            name, native, self._parts, length, mode=mode, first=first, rest=inputs, decisive=decisive
        )

    @cached_property
    def _parts(self) -> Parts:
        eqs = self.equations
        programs: list[Program] = [program(eqs, "constraints"), program(eqs, "configuration")]
        programs += [program(eqs.unconstrained, "kinematics"), program(eqs, "unconstrained")]
        own = None if eqs.system.own is None else ConstrainedDynamics(eqs.own, self._compile).settle
        return Parts(eqs, tuple(self.compile(p) for p in programs), own)
