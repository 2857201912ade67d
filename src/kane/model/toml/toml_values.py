"""Values of a model file: formulas, points, bodies, and objects by the signatures of their classes.

A key of the file is an argument of the class or method that takes it. The annotation of the argument says which values
it has; ``VALUE_KINDS`` has a reader for each annotation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from kane.deferred import exports
from kane.errors import ModelError, shown
from kane.expression.formula import Vocabulary, read_formula
from kane.expression.node import Expr, Scalar
from kane.expression.number_arguments import list_argument, require
from kane.files.toml_file import TomlFile
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import General
from kane.model import constraints, joints, loads, shapes
from kane.model.body import Body, Direction, Point, own_body
from kane.model.checks import near, require_known
from kane.model.connection import Connection, JointCoordinate
from kane.model.constraints import Constraint, Row
from kane.model.contacts import Coulomb, Newton, Poisson, Stronge
from kane.model.contacts.friction import Thresholds
from kane.model.joints import AngleRates, Joint, MeasureNumbers
from kane.model.joints.recorded_pose import RecordedOrientation, RecordedPosition
from kane.model.loads import Load
from kane.model.model import Model
from kane.model.shapes import Shape
from kane.model.toml.model_names import MEMBERS, ModelNames, NamedObjects

Path = tuple[str | int, ...]


def classes_of(*families: Any, of: type = object) -> dict[str, Callable[..., Any]]:
    """Return the classes of families whose objects a file can describe, by name; only classes derived from ``of``."""
    members = [x for family in families for x in exports(family)]
    found = {x.__name__: x for x in members if isinstance(x, type) and issubclass(x, of)}
    return {name: x for name, x in found.items() if not inspect.isabstract(x) and unknown_argument(x) is None}


def unknown_argument(function: Callable[..., Any]) -> str | None:
    """Return the name of the first argument that a file cannot contain, else None."""
    return next((p.name for p in inspect.signature(function).parameters.values() if kind_of(p) is None), None)


def kind_of(argument: inspect.Parameter) -> str | None:
    """Return the key in ``VALUE_KINDS`` of an argument: its annotation, or its name if the annotation is Any."""
    word = argument.name if argument.annotation == "Any" else argument.annotation
    return word if word in VALUE_KINDS else None


class ValueReader:
    """Reader of values that belong to one model.

    Attributes:
        file: the file, for the lines of errors.
        model: the model that the file describes.
        names: names that formulas may use.
    """

    def __init__(self, file: TomlFile, model: Model, definitions: Mapping[str, Any]) -> None:
        self.file, self.model = file, model
        self._definitions = definitions
        self._values: dict[str, Expr] = {}
        self._open: list[str] = []
        self.names = ModelNames(model, definitions, self.define)
        objects = NamedObjects(model, definitions, self.define)
        self._vocabulary = Vocabulary(self.names, objects, MEMBERS)

    @cached_property
    def loads(self) -> Mapping[str, Callable[..., Any]]:
        """Classes of loads by name."""
        return classes_of(loads, of=Load)

    @cached_property
    def joints(self) -> Mapping[str, Callable[..., Any]]:
        """Classes of joints by name."""
        return classes_of(joints, of=Joint)

    @cached_property
    def shapes(self) -> Mapping[str, Callable[..., Any]]:
        """Classes of shapes by name."""
        return classes_of(shapes, of=Shape)

    @cached_property
    def constraints(self) -> Mapping[str, Callable[..., Any]]:
        """Classes of constraints by name."""
        return classes_of(constraints, of=Constraint)

    def define(self, name: str) -> Any:
        """Return the value of a definition.

        Raises:
            ModelError: it uses itself.
        """
        with self.file.at("definitions", name):
            if name in self._open:
                circle = " uses ".join([*self._open[self._open.index(name) :], name])
                raise ModelError(f"the definition {circle}; break the circle")
        if name not in self._values:
            self._open.append(name)
            self._values[name] = self.formula(self._definitions[name], ("definitions", name))
            self._open.pop()
        return self._values[name]

    def formula(self, raw: Any, path: Path, kind: Any = object, wanted: str = "a formula") -> Any:
        """Return the value of a formula, which must be of a kind."""
        with self.file.at(*path):
            found = read_formula(raw, self._vocabulary) if isinstance(raw, str) else raw
            require(found, kind, f"{_title(path)} is {wanted}")
        return found

    def call(self, function: Callable[..., Any], table: Any, path: Path, what: str, **given: Any) -> Any:
        """Return function(...) with the keys of a table as its arguments.

        Raises:
            LineError: an unknown or a missing key, or a wrong value.
        """
        arguments = {
            p.name: p for p in inspect.signature(function).parameters.values() if p.name not in ("self", *given)
        }
        with self.file.at(*path):
            require(table, dict, f"{what} is a table with {', '.join(arguments)}")
        for key in table:
            with self.file.at(*path, key):
                require_known(key, arguments, "key", f" in {what}")
        values = {key: self.value(arguments[key], table[key], (*path, key)) for key in table}
        with self.file.at(*path):
            for name, argument in arguments.items():
                if argument.default is argument.empty and name not in table:
                    raise ModelError(f"{what} has no {name}; it needs {self._needed(arguments)}")
            return function(**values, **given)

    def _needed(self, arguments: Mapping[str, inspect.Parameter]) -> str:
        return ", ".join(name for name, p in arguments.items() if p.default is p.empty)

    def value(self, argument: inspect.Parameter, raw: Any, path: Path) -> Any:
        """Return the value of an argument."""
        return VALUE_KINDS[str(kind_of(argument))](self, raw, path)

    def object(self, family: Mapping[str, Callable[..., Any]], raw: Any, path: Path, default: str = "") -> Any:
        """Return the object that a table describes: "type" is the name of its class."""
        what = " or ".join(family) if len(family) < 5 else f"{next(iter(family))}, ..."
        with self.file.at(*path):
            require(raw, dict, f"{path[-1]} is a table with a type: {what}")
            word = raw.get("type", default)
            if not word:
                raise ModelError(f"a table of {path[0]} has no type; give one of {', '.join(family)}")
        with self.file.at(*path, "type"):
            require_known(word, family, "type")
        table = {key: x for key, x in raw.items() if key != "type"}
        return self.call(family[word], table, path, f"this {word}")

    def scalar(self, raw: Any, path: Path) -> Any:
        """Return a number or an expression."""
        found = self.formula(raw, path, (int, float, Expr), "a number or a formula")
        with self.file.at(*path):
            return self.model.scalar(found, _title(path))

    def expression(self, raw: Any, path: Path) -> Expr:
        """Return an expression."""
        with self.file.at(*path):
            require(raw, str, f"{path[-1]} is a formula")
        found = self.formula(raw, path, (float, Expr), "a formula of scalars")
        return self.model.arena.lift(found)

    def listed(self, read: Callable[..., Any], raw: Any, path: Path) -> tuple[Any, ...]:
        """Return a list; ``read`` reads its items."""
        with self.file.at(*path):
            given = list_argument(raw, str(path[-1]), "a list")
        return tuple(read(self, x, (*path, k)) for k, x in enumerate(given))

    def nested(self, raw: Any, path: Path) -> Any:
        """Return a number, a formula, or a list of these or of lists."""
        return self.listed(ValueReader.nested, raw, path) if isinstance(raw, list) else self.scalar(raw, path)

    def joint(self, raw: Any, path: Path) -> Connection:
        """Return the joint of a name."""
        found = _coordinate(self, raw, path)
        return found.connection if isinstance(found, JointCoordinate) else found

    def joint_of(self, kind: str, table: dict[str, Any], path: Path, name: str) -> Any:
        """Return a joint of a kind; its coordinates are named after the joint unless the table has other names."""
        label = next((word for word in ("q", "name") if word in inspect.signature(self.joints[kind]).parameters), "")
        if label:
            table = {label: name, **table}
        if kind == "CustomJoint":
            named = table[label] if isinstance(table[label], list) else [table[label]]
            self.names.own = tuple(map(str, named))
        return self.call(self.joints[kind], table, path, f"this {kind}")

    def shape(self, raw: Any, path: Path) -> Any:
        """Return a shape."""
        return self.object(self.shapes, raw, path)

    @property
    def own(self) -> tuple[Expr, ...]:
        """Coordinates of the joint that is declared next."""
        return tuple(self.names[name] for name in self.names.own)


def _title(path: Path) -> str:
    """Return the key of a value, with its places in lists, such as com[0]."""
    words = [k for k, part in enumerate(path) if isinstance(part, str)]
    first, *places = path[words[-1] :]
    return str(first) + "".join(f"[{place}]" for place in places)


def _text(read: ValueReader, raw: Any, path: Path) -> str:
    """Return a text."""
    with read.file.at(*path):
        require(raw, str, f"{path[-1]} is a text")
    return str(raw)


def _truth(read: ValueReader, raw: Any, path: Path) -> bool:
    """Return true or false."""
    with read.file.at(*path):
        require(raw, bool, f"{path[-1]} is true or false")
    return bool(raw)


def _point(read: ValueReader, raw: Any, path: Path) -> Point:
    """Return a point: a formula, or the origin of a body, by its name."""
    wanted = 'a point: the name of a body, or such as "rod.point((0, 0, 1))"'
    with read.file.at(*path):
        require(raw, str, f"{path[-1]} is {wanted}")
        named = next((body for body in read.model.bodies if body.name == raw), None)
    if named is not None:
        return named.point()
    return read.formula(raw, path, Point, wanted)


def _direction(read: ValueReader, raw: Any, path: Path) -> Direction:
    """Return a direction."""
    return read.formula(raw, path, Direction, 'a direction, such as "rod.z"')


def _body(read: ValueReader, raw: Any, path: Path) -> Body:
    """Return the body of a name."""
    with read.file.at(*path):
        require(raw, str, f"{path[-1]} is the name of a body")
        return own_body(read.model, raw)


def _coordinate(read: ValueReader, raw: Any, path: Path) -> Connection | JointCoordinate:
    """Return the joint of a name, or the coordinate of a name."""
    joints = read.model.connections
    with read.file.at(*path):
        for joint in joints:
            if raw == joint.name:
                return joint
        for joint in joints:
            if raw in joint.coordinate_names:
                return joint[raw]
        known = [name for c in joints for name in dict.fromkeys((c.name, *c.coordinate_names))]
        raise ModelError(f"there is no joint or coordinate {shown(raw)}; {near(raw, known)}")


def _rotation(read: ValueReader, raw: Any, path: Path) -> Any:
    """Return a rotation: turns one after the other, a quaternion or a matrix."""
    turns = [raw] if isinstance(raw, dict) else raw
    if not (isinstance(turns, list) and all(isinstance(turn, dict) for turn in turns)):
        return read.nested(raw, path)
    found = Rotation.identity()
    for k, turn in enumerate(turns):
        function = _matrix if "matrix" in turn else _turn
        found = found @ read.call(function, turn, (*path, k), "a turn of a rotation")
    return found


def _label(read: ValueReader, raw: Any, path: Path) -> str | Expr:
    """Return the name of a new coordinate, or { formula = ... } as an expression."""
    if isinstance(raw, dict):
        return read.call(_of_formula, raw, path, "the coordinate")
    return _text(read, raw, path)


def _words(read: ValueReader, raw: Any, path: Path) -> str | tuple[str, ...]:
    """Return a name or several."""
    return read.listed(_text, raw, path) if isinstance(raw, list) else _text(read, raw, path)


def _axis(read: ValueReader, raw: Any, path: Path) -> Any:
    """Return an axis by its name, or three numbers."""
    return read.listed(ValueReader.scalar, raw, path) if isinstance(raw, list) else _text(read, raw, path)


def _restitution(read: ValueReader, raw: Any, path: Path) -> Any:
    """Return a coefficient or a law of restitution."""
    laws = {law.__name__: law for law in (Poisson, Newton, Stronge)}
    return read.object(laws, raw, path) if isinstance(raw, dict) else read.scalar(raw, path)


def _friction(read: ValueReader, raw: Any, path: Path) -> Any:
    """Return a law of friction, Coulomb's by default."""
    return read.object({law.__name__: law for law in (Coulomb, Thresholds)}, raw, path, "Coulomb")


def _feature(read: ValueReader, raw: Any, path: Path) -> Any:
    """Return a point or a shape."""
    return _point(read, raw, path) if isinstance(raw, str) else read.shape(raw, path)


def _row(read: ValueReader, raw: Any, path: Path) -> Row:
    """Return an equation of a constraint."""
    return read.call(Row, raw, path, "an equation")


def _held(read: ValueReader, raw: Any, path: Path) -> Any:
    """Return an expression, a list of expressions or a constraint."""
    if isinstance(raw, dict):
        return read.object(read.constraints, raw, path)
    return read.listed(ValueReader.expression, raw, path) if isinstance(raw, list) else read.expression(raw, path)


def _gimbal_speeds(read: ValueReader, raw: Any, path: Path) -> Any:
    """Return the kind of speeds of a gimbal."""
    return read.object({kind.__name__: kind for kind in (AngleRates, MeasureNumbers)}, raw, path)


def _own_orientation(read: ValueReader, raw: Any, path: Path) -> RecordedOrientation:
    """Return the orientation of a custom joint as a function of its coordinates."""
    R_FM = _rotation(read, raw, path)
    with read.file.at(*path):
        return RecordedOrientation(read.own, Rotation.of(R_FM, "the orientation of a custom joint"))


def _own_position(read: ValueReader, raw: Any, path: Path) -> RecordedPosition:
    """Return the position of a custom joint as a function of its coordinates."""
    return RecordedPosition(read.own, read.listed(ValueReader.scalar, raw, path))


def _turn(axis: str | tuple[float, float, float], angle: Scalar) -> Rotation:
    return Rotation.about(axis, angle)


def _matrix(matrix: Sequence[Any]) -> Rotation:
    Rotation.of(matrix, "the matrix of a rotation")  # raises if it is none; the factor keeps the entries bit by bit
    return Rotation((General(tuple(matrix)),))


def _of_formula(formula: Expr) -> Expr:
    return formula


_R = ValueReader
VALUE_KINDS: Mapping[str, Callable[[ValueReader, Any, Path], Any]] = {
    **dict.fromkeys(("Scalar", "Number", "Scalar | None"), _R.scalar),
    **dict.fromkeys(("Expr", "Expr | None"), _R.expression),
    "Sequence[Scalar]": lambda read, raw, path: read.listed(_R.scalar, raw, path),
    **dict.fromkeys(("Sequence[Any]", "tuple[Sequence[Scalar], Sequence[Any]] | None"), _R.nested),
    **dict.fromkeys(("Sequence[float]", "scale", "points", "heights"), _R.nested),
    **dict.fromkeys(("Point", "Point | None"), _point),
    "Sequence[Point]": lambda read, raw, path: read.listed(_point, raw, path),
    "Direction": _direction,
    "Sequence[Direction]": lambda read, raw, path: read.listed(_direction, raw, path),
    **dict.fromkeys(("Body", "Body | None", "Body | str"), _body),
    "Connection | JointCoordinate": _coordinate,
    **dict.fromkeys(("str", "str | None"), _text),
    "bool": _truth,
    "str | tuple[float, float, float]": _axis,
    **dict.fromkeys(("str | tuple[str, ...]", "str | tuple[str, ...] | Expr", "tuple[str, ...]"), _words),
    "str | Expr": _label,
    "GimbalSpeeds": _gimbal_speeds,
    **dict.fromkeys(("Restitution", "Scalar | Restitution"), _restitution),
    **dict.fromkeys(("Coulomb | None", "Coulomb | Thresholds | None"), _friction),
    "Shape": _R.shape,
    "Point | Shape": _feature,
    "tuple[Shape, ...]": lambda read, raw, path: read.listed(_R.shape, raw, path),
    "Row | None": _row,
    "tuple[Row, ...]": lambda read, raw, path: read.listed(_row, raw, path),
    "Expr | Constraint | Sequence[Expr]": _held,
    "Sequence[Expr]": lambda read, raw, path: read.listed(_R.expression, raw, path),
    "Callable[..., Rotation] | None": _own_orientation,
    "Callable[..., Sequence[Any]] | None": _own_position,
    **dict.fromkeys(("orientation", "child_orientation"), _rotation),
}
