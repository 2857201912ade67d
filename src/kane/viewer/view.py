"""view: look at a model, a run, an ensemble or a stepper in a browser."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.display.motion import model_page, page, posed_form, sliders
from kane.display.page import Page
from kane.display.replay import ShownRun, replay_page, trace_form
from kane.display.scene import scene_of
from kane.dynamics.dynamics import Dynamics
from kane.ensembles.ensemble import Ensemble
from kane.errors import ModelError, shown
from kane.expression.arguments import listed, number, require, whole
from kane.formulation.equations import Equations
from kane.formulation.formulate import formulate
from kane.haptics.session import Session
from kane.model.model import Model
from kane.model.named_vector import named_vector
from kane.simulation.recorded.replayed import page_of
from kane.simulation.recorded.trajectory import Trajectory
from kane.simulation.stepper import Stepper
from kane.viewer.hand import served_hand
from kane.viewer.websockets import Listener, PageServer, Served

_VIEWED_KINDS = {Trajectory: "run", Ensemble: "ensemble", Stepper: "stepper", Session: "session"}
# As many motions of an ensemble as an eye can tell apart.
MOST_GHOSTS = 24


class View:
    """A page that is being served; ``close`` ends it, as the end of a ``with`` statement does.

    Attributes:
        url: where to open it, on this machine; the part behind # is the token that lets one in.
        inputs: of a stepper, as pages with control have set them: ``stepper.inputs = view.inputs``.
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
    q: Any = None,
    ghosts: Sequence[Any] = (),
    traces: Any = (),
    arrows: Any = (),
    plots: Any = (),
    control: bool = False,
    port: int = 0,
) -> View:
    """Serve a page that shows a model, a run, an ensemble, a stepper while it steps, or a session while it runs.

        view = kane.view(run, ghosts=[other], traces=[tool], arrows=["q1"]); print(view.url); view.close()

    A model is posed by sliders, one for each coordinate, its loops kept closed; a run plays; of an ensemble the first
    motion that has an end is in colour and others are ghosts; a stepper is shown at the state it has reached, 60 times
    a second. The server listens on 127.0.0.1 and wants the token in the address. What is shown is the state when a page
    is opened; pages may only look, unless ``control`` lets them set the inputs of a stepper, or the device of a session
    is a ``kane.haptics.Pointer``. A session is shown with the image of the hand and the forces; one that is closed
    plays.

    Args:
        source: a Model, Equations or Dynamics, a Trajectory, an Ensemble, a Stepper, a Session.
        model: of an ensemble, and of a run from a file that does not hold it: a Model, Equations or Dynamics.
        q: coordinates of a model to begin with, an array or a dict by name; neutral unless given.
        ghosts, traces, arrows, plots: as of ``Trajectory.save_html``; traces of a stepper and a session too.
        control: that pages may set inputs, which ``view.inputs`` has and the loop of the stepper hands on.
        port: where to listen; any that is free unless given.

    Raises:
        ModelError: a source that cannot be shown, nothing to see, unknown names, a port in use, or websockets is not
            installed.
    """
    where = whole(port, "port", 0)
    require(control, bool, "control= says whether pages may set inputs, True or False")
    options = {"ghosts": ghosts, "traces": traces, "arrows": arrows, "plots": plots}
    _refuse_unused(source, options)
    if isinstance(source, Stepper):
        return _stepper_view(source, traces, control, where)
    if isinstance(source, Session) and not source.is_closed and not control:
        return View(served_hand(source, listed(traces, "traces", "points or names of bodies")), {}, where)
    if control:
        raise ModelError("control= is for a Stepper: there is nothing else that pages could set")
    made = _page_of(source, model, q, options)
    message = made.message()
    return View(Served(made.title, lambda: message), {}, where)


def _refuse_unused(source: Any, options: dict[str, Any]) -> None:
    """Refuse what the page of such a source does not show."""
    shown_of = {"traces": (Trajectory, Ensemble, Stepper, Session), "plots": (Trajectory, Ensemble)}
    for word, given in options.items():
        kinds = shown_of.get(word, (Trajectory,))
        if not isinstance(source, kinds) and not (isinstance(given, tuple | list) and not given):
            raise ModelError(f"{word}= is of a {' or '.join(_VIEWED_KINDS[kind] for kind in kinds)}; leave it out")


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
    """The equations of what has some.

    Raises:
        ModelError: it has none.
    """
    if isinstance(source, Model):
        return formulate(source)
    if isinstance(source, Equations):
        return source
    if isinstance(source, Dynamics):
        return source.equations
    raise ModelError(
        f"{shown(source)} cannot be viewed; kane.view takes a model, a run, an ensemble, a stepper or a session, "
        "kane.draw3d a model, at q= and u= of a moment"
    )


def _ensemble_page(many: Ensemble, equations: Equations, options: dict[str, Any]) -> Page:
    """The first motions of an ensemble that have an end, all in one page."""
    names = [leaf.name for leaf in equations.q]
    if list(many.layout.coordinates) != names:
        raise ModelError(f"the ensemble has the coordinates {', '.join(many.layout.coordinates)}, the model {names}")
    ended = np.flatnonzero(many.finished)[: 1 + MOST_GHOSTS]
    if not len(ended):
        raise ModelError("no motion of the ensemble has an end; see its failures")
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
    """The page of a stepper, and what feeds it."""
    eqs = stepper.equations
    inputs = dict(zip([leaf.name for leaf in eqs.inputs], map(float, stepper.inputs), strict=True))
    parameters = stepper.parameters
    scene = scene_of(eqs, parameters=parameters, q=stepper.q)
    frames = (eqs.bodies[0], *eqs.posed)
    traced = [trace_form(t, eqs, frames) for t in listed(traces, "traces", "points or names of bodies")]

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
    """Sets the inputs that a page names."""

    def __init__(self, inputs: dict[str, float]) -> None:
        self._inputs = inputs

    def hear(self, said: Mapping[str, Any]) -> str:
        name, value = said["input"], number(said["value"], "the value of an input")
        if name not in self._inputs:
            return "there is no such input"
        self._inputs[name] = value
        return ""

    def leave(self) -> None:
        """What was set stays."""
