"""The ten inertial parameters of bodies as parameters of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.number_arguments import require, words
from kane.expression.operations import PARAMETER
from kane.geometry.inertia import shift_from_mass_centre, six
from kane.geometry.scalars import is_number, is_zero, scaled
from kane.model.body import Body, own_body
from kane.model.model import Model
from kane.model.model_form import declare, described, model_reader, model_writer

# Suffixes to a body's name: mass, first moment (3), and inertia about the origin (6).
INERTIAL_SUFFIXES = ("m", "mx", "my", "mz", "xx", "yy", "zz", "xy", "xz", "yz")


def inertial_parameters(model: Model, bodies: Sequence[str] | None = None) -> Model:
    """Return a copy of a model in which the mass properties of bodies are parameters; the old values are the defaults.

        model = kane.inertial_parameters(kane.load_urdf("ur5.urdf"))

    Each body B gets ten parameters, in which the equations of motion are linear:

    * mass B_m [kg],
    * first moment about the origin Bo: B_mx, B_my, B_mz [kg m],
    * inertia about Bo along the axes of B: B_xx, B_yy, B_zz, B_xy, B_xz, B_yz [kg m^2].

    Args:
        model: with numeric mass properties, for instance from a file; it is not changed. Find bodies, joints and loads
            of the copy by name (``copy.bodies``, ``copy.connections``). Both models share their expressions.
        bodies: names of bodies; by default all bodies with a numeric, nonzero mass.

    Raises:
        ModelError: an unknown body, a body whose mass properties are already expressions, or a name that is taken.
    """
    require(model, Model, "inertial_parameters takes a kane.Model")
    if bodies is None:
        chosen = [b for b in model.bodies[1:] if is_number(b.mass) and not is_zero(b.mass)]
    else:
        chosen = [own_body(model, name) for name in words(bodies, "bodies", "names of bodies")]
    foreign: list[Any] = []
    write = model_writer(model, foreign)
    content = described(model, write)
    for body in chosen:
        values = ten_numbers(body)
        names = [f"{body.name}_{suffix}" for suffix in INERTIAL_SUFFIXES]
        m, *rest = (model.arena.leaf(PARAMETER, name) for name in names)
        content["parameters"] += [[name, write(value, name)] for name, value in zip(names, values, strict=True)]
        moments = write((tuple(rest[:3]), tuple(rest[3:])), body.name)
        content["bodies"][body.index - 1] = {"name": body.name, "mass": write(m, body.name), "moments": moments}
    copy = Model(model.name)
    copy.arena = model.arena
    declare(copy, content, model_reader(copy, foreign))
    return copy


def ten_numbers(body: Body) -> list[Any]:
    """Return mass, first moment and inertia about the origin, in the order of ``INERTIAL_SUFFIXES``.

    Raises:
        ModelError: a value is an expression, or the body is the ground.
    """
    first = scaled(body.mass, body.com)
    found = [body.mass, *first, *six(shift_from_mass_centre(body.inertia, body.mass, body.com))]
    if any(isinstance(x, Expr) for x in found):
        raise ModelError(
            f"mass properties of body {body.name!r} are expressions; kane.identify takes the parameters in them"
        )
    if body.index == 0:
        raise ModelError("the ground does not move; name other bodies")
    return [float(x) for x in found]
