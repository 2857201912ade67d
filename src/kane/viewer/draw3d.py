"""draw3d: a picture of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kane.display.motion import looked_at
from kane.display.scene import Numbers, poses_at, scene_of
from kane.errors import ModelError, shown
from kane.expression.arguments import number
from kane.model.named_vector import named_vector
from kane.viewer.view import equations_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw3d(
    model: Any,
    *,
    q: Any = None,
    t: float = 0.0,
    parameters: Mapping[str, float] | None = None,
    size: tuple[float, float] = (4.0, 3.0),
) -> Figure:
    """A model as a solid picture, for papers and notebooks.

        kane.draw3d(bar, q=start.q).savefig("bar.png", dpi=300)

    It is seen from far away, without perspective: what is parallel stays so. Coordinates are taken as they are; where
    there are loops give those that ``kane.assemble`` found.

    Args:
        model: a Model, Equations or Dynamics.
        q: coordinates, an array or a dict from some of the names to numbers; neutral unless given.
        t: time, where poses depend on it [s].
        parameters: those that are not at their defaults, by name.
        size: of the figure [inches].

    Returns:
        A figure of matplotlib, which belongs to no window.

    Raises:
        ModelError: no model, nothing to see, unknown names.
    """
    from kane.display.solid_picture import SolidPicture  # imports matplotlib

    eqs = equations_of(model)
    names = [leaf.name for leaf in eqs.parameters]
    given = named_vector(parameters, names, [eqs.defaults[name] for name in names], "parameter")
    values = dict(zip(names, map(float, given), strict=True))
    x = named_vector(q, [leaf.name for leaf in eqs.q], eqs.neutral, "coordinate")
    if not isinstance(size, tuple | list) or len(size) != 2 or not min(number(s, "size", "inches") for s in size) > 0:
        raise ModelError(
            f"the size of a picture is {shown(size)}; give two positive numbers, its width and height in inches"
        )
    scene, numbers = scene_of(eqs, parameters=values, q=x), Numbers(eqs, values)
    state = [number(t, "t", "seconds"), *x, *(0.0 for _ in eqs.u)]
    picture = SolidPicture(scene, looked_at(eqs, scene, state, numbers))
    poses = poses_at(scene.where, state, numbers)
    extent = picture.extent([poses])
    figure, axes = picture.figure(extent, (float(size[0]), float(size[1])))
    picture.draw(axes, *poses, extent[2])
    return figure
