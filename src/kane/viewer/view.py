"""view: show a model, a run, an ensemble, a stepper or a session in a browser."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.array_types import StateLike
from kane.display.live_motion import model_page, page, posed_form, sliders
from kane.display.page import Page
from kane.display.scene import scene_of
from kane.display.thinned_run import ShownRun, replay_page, trace_form
from kane.dynamics.dynamics import Dynamics
from kane.ensembles.ensemble import Ensemble
from kane.errors import ModelError, shown
from kane.expression.number_arguments import list_argument, number, require, whole
from kane.formulation.equations import Equations
from kane.formulation.formulate import formulate
from kane.haptics.session import Session
from kane.model.model import Model
from kane.model.named_vector import named_vector
from kane.simulation.results.replayed import page_of
from kane.simulation.results.trajectory import Trajectory
from kane.simulation.stepper import Stepper
from kane.viewer.hand import served_hand
from kane.viewer.websockets import Listener, PageServer, Served

_VIEWED_KINDS = {Trajectory: "run", Ensemble: "ensemble", Stepper: "stepper", Session: "session"}
# Largest number of ghosts of an ensemble; an eye can distinguish about this many motions.
MOST_GHOSTS = 24


class View:
    """Page that is served until ``close`` or the end of a ``with`` block.

    Attributes:
        url: address of the page on this machine; the part after # is the access token.
        inputs: inputs of a stepper, as set by pages with control: ``stepper.inputs = view.inputs`` applies them.
    """

    def __init__(self, shown_page: Served, inputs: dict[str, float], port: int) -> None:
        require(shown_page, Served, "a View is made by kane.view(...)")
        self.inputs = inputs
        self._server = PageServer(shown_page, port)
        self.url = self._server.url

    def close(self) -> None:
        """Stop serving."""
        self._server.close()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<View {self.url}>"

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}" target="_blank" rel="noreferrer">{self.url}</a>'


def view(
    source: Any,
    *,
    model: Any = None,
    q: StateLike | None = None,
    ghosts: Sequence[Any] = (),
    traces: Any = (),
    arrows: Any = (),
    plots: Any = (),
    control: bool = False,
    port: int = 0,
) -> View:
    """Serve a page that shows a model, a run, an ensemble, a stepper while it steps, or a session while it runs.

    A model has a slider for each coordinate, and its loops stay closed. A run plays. An ensemble shows its first
    completed motion in colour, and others as ghosts. A stepper is shown at its current state, 60 times a second. A
    running session is shown with the proxy and the forces; a closed session plays.

    The server listens on 127.0.0.1 only and requires the token in the address. Pages are read-only, unless ``control``
    lets them set the inputs of a stepper, or the device of a session is a ``kane.haptics.Pointer``.

        view = kane.view(run, ghosts=[other], traces=[tool], arrows=["q1"]); print(view.url); view.close()

    Args:
        source: a Model, Equations, Dynamics, Trajectory, Ensemble, Stepper or Session.
        model: Model, Equations or Dynamics of an ensemble, or of a run whose file does not contain the model.
        q: initial coordinates of a model, an array or a dict by name; neutral by default.
        ghosts, traces, arrows, plots: as in ``Trajectory.save_html``; steppers and sessions take ``traces`` only.
        control: whether pages may set the inputs of a stepper; the user's loop reads them from ``view.inputs``.
        port: port of the server; by default any free port.

    Raises:
        ModelError: the source cannot be shown, nothing is visible, a name is unknown, the port is in use, or
            websockets is not installed.
    """
    where = whole(port, "port", 0)
    require(control, bool, "control= says whether pages may set inputs, True or False")
    options = {"ghosts": ghosts, "traces": traces, "arrows": arrows, "plots": plots}
    _refuse_unused(source, options)
    if isinstance(source, Stepper):
        return _stepper_view(source, traces, control, where)
    if isinstance(source, Session) and not source.is_closed and not control:
        return View(served_hand(source, list_argument(traces, "traces", "points or names of bodies")), {}, where)
    if control:
        raise ModelError("control= is for a Stepper: there is nothing else that pages could set")
    made = _page_of(source, model, q, options)
    message = made.message()
    return View(Served(made.title, lambda: message), {}, where)


def _refuse_unused(source: Any, options: dict[str, Any]) -> None:
    """Raise if an option is given that the page of this source does not use."""
    shown_of = {"traces": (Trajectory, Ensemble, Stepper, Session), "plots": (Trajectory, Ensemble)}
    for word, given in options.items():
        kinds = shown_of.get(word, (Trajectory,))
        if not isinstance(source, kinds) and not (isinstance(given, tuple | list) and not given):
            raise ModelError(f"{word}= is for a {' or '.join(_VIEWED_KINDS[kind] for kind in kinds)}; leave it out")


def _page_of(source: Any, model: Any, q: Any, options: dict[str, Any]) -> Page:
    if isinstance(source, Trajectory):
        return page_of(source, **options, model=None if model is None else equations_of(model))
    if isinstance(source, Session):
        return source.page(options["traces"])
    if isinstance(source, Ensemble):
        if model is None:
            raise ModelError("an ensemble does not hold its model; give it: kane.view(ensemble, model=model)")
        return _ensemble_page(source, equations_of(model), options)
    eqs = equations_of(source)
    x = named_vector(q, [leaf.name for leaf in eqs.q], eqs.neutral, "coordinate")
    return model_page(eqs, start=(0.0, [*x, *(0.0 for _ in eqs.u)]), parameters={})


def equations_of(source: Any) -> Equations:
    """Return the equations of a Model, Equations or Dynamics.

    Raises:
        ModelError: ``source`` is another object.
    """
    if isinstance(source, Model):
        return formulate(source)
    if isinstance(source, Equations):
        return source
    if isinstance(source, Dynamics):
        return source.equations
    raise ModelError(
        f"{shown(source)} cannot be viewed; kane.view takes a model, a run, an ensemble, a stepper or a session, "
        "kane.draw3d takes a model and its state, q= and u="
    )


def _ensemble_page(many: Ensemble, equations: Equations, options: dict[str, Any]) -> Page:
    """Return a page with the first completed motions of an ensemble."""
    names = [leaf.name for leaf in equations.q]
    if list(many.layout.coordinates) != names:
        raise ModelError(f"the ensemble has the coordinates {', '.join(many.layout.coordinates)}, the model {names}")
    ended = np.flatnonzero(many.finished)[: 1 + MOST_GHOSTS]
    if not len(ended):
        raise ModelError("no motion of the ensemble was completed; see its failures")
    courses = (*many.layout.coordinates, *many.layout.speeds)
    runs = [
        ShownRun(
            f"trajectory {i}", many.time, many.q[i], {word: many[word][i] for word in courses} if i == ended[0] else {}
        )
        for i in map(int, ended)
    ]
    values = np.broadcast_to(many.parameters, (len(many), many.parameters.shape[1]))[ended[0]]
    parameters = dict(zip(many.layout.parameters, map(float, values), strict=True))
    return replay_page(equations, runs, parameters=parameters, traces=options["traces"], plots=options["plots"])


def _stepper_view(stepper: Stepper, traces: Any, control: bool, port: int) -> View:
    """Serve a page that shows the current state of a stepper."""
    eqs = stepper.equations
    inputs = dict(zip([leaf.name for leaf in eqs.inputs], map(float, stepper.inputs), strict=True))
    parameters = stepper.parameters
    scene = scene_of(eqs, parameters=parameters, q=stepper.q)
    frames = (eqs.bodies[0], *eqs.posed)
    traced = [trace_form(t, eqs, frames) for t in list_argument(traces, "traces", "points or names of bodies")]

    def message() -> str:
        ranges = [s._asdict() for s in sliders(eqs, list(inputs), {**eqs.defaults, **inputs})] if control else []
        extra = {"sliders": ranges, "traces": traced, "control": control, "subtitle": "a stepper, as it steps"}
        start = stepper.time, [*stepper.q, *stepper.u]
        return page("stream", eqs, scene, posed_form(eqs, parameters), start=start, programs=(), extra=extra).message()

    def frame() -> bytes:
        x = (stepper.time, *stepper.q.tolist(), *stepper.u.tolist())
        return struct.pack(f"<{len(x)}d", *x)

    title = f"{eqs.name} - kane"
    return View(Served(title, message, frame, (lambda: _Steering(inputs)) if control else None), inputs, port)


class _Steering(Listener):
    """Listener that sets the inputs named by a page."""

    def __init__(self, inputs: dict[str, float]) -> None:
        self._inputs = inputs

    def hear(self, said: Mapping[str, Any]) -> str:
        name, value = said["input"], number(said["value"], "the value of an input")
        if name not in self._inputs:
            return "there is no such input"
        self._inputs[name] = value
        return ""

    def leave(self) -> None:
        """Keep the inputs as they are."""
