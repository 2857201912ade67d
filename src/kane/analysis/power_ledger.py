"""Power balance of a model: the power of each load and the rate of the mechanical energy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kane.analysis.laws import energy_rate, load_power
from kane.codegen.emit.listing import emit_listing
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.compiler import compile_program
from kane.codegen.programs.program import Program
from kane.dynamics.run_interface import recorded_parameters
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.files.xarray import load_xarray
from kane.formulation.equations import Equations
from kane.formulation.formulate import formulate
from kane.model.model import Model
from kane.simulation.results.trajectory import Trajectory

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False)
class PowerLedger:
    """Power of each load of a model; prints as a table.

    Attributes:
        equations: equations of the model.
        loads: power of each load by its title, springs included [W].
        rate: d/dt of the kinetic energy plus the potential energy of gravity [W]. It equals the sum of all powers plus
            the power of joints whose coordinates are prescribed in time.
    """

    equations: Equations
    loads: dict[str, Expr]
    rate: Expr

    def along(self, run: Trajectory) -> xarray.Dataset:
        """Evaluate the ledger at every recorded state of a run.

        Returns:
            ``power`` (time, load), ``energy_rate`` (time) and ``imbalance`` (time) = energy_rate - sum of power [W].
            The imbalance is round-off, plus the power of prescribed motions if the model has any.

        Raises:
            ModelError: the run belongs to another model.
        """
        xarray = load_xarray()

        require(run, Trajectory, "along() takes a Trajectory, which kane.simulate returns")
        stage = self._function.stage(recorded_parameters(run, self.equations))
        found = self._function(np.column_stack([run.time, run.q, run.u]), run.inputs, stage)
        watts, titles = {"units": "W"}, np.array([*self.loads], dtype=object)
        return xarray.Dataset(
            data_vars={
                "power": (("time", "load"), found[:, 1:], watts),
                "energy_rate": ("time", found[:, 0], watts),
                "imbalance": ("time", found[:, 0] - found[:, 1:].sum(axis=1), watts),
            },
            coords={"time": ("time", run.time, {"units": "s"}), "load": ("load", titles)},
        )

    @cached_property
    def _function(self) -> CompiledFunction:
        e = self.equations
        outputs, state = (self.rate, *self.loads.values()), (e.t, *e.q, *e.u)
        program = Program("power ledger", outputs, state=state, rest=e.inputs, parameters=e.parameters)
        return compile_program(program)

    def __repr__(self) -> str:
        width = max(map(len, self.loads), default=0)
        lines = [f"  {title:{width}}  {power!r}" for title, power in self.loads.items()]
        return "\n".join([f"power of the loads of {self.equations.name!r} [W]", *(lines or ["  none"])])

    def listing(self) -> str:
        """Return the expressions of the energy rate and of every power in full, formatted as ``Equations.listing``."""
        return emit_listing([("energy rate", self.rate), *self.loads.items()])


def power_ledger(model: Model) -> PowerLedger:
    """Return the power of each load of a model and the rate of its mechanical energy, as expressions.

    Raises:
        ModelError: the model cannot be formulated.
    """
    require(model, Model, "power_ledger takes a kane.Model; the run is the argument of its along(run)")
    with collector_paused():
        return formulate_power_ledger(model, formulate(model))


def formulate_power_ledger(model: Model, equations: Equations) -> PowerLedger:
    """Return the power ledger of a formulated model."""
    titles = [title for title, _ in equations.tree.loads]
    loads = {title: load_power(equations, load) for title, load in zip(titles, model.loads, strict=True)}
    return PowerLedger(equations, loads, energy_rate(equations))
