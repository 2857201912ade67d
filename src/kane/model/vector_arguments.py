"""Checks for the arguments of constraints, shapes and loads: points, directions, lengths, parameters, coordinates."""

from __future__ import annotations

import math
from typing import Any

from kane.errors import ModelError
from kane.expression.functions import sqrt
from kane.expression.interpret import interpret
from kane.expression.node import Expr, Scalar
from kane.expression.number_arguments import require
from kane.expression.operations import COORDINATE, OPERATIONS, PARAMETER, TIME
from kane.expression.traverse import leaves
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Triple, cross, dot
from kane.model.body import Body, Direction, Mechanism, Point
from kane.model.checks import cure_of, require_fixed
from kane.model.connection import Connection, JointCoordinate
from kane.model.requirements import POSITIVE, REQUIRED, Requirement


def require_points(who: str, *points: Any) -> None:
    """Raise ModelError unless all arguments are points fixed in bodies of one model."""
    for P in points:
        require(P, Point, f"{who} takes points such as body.point((0, 0, 0.1))")
        require_fixed(P.position_in_body, f"the position of a point of body {P.body.name!r} in {who}")
    require_one_model(who, *(P.body for P in points))


def require_direction(who: str, direction: Any) -> None:
    """Raise ModelError unless the argument is a nonzero direction fixed in a body."""
    require(direction, Direction, f"{who} takes a direction such as body.x")
    require_fixed(direction.components, f"a direction of body {direction.body.name!r} in {who}")
    if all(at_defaults(direction.body.model, x) == 0.0 for x in direction.components):
        raise ModelError(
            f"{who} has the direction (0, 0, 0) of body {direction.body.name!r}; give one that is not zero"
        )
    square = f"the square of a direction of body {direction.body.name!r} in {who}"
    require_of_parameters(direction.body.model, square, POSITIVE, dot(direction.components, direction.components))


def require_one_model(who: str, *bodies: Body) -> None:
    """Raise ModelError if the bodies belong to different models."""
    for body in bodies[1:]:
        if body.model is not bodies[0].model:
            raise ModelError(
                f"{who} joins body {bodies[0].name!r} and body {body.name!r} of another model; build everything with "
                "one model"
            )


def require_two_bodies(who: str, A: Body, B: Body) -> None:
    """Raise ModelError if both bodies are the same or belong to different models."""
    require_one_model(who, A, B)
    if A is B:
        raise ModelError(f"{who} restricts nothing: both are fixed in body {A.name!r}; give two bodies")


def require_positive(model: Mechanism, value: Any, what: str) -> None:
    """Raise ModelError unless a length [m] depends on parameters only and is positive at their default values."""
    x = model.scalar(value, what)
    require_fixed([x], what)
    known = at_defaults(model, x)
    if not known > 0.0:
        raise ModelError(f"{what} is {known:.12g} m; give a positive number")
    require_of_parameters(model, what, POSITIVE, x)


def require_geometric(model: Mechanism, value: Any, what: str) -> Scalar:
    """Return ``value`` as a number or an expression of coordinates, parameters and time; raise ModelError otherwise."""
    x = model.scalar(value, what)
    found = leaves([x]) if isinstance(x, Expr) else []
    wrong = [x for x in found if x.op not in (COORDINATE, PARAMETER, TIME)]
    if wrong:
        names = ", ".join(f"the {OPERATIONS[x.op].name} {x.data}" for x in wrong)
        may = "it may depend on coordinates, parameters and time"
        raise ModelError(f"{what} depends on {names}; {may}{cure_of(wrong)}")
    return x


def require_of_parameters(model: Mechanism, what: str, kind: str, *given: Scalar) -> None:
    """Require that a quantity of a model satisfies a condition, now and in every run.

    Numbers, and expressions that depend on anything but parameters, are ignored; the caller checks these.

    Raises:
        ModelError: the condition fails at the default values of the parameters.
    """
    expressions = tuple(model.arena.lift(x) for x in given)
    found = leaves(expressions)
    if not found or any(leaf.op != PARAMETER for leaf in found):
        return
    requirement = Requirement(what, kind, expressions)
    defaults = {leaf: model.parameters[leaf.name] for leaf in found}
    value = requirement.quantity(defaults)
    if REQUIRED[kind].fails(value):
        raise ModelError(requirement.fault(float(value), model.parameters))
    if requirement not in model.requirements:
        model.requirements.append(requirement)


def coordinate(who: str, target: Any) -> JointCoordinate:
    """Return the coordinate that is meant by a joint with one coordinate, or by ``joint["name"]``."""
    if isinstance(target, Connection):
        if len(target.coordinates) != 1:
            count, names = len(target.coordinates), target.coordinate_names
            cure = f'give one of them, such as joint["{names[0]}"]' if names else "give a joint that has a coordinate"
            raise ModelError(
                f"{who} takes one coordinate, but joint {target.name!r} is {type(target.joint).__name__} with "
                f"{count} coordinates; {cure}"
            )
        target = JointCoordinate(target)
    require(target, JointCoordinate, f"{who} takes a joint, which Model.connect returns, or one coordinate of it")
    return target


def at_defaults(model: Mechanism, value: Scalar) -> float:
    """Return an expression of parameters evaluated at their defaults; NaN if it depends on anything else."""
    if not isinstance(value, Expr):
        return float(value)
    if any(leaf.op != PARAMETER for leaf in leaves([value])):
        return math.nan
    return float(interpret([value], {model.arena.leaf(PARAMETER, p): x for p, x in model.parameters.items()})[0])


def unit(direction: Direction) -> Triple:
    """Return the measure numbers of the unit vector along a direction, in the frame of its body."""
    length = sqrt(dot(direction.components, direction.components))
    return tuple(x / length for x in direction.components)


def normals(direction: Direction) -> tuple[Triple, Triple]:
    """Return unit vectors n1, n2, fixed in the direction's body, with n1 x n2 along the direction.

    If the direction depends on parameters, their default values select the axis from which n1 is computed. This n1
    becomes undefined only at parameter values that turn the direction by at least 55 deg.
    """
    n = unit(direction)
    sizes = [abs(at_defaults(direction.body.model, x)) for x in n]
    e = tuple(float(k == sizes.index(min(sizes))) for k in range(3))
    across = cross(e, n)
    length = sqrt(dot(across, across))
    first = tuple(x / length for x in across)
    return first, cross(n, first)


def upright(direction: Direction) -> Rotation:
    """Return R_BS for axes S fixed in the direction's body B, with the third axis of S along the direction."""
    first, second = normals(direction)
    return Rotation.matrix(tuple(zip(first, second, unit(direction), strict=True)))
