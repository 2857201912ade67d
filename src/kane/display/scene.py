"""Scenes: what bodies look like, in numbers, and where they are at any state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.codegen.programs.program import Program
from kane.display.forms import UNIT_FORM_NAMES, Triangles, unit_form
from kane.display.guess import guessed, nodes_of, ties_of
from kane.display.piece import DrawnPiece, Tie
from kane.errors import ModelError
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import program
from kane.model.model import Model
from kane.model.shapes.part import ENDLESS, Solid
from kane.model.shapes.shape import Shape
from kane.model.shapes.trimesh import read_mesh

# How long what has no end is shown, in sizes of the scene.
UNBOUNDED_SHAPE_EXTENT = 6.0
# And in a body that moves, such as the pad of a finger.
PATCH = 0.1


@dataclass(frozen=True)
class Scene:
    """What a model looks like.

    Attributes:
        name: of the model.
        frames: the ground, the bodies, then named frames.
        bodies: how many of the frames are bodies, the ground included.
        pieces, ties: what is drawn.
        size: of the mechanism where its coordinates are neutral [m].
        up: unit vector against gravity, or z.
        where: the program of poses: of each frame but the ground R_NP by rows and p_NoPo.
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
        """The forms that are drawn; meshes are read now.

        Raises:
            ModelError: trimesh is not installed.
            ImportFileError: a mesh cannot be read; the message names the file.
        """
        return {
            name: load_triangles(name) for name in dict.fromkeys((*UNIT_FORM_NAMES, *(p.form for p in self.pieces)))
        }


def load_triangles(form: str | Solid) -> Triangles:
    """A unit form by its name, a mesh by its path, or what a solid is."""
    if form in UNIT_FORM_NAMES:
        return unit_form(form)
    corners, faces = form if isinstance(form, Solid) else read_mesh(form)
    points = np.array(corners)
    return Triangles(points, np.zeros_like(points), np.array(faces))


class Numbers:
    """Values of expressions of parameters."""

    def __init__(self, equations: Equations, parameters: Mapping[str, float]) -> None:
        known = {**equations.defaults, **parameters}
        self.values = {leaf: float(known[leaf.name]) for leaf in (*equations.parameters, *equations.inputs)}
        self.values |= {leaf: interpret([x], self.values)[0] for leaf, x in equations.baked.items()}

    def of(self, values: Iterable[Any]) -> Array:
        """Numbers and expressions as numbers."""
        given = list(values)
        found = iter(interpret([x for x in given if isinstance(x, Expr)], self.values))
        return np.array([next(found) if isinstance(x, Expr) else x for x in given], float)


def poses_at(where: Program, state: Sequence[float], numbers: Numbers) -> tuple[Array, Array]:
    """R_NP (frames, 3, 3) and p_NoPo (frames, 3) at a state [t, q, u], the ground first; by the interpreter."""
    values = {**numbers.values, **dict(zip(where.state, map(float, state), strict=True))}
    found = np.array(interpret(where.outputs, values), float).reshape(-1, 12)
    R, p = np.concatenate([np.eye(3)[None], found[:, :9].reshape(-1, 3, 3)]), found[:, 9:]
    return R, np.concatenate([np.zeros((1, 3)), p])


def scene_of(equations: Equations, *, parameters: Mapping[str, float] | None = None, q: Any = None) -> Scene:
    """The scene of a model.

    Bodies without shapes are an ellipsoid with their mass and inertia, and rods between their joints.

    Args:
        parameters: those that are not at their defaults, by name.
        q: coordinates at which its size is taken; neutral ones unless given.

    Raises:
        ModelError: there is nothing to see: the model has no bodies.
    """
    model = equations.model
    if len(model.bodies) < 2:
        raise ModelError(f"{equations.name!r} has no bodies, so that there is nothing to see; add some with model.body")
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
    """The surfaces of contacts in bodies, and in the ground, of which the model does not say what they look like."""
    said = {shape.origin.body for shape in model.shapes}
    for shape in dict.fromkeys(shape for c in model.candidates for shape in c.surfaces):
        if shape.origin.body not in said:
            yield shape


def _is_endless(shape: Shape) -> bool:
    """Whether it is more than a body can be, such as the plane of a pad."""
    return any(ENDLESS in part.size for part in shape.parts())


def _declared(shapes: Sequence[Shape], numbers: Numbers, far: float, patch: float) -> Iterable[DrawnPiece]:
    """The pieces of shapes; sides without end are as long as ``far`` in the ground, as ``patch`` in what moves."""
    for shape in shapes:
        body = shape.origin.body.index
        endless = patch if body else far
        for part in shape.parts():
            at, size = numbers.of(part.position), numbers.of(part.size)
            size = np.where(size == ENDLESS, endless, size)
            R = np.array([numbers.of(row) for row in part.orientation.entries])
            yield DrawnPiece(body, part.form, R * size, at, "shape" if body else "ground")


def _size(points: Sequence[Array], shown: Sequence[DrawnPiece]) -> float:
    """The longest side of the box around what is there [m]; 1 where that is a point."""
    extents = [float(np.linalg.norm(piece.stretch, axis=0).max()) for piece in shown]
    across = np.ptp(np.array(points), axis=0).max() if len(points) else 0.0
    found = max([float(across), *extents])
    return found if found > 0.0 else 1.0
