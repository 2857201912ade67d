"""A model as JSON without loss, and back: what files, pickle and deepcopy go through.

Reading declares the model anew by its own methods, so that a file can say nothing that a program cannot; no name in a
file is imported or executed. Members of the families of joints, loads, shapes and contacts are known by their exports.
"""

from __future__ import annotations

import copyreg
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from inspect import isabstract
from os import PathLike
from typing import Any

from kane.errors import ImportFileError
from kane.expression.arena import Arena
from kane.expression.arena_form import add_nodes, node_rows
from kane.expression.arguments import require
from kane.expression.form import Reader, Writer
from kane.expression.node import Expr
from kane.expression.operations import MEASURE
from kane.expression.spline import PiecewiseCubic
from kane.files.json_file import Format
from kane.geometry.factor import Elementary, Factor, General
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import scalar
from kane.model import contacts, joints, loads, shapes, speed_choice
from kane.model.arguments import require_points
from kane.model.body import KINDS, Body, Direction, Measure, Point
from kane.model.connection import Connection, JointCoordinate
from kane.model.constraints import Constraint, Row
from kane.model.contacts import Candidate, Intermittent
from kane.model.contacts.friction import Thresholds
from kane.model.joints.recorded_pose import RecordedOrientation, RecordedPosition
from kane.model.model import Model
from kane.model.requirements import INERTIA, REQUIRED, require_of_parameters
from kane.model.shapes.shape import Shape

FORMAT = Format("kane model", 1)
FAMILIES = (contacts, joints, loads, shapes, speed_choice)
PARTS = (JointCoordinate, Measure, PiecewiseCubic, RecordedOrientation, RecordedPosition, Row, Thresholds)


def known_classes() -> dict[str, type]:
    """The classes that stand in files, by name."""
    exported = [x for family in FAMILIES for x in vars(family).values() if isinstance(x, type) and is_dataclass(x)]
    return {known.__name__: known for known in (*exported, *PARTS) if not isabstract(known)}


def save_model(model: Model, path: str | PathLike[str]) -> None:
    """Write what a model declares as a JSON file, without loss; ``load_model`` reads it.

    The file holds joints, loads and constraints of kane, expressions of all kinds, and the poses of custom joints.

    Raises:
        ModelError: ``model`` is no ``kane.Model``.
        FileError: the file cannot be written, or the model has a joint or load of a class that is not kane's; the
            message says what to do.
    """
    require(model, Model, "save_model takes a kane.Model")
    FORMAT.write(path, model_form(model))


def load_model(path: str | PathLike[str]) -> Model:
    """Read a model that ``save_model`` wrote: its equations are those of the saved one, to the last bit.

    Nothing that the file names is imported or executed, and what it says is checked as declarations are.

    Raises:
        ImportFileError: there is no such file, it is none of a model, damaged or of a newer kane; the message says
            which file and what is wrong.
    """
    content = FORMAT.read(path)
    with FORMAT.reading(path):
        return model_of(content)


def model_form(model: Model) -> dict[str, Any]:
    """A model as the content of a file, with its nodes.

    Raises:
        FileError: a member of the model is of a class that kane does not have.
    """
    write = model_writer(model)
    content = described(model, write)
    return {**content, "nodes": node_rows(model.arena, write.extent, write)}


def model_of(content: dict[str, Any]) -> Model:
    """The model of such a content."""
    model = Model(taken(content, "name", str))
    read = model_reader(model)
    add_nodes(model.arena, taken(content, "nodes", list), read)
    declare(model, content, read)
    return model


def _sent(model: Model) -> tuple[Any, ...]:
    """The arena of a model, its text, and the classes that kane does not have."""
    foreign: list[Any] = []
    text = json.dumps(described(model, model_writer(model, foreign)))
    return _received, (model.arena, text, foreign)


def _received(arena: Arena, text: str, foreign: Sequence[Any]) -> Model:
    content = json.loads(text)
    model = Model(content["name"])
    model.arena = arena
    declare(model, content, model_reader(model, foreign))
    return model


def model_writer(model: Model, foreign: list[Any] | None = None) -> Writer:
    """What writes values that belong to a model; see ``Writer``."""
    atoms: dict[type, Callable[[Any], Any]] = {
        Body: lambda body: {"body": body.name},
        Connection: lambda connection: {"joint": connection.name},
        Rotation: lambda rotation: {"rotation": [_factor(f, write) for f in rotation.factors]},
        Point: lambda P: {"point": [P.body.name, write(P.position_in_body, f"a point of body {P.body.name!r}")]},
        Direction: lambda d: {"direction": [d.body.name, write(d.components, f"a direction of body {d.body.name!r}")]},
    }
    write: Writer = Writer(model.arena, classes=known_classes(), atoms=atoms, foreign=foreign)
    return write


def model_reader(model: Model, foreign: Sequence[Any] = ()) -> Reader:
    """What reads values that belong to a model."""

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


def described(model: Model, write: Writer) -> dict[str, Any]:
    """What was declared, in the order in which ``declare`` needs it."""
    return {
        "name": model.name,
        "gravity": write(model.gravity, "gravity"),
        "impacts": model.impacts,
        "parameters": [[name, write(value, name)] for name, value in model.parameters.items()],
        "inputs": [[name, write(value, name)] for name, value in model.inputs.items()],
        "bodies": [_body(body, write) for body in model.bodies[1:]],
        "connections": [_connection(connection, write) for connection in model.connections],
        "cuts": [connection.name for connection in model.cuts],
        "frames": [
            [name, write([frame.body, frame.position, frame.orientation], f"frame {name!r}")]
            for name, frame in model.frames.items()
        ],
        "constraints": [[c.name, write(c.rows, f"constraint {c.name!r}")] for c in model.constraints],
        "candidates": [write(c, f"candidate {c.name!r}") for c in model.candidates],
        "speeds": [write(model.speed_choice, "the choice of speeds")],
        "loads": [write(load, f"load {k}") for k, load in enumerate(model.loads, start=1)],
        "coordinates": list(model.coordinate_order),
        "notes": list(model.notes),
        "shapes": [write(shape, f"shape {k}") for k, shape in enumerate(model.shapes, start=1)],
        "requirements": [write([r.what, r.kind, r.expressions], r.what) for r in model.requirements],
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
    """Declare in an empty model what a description says.

    Raises:
        ImportFileError: it is none.
        ModelError: what it says cannot be meant.
    """
    for name, default in taken(content, "parameters", list):
        model.parameter(name, read(default))
    for name, default in taken(content, "inputs", list):
        model.input(name, read(default))
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
    model.impacts = content.get("impacts", model.impacts)  # which older files do not have
    for raw in content.get("candidates", ()):  # which older files do not have
        candidate = read(raw)
        require(candidate, Candidate, "the candidates of the file are kane.Candidate")
        model.intermittent(Told(candidate), name=candidate.name)
    (choice,) = (read(raw) for raw in taken(content, "speeds", list))
    model.speeds(dependent=choice.dependent, **choice.definitions)  # refuses what cannot be meant
    model.speed_choice = choice
    for load in taken(content, "loads", list):
        model.load(read(load))
    model.coordinates(*taken(content, "coordinates", list))
    model.notes += [str(note) for note in taken(content, "notes", list)]
    for shape in (read(raw) for raw in content.get("shapes", ())):  # files of earlier versions have none
        require(shape, Shape, "the shapes of the file are shapes such as kane.Box")
        require_points("a shape of the file", shape.origin)
        model.shapes.append(shape)
    for raw in content.get("requirements", ()):  # those of shapes are known, those of constraints are not
        _require_again(model, read(raw))


def _require_again(model: Model, raw: Any) -> None:
    """Restore a requirement on parameters that a constraint left before it was written as equations."""
    if not isinstance(raw, tuple) or len(raw) != 3 or not isinstance(raw[0], str) or raw[1] not in REQUIRED:
        raise ImportFileError(f"{raw!r} is no requirement on parameters that this kane knows")
    what, kind, expressions = raw
    if not isinstance(expressions, tuple) or len(expressions) != (6 if kind == INERTIA else 1):
        raise ImportFileError(f"the requirement on {what} has {expressions!r} in place of expressions")
    require_of_parameters(model, what, kind, *(model.scalar(x, what) for x in expressions))


def taken(content: Mapping[str, Any], key: str, kind: type) -> Any:
    """An entry of a description.

    Raises:
        ImportFileError: it is missing or of another kind.
    """
    if not isinstance(content.get(key), kind):
        raise ImportFileError(f"its entry {key!r} is missing, or no {'word' if kind is str else 'list'}")
    return content[key]


@dataclass(frozen=True)
class Stated(Constraint):
    """A constraint by its equations.

    Attributes:
        title: its name.
        equations: that it returns.
    """

    title: str = ""
    equations: tuple[Row, ...] = ()

    def rows(self) -> Sequence[Row]:
        """The equations."""
        for row in self.equations:
            given = [x for x in (row.configuration, row.motion) if x is not None]
            if not given or not all(isinstance(x, Expr) for x in given) or not isinstance(row.name, str):
                raise ImportFileError(f"the constraint {self.title!r} has an equation without an expression or a name")
        return self.equations


@dataclass(frozen=True)
class Told(Intermittent):
    """A candidate as it was written."""

    candidate: Candidate

    @property
    def title(self) -> str:
        """Its name."""
        return self.candidate.name

    def candidates(self, name: str) -> Sequence[Candidate]:
        """The candidate."""
        return [self.candidate]


def _require_measures(model: Model) -> None:
    """Refuse measures of bodies that are not there: ``formulate`` counts on them."""
    bodies = range(len(model.bodies))
    for leaf in model.arena.nodes:
        if leaf.op == MEASURE:
            m = leaf.data
            well = isinstance(m, Measure) and m.kind in KINDS and m.body in bodies and m.direction_body in bodies
            if not well or not len(m.point) == len(m.direction) == 3 or not isinstance(m.typed, str):
                raise ImportFileError(f"the measure {m} is of no body of this model")
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
    Rotation.matrix(value)  # refuses what is none; the factor keeps the last bits that it had
    return General(value)


def _body_of(model: Model, index: int) -> Body:
    return model.bodies[index]


def _connection_of(model: Model, name: str) -> Connection:
    return next(c for c in model.connections if c.name == name)


# What pickle and deepcopy make of a model: its text; of bodies and joints: a place in their model.
copyreg.pickle(Model, _sent)
copyreg.pickle(Body, lambda body: (_body_of, (body.model, body.index)))
copyreg.pickle(Connection, lambda connection: (_connection_of, (connection.child.model, connection.name)))
