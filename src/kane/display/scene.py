"""Scenes: shapes of bodies, numerically, and the program of their poses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kane.codegen.programs.program import Program
from kane.deferred import dataclass
from kane.display.forms import UNIT_FORM_NAMES, Triangles, unit_form
from kane.display.guess import guessed, nodes_of, ties_of
from kane.display.piece import Array, DrawnPiece, Tie
from kane.errors import ModelError
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import program
from kane.model.model import Model
from kane.model.shapes.part import ENDLESS_SIZE, Solid
from kane.model.shapes.shape import Shape
from kane.model.shapes.trimesh import read_mesh

# Length at which unbounded shapes of the ground are drawn, relative to the scene.
UNBOUNDED_SHAPE_EXTENT = 6.0
# Length at which unbounded shapes of moving bodies are drawn, such as the pad of a finger, relative to the scene.
PATCH = 0.1


@dataclass(frozen=True)
class Scene:
    """Visible form of a model.

    Attributes:
        name: name of the model.
        frames: names of the ground, the bodies, then named frames.
        bodies: number of frames that are bodies, including the ground.
        pieces, ties: forms and lines to be drawn.
        size: size of the mechanism at the coordinates given to ``scene_of`` [m].
        up: unit vector opposite to gravity, or z.
        where: program of poses: R_NP by rows and p_NoPo of each frame but the ground.
    """

    name: str
    frames: tuple[str, ...]
    bodies: int
    pieces: tuple[DrawnPiece, ...]
    ties: tuple[Tie, ...]
    size: float
    up: tuple[float, float, float]
    where: Program

    @cached_property
    def forms(self) -> dict[str | Solid, Triangles]:
        """Forms of the pieces; meshes are read at the first access.

        Raises:
            ModelError: trimesh is not installed.
            ImportFileError: a mesh cannot be read; the message names the file.
        """
        names = dict.fromkeys((*UNIT_FORM_NAMES, *(p.form for p in self.pieces)))
        return {name: load_triangles(name) for name in names}


def load_triangles(form: str | Solid) -> Triangles:
    """Return the triangles of a unit form (by name), a mesh (by path) or a solid."""
    if form in UNIT_FORM_NAMES:
        return unit_form(form)
    corners, faces = form if isinstance(form, Solid) else read_mesh(form)
    points = np.array(corners)
    return Triangles(points, np.zeros_like(points), np.array(faces))


class Numbers:
    """Numerical values of expressions of parameters."""

    def __init__(self, equations: Equations, parameters: Mapping[str, float]) -> None:
        known = {**equations.defaults, **parameters}
        self.values = {leaf: float(known[leaf.name]) for leaf in (*equations.parameters, *equations.inputs)}
        self.values |= {leaf: interpret([x], self.values)[0] for leaf, x in equations.baked.items()}

    def of(self, values: Iterable[Any]) -> Array:
        """Return the values of numbers and expressions."""
        given = list(values)
        found = iter(interpret([x for x in given if isinstance(x, Expr)], self.values))
        return np.array([next(found) if isinstance(x, Expr) else x for x in given], float)


def poses_at(where: Program, state: Sequence[float], numbers: Numbers) -> tuple[Array, Array]:
    """Return R_NP (frames, 3, 3) and p_NoPo (frames, 3) at a state [t, q, u], ground first, without compiling."""
    values = {**numbers.values, **dict(zip(where.state, map(float, state), strict=True))}
    found = np.array(interpret(where.outputs, values), float).reshape(-1, 12)
    R, p = np.concatenate([np.eye(3)[None], found[:, :9].reshape(-1, 3, 3)]), found[:, 9:]
    return R, np.concatenate([np.zeros((1, 3)), p])


def scene_of(equations: Equations, *, parameters: Mapping[str, float] | None = None, q: Any = None) -> Scene:
    """Return the scene of a model.

    Bodies without shapes are drawn as an ellipsoid with their mass and inertia, and rods between their joints.

    Args:
        parameters: values by name; missing ones have their defaults.
        q: coordinates at which the size is measured; neutral by default.

    Raises:
        ModelError: the model has no bodies.
    """
    model = equations.model
    if len(model.bodies) < 2:
        raise ModelError(f"{equations.name!r} has no bodies, so there is nothing to see; add some with model.body")
    numbers, where = Numbers(equations, parameters or {}), program(equations, "poses")
    state = [0.0, *(equations.neutral if q is None else q), *(0.0 for _ in equations.u)]
    nodes = nodes_of(model, numbers)
    R, p = poses_at(where, state, numbers)
    touching = [*_surfaces(model)]
    shown = [*_declared([*model.shapes, *touching], numbers, 0.0, 0.0)]
    size = _size([p[i] + R[i] @ x for i, points in nodes.items() for x in points], shown)
    whole = (s for s in (*model.shapes, *touching) if s in model.shapes or not _is_endless(s))
    bare = set(range(1, len(model.bodies))) - {shape.origin.body.index for shape in whole}
    made = _declared([*model.shapes, *touching], numbers, UNBOUNDED_SHAPE_EXTENT * size, PATCH * size)
    pieces = [*made, *guessed(model, nodes, bare, size, numbers)]
    up = -numbers.of(model.gravity)
    up = up / np.linalg.norm(up) if np.linalg.norm(up) > 0.0 else np.array([0.0, 0.0, 1.0])
    return Scene(
        equations.name,
        (equations.bodies[0], *equations.posed),
        len(model.bodies),
        tuple(pieces),
        tuple(ties_of(model, numbers)),
        size,
        (float(up[0]), float(up[1]), float(up[2])),
        where,
    )


def _surfaces(model: Model) -> Iterable[Shape]:
    """Yield the contact surfaces of bodies, or of the ground, without declared shapes."""
    message = {shape.origin.body for shape in model.shapes}
    for shape in dict.fromkeys(shape for c in model.intermittents for shape in c.surfaces):
        if shape.origin.body not in message:
            yield shape


def _is_endless(shape: Shape) -> bool:
    """Check whether a shape is unbounded, such as the plane of a pad."""
    return any(ENDLESS_SIZE in part.size for part in shape.parts())


def _declared(shapes: Sequence[Shape], numbers: Numbers, far: float, patch: float) -> Iterable[DrawnPiece]:
    """Yield the pieces of shapes; unbounded sides have the length ``far`` in the ground, ``patch`` in moving bodies."""
    for shape in shapes:
        body = shape.origin.body.index
        endless = patch if body else far
        for part in shape.parts():
            at, size = numbers.of(part.position), numbers.of(part.size)
            size = np.where(size == ENDLESS_SIZE, endless, size)
            R = np.array([numbers.of(row) for row in part.orientation.entries])
            yield DrawnPiece(body, part.form, R * size, at, "shape" if body else "ground")


def _size(points: Sequence[Array], shown: Sequence[DrawnPiece]) -> float:
    """Return the longest side of the bounding box, or the largest piece if that is longer [m]; 1 if both are zero."""
    extents = [float(np.linalg.norm(piece.stretch, axis=0).max()) for piece in shown]
    across = np.ptp(np.array(points), axis=0).max() if len(points) else 0.0
    found = max([float(across), *extents])
    return found if found > 0.0 else 1.0
