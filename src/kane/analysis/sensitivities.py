"""sensitivities: how a motion changes with parameters, initial values and inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.analysis.small_motions import SmallMotions
from kane.analysis.variational import Variational
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.recorded import recorded_parameters
from kane.errors import ModelError, shown
from kane.expression.arguments import require, words
from kane.expression.node import Expr
from kane.model.named_vector import position
from kane.simulation.integrators import RK8
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.recorded.trajectory import Trajectory

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives of a motion, ``s["L1"]`` by the name of what is varied: of q, then u, (times, nq + n).

    Attributes:
        time: (times,) [s].
        names: of what is varied.
        states: of q and u.
        run: the motion itself, (times, nq + n), as integrated beside them.
    """

    time: Array
    names: tuple[str, ...]
    states: tuple[str, ...]
    run: Array
    _values: Array
    _dyn: Dynamics
    _inputs: Array
    _parameters: Mapping[str, float]

    def __getitem__(self, name: str) -> Array:
        return self._values[:, position(name, self.names, "derivative by")]

    @cached_property
    def final(self) -> Mapping[str, Array]:
        """The derivatives of the last state, (nq + n,) by name."""
        return {name: self._values[-1, k] for k, name in enumerate(self.names)}

    def gradient(self, cost: Expr) -> dict[str, float]:
        """The derivatives of an expression at the last state, by name of what is varied.

        Raises:
            ModelError: as of ``Dynamics.derivatives``.
        """
        require(cost, Expr, "a cost is one expression of the model")
        nq, parameters = len(self._dyn.equations.q), [p.name for p in self._dyn.equations.parameters]
        direct = [name for name in self.names if name in parameters]
        q, u, t = self.run[-1, :nq], self.run[-1, nq:], float(self.time[-1])
        found = self._dyn.derivatives(cost, wrt=("q", "u", "inputs", *direct))
        slopes = found(q, u, self._inputs, t, parameters=self._parameters)
        Y = SmallMotions(self._dyn, q, u, self._inputs, t, self._parameters).Y
        inputs = [leaf.name for leaf in self._dyn.equations.inputs]
        total = {}
        for name, S in self.final.items():
            along = slopes["q"] @ (np.linalg.pinv(Y) @ S[:nq]) + slopes["u"] @ S[nq:]
            own = slopes[name] if name in direct else slopes["inputs"][inputs.index(name)] if name in inputs else 0.0
            total[name] = float(along + own)
        return total

    def __repr__(self) -> str:
        return f"<Sensitivities of {self._dyn.equations.name!r} by {', '.join(self.names)}, {len(self.time)} times>"


def sensitivities(
    run: Trajectory, *, wrt: Sequence[str], inputs: Any = None, integrator: Integrator | None = None
) -> Sensitivities:
    """The derivatives of a motion at its recorded times by parameters, initial values and constant inputs.

    The motion is integrated anew together with them: the error of both is controlled.

    Args:
        run: what ``kane.simulate`` returned, of a model without constraints.
        wrt: names of parameters, of coordinates and speeds (their initial values), of inputs that are constant.
        inputs: as they were given to ``simulate``, where they were not constant: expressions, ``kane.Interpolated`` or
            ``kane.Held``.
        integrator: RK8() unless given; one that chooses its steps.

    Raises:
        ModelError: unknown names; constraints or modes, through which derivatives jump; inputs that are functions of
            Python, which have no derivatives; inputs that vary and are not given.
        SimulationError: as of ``simulate``.
    """
    if not isinstance(run, Trajectory):
        raise ModelError(f"sensitivities are those of a trajectory, from kane.simulate, not of {shown(run)}")
    method = RK8() if integrator is None else integrator
    if not isinstance(method, Integrator) or method.fixed:
        raise ModelError(f"the integrator is {shown(integrator)}; give one that chooses its steps, such as kane.RK8()")
    dyn = run.dynamics()
    values = recorded_parameters(run, dyn.equations)
    names = words(wrt, "wrt", "names")
    motion = Variational.of(dyn, _inputs(run, inputs), values, names)
    times = np.array(run.time)  # a column of the record, where native code wants one row
    found, derivatives = motion.run(np.concatenate([run.q[0], run.u[0]]), times, values, method)
    parameters = dict(zip((p.name for p in dyn.equations.parameters), values.tolist(), strict=True))
    states = (*motion.problem.layout.coordinates, *motion.problem.layout.speeds)
    return Sensitivities(times, tuple(names), states, found, derivatives, dyn, run.inputs[-1], parameters)


def _inputs(run: Trajectory, given: Any) -> Any:
    """The inputs as given, or the constant ones of the run."""
    if given is not None:
        return given
    recorded = run.inputs
    if recorded.size and np.ptp(recorded, axis=0).any():
        raise ModelError("the inputs of this run vary; give them as they were given to simulate (inputs=)")
    return recorded[0] if recorded.size else None
