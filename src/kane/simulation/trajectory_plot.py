"""A picture of a trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from kane.simulation.trajectory import Trajectory

# More lines than this are told apart by a colour scale, not by a legend.
READABLE_LINES = 12
LEGEND: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (1.0, 1.0),
    "fontsize": "small",
    "frameon": False,
}
PANEL_SIZE = (9.0, 2.4)  # inches


Panel = tuple[str, list[str], Any]  # label of the axis, names, values (times, names)


def draw(trajectory: Trajectory) -> Figure:
    """Coordinates and speeds over time, those of one unit on one pair of axes, and the energies below.

    The figure belongs to no window: show it in a notebook, or ``savefig`` it.
    """
    dataset = trajectory.to_xarray()
    energies = [trajectory["kinetic_energy"], trajectory["potential_energy"], trajectory.energy]
    panels = by_unit(dataset, "q", "coordinate") + by_unit(dataset, "u", "speed")
    panels.append(("energy [J]", ["kinetic", "potential", "total"], np.stack(energies, axis=1)))
    title = str(dataset.attrs.get("model", "")) + (" (interrupted)" if trajectory.interrupted else "")
    figure = draw_panels(title, trajectory.time, panels)
    lowest = figure.axes[len(panels) - 1]
    lowest.lines[-1].set(linestyle="--", color="black")  # seen where it lies on one of the others
    lowest.legend(**LEGEND)
    return figure


def draw_panels(title: str, time: Any, panels: list[Panel]) -> Figure:
    """Panels one below the other over the same time."""
    width, height = PANEL_SIZE
    figure = Figure(figsize=(width, height * len(panels)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(panels), 1, sharex=True))
    for ax, (label, names, values) in zip(axes, panels, strict=True):
        _lines(ax, time, names, values)
        ax.set_ylabel(label)
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(title)
    return figure


def by_unit(dataset: Any, variable: str, dimension: str) -> list[Panel]:
    """(label of the axis, names, values (times, names)) for each unit, in order of first appearance."""
    units = [str(unit) for unit in dataset[f"{dimension}_units"].to_numpy()]
    names = [str(name) for name in dataset[dimension].to_numpy()]
    values = dataset[variable].to_numpy()
    panels = []
    for unit in dict.fromkeys(units):
        columns = [i for i, other in enumerate(units) if other == unit]
        word = "quaternion" if unit == "1" else f"{variable} [{unit}]"
        panels.append((word, [names[i] for i in columns], values[:, columns]))
    return panels


def _lines(ax: Axes, time: Any, names: list[str], values: Any) -> None:
    many = len(names) > READABLE_LINES
    colours = matplotlib.colormaps["viridis"](np.linspace(0.0, 1.0, len(names))) if many else _distinct(len(names))
    for name, colour, column in zip(names, colours, values.T, strict=True):
        ax.plot(time, column, color=colour, linewidth=1.0, label=name)
    ax.margins(x=0.0)
    ax.grid(alpha=0.3)
    if many:
        ends = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(0, len(names) - 1), "viridis")
        bar = ax.figure.colorbar(ends, ax=ax, ticks=[0, len(names) - 1], pad=0.01)
        bar.ax.set_yticklabels([names[0], names[-1]])
    else:
        ax.legend(**LEGEND)


def _distinct(count: int) -> Any:
    """Up to twelve colours that can be told apart."""
    return [matplotlib.colormaps["Paired" if count > 10 else "tab10"](i) for i in range(count)]
