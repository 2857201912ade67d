"""Display of runs: web pages that play them, videos, and the representation of notebooks."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from kane.errors import FileError, ModelError, shown
from kane.expression.number_arguments import list_argument, words
from kane.formulation.matrix_route import require_bodies
from kane.simulation.results.run_model import dynamics_of, names_of, parameters_of

if TYPE_CHECKING:
    from kane.display.page import Page
    from kane.display.thinned_run import Band, ShownRun
    from kane.dynamics.dynamics import Dynamics
    from kane.formulation.equations import Equations

ENERGY = "energy"
# Smallest number of states that are plotted.
FEWEST_PLOTTED = 2


class Replayed(ABC):
    """A run that can be played: its recorded quantities by name, and its model."""

    _dyn: Dynamics | None
    _form: str

    def save_html(
        self,
        path: str | os.PathLike[str],
        *,
        ghosts: Sequence[Any] = (),
        traces: Any = (),
        arrows: Any = (),
        plots: Any = (),
    ) -> Path:
        """Write a page that plays the run, as one file without network access.

            run.save_html("replay.html", traces=[tool], arrows=["q1"], plots=["q1", "energy"])

        Args:
            path: path of the file; an existing file is replaced.
            ghosts: other runs of the same model, drawn in grey with this one.
            traces: points, bodies or names of frames whose paths are drawn.
            arrows: names whose forces and torques on bodies are drawn: joints (on their children), constraints,
                contacts and other intermittent constraints, and loads ("Motor on q1", as in power ledgers).
            plots: names of coordinates, speeds, inputs, "kinetic_energy", "potential_energy" and "energy" that are
                plotted from the start; others can be selected on the page.

        Raises:
            ModelError: unknown names, runs of other models, nothing to draw, or a run from a file without its model.
            FileError: the file cannot be written.
        """
        return page_of(self, ghosts=ghosts, traces=traces, arrows=arrows, plots=plots).save(path)

    def save_video(
        self,
        path: str | os.PathLike[str],
        *,
        fps: float = 30.0,
        speed: float = 1.0,
        size: tuple[int, int] = (640, 480),
        arrows: Any = (),
    ) -> Path:
        """Write a video of the run: an animated GIF, or MP4 or WebM by the program ffmpeg.

            run.save_video("bar.mp4", fps=60)

        Args:
            path: path of the file, with suffix .gif, .mp4 or .webm; an existing file is replaced.
            fps: frames per second, at most 50 in a GIF.
            speed: seconds of the run per second of the video.
            size: width and height [pixels], even numbers.
            arrows: names whose forces and torques are drawn, as for ``save_html``.

        Raises:
            ModelError: an invalid argument, nothing to draw, or a run from a file without its model.
            FileError: the file cannot be written, or ffmpeg is not installed.
        """
        from kane.simulation.results.film import save_video  # imported late: needs matplotlib

        return save_video(self, path, fps=fps, speed=speed, size=size, arrows=arrows)

    def _repr_html_(self) -> str:
        """Return a plot of the recorded quantities for notebooks."""
        run: Any = self
        if len(run) < FEWEST_PLOTTED:
            return f"<pre>{escape(repr(self))}</pre>"
        drawn = BytesIO()
        run.plot().savefig(drawn, format="svg", bbox_inches="tight")
        return f"<p>{escape(repr(self))}</p>{drawn.getvalue().decode()}"

    def dynamics(self) -> Dynamics:
        """Return the dynamics of the run; for a run from a file, build them from its model.

        Raises:
            ModelError: the file does not contain its model.
        """
        return dynamics_of(self)

    def _model_form(self) -> str:
        """Return the model as text for files; empty if it cannot be written."""
        from kane.model.model_form import model_form

        if self._dyn is None:
            return self._form
        try:
            require_bodies(self._dyn.equations, "the model")
            return json.dumps(model_form(self._dyn.equations.model))
        except (FileError, ModelError):  # the model has joints or loads of the user's own classes, or no bodies
            return ""

    @abstractmethod
    def _values(self, name: str) -> NDArray[Any]:
        """Return the values of a variable or a coordinate of the record."""


def page_of(
    run: Replayed,
    *,
    ghosts: Sequence[Any] = (),
    traces: Any = (),
    arrows: Any = (),
    plots: Any = (),
    model: Equations | None = None,
) -> Page:
    """Return the page of ``save_html``, for servers; ``model`` is for a run from a file without its model."""
    from kane.display.thinned_run import replay_page

    known = dynamics_of(run, model)
    others = list_argument(ghosts, "ghosts", "runs")
    for other in others:
        if not isinstance(other, Replayed):
            raise ModelError(f"{shown(other)} is not a run; ghosts are runs of the same model")
        if names_of(other, "coordinate") != names_of(run, "coordinate"):
            raise ModelError("a ghost has other coordinates than the run; give runs of one model")
    named = words(arrows, "arrows", "names of joints, constraints and loads")
    runs = [shown_run(run, "run", known, named)]
    runs += [shown_run(other, f"ghost {k}", known, ()) for k, other in enumerate(others, start=1)]
    return replay_page(known.equations, runs, parameters=parameters_of(run), traces=traces, plots=plots)


def shown_run(run: Any, name: str, dyn: Dynamics, arrows: Sequence[str]) -> ShownRun:
    """Return this run in the form of a page."""
    from kane.display.thinned_run import ShownRun
    from kane.simulation.results.force_arrows import arrows_of

    series = {word: run[word] for kind in ("coordinate", "speed", "input") for word in names_of(run, kind)}
    series |= {word: run[word] for word in ("kinetic_energy", "potential_energy")} | {ENERGY: run.energy}
    events = [(e.time, e.name, str(getattr(e, "cause", "") or "")) for e in run.events]
    forces = arrows_of(run, dyn, arrows)
    return ShownRun(name, run.time, run.q, series, events, forces, _bands(run, dyn))


def _bands(run: Any, dyn: Dynamics) -> list[Band]:
    """Return when intermittent constraints are active, and the bodies that they connect."""
    from kane.display.guess import bodies_of
    from kane.display.thinned_run import Band, spans

    intermittents = [] if run.contact_log is None else [c.constraint for c in dyn.equations.intermittents]
    return [Band(c.name, spans(run.time, run.active(c.name)), bodies_of(dyn.equations.model, c)) for c in intermittents]
