"""Generalized forces that measured motions require, as functions of parameters.

f(q, u, udot; p) = M udot + bias - B inputs vanishes for the true parameters. The residuals are r = N^T f with a basis N
of the speeds that the constraints allow. Derivatives by parameters are exact; for inertial parameters they are the
regressor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from kane.analysis.identification.measurements import Measurements
from kane.array_types import Array
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.program import Program
from kane.deferred import NamedTuple, dataclass
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.traverse import leaves
from kane.formulation.derivatives.implicit_rule import needed_forces
from kane.formulation.equations import Equations

# Relative singular value below which constraint rows are dependent.
DEPENDENT_ROW_TOLERANCE = 1e-9
# Number of states whose slopes are in memory at a time: about 60 MB for 100 parameters in 7 joints.
STATES_IN_MEMORY = 10_000


@dataclass(frozen=True, eq=False)
class Regression:
    """Residual forces of a motion and their slopes by some parameters.

    Attributes:
        dyn: compiled equations.
        names: names of the parameters that are varied.
        data: the motion, with accelerations.
    """

    dyn: Dynamics
    names: tuple[str, ...]
    data: Measurements

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the residual columns: the speeds; "freedom 1", ... in constrained models."""
        count, speeds = self._N.shape[-1], tuple(leaf.name for leaf in self.dyn.equations.u)
        return speeds if count == len(speeds) else tuple(f"freedom {k + 1}" for k in range(count))

    def at(self, values: Array) -> tuple[Array, Array]:
        """Return residuals (k, channels) and slopes (k, channels, p) at values of all parameters."""
        data, e, function = self.data, self.dyn.equations, regressor(self.dyn, self.names).function
        n, p = len(e.u), len(self.names)
        inputs = np.zeros((len(data), len(e.inputs))) if data.inputs is None else data.inputs
        rest = np.concatenate([data.udot, inputs], axis=1)
        found = function.join((data.time[:, None], data.q, data.u), rest, function.stage(values))
        f, J = found[:, :n], found[:, n:].reshape(len(data), n, p)
        if data.forces is not None:
            f = f - data.forces
        if not e.constraints:
            return f, J
        N = np.swapaxes(self._N, -1, -2)
        return (N @ f[..., None])[..., 0], N @ J

    def pieces(self) -> Iterator[Regression]:
        """Yield the motion in pieces whose slopes fit into memory."""
        count = max(1, len(self.data) // STATES_IN_MEMORY)
        ends = np.linspace(0, len(self.data), count + 1).astype(int)
        for first, last in pairwise(ends.tolist()):
            yield replace(self, data=self.data.rows(first, last)) if count > 1 else self

    @property
    def linear(self) -> bool:
        """Whether the residuals are linear in the parameters."""
        return regressor(self.dyn, self.names).linear

    @cached_property
    def _N(self) -> Array:
        """Basis of the allowed speeds at each state, (k, n, freedoms)."""
        e, data = self.dyn.equations, self.data
        if not e.constraints:
            return np.eye(len(e.u))[None]
        A = ConstraintTerms.of(self.dyn, data.q, t=data.time).A
        _, sizes, V = np.linalg.svd(A)
        ranks = (sizes > DEPENDENT_ROW_TOLERANCE * sizes.max(initial=0.0)).sum(axis=-1)
        if np.ptp(ranks):
            raise ModelError(
                f"the rank of the constraints of {e.name!r} changes along the motion; leave out the rows where it does"
            )
        return np.asarray(np.swapaxes(V[..., int(ranks[0]) :, :], -1, -2))


class Regressor(NamedTuple):
    """f and its derivatives by parameters, row by row, along all speeds without constraints; reads udot, then inputs.

    Attributes:
        function: the program.
        linear: whether the derivatives are independent of these parameters.
    """

    function: CompiledFunction
    linear: bool


def regressor(dyn: Dynamics, names: Sequence[str]) -> Regressor:
    """Return the program for some parameters, compiled once.

    Raises:
        ModelError: a parameter occurs in a constraint.
    """
    return dyn.derived(("regressor", *names), lambda: _regressor(dyn, names))


def _regressor(dyn: Dynamics, names: Sequence[str]) -> Regressor:
    equations = dyn.equations
    by_name = {leaf.name: leaf for leaf in equations.parameters}
    columns = [by_name[name] for name in names]
    _require_no_parameters(equations, set(names))
    free, state = equations.unconstrained, (equations.t, *equations.q, *equations.u)
    with collector_paused():
        f = needed_forces(free, free.udot)
        entries = jacobian(f, [{leaf: leaf.arena.one} for leaf in columns])
        zero = equations.system.arena.zero
        slopes = factor([entries.get((i, j), zero) for i in range(len(f)) for j in range(len(columns))])
        rest = (*equations.udot, *equations.inputs)
        outputs = [*factor(f), *slopes]
        program = Program("regressor", outputs, state=state, rest=rest, parameters=equations.parameters)
    return Regressor(dyn.compile(program), set(columns).isdisjoint(leaves(slopes)))


def _require_no_parameters(equations: Equations, names: set[str]) -> None:
    """Raise if a parameter occurs in a constraint."""
    for row in equations.constraints:
        given = [x for x in (row.configuration, row.motion) if x is not None]
        held = sorted(names & {leaf.name for leaf in leaves(given)})
        if held:
            raise ModelError(
                f"{held[0]!r} occurs in the constraint {row.name!r}, and constraints must be known; measure the "
                "parameter, and leave it out of the names"
            )
