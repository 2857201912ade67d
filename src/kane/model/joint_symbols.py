"""Names of the coordinates and speeds that a joint adds to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.model.checks import require_coordinate_expression, require_word
from kane.model.joints.joint import Joint

if TYPE_CHECKING:
    from kane.model.model import Model


def joint_symbols(model: Model, joint: Joint, title: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a joint's own coordinates and speeds; both are empty if an expression is its coordinate.

    Raises:
        ModelError: a name is no word or occurs twice, or the label of the joint is neither a name nor an expression.
    """
    label = joint.label
    if isinstance(label, (str, tuple)):
        stem = label if isinstance(label, str) else title
        for word in (stem, *(label if isinstance(label, tuple) else ())):
            require_word(word)
        coordinates, speeds = joint.coordinate_names(stem), joint.speed_names(stem)
        symbols = (*coordinates, *speeds)
        if len(set(symbols)) != len(symbols):
            raise ModelError(f"two of the names {', '.join(symbols)} of joint {title!r} are the same; give others")
        return coordinates, speeds
    if isinstance(label, Expr) and joint.one_dof:
        require_coordinate_expression(model, label, title)
    elif joint.nq:
        cure = "a name, or an expression of other coordinates and time" if joint.one_dof else "a name"
        raise ModelError(f"the coordinate of joint {title!r} is {shown(label)}; give {cure}")
    return (), ()
