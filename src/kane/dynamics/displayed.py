"""What dynamics show of themselves: a page with the equations inside."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kane.errors import ModelError, shown
from kane.expression.arguments import listed, words
from kane.formulation.equations import Equations
from kane.formulation.parameter_bounds import given_parameters
from kane.model.named_vector import named_vector


class Displayed(ABC):
    """A page and the views of notebooks of what has equations."""

    @property
    @abstractmethod
    def equations(self) -> Equations:
        """The equations that are shown."""

    def save_html(
        self,
        path: str | os.PathLike[str],
        *,
        q: Any = None,
        u: Any = None,
        sliders: Any = (),
        parameters: Mapping[str, float] | None = None,
        inputs: Mapping[str, float] | None = None,
        traces: Any = (),
        arrows: Any = (),
        plots: Any = (),
    ) -> Path:
        """Write a page that simulates these equations in the reader's browser, as one file that asks no network.

            dyn.save_html("live.html", sliders=["T", "b"])

        The page has these equations as JavaScript and integrates them (Dormand and Prince's 5(4), errors of steps below
        1e-11 of the state), constraints embedded at each state and states settled onto them; the mouse pulls at bodies
        by a spring. Energy, and what is left of the constraints, are shown.

        Args:
            path: of the file; replaced if it is there.
            q, u: where it begins, arrays or dicts from some of the names to numbers; neutral and at rest where nothing
                is given. Under constraints those that ``kane.assemble`` found; else the page closes the loops itself.
            sliders: names of inputs and parameters, or a dict from names to (lowest, highest) or None.
            parameters, inputs: values, where they are not the defaults.
            traces: points, bodies or names of frames whose paths are drawn.
            arrows: names of joints, constraints and loads that are drawn with their forces and torques on bodies, as of
                ``Trajectory.save_html``; those of reactions are not drawn while the mouse pulls.
            plots: names of coordinates and speeds, and "energy", that are plotted from the beginning.

        Raises:
            ModelError: unknown names, nothing to see, contacts that come and go, which pages do not simulate.
            FileError: the file cannot be written.
        """
        from kane.display.motion import live_page
        from kane.display.replay import trace_form

        eqs = self.equations
        if eqs.candidates:
            raise ModelError(
                f"{eqs.name!r} has constraints that come and go, which a page does not simulate; show a run with "
                "its events: kane.simulate(dyn, ...).save_html(...)"
            )
        x = [
            *named_vector(q, [leaf.name for leaf in eqs.q], eqs.neutral, "coordinate"),
            *named_vector(u, [leaf.name for leaf in eqs.u], [0.0] * len(eqs.u), "speed"),
        ]
        frames = (eqs.bodies[0], *eqs.posed)
        extra = {
            "plots": _plotted(eqs, plots),
            "traces": [trace_form(t, eqs, frames) for t in listed(traces, "traces", "points or names of bodies")],
        }
        driven = named_vector(inputs, [i.name for i in eqs.inputs], [eqs.defaults[i.name] for i in eqs.inputs], "input")
        given = [_by_name(eqs.parameters, given_parameters(eqs, parameters)), _by_name(eqs.inputs, driven)]
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
            raise ModelError(f"there is no course {shown(name)} to plot; give one of {', '.join(known)}")
    return wanted


def _by_name(leaves: Any, values: Any) -> dict[str, float]:
    return dict(zip((leaf.name for leaf in leaves), map(float, values), strict=True))
