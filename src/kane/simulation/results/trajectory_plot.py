"""Plots of trajectories: quantities, and their distribution over panels."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kane.expression.number_arguments import require
from kane.expression.number_arguments import words as given_words
from kane.model.named_vector import index_of_name
from kane.simulation.events.event import Occurrence
from kane.simulation.results.contact_log import ActiveInterval
from kane.simulation.results.labelled import Labelled

if TYPE_CHECKING:
    from kane.simulation.results.trajectory import Trajectory

COLOURS = 10  # number of distinct colours; the next ten lines are dashed
COINCIDENT = 0.01  # lines closer than this fraction of a panel's height hide each other
DASH = 4.0  # length of a dash of hidden lines [points]
# Relative variation below which a line is constant, so that the axis does not magnify rounding.
FLAT_LINE_VARIATION = 1e-6
LEGEND: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": "small", "frameon": False}
FIGURE_WIDTH, PANEL, LEGEND_ROW, BAND = 9.0, 1.9, 0.19, 0.25  # inches

# Lines per panel; more than MANY_SIMILAR_LINES similar lines share one panel, without a legend.
LINES_PER_PANEL, MANY_SIMILAR_LINES = 20, 60
UNEQUAL = 20.0  # size ratio of two lines above which the smaller one would look flat
NOISE = 1e-12  # values below this are rounding, relative to the largest value of the same unit, or to 1 if larger
# Dimension and units of each variable; the units of inputs are known only to the author of the model.
VARIABLES = {
    "q": ("coordinate", "coordinate_units"),
    "u": ("speed", "speed_units"),
    "forces": ("speed", "force_units"),
    "inputs": ("input", ""),
}


def picture(
    run: Trajectory,
    names: str | Sequence[str],
    *,
    variables: Sequence[str] = ("q", "u", "energy"),
    inputs: bool,
    events: bool,
) -> Figure:
    """Draw the figure of ``Trajectory.plot``; it has no window: show it in a notebook, or call ``savefig``."""
    require(inputs, bool, "inputs is True or False")
    require(events, bool, "events is True or False")
    record = run._run
    chosen = [names] if isinstance(names, str) else given_words(names, "names", "names of quantities")
    known = {word: quantities(record, word) for word in {"q", "u", "inputs", "energy", *variables}}
    shown = named([x for word in ("q", "u", "inputs", "energy") for x in known[word]], chosen)
    if not chosen:
        shown = [x for word in variables for x in known[word]]
    if inputs and run.inputs.size:  # raises if a followed motion does not determine its inputs
        shown += [x for x in known["inputs"] if x.name not in chosen]
    left_out = [x for x in silent(shown) if x.name not in chosen]
    kept = [x for x in shown if x not in left_out] or shown
    title = str(record.attributes.get("model", "")) + (" (interrupted)" if run.interrupted else "")
    bands = {} if run.contact_log is None else run.contact_log.active_intervals(run.time)
    figure = _figure(title, run.time, panels(kept), run.events if events else (), bands=bands)
    if len(kept) < len(shown):
        words = f"omitted because zero up to rounding: {', '.join(x.title for x in left_out)}"
        figure.supxlabel(textwrap.fill(words, 110), fontsize="small")
    return figure


def _figure(
    title: str,
    time: Any,
    shared: Sequence[Panel],
    marks: Sequence[Occurrence],
    *,
    bands: Mapping[str, Sequence[ActiveInterval]],
) -> Figure:
    """Draw panels over a common time axis, with a band for each intermittent constraint at the bottom."""
    rows = [-(-len(panel) // _columns(panel)) + len({mark.name for mark in marks}) for panel in shared]
    heights = [max(PANEL, LEGEND_ROW * (1 + count)) for count in rows] + [BAND * (1 + len(bands))] * bool(bands)
    figure = Figure(figsize=(FIGURE_WIDTH, sum(heights) + 0.5), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights))
    if bands:
        _draw_bands(axes[-1], bands)
    for ax, panel in zip(axes, shared, strict=False):
        lines = _lines(ax, time, panel) + _marks(ax, marks, named=ax is axes[0])
        if lines:
            ax.legend(handles=lines, ncols=_columns(panel), **LEGEND)
    figure.align_ylabels(axes)
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(title)
    return figure


def _lines(ax: Axes, time: Any, panel: Panel) -> list[Any]:
    """Draw a panel; return the lines of its legend, or none if a colour scale replaces the legend."""
    many = len(panel) > MANY_SIMILAR_LINES
    styles = _scale(len(panel)) if many else _styles(panel)
    for x, style, dashes in zip(panel, styles, [{}] * len(panel) if many else _turns(panel), strict=True):
        ax.plot(time, x.values, label=x.title, linewidth=1.2, **(style | dashes))
    ax.set_ylabel(panel[0].axis)
    ax.margins(x=0.0)
    ax.grid(alpha=0.3)
    low, high = _range(panel)
    size = max(abs(low), abs(high))
    if high - low <= FLAT_LINE_VARIATION * size or size <= NOISE:
        margin = 0.1 * size if size > NOISE else 1.0
        ax.set_ylim(low - margin, high + margin)
    if not many:
        return [Line2D([], [], label=x.title, **style) for x, style in zip(panel, styles, strict=True)]
    ends = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(0, len(panel) - 1), "viridis")
    bar = ax.figure.colorbar(ends, ax=ax, ticks=[0, len(panel) - 1], pad=0.01)
    bar.ax.set_yticklabels([panel[0].title, panel[-1].title])
    return []


def _draw_bands(ax: Axes, bands: Mapping[str, Sequence[ActiveInterval]]) -> None:
    """Draw when constraints are active: solid bars while they stick, hatched bars while they slide."""
    for row, stretches in enumerate(bands.values()):
        for begin, end, slides in stretches:
            style = {"alpha": 0.4, "hatch": "////"} if slides else {"alpha": 0.9}
            ax.broken_barh([(begin, end - begin)], (row - 0.35, 0.7), facecolor="tab:gray", **style)
    ax.set_yticks(range(len(bands)), list(bands))
    ax.set_ylim(len(bands) - 0.5, -0.5)
    ax.set_ylabel("when active")


def _columns(panel: Panel) -> int:
    """Return the number of columns of the legend."""
    return -(-len(panel) // COLOURS)


def _range(panel: Panel) -> tuple[float, float]:
    return float(np.nanmin([x.values for x in panel])), float(np.nanmax([x.values for x in panel]))


def _scale(count: int) -> list[dict[str, Any]]:
    return [{"color": colour} for colour in matplotlib.colormaps["viridis"](np.linspace(0.0, 1.0, count))]


def _styles(panel: Panel) -> list[dict[str, Any]]:
    """Return ten colours with solid lines, then the same ten with dashed lines."""
    colours = matplotlib.colormaps["tab10"]
    return [{"color": colours(i % COLOURS), "linestyle": "-" if i < COLOURS else "--"} for i in range(len(panel))]


def _turns(panel: Panel) -> list[dict[str, Any]]:
    """Draw lines that hide each other with alternating dashes; other lines keep their style."""
    low, high = _range(panel)
    groups: list[list[PlottedQuantity]] = []
    for x in panel:
        near = (g for g in groups if np.abs(g[0].values - x.values).max() <= COINCIDENT * (high - low))
        group = next(near, None)
        if group is None:
            groups.append([x])
        else:
            group.append(x)
    turn = {x: (k, len(group)) for group in groups if len(group) > 1 for k, x in enumerate(group)}
    dashes = {x: {"linestyle": (-DASH * k, (DASH, DASH * (of - 1)))} for x, (k, of) in turn.items()}
    return [dashes.get(x, {}) for x in panel]


def _marks(ax: Axes, marks: Sequence[Occurrence], *, named: bool) -> list[Any]:
    """Draw events as vertical lines, one colour per name; return the lines of the legend."""
    found = []
    for k, name in enumerate(dict.fromkeys(mark.name for mark in marks)):
        times, colour = [mark.time for mark in marks if mark.name == name], matplotlib.colormaps["Dark2"](k % 8)
        across = ax.get_xaxis_transform()
        line = ax.vlines(times, 0.0, 1.0, transform=across, colors=[colour], linestyles=":", linewidth=1.0, label=name)
        found.append(line)
    return found if named else []


@dataclass(frozen=True, eq=False)
class PlottedQuantity:
    """Line of a plot.

    Attributes:
        name: name by which a user selects it.
        kind, unit: label of the axis.
        values: over time, (times,).
        title: text in the legend.
    """

    name: str
    kind: str
    unit: str
    values: Any
    title: str

    @property
    def axis(self) -> str:
        """Label of the axis."""
        return f"{self.kind} [{self.unit}]"

    @property
    def size(self) -> float:
        """Largest absolute value."""
        return float(np.nanmax(np.abs(self.values), initial=0.0))


Panel = Sequence[PlottedQuantity]


def quantities(record: Labelled, variable: str) -> list[PlottedQuantity]:
    """Return the columns of a variable of a run; for "energy": kinetic, potential and total."""
    if variable == "energy":
        return _energies(record)
    dimension, units = VARIABLES[variable]
    names, columns = [str(name) for name in record.values(dimension)], record.values(variable).T
    words = [str(unit) for unit in record.values(units)] if units else ["SI units"] * len(names)
    kinds = ["quaternion" if unit == "1" else variable for unit in words]
    return [PlottedQuantity(n, k, u, x, n) for n, k, u, x in zip(names, kinds, words, columns, strict=True)]


def _energies(record: Labelled) -> list[PlottedQuantity]:
    kinetic, potential = (record.values(name) for name in ("kinetic_energy", "potential_energy"))
    if np.isnan(kinetic).all():  # equations without bodies
        return []
    found = {"kinetic_energy": kinetic, "potential_energy": potential, "energy": kinetic + potential}
    titles = ("kinetic", "potential", "total")
    return [
        PlottedQuantity(name, "energy", "J", x, title) for (name, x), title in zip(found.items(), titles, strict=True)
    ]


def named(known: Sequence[PlottedQuantity], names: Sequence[str]) -> list[PlottedQuantity]:
    """Return the quantities with these names.

    Raises:
        ModelError: a name is unknown.
    """
    words = [x.name for x in known]
    return [known[index_of_name(name, words, "coordinate, speed, input or energy")] for name in names]


def silent(shown: Sequence[PlottedQuantity]) -> list[PlottedQuantity]:
    """Return the quantities that are zero up to rounding."""
    largest: dict[str, float] = {}
    for x in shown:
        largest[x.axis] = max(largest.get(x.axis, 1.0), x.size)
    return [x for x in shown if x.size <= NOISE * largest[x.axis]]


def panels(shown: Sequence[PlottedQuantity]) -> list[Panel]:
    """Group quantities of the same unit and of similar size into panels, the largest first."""
    groups: dict[str, list[PlottedQuantity]] = {}
    for x in shown:
        groups.setdefault(x.axis, []).append(x)
    return [panel for group in groups.values() for panel in _divided(group)]


def _divided(group: list[PlottedQuantity]) -> Iterator[Panel]:
    while group:
        largest = max(x.size for x in group)
        alike = [x for x in group if x.size * UNEQUAL >= largest]
        count = len(alike) if len(alike) > MANY_SIMILAR_LINES else LINES_PER_PANEL
        yield from (alike[k : k + count] for k in range(0, len(alike), count))
        group = [x for x in group if x not in alike]
