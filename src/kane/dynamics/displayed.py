"""Display of dynamics: an interactive web page, and the representations of notebooks."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kane.array_types import StateLike
from kane.errors import ModelError, shown
from kane.expression.number_arguments import list_argument, words
from kane.formulation.equations import Equations
from kane.model.named_vector import named_vector


class Displayed(ABC):
    """Web page and notebook representations of an object that has equations."""

    @property
    @abstractmethod
    def equations(self) -> Equations:
        """Equations to display."""

    def save_html(
        self,
        path: str | os.PathLike[str],
        *,
        q: StateLike | None = None,
        u: StateLike | None = None,
        sliders: Any = (),
        parameters: Mapping[str, float] | None = None,
        inputs: Mapping[str, float] | None = None,
        traces: Any = (),
        arrows: Any = (),
        plots: Any = (),
    ) -> Path:
        """Write a page that simulates these equations in the reader's browser, as one file without network access.

            dyn.save_html("live.html", sliders=["T", "b"])

        The page contains these equations as JavaScript and integrates them by Dormand and Prince's method 5(4), with
        step errors below 1e-11 of the state. Constraints are embedded at each state, and states are projected onto
        them. The mouse pulls bodies by a spring. The page shows energy and constraint residuals.

        Args:
            path: path of the file, which is overwritten if it exists.
            q, u: initial state, arrays or dicts from names to numbers; by default the neutral configuration at rest.
                Under constraints give a state from ``kane.assemble``; otherwise the page closes the loops itself.
            sliders: names of inputs and parameters, or a dict from names to (lowest, highest) or None.
            parameters, inputs: values that replace defaults.
            traces: points, bodies or names of frames whose paths are drawn.
            arrows: names of joints, constraints and loads whose forces and torques on bodies are drawn, as in
                ``Trajectory.save_html``; reactions are not drawn while the mouse pulls.
            plots: names of coordinates and speeds, and "energy", that are plotted from the start.

        Raises:
            ModelError: unknown names, nothing to draw, or intermittent constraints, which pages do not simulate.
            FileError: the file cannot be written.
        """
        from kane.display.live_motion import live_page
        from kane.display.thinned_run import trace_form

        eqs = self.equations
        if eqs.intermittents:
            raise ModelError(
                f"{eqs.name!r} has intermittent constraints, which a live page does not simulate; show a run instead: "
                "kane.simulate(dyn, ...).save_html(...)"
            )
        x = [
            *named_vector(q, [leaf.name for leaf in eqs.q], eqs.neutral, "coordinate"),
            *named_vector(u, [leaf.name for leaf in eqs.u], [0.0] * len(eqs.u), "speed"),
        ]
        frames = (eqs.bodies[0], *eqs.posed)
        extra = {
            "plots": _plotted(eqs, plots),
            "traces": [
                trace_form(t, eqs, frames) for t in list_argument(traces, "traces", "points or names of bodies")
            ],
        }
        driven = named_vector(inputs, [i.name for i in eqs.inputs], [eqs.defaults[i.name] for i in eqs.inputs], "input")
        given = [_by_name(eqs.parameters, eqs.parameter_bounds.given(parameters)), _by_name(eqs.inputs, driven)]
        acting = words(arrows, "arrows", "names of joints, constraints and loads")
        options: dict[str, Any] = {"parameters": given[0], "inputs": given[1], "arrows": acting, "extra": extra}
        return live_page(eqs, start=(0.0, x), sliders_asked=sliders, **options).save(path)

    def _repr_latex_(self) -> str | None:
        return self.equations._repr_latex_()

    def _repr_html_(self) -> str:
        return self.equations._repr_html_()


def _plotted(equations: Equations, plots: Any) -> list[str]:
    known = [*(leaf.name for leaf in (*equations.q, *equations.u)), "energy"]
    wanted = words(plots, "plots", "names")
    for name in wanted:
        if name not in known:
            raise ModelError(f"there is no quantity {shown(name)} to plot; give one of {', '.join(known)}")
    return wanted


def _by_name(leaves: Any, values: Any) -> dict[str, float]:
    return dict(zip((leaf.name for leaf in leaves), map(float, values), strict=True))
