"""What is simulated: compiled equations with their inputs and parameter values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.codegen.compiled import CompiledFunction
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, SimulationError
from kane.simulation.closed_loop import close_loop
from kane.simulation.inputs import InputPlan, plan_inputs
from kane.simulation.layout import Layout
from kane.simulation.march import Grid, March, System, Vector
from kane.simulation.named_vector import named_vector
from kane.simulation.trajectory import Trajectory
from kane.simulation.trajectory_record import Record

# A joint this near to its singularity [rad or m] is named as what may have made a run fail.
NEAR_SINGULAR = 0.1


@dataclass(frozen=True)
class Problem:
    """x' = f(t, x), with all that f depends on.

    Attributes:
        dyn: where everything comes from.
        layout: names and units.
        parameters: values.
        plan: what drives the inputs.
        rhs: the program of f, expressions put in place of inputs.
        controls: the program of all inputs, where some are expressions.
        energy: the program of kinetic and potential energy.
    """

    dyn: Dynamics
    layout: Layout
    parameters: Vector
    plan: InputPlan
    rhs: CompiledFunction
    controls: CompiledFunction | None
    energy: CompiledFunction

    @classmethod
    def of(cls, dyn: Dynamics, inputs: Any, parameters: Any) -> Problem:
        """The problem that Dynamics, inputs and parameters pose."""
        layout = Layout.of(dyn.equations)
        values = named_vector(parameters, layout.parameters, layout.parameter_defaults, "parameter")
        plan = plan_inputs(inputs, layout.inputs, layout.input_defaults)
        rhs, controls = dyn.function("rhs"), None
        if plan.expressions:
            rhs, controls = close_loop(dyn, plan.expressions)
        return cls(dyn, layout, values, plan, rhs, controls, dyn.function("energy"))

    def march(self, grid: Grid, x: Vector) -> March:
        """A march over the grid from the state x.

        Raises:
            ModelError: the record does not fit in memory.
        """
        rhs = self.rhs
        system = System(
            rhs.address,
            np.zeros(rhs.n_state),
            self.plan.constants.copy(),
            rhs.stage(self.parameters),
            np.zeros(rhs.n_work),
            np.array(self.layout.quaternions, dtype=np.int64),
        )
        try:
            rows = np.empty((grid.rows, len(x)))
        except (MemoryError, ValueError):
            raise ModelError(f"{grid.rows} states do not fit in memory; enlarge every, or leave it out") from None
        rows[0] = x
        return March(system, self.plan.tables(), grid, x, rows)

    def failure(self, march: March) -> SimulationError:
        """Why the state did not stay finite in the step that the march could not take."""
        state = np.concatenate([[march.time], march.x])
        slope = self.rhs(state, march.system.inputs, march.system.stage)
        names = self.layout.coordinates + self.layout.speeds
        singular = self.layout.singular(march.x, within=NEAR_SINGULAR)
        wrong = [f"{name}_dot" for name, value in zip(names, slope, strict=True) if not np.isfinite(value)]
        if wrong:
            cause = (
                f"there {', '.join(wrong[:12])} {'is' if len(wrong) == 1 else 'are'} not finite: the mass matrix is "
                "singular, a load is infinite, a function left its domain, or the motion ran away"
            )
        else:
            cause = f"there its derivative is finite: the step dt = {abs(march.grid.step):.6g} s is too large"
        return SimulationError(
            f"the state of {self.layout.model!r} stops being finite in the step from t = {march.time:.9g} s, "
            f"{self.layout.describe(march.x)}; {cause}" + (f"; {singular}" if singular else "")
        )

    def trajectory(self, march: March, inputs: Any, attributes: Mapping[str, Any]) -> Trajectory:
        """What was recorded, with inputs (found here unless given) and energies."""
        states = march.states()
        times = states[:, 0]
        given = self.plan.sampled(times, times + march.grid.step / 2) if inputs is None else inputs[: len(states)]
        if self.controls is not None:
            given = self.controls(states, given, self.controls.stage(self.parameters))
        energy = self.energy(states, given[:, : self.energy.n_rest], self.energy.stage(self.parameters))
        return Trajectory(Record(self.layout, states, given, energy, self.parameters).dataset(attributes), self.dyn)
