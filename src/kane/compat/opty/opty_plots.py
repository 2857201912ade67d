"""Plots of ``kane.compat.opty.Problem``."""

from __future__ import annotations

from typing import Any

import numpy as np

from kane.array_types import Array
from kane.compat.opty.constraint_collocator import ConstraintCollocator
from kane.compat.opty.free_vector import FreeLayout
from kane.compat.opty.linear_guess import LARGE
from kane.engine.memory.loop_arguments import Vector


class OptyPlots:
    """Plots of free vectors.

    Attributes:
        collocator: constraints.
        layout: places of the free variables.
        obj_value: objective at each iteration.
    """

    collocator: ConstraintCollocator
    layout: FreeLayout
    obj_value: list[float]
    lower_bound: Vector
    upper_bound: Vector

    def plot_trajectories(self, vector: Any, axes: Any = None, show_bounds: bool = False) -> Any:
        """Plot states and inputs over time; return the axes, (states + inputs,).

        Args:
            vector: free vector.
            axes: axes to plot to; a new figure by default.
            show_bounds: whether to draw the bounds as dashed lines.
        """
        c, z = self.collocator, self.collocator.at(vector)
        times = self.layout.times(z)
        names = (*c.state_symbols, *c.input_trajectories)
        axes = _axes(len(names)) if axes is None else np.ravel(axes)
        for ax, x in zip(axes, names, strict=False):
            places = self.layout.places.get(x)
            ax.plot(times, c.samples(x, z) if places is None else z[places])
            ax.set_ylabel(str(x))
            if show_bounds and places is not None:
                for bound in (self.lower_bound[places], self.upper_bound[places]):
                    if (np.abs(bound) < LARGE).all():
                        ax.plot(times, bound, "k--", linewidth=0.8)
        axes[-1].set_xlabel("time [s]")
        return axes

    def plot_constraint_violations(
        self, vector: Any, axes: Any = None, subplots: bool = False, show_bounds: bool = False
    ) -> Any:
        """Plot the equations of motion over the nodes, and the instance constraints as bars; return the axes.

        Args:
            vector: free vector.
            axes: axes to plot to; a new figure by default.
            subplots: whether each equation of motion has its own axes.
            show_bounds: accepted for compatibility.
        """
        c = self.collocator
        values, intervals = c.program.constraints(c.at(vector)), c.num_collocation_nodes - 1
        motion, instances = values[: c.num_eom * intervals].reshape(c.num_eom, -1), values[c.num_eom * intervals :]
        count = c.num_eom if subplots else 1
        axes = _axes(count + bool(len(instances))) if axes is None else np.ravel(axes)
        for k, row in enumerate(motion):
            ax = axes[k if subplots else 0]
            ax.plot(np.arange(1, intervals + 1), row, label=f"equation {k}")
            ax.set_ylabel(f"equation {k}" if subplots else "violation")
        axes[0].set_title("constraint violations")
        if len(instances):
            axes[count].bar(np.arange(len(instances)), instances)
            axes[count].set_xlabel("instance constraint")
        return axes

    def plot_objective_value(self) -> Any:
        """Plot the objective over the iterations of the last ``solve``; return the axes."""
        (ax,) = _axes(1)
        ax.plot(self.obj_value)
        ax.set_xlabel("iteration")
        ax.set_ylabel("objective")
        return ax

    def plot_jacobian_sparsity(self, ax: Any = None) -> Any:
        """Plot the places of the entries of the Jacobian; return the axes."""
        ax = _axes(1)[0] if ax is None else ax
        rows, columns = self.collocator.jacobian_indices()
        ax.plot(columns, rows, "k.", markersize=1.0)
        ax.invert_yaxis()
        return ax


def _axes(count: int) -> Array:
    """Return the axes of a new figure, one below the other."""
    from matplotlib import pyplot  # imported late: needs matplotlib

    figure, axes = pyplot.subplots(count, 1, sharex=False, squeeze=False, layout="constrained")
    figure.set_size_inches(7.0, max(3.0, 1.6 * count))
    return axes[:, 0]
