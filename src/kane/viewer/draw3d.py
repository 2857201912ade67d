"""draw3d: a picture of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.array_types import StateLike
from kane.display.arrows import Arrow, DrawnArrow, drawn_arrows, legend, scales_of, without_rounding
from kane.display.live_motion import looked_at
from kane.display.scene import Numbers, poses_at, scene_of
from kane.dynamics.build import build
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.reactions.exerted_forces import StatesOfArrows, acting
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number, words
from kane.model.named_vector import named_vector
from kane.viewer.view import equations_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw3d(
    model: Any,
    *,
    q: StateLike | None = None,
    u: StateLike | None = None,
    t: float = 0.0,
    inputs: Any = None,
    parameters: Mapping[str, float] | None = None,
    arrows: Any = (),
    size: tuple[float, float] = (4.0, 3.0),
) -> Figure:
    """Draw a model as a solid picture in parallel projection, for papers and notebooks.

    Coordinates are drawn as given, without projection; for models with loops, give coordinates of ``kane.assemble``.

        kane.draw3d(bar, q=start.q).savefig("bar.png", dpi=300)
        kane.draw3d(bar, q=start.q, u=start.u, arrows=["q1", "loop"])

    Args:
        model: a Model, Equations or Dynamics.
        q: coordinates, an array or a dict by name; missing ones are neutral.
        u: speeds, for forces that depend on them; zero by default.
        t: time, for poses or forces that depend on it [s].
        inputs: inputs, for forces that depend on them, an array or a dict by name; missing ones have their defaults.
        parameters: parameter values by name; missing ones have their defaults.
        arrows: names of joints, constraints and loads whose forces and torques on bodies are drawn. The largest force
            is half as long as the mechanism.
        size: width and height of the figure [inches].

    Returns:
        A matplotlib figure without a window.

    Raises:
        ModelError: ``model`` is not a model, it has no bodies, or a name is unknown.
    """
    from kane.display.solid_picture import SolidPicture  # imports matplotlib

    eqs = equations_of(model)
    names = [leaf.name for leaf in eqs.parameters]
    given = eqs.parameter_bounds.given(parameters)
    values = dict(zip(names, map(float, given), strict=True))
    x = named_vector(q, [leaf.name for leaf in eqs.q], eqs.neutral, "coordinate")
    if not isinstance(size, tuple | list) or len(size) != 2 or not min(number(s, "size", "inches") for s in size) > 0:
        raise ModelError(
            f"the size of a picture is {shown(size)}; give two positive numbers, its width and height in inches"
        )
    scene, numbers = scene_of(eqs, parameters=values, q=x), Numbers(eqs, values)
    speeds = named_vector(u, [leaf.name for leaf in eqs.u], [0.0] * len(eqs.u), "speed")
    given_inputs = named_vector(
        inputs, [i.name for i in eqs.inputs], [eqs.defaults[i.name] for i in eqs.inputs], "input"
    )
    state = [number(t, "t", "seconds"), *x, *speeds]
    picture = SolidPicture(scene, looked_at(eqs, scene, state, numbers))
    pose = poses_at(scene.where, state, numbers)
    names = words(arrows, "arrows", "names of joints, constraints and loads")
    shown_arrows, words_beside = _arrows(model, names, (state, given_inputs, values), scene.size, pose)
    extent = picture.extent([pose], [arrow.end for arrow in shown_arrows])
    figure, axes = picture.figure(extent, (float(size[0]), float(size[1])))
    picture.draw(axes, pose, extent[2], shown_arrows)
    picture.write_legend(axes, words_beside)
    return figure


def _arrows(
    model: Any, names: Sequence[str], at: tuple[Sequence[float], Any, dict[str, float]], size: float, pose: Any
) -> tuple[list[DrawnArrow], list[tuple[str, int | None]]]:
    """Return the named forces and torques on bodies at one state as arrows, and the lines of the legend."""
    if not names:
        return [], []
    dyn = model if isinstance(model, Dynamics) else build(equations_of(model))
    (t, *x), inputs, values = at
    count = len(dyn.equations.q)
    q, u, given = (np.array([row], float) for row in (x[:count], x[count:], inputs))
    states = StatesOfArrows(q, u, given, np.array([t]), values)
    found = [without_rounding(Arrow(*acted), size) for name in names for acted in acting(dyn, name, states)]
    scales = scales_of(found, size)
    return list(drawn_arrows(found, 0, pose, scales)), legend(found, scales)
