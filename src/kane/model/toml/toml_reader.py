"""Reading a model file: each table declares by the method of ``Model`` whose arguments its keys are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from kane.errors import ImportFileError, ModelError
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.files.source_file import read_source
from kane.files.toml_file import TomlFile
from kane.model.checks import require_known
from kane.model.constraints import Row
from kane.model.contacts import IntermittentConstraint
from kane.model.model import Model
from kane.model.model_form import Stated, Told, restore_requirement
from kane.model.toml.model_names import require_unreserved
from kane.model.toml.toml_values import Path, ValueReader

GIVE_ANOTHER, TAKES_FORMULAS = "give another name", "write a formula under [definitions]"
TABLE, TABLES = "a table by name", "an array of tables"
# Tables and keys of a file, in the order of their declaration, with the words for their values.
SECTIONS: Mapping[str, tuple[type, str]] = {
    "name": (str, "a text"),
    "gravity": (list, "a list of three numbers or formulas [m/s^2]"),
    "impacts": (str, '"together" or "in turn"'),
    "parameters": (dict, "a table of numbers, or of { value = 1.0, unit = ... }"),
    "inputs": (dict, "a table of numbers, or of { value = 1.0, unit = ... }"),
    "definitions": (dict, "a table of formulas"),
    "bodies": (dict, TABLE),
    "joints": (dict, TABLE),
    "closures": (dict, TABLE),
    "cuts": (list, "a list of names of joints"),
    "frames": (dict, TABLE),
    "constraints": (dict, TABLE),
    "contacts": (dict, TABLE),
    "stops": (dict, TABLE),
    "sticks": (dict, TABLE),
    "latches": (dict, TABLE),
    "switches": (dict, TABLE),
    "intermittents": (dict, TABLE),
    "speeds": (dict, "a table of formulas"),
    "dependent_speeds": (list, "a list of names of speeds"),
    "loads": (list, TABLES),
    "coordinates": (list, "a list of names of coordinates"),
    "notes": (list, "a list of texts"),
    "shapes": (list, TABLES),
    "requirements": (list, TABLES),
}
CONSTRAINT_KEYS = ("expression", "rows", "type")
INTERMITTENT_METHODS: Mapping[str, Callable[..., Any]] = {
    "contacts": Model.contact,
    "stops": Model.stop,
    "sticks": Model.stick,
    "latches": Model.latch,
    "switches": Model.switch,
}
# Keys of the frames of a joint, and keys of the pose of a CustomJoint with the arguments that they mean.
JOINT_PLACES = ("parent", "child", "at", "orientation", "child_at", "child_orientation")
POSE_KEYS: Mapping[str, str] = {"R_FM": "orientation", "p_FM": "position"}


def read_model_file(path: Any) -> Model:
    """Return the model of a file.

    Raises:
        ImportFileError: the file is missing, or a fault of its text, with its line.
    """
    try:
        text = read_source(path).data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ImportFileError(f"{path} is not UTF-8: {error}; save it in this encoding") from None
    return model_of_text(TomlFile(str(path), text))


def model_of_text(file: TomlFile) -> Model:
    """Return the model of the text of a file."""
    return _ModelFile(file).model()


class _ModelFile:
    def __init__(self, file: TomlFile) -> None:
        self.file = file
        self.content = file.content()
        if not self.content:
            raise ImportFileError(f"{file.name} is empty; `kane new PATH` writes an example to a new file")
        which = " (a file with runs is a study, for kane sweep)" if "until" in self.content else ""
        for key, value in self.content.items():
            with file.at(key):
                require_known(key, SECTIONS, "key", f" in a model file{which}")
                kind, wanted = SECTIONS[key]
                require(value, kind, f"{key} is {wanted}{f' with the header [[{key}]]' if wanted is TABLES else ''}")

    def model(self) -> Model:
        with self.file.at("name"):
            model = Model(self.content.get("name", "model"))
        self.read = read = ValueReader(self.file, model, self.content.get("definitions", {}))
        self._symbols(model)
        for key in ("gravity", "impacts"):
            if key in self.content:
                value = read.nested(self.content[key], (key,)) if key == "gravity" else self.content[key]
                with self.file.at(key):
                    setattr(model, key, value)
        for name, table, path in self._entries("bodies"):
            read.call(model.body, table, path, f"body {name!r}", name=name)
        for key, declare in (("joints", model.connect), ("closures", model.close)):
            for name, table, path in self._entries(key):
                self._joint(declare, name, table, path)
        for name in self.content.get("cuts", ()):
            with self.file.at("cuts"):
                model.cuts.append(read.joint(name, ("cuts",)))
        for name, table, path in self._entries("frames"):
            read.call(model.frame, table, path, f"frame {name!r}", name=name)
        self._constraints(model)
        self._motion(model)
        self._rest(model)
        return model

    def _entries(self, key: str) -> Iterator[tuple[str, Any, Path]]:
        """Return the entries of a table of tables: name, content, path."""
        for name, table in self.content.get(key, {}).items():
            yield name, table, (key, name)

    def _items(self, key: str) -> Iterator[tuple[Any, Path]]:
        """Return the entries of an array of tables."""
        for k, table in enumerate(self.content.get(key, ())):
            yield table, (key, k)

    def _symbols(self, model: Model) -> None:
        for key, declare in (("parameters", model.parameter), ("inputs", model.input)):
            for name, given, path in self._entries(key):
                table = given if isinstance(given, dict) else {"value": given}
                with self.file.at(*path):
                    for word in table:
                        require_known(word, ("value", "unit"), "key")
                    if "value" not in table:
                        raise ModelError(f"{name!r} has no value; give its default value")
                    require_unreserved([name], GIVE_ANOTHER)
                    if isinstance(text := table["value"], str):
                        raise ModelError(f"the default of {name!r} must be a number, not {text!r}; {TAKES_FORMULAS}")
                    declare(name, table["value"], unit=table.get("unit"))
        for name in self.content.get("definitions", ()):
            with self.file.at("definitions", name):
                require_unreserved([name], GIVE_ANOTHER)
                if name == "t" or name in model.parameters or name in model.inputs:
                    raise ModelError(f"the definition {name!r} has the name of time, a parameter or an input")

    def _joint(self, declare: Callable[..., Any], name: str, table: Any, path: Path) -> None:
        read = self.read
        with self.file.at(*path):
            require(table, dict, f"joint {name!r} is a table with type, parent, child, ...")
            if "type" not in table:
                raise ModelError(f"joint {name!r} has no type; give one of {', '.join(read.joints)}")
        with self.file.at(*path, "type"):
            require_known(table["type"], read.joints, "type of joint")
        pose = {key: x for key, x in table.items() if key in JOINT_PLACES}
        own = {POSE_KEYS.get(key, key): x for key, x in table.items() if key not in ("type", *JOINT_PLACES)}
        joint = read.joint_of(table["type"], own, path, name)
        made = read.call(declare, pose, path, f"joint {name!r}", name=name, joint=joint)
        with self.file.at(*path):
            require_unreserved((*made.coordinate_names, *made.speed_names), GIVE_ANOTHER)

    def _constraints(self, model: Model) -> None:
        read = self.read
        for name, table, path in self._entries("constraints"):
            with self.file.at(*path):
                require(table, dict, f"constraint {name!r} is a table")
            for key in () if "type" in table else table:
                if get_close_matches(key, CONSTRAINT_KEYS, n=1):
                    with self.file.at(*path, key):
                        require_known(key, CONSTRAINT_KEYS, "key", f" in constraint {name!r}")
            if "rows" in table:
                rows = read.call(_rows, table, path, f"constraint {name!r}")
                given: Any = Stated(name, rows)
            elif "expression" in table:
                given = read.call(_vanishing, table, path, f"constraint {name!r}")
            else:
                given = read.object(read.constraints, table, path)
            with self.file.at(*path):
                model.constrain(given, name=name)
        for key, method in INTERMITTENT_METHODS.items():
            for name, table, path in self._entries(key):
                read.call(method.__get__(model), table, path, f"{name!r}", name=name)
        for name, table, path in self._entries("intermittents"):
            made = read.call(IntermittentConstraint, table, path, f"{name!r}", name=name)
            with self.file.at(*path):
                model.intermittent(Told(made), name=name)

    def _motion(self, model: Model) -> None:
        read = self.read
        speeds = {name: read.expression(raw, path) for name, raw, path in self._entries("speeds")}
        dependent = self.content.get("dependent_speeds", ())
        with self.file.at("speeds" if speeds else "dependent_speeds"):
            if {"dependent", "self"} & set(speeds):
                raise ModelError("a speed of a model file is not called dependent or self; give another name")
            model.speeds(dependent=dependent, **speeds)
        for table, path in self._items("loads"):
            load = read.object(read.loads, table, path)
            with self.file.at(*path):
                model.load(load)
        with self.file.at("coordinates"):
            model.coordinates(*self.content.get("coordinates", ()))

    def _rest(self, model: Model) -> None:
        read = self.read
        model.notes += map(str, self.content.get("notes", ()))
        for table, path in self._items("shapes"):
            shape = read.shape(table, path)
            with self.file.at(*path):
                shape.origin.body.shape(shape)
        for table, path in self._items("requirements"):
            found = read.call(_requirement, table, path, "a requirement")
            with self.file.at(*path):
                restore_requirement(model, found)
        known = {name for c in model.connections for name in (*c.coordinate_names, *c.speed_names)}
        known |= {body.name for body in model.bodies}
        for name in self.content.get("definitions", ()):
            with self.file.at("definitions", name):
                if name in known:
                    raise ModelError(f"the definition {name!r} has the name of a body, coordinate or speed; rename it")
            self.read.define(name)  # raises for a fault in a definition that nothing uses


def _rows(rows: tuple[Row, ...]) -> Any:
    return rows


def _vanishing(expression: Expr) -> Any:
    return expression


def _requirement(what: str, kind: str, expressions: Sequence[Expr]) -> Any:
    return what, kind, expressions
