"""The forces that measured motions need, as functions of parameters.

With f(q, u, udot; p) = M udot + bias - B inputs, which the right parameters make zero: r = N^T f, N a basis of the
speeds that the constraints allow. Its derivatives by parameters are exact; of inertial parameters they are the
regressor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.analysis.identification.measurements import Measurements
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.factor import factor
from kane.codegen.programs.program import Program
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.traverse import leaves
from kane.formulation.derivatives.implicit import needed_forces
from kane.formulation.equations import Equations

Array = NDArray[np.float64]
# Largest share of the rank of constraints that is round-off.
RANK = 1e-9
# States whose slopes are held in memory at a time: some 60 MB where 100 parameters are sought in 7 joints.
MOST_STATES = 10_000


@dataclass(frozen=True, eq=False)
class Regression:
    """Residual forces of a motion and their slopes by some parameters.

    Attributes:
        dyn: native code of the equations.
        names: of the parameters that are varied.
        data: the motion, with accelerations.
    """

    dyn: Dynamics
    names: tuple[str, ...]
    data: Measurements

    @property
    def channels(self) -> tuple[str, ...]:
        """What the columns of the residuals are along: speeds, or where there are constraints directions in them."""
        count, speeds = self._N.shape[-1], tuple(leaf.name for leaf in self.dyn.equations.u)
        return speeds if count == len(speeds) else tuple(f"freedom {k + 1}" for k in range(count))

    def at(self, values: Array) -> tuple[Array, Array]:
        """Residuals (k, channels) and slopes (k, channels, p) at values of all parameters of the equations."""
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
        """The same motion in pieces, of which the slopes of one fit into memory."""
        count = max(1, len(self.data) // MOST_STATES)
        ends = np.linspace(0, len(self.data), count + 1).astype(int)
        for first, last in pairwise(ends.tolist()):
            yield replace(self, data=self.data.rows(first, last)) if count > 1 else self

    @property
    def linear(self) -> bool:
        """Whether the residuals are linear in the parameters."""
        return regressor(self.dyn, self.names).linear

    @cached_property
    def _N(self) -> Array:
        """A basis of the allowed speeds at each state, (k, n, freedoms)."""
        e, data = self.dyn.equations, self.data
        if not e.constraints:
            return np.eye(len(e.u))[None]
        A = ConstraintTerms.of(self.dyn, data.q, t=data.time).A
        _, sizes, V = np.linalg.svd(A)
        ranks = (sizes > RANK * sizes.max(initial=0.0)).sum(axis=-1)
        if np.ptp(ranks):
            raise ModelError(
                f"the rank of the constraints of {e.name!r} changes along the motion; leave those rows out"
            )
        return np.asarray(np.swapaxes(V[..., int(ranks[0]) :, :], -1, -2))


class Regressor(NamedTuple):
    """f, then its derivatives by parameters row by row, of all speeds before constraints; reads udot, then inputs.

    Attributes:
        function: the program.
        linear: whether the derivatives do not depend on these parameters.
    """

    function: CompiledFunction
    linear: bool


def regressor(dyn: Dynamics, names: Sequence[str]) -> Regressor:
    """The program for some parameters, made once.

    Raises:
        ModelError: a parameter stands in a constraint.
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
    """Constraints are taken as known."""
    for row in equations.constraints:
        given = [x for x in (row.configuration, row.motion) if x is not None]
        held = sorted(names & {leaf.name for leaf in leaves(given)})
        if held:
            raise ModelError(
                f"{held[0]!r} stands in the constraint {row.name!r}, and constraints are taken as known; measure the "
                "parameter, and leave it out of the names"
            )
