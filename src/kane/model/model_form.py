"""Lossless conversion of models to JSON and back, for files, pickle and deepcopy.

Reading declares the model again through its own methods, so that a file can state nothing that a program cannot. No
name in a file is imported or executed. Kinds of joints, loads, shapes and contacts are recognized by the names under
which kane exports them.
"""

from __future__ import annotations

import copyreg
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from inspect import isabstract
from typing import Any

from kane.deferred import exports
from kane.errors import ImportFileError
from kane.expression.arena import Arena
from kane.expression.arena_form import add_nodes, node_rows
from kane.expression.form import Reader, Writer
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import MEASURE
from kane.expression.spline import PiecewiseCubic
from kane.files.json_file import Format
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import Elementary, Factor, General
from kane.geometry.scalars import scalar
from kane.model import contacts, joints, loads, shapes, speed_choice
from kane.model.body import VECTOR_KINDS, Body, Direction, Measure, Point
from kane.model.connection import Connection, JointCoordinate
from kane.model.constraints import Constraint, Row
from kane.model.contacts import Intermittent, IntermittentConstraint
from kane.model.contacts.friction import Thresholds
from kane.model.joints.recorded_pose import RecordedOrientation, RecordedPosition
from kane.model.model import Model
from kane.model.requirements import NONNEGATIVE_INERTIA, REQUIRED
from kane.model.vector_arguments import require_of_parameters, require_points

MODEL_FORMAT = Format("kane model", 1)
FAMILIES = (contacts, joints, loads, shapes)
# Names in files of classes that were renamed, so that older files can be read.
NAMES_IN_FILES: dict[type, str] = {IntermittentConstraint: "Candidate"}
MODEL_PART_CLASSES = (JointCoordinate, Measure, PiecewiseCubic, RecordedOrientation, RecordedPosition, Row, Thresholds)


def known_classes(*, loaded: bool = False) -> dict[str, type]:
    """Return the classes whose instances files may contain, by name; with ``loaded``, only from loaded modules."""
    members = [x for family in FAMILIES for x in exports(family, loaded=loaded)] + list(vars(speed_choice).values())
    exported = [x for x in members if isinstance(x, type) and is_dataclass(x)]
    concrete = [known for known in (*exported, *MODEL_PART_CLASSES) if not isabstract(known)]
    return {NAMES_IN_FILES.get(known, known.__name__): known for known in concrete}


def model_form(model: Model) -> dict[str, Any]:
    """Return a model as the content of a file, including the nodes of its expressions.

    Raises:
        FileError: a part of the model is of a class that is not part of kane.
    """
    write = model_writer(model)
    content = described(model, write)
    return {**content, "nodes": node_rows(model.arena, write.extent, write)}


def model_from_form(content: dict[str, Any]) -> Model:
    """Return the model that a file content describes."""
    model = Model(taken(content, "name", str))
    read = model_reader(model)
    add_nodes(model.arena, taken(content, "nodes", list), read)
    declare(model, content, read)
    return model


def _sent(model: Model) -> tuple[Any, ...]:
    """Return the reduced form of a model for pickle: its arena, its text, and objects of classes outside kane."""
    foreign: list[Any] = []
    text = json.dumps(described(model, model_writer(model, foreign)))
    return _received, (model.arena, text, foreign)


def _received(arena: Arena, text: str, foreign: Sequence[Any]) -> Model:
    content = json.loads(text)
    model = Model(content["name"])
    model.arena = arena
    declare(model, content, model_reader(model, foreign))
    return model


def model_writer(model: Model, foreign: list[Any] | None = None, kind: type[Writer] = Writer) -> Writer:
    """Return a writer for values that belong to a model; see ``Writer``, or the derived class ``kind``."""
    atoms: dict[type, Callable[[Any], Any]] = {
        Body: lambda body: {"body": body.name},
        Connection: lambda connection: {"joint": connection.name},
        Rotation: lambda rotation: {"rotation": [_factor(f, write) for f in rotation.factors]},
        Point: lambda P: {"point": [P.body.name, write(P.position_in_body, f"a point of body {P.body.name!r}")]},
        Direction: lambda d: {"direction": [d.body.name, write(d.components, f"a direction of body {d.body.name!r}")]},
    }
    write: Writer = kind(model.arena, classes=known_classes(loaded=True), atoms=atoms, foreign=foreign)
    return write


def model_reader(model: Model, foreign: Sequence[Any] = ()) -> Reader:
    """Return a reader for values that belong to a model."""

    def named(members: Sequence[Any], name: Any) -> Any:
        found = [member for member in members if member.name == name]
        if not found:
            raise ImportFileError(f"there is no {name!r} among {', '.join(member.name for member in members)}")
        return found[0]

    atoms: dict[str, Callable[[Any], Any]] = {
        "body": lambda name: named(model.bodies, name),
        "joint": lambda name: named(model.connections, name),
        "rotation": lambda raw: Rotation(tuple(_read_factor(factor, read) for factor in raw)),
        "point": lambda raw: named(model.bodies, raw[0]).point(read(raw[1])),
        "direction": lambda raw: named(model.bodies, raw[0]).direction(read(raw[1])),
    }
    read: Reader = Reader(model.arena, classes=known_classes(), atoms=atoms, foreign=foreign)
    return read


def described(model: Model, write: Writer, *, without: Sequence[str] = ()) -> dict[str, Any]:
    """Return the declarations of a model except some, in the order in which ``declare`` needs them."""
    return {word: form(model, write) for word, form in DECLARATIONS.items() if word not in without}


DECLARATIONS: dict[str, Callable[[Model, Writer], Any]] = {
    "name": lambda model, write: model.name,
    "gravity": lambda model, write: write(model.gravity, "gravity"),
    "impacts": lambda model, write: model.impacts,
    "parameters": lambda model, write: [[name, write(value, name)] for name, value in model.parameters.items()],
    "inputs": lambda model, write: [[name, write(value, name)] for name, value in model.inputs.items()],
    "units": lambda model, write: [[name, unit] for name, unit in model.units.items()],
    "bodies": lambda model, write: [_body(body, write) for body in model.bodies[1:]],
    "connections": lambda model, write: [_connection(connection, write) for connection in model.connections],
    "cuts": lambda model, write: [connection.name for connection in model.cuts],
    "frames": lambda model, write: [
        [name, write([frame.body, frame.position, frame.orientation], f"frame {name!r}")]
        for name, frame in model.frames.items()
    ],
    "constraints": lambda model, write: [[c.name, write(c.rows, f"constraint {c.name!r}")] for c in model.constraints],
    "candidates": lambda model, write: [write(c, f"intermittent constraint {c.name!r}") for c in model.intermittents],
    "speeds": lambda model, write: [write(model.speed_choice, "the speed selection")],
    "loads": lambda model, write: [write(load, f"load {k}") for k, load in enumerate(model.loads, start=1)],
    "coordinates": lambda model, write: list(model.coordinate_order),
    "notes": lambda model, write: list(model.notes),
    "shapes": lambda model, write: [write(shape, f"shape {k}") for k, shape in enumerate(model.shapes, start=1)],
    "requirements": lambda model, write: [write([r.what, r.kind, r.expressions], r.what) for r in model.requirements],
}


def _body(body: Body, write: Writer) -> dict[str, Any]:
    who = f"body {body.name!r}"
    named = {"name": body.name, "mass": write(body.mass, who)}
    if body.moments is not None:
        return {**named, "moments": write(body.moments, who)}
    return {**named, "com": write(body.com, who), "inertia": write(body.inertia, who)}


def _connection(c: Connection, write: Writer) -> dict[str, Any]:
    who = f"joint {c.name!r}"
    joint = c.joint.recorded(c.coordinates)
    return {
        "name": c.name,
        "joint": write(joint, who),
        "parent": c.parent.name,
        "child": c.child.name,
        "at": write(c.p_PF, who),
        "orientation": write(c.R_PF, who),
        "child_at": write(c.p_CM, who),
        "child_orientation": write(c.R_CM, who),
    }


def declare(model: Model, content: Mapping[str, Any], read: Reader) -> None:
    """Declare the content of a description in an empty model.

    Raises:
        ImportFileError: the description is incomplete or damaged.
        ModelError: a declaration is not valid.
    """
    from kane.model.shapes.shape import Shape

    units = dict(content.get("units", ()))  # missing in older files
    for name, default in taken(content, "parameters", list):
        model.parameter(name, read(default), unit=units.get(name))
    for name, default in taken(content, "inputs", list):
        model.input(name, read(default), unit=units.get(name))
    model.gravity = read(taken(content, "gravity", list))
    for entry in taken(content, "bodies", list):
        model.body(**{word: read(value) for word, value in entry.items()})
    _require_measures(model)
    for entry in taken(content, "connections", list):
        given = {word: read(value) for word, value in entry.items()}
        ends = [read({"body": given.pop(word)}) for word in ("parent", "child")]
        model.connect(ends[0], ends[1], given.pop("joint"), **given)
    model.cuts += [read({"joint": name}) for name in taken(content, "cuts", list)]
    for name, raw in taken(content, "frames", list):
        body, position, orientation = read(raw)
        model.frame(name, body, at=position, orientation=orientation)
    for name, rows in taken(content, "constraints", list):
        model.constrain(Stated(name, read(rows)), name=name)
    model.impacts = content.get("impacts", model.impacts)  # missing in older files
    for raw in content.get("candidates", ()):  # missing in older files
        constraint = read(raw)
        require(constraint, IntermittentConstraint, "the file has an entry that is no intermittent constraint")
        model.intermittent(Told(constraint), name=constraint.name)
    (choice,) = (read(raw) for raw in taken(content, "speeds", list))
    model.speeds(dependent=choice.dependent, **choice.definitions)  # raises if the speeds are not valid
    model.speed_choice = choice
    for load in taken(content, "loads", list):
        model.load(read(load))
    model.coordinates(*taken(content, "coordinates", list))
    model.notes += [str(note) for note in taken(content, "notes", list)]
    for shape in (read(raw) for raw in content.get("shapes", ())):  # missing in older files
        require(shape, Shape, "the shapes of the file are shapes such as kane.Box")
        require_points("a shape of the file", shape.origin)
        model.shapes.append(shape)
    for raw in content.get("requirements", ()):  # shapes have added theirs already, constraints have not
        restore_requirement(model, read(raw))


def restore_requirement(model: Model, raw: Any) -> None:
    """Restore a requirement on parameters; the saved equations of its constraint do not imply it."""
    if not isinstance(raw, tuple) or len(raw) != 3 or not isinstance(raw[0], str) or raw[1] not in REQUIRED:
        raise ImportFileError(f"{raw!r} is not a requirement on parameters that this version of kane knows")
    what, kind, expressions = raw
    if not isinstance(expressions, tuple) or len(expressions) != (6 if kind == NONNEGATIVE_INERTIA else 1):
        raise ImportFileError(f"the requirement on {what} has {expressions!r} instead of expressions")
    require_of_parameters(model, what, kind, *(model.scalar(x, what) for x in expressions))


def taken(content: Mapping[str, Any], key: str, kind: type) -> Any:
    """Return an entry of a description.

    Raises:
        ImportFileError: the entry is missing or has the wrong type.
    """
    if not isinstance(content.get(key), kind):
        raise ImportFileError(f"its entry {key!r} is missing or is not a {'word' if kind is str else 'list'}")
    return content[key]


@dataclass(frozen=True)
class Stated(Constraint):
    """Constraint given by its equations.

    Attributes:
        title: its name.
        equations: the rows that ``rows`` returns.
    """

    title: str = ""
    equations: tuple[Row, ...] = ()

    def rows(self) -> Sequence[Row]:
        """Return the equations, checked."""
        for row in self.equations:
            given = [x for x in (row.configuration, row.motion) if x is not None]
            if not given or not all(isinstance(x, Expr) for x in given) or not isinstance(row.name, str):
                raise ImportFileError(f"the constraint {self.title!r} has an equation without an expression or a name")
        return self.equations


@dataclass(frozen=True)
class Told(Intermittent):
    """Intermittent constraint as it was written to a file."""

    constraint: IntermittentConstraint

    @property
    def title(self) -> str:
        """Name of the constraint."""
        return self.constraint.name

    def intermittents(self, name: str) -> Sequence[IntermittentConstraint]:
        """Return the constraint."""
        return [self.constraint]


def _require_measures(model: Model) -> None:
    """Raise ImportFileError if a measure refers to a missing body; ``formulate`` relies on this check."""
    bodies = range(len(model.bodies))
    for leaf in model.arena.nodes:
        if leaf.op == MEASURE:
            m = leaf.data
            well = isinstance(m, Measure) and m.kind in VECTOR_KINDS and m.body in bodies and m.direction_body in bodies
            if not well or not len(m.point) == len(m.direction) == 3 or not isinstance(m.typed, str):
                raise ImportFileError(f"the measure {m} belongs to no body of this model")
            for x in (*m.point, *m.direction):
                model.scalar(x, "a measure")


def _factor(factor: Factor, write: Writer) -> Any:
    if isinstance(factor, Elementary):
        return [factor.axis, write(factor.angle, "a rotation")]
    return write(factor.rows, "a rotation")


def _read_factor(raw: Any, read: Reader) -> Factor:
    value = read(raw)
    if isinstance(value, tuple) and len(value) == 2 and value[0] in (0, 1, 2):
        return Elementary(value[0], scalar(value[1], "the angle of a rotation"))
    Rotation.matrix(value)  # raises if the matrix is not a rotation; the factor keeps the entries bit by bit
    return General(value)


def _body_of(model: Model, index: int) -> Body:
    return model.bodies[index]


def _connection_of(model: Model, name: str) -> Connection:
    return next(c for c in model.connections if c.name == name)


# Pickle and deepcopy represent a model by its text, and bodies and joints by their place in their model.
copyreg.pickle(Model, _sent)
copyreg.pickle(Body, lambda body: (_body_of, (body.model, body.index)))
copyreg.pickle(Connection, lambda connection: (_connection_of, (connection.child.model, connection.name)))
