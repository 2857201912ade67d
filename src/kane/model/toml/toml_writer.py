"""Writing a model file in TOML: the declarations of ``model_form`` with formulas instead of nodes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kane.errors import FileError, ModelError
from kane.expression import operations as ops
from kane.expression.form import Writer
from kane.expression.formula_text import Formulas, quoted_name
from kane.expression.node import Expr
from kane.expression.text import number_text
from kane.files.toml_file import TomlFile
from kane.model import joints, loads, shapes
from kane.model.body import ANGULAR_VELOCITY, AXIS_LETTER_OF, DIRECTION, Measure
from kane.model.contacts.declarations import IMPACTS_TOGETHER
from kane.model.model import Model
from kane.model.model_form import described, model_writer
from kane.model.toml.model_names import require_unreserved
from kane.model.toml.toml_reader import JOINT_PLACES, POSE_KEYS, model_of_text
from kane.model.toml.toml_values import classes_of

SAVE_AS_JSON = "save the model as .json, which contains all of kane, or keep the program that builds it"
OTHER_KINDS = ("Row", "Candidate", "Coulomb", "Thresholds", "Poisson", "Newton", "Stronge")
LONGEST_LINE = 110


class _Nodes(Writer):
    """Writer that keeps expressions as they are, and collects them."""

    roots: list[Expr]

    def node(self, x: Expr, who: str) -> Any:
        super().node(x, who)
        self.roots.append(x)
        return x


def model_text(model: Model) -> str:
    """Return the text of a model file.

    Raises:
        FileError: a part of the model cannot be written in this form; the message names it and the cure.
    """
    write: Any = model_writer(model, kind=_Nodes)
    write.roots = []
    content = described(model, write)
    speeds = model.speed_choice
    if speeds.near is not None:
        raise FileError(f"a model file cannot contain dependent speeds that were selected near a state; {SAVE_AS_JSON}")
    joint_names = [name for c in model.connections for name in (*c.coordinate_names, *c.speed_names)]
    try:
        require_unreserved([*model.parameters, *model.inputs, *joint_names], f"give another name, or {SAVE_AS_JSON}")
    except ModelError as error:
        raise FileError(str(error)) from None
    text = _Text(model, write.roots)
    parts = text.document(content, requirements=())
    known = {(r.what, r.kind) for r in model_of_text(TomlFile(model.name, parts)).requirements}
    left = [r for r in content["requirements"] if (r[0], r[1]) not in known]
    return text.document(content, requirements=left) if left else parts


class _Text:
    def __init__(self, model: Model, roots: Sequence[Expr]) -> None:
        self.model = model
        self.arena = model.arena
        measures = [leaf.data for leaf in model.arena.nodes if leaf.op == ops.MEASURE]
        measured = [x for m in measures for x in (*m.point, *m.direction) if isinstance(x, Expr)]
        symbols = {leaf.data for leaf in model.arena.nodes if isinstance(leaf.data, str)}
        symbols |= {body.name for body in model.bodies}
        self.kinds = {*classes_of(joints, loads, shapes), *OTHER_KINDS}
        self.formulas = Formulas(self.leaf, symbols)
        self.formulas.add([*roots, *measured])

    def leaf(self, leaf: Expr) -> str:
        """Return the text of a leaf."""
        if isinstance(leaf.data, Measure):
            return self.measure(leaf.data)
        name = leaf.data
        if leaf.op == ops.INPUT and name.startswith(" "):
            return f"[{name.strip()}]"
        rate = leaf.op == ops.RATE and self.arena.has_leaf(ops.COORDINATE, name)
        return quoted_name(name) + "'" * rate

    def measure(self, m: Measure) -> str:
        body = self.model.bodies[m.body].name
        of = self.direction(body, m.point) if m.kind == DIRECTION else self.point(body, m.point) + f".{m.kind}"
        if m.kind == ANGULAR_VELOCITY:
            of = f"{quoted_name(body)}.angular_velocity"
        return f"{of}.dot({self.direction(self.model.bodies[m.direction_body].name, m.direction)})"

    def point(self, body: str, at: Sequence[Any]) -> str:
        return f"{quoted_name(body)}.point({'' if _is_origin(at) else self.triple(at)})"

    def direction(self, body: str, along: Sequence[Any]) -> str:
        letter = AXIS_LETTER_OF.get(tuple(along))
        return f"{quoted_name(body)}.{letter or f'direction({self.triple(along)})'}"

    def triple(self, values: Sequence[Any]) -> str:
        return f"({', '.join(self.formulas(x) if isinstance(x, Expr) else number_text(float(x)) for x in values)})"

    def value(self, x: Any, who: str) -> Any:
        """Return a value of the form of a model as TOML has it.

        Raises:
            FileError: ``who`` has a value that TOML does not have.
        """
        if isinstance(x, Expr):
            return self.formulas(x)
        if isinstance(x, list):
            return [self.value(item, who) for item in x]
        if not isinstance(x, dict):
            return x
        if "is" in x:
            return self.object(dict(x), who)
        ((key, inner),) = x.items()
        if key == "point":
            return self.point(*inner)
        if key == "direction":
            return self.direction(*inner)
        if key == "rotation":
            return [self.turn(factor, who) for factor in inner]
        if key in ("body", "joint"):
            return inner
        raise FileError(f"{who} has the value {inner!r}, which a model file cannot contain; {SAVE_AS_JSON}")

    def object(self, x: dict[str, Any], who: str) -> Any:
        """Return an object as a table with its type; arguments without a value are left out."""
        kind = x.pop("is")
        if kind == "JointCoordinate":
            joint = next(c for c in self.model.connections if c.name == x["connection"]["joint"])
            return joint.coordinate_names[x["place"]] if joint.coordinate_names else joint.name
        if kind == "RecordedOrientation":
            return self.value(x["rotation"], who)
        if kind == "RecordedPosition":
            return self.value(x["components"], who)
        if kind not in self.kinds or (kind == "CustomJoint" and isinstance(x["q"], Expr)):
            what = "a CustomJoint along an expression" if kind == "CustomJoint" else f"a {kind}"
            raise FileError(f"{who} is or has {what}, which a model file in TOML cannot contain; {SAVE_AS_JSON}")
        given = {key: self.value(value, who) for key, value in x.items()}
        if isinstance(x.get("q"), Expr):
            given["q"] = {"formula": given["q"]}
        return {"type": kind} | {key: y for key, y in given.items() if y is not None and y != [] and y is not False}

    def turn(self, factor: Any, who: str) -> dict[str, Any]:
        """Return a factor of a rotation as a table."""
        if len(factor) == 2:
            return {"axis": "xyz"[factor[0]], "angle": self.value(factor[1], who)}
        return {"matrix": self.value(factor, who)}

    def table(self, x: Any, who: str) -> dict[str, Any]:
        """Return an object as a table without its type."""
        return {key: value for key, value in self.value(x, who).items() if key != "type"}

    def document(self, content: Mapping[str, Any], requirements: Sequence[Any]) -> str:
        """Return the text of the file."""
        choice = content["speeds"][0]
        speeds = {name: self.value(x, f"speed {name!r}") for name, x in choice["definitions"]["dict"]}
        top = {
            "name": content["name"],
            "gravity": self.value(content["gravity"], "gravity"),
            "impacts": content["impacts"] if content["impacts"] != IMPACTS_TOGETHER else [],
            "cuts": content["cuts"],
            "dependent_speeds": choice["dependent"],
            "coordinates": content["coordinates"],
            "notes": content["notes"],
        }
        plain: dict[str, Mapping[str, Any]] = {
            **self.symbols(content),
            "definitions": self.formulas.definitions,
            "speeds": speeds,
        }
        parts = ["\n".join(_line(key, x) for key, x in top.items() if x != [])]
        parts += [_table(f"[{key}]", x) for key, x in plain.items() if x]
        for key, tables in self.named(content).items():
            parts += [_table(f"[{key}.{quoted_key(name)}]", x) for name, x in tables.items()]
        for key in ("loads", "shapes"):
            listed = [self.value(x, f"{key[:-1]} {k}") for k, x in enumerate(content[key], start=1)]
            parts += [_table(f"[[{key}]]", x) for x in listed]
        for what, kind, expressions in requirements:
            given = {"what": what, "kind": kind, "expressions": self.value(expressions, what)}
            parts.append(_table("[[requirements]]", given))
        return "\n\n".join(parts) + "\n"

    def symbols(self, content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return parameters and inputs as tables."""
        units = dict(content["units"])
        return {
            key: {name: {"value": x, "unit": units[name]} if name in units else x for name, x in content[key]}
            for key in ("parameters", "inputs")
        }

    def named(self, content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return tables by name: bodies, joints, frames, constraints and intermittent constraints."""
        frames = {
            name: dict(zip(("body", "at", "orientation"), self.value(raw, f"frame {name!r}"), strict=True))
            for name, raw in content["frames"]
        }
        rows = {name: [self.table(row, f"constraint {name!r}") for row in raw] for name, raw in content["constraints"]}
        return {
            "bodies": {body["name"]: self.body(body) for body in content["bodies"]},
            "joints": {joint["name"]: self.joint(joint) for joint in content["connections"]},
            "frames": {name: _without_defaults(frame) for name, frame in frames.items()},
            "constraints": {name: {"rows": given} for name, given in rows.items()},
            "intermittents": {x["name"]: self.intermittent(x) for x in content["candidates"]},
        }

    def body(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return a body as a table."""
        who = f"body {raw['name']!r}"
        table = {key: self.value(x, who) for key, x in raw.items() if key != "name"}
        inertia = table.pop("inertia", None)
        if inertia is not None and all(str(inertia[i][j]) == "0.0" for i in range(3) for j in range(3) if i != j):
            inertia = [inertia[k][k] for k in range(3)]
        if inertia is not None and not _is_origin(inertia):
            table["inertia"] = inertia
        return _without_defaults(table)

    def joint(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return a joint as a table."""
        who = f"joint {raw['name']!r}"
        own = self.value(raw["joint"], who)
        if isinstance(own.get("speeds"), dict) and own["speeds"]["type"] == "AngleRates":
            del own["speeds"]
        for label in ("q", "name"):
            if own.get(label) == raw["name"]:
                del own[label]
        keys = {argument: key for key, argument in POSE_KEYS.items()}
        own = {keys.get(key, key): x for key, x in own.items()}
        return own | _without_defaults({key: self.value(raw[key], who) for key in JOINT_PLACES})

    def intermittent(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return an intermittent constraint as a table."""
        table = {key: x for key, x in self.table(raw, f"{raw['name']!r}").items() if key != "name"}
        for row in (table.get("normal", {}), *table.get("tangents", ())):
            row.pop("type", None)
        return table


def _without_defaults(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table without places at the origin and without turns."""
    return {key: x for key, x in table.items() if x != [] and not (key in ("at", "child_at", "com") and _is_origin(x))}


def _is_origin(x: Any) -> bool:
    """Check whether three numbers are +0.0; -0.0 has other last bits."""
    return len(x) == 3 and all(str(y) == "0.0" for y in x)


def _table(header: str, content: Mapping[str, Any]) -> str:
    return "\n".join([header, *(_line(key, x) for key, x in content.items())])


def _line(key: str, x: Any) -> str:
    line = f"{quoted_key(key)} = {in_toml(x)}"
    if len(line) <= LONGEST_LINE or not isinstance(x, list):
        return line
    return "\n".join([f"{quoted_key(key)} = [", *(f"    {in_toml(item)}," for item in x), "]"])


def quoted_key(name: str) -> str:
    """Return a key of TOML, between quotation marks if it has other characters than letters, digits, _ and -."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else in_toml(name)


def in_toml(x: Any) -> str:
    """Return a value in TOML."""
    if isinstance(x, str):
        return json.dumps(x, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(x, list):
        return f"[{', '.join(map(in_toml, x))}]"
    if isinstance(x, Mapping):
        return f"{{ {', '.join(f'{quoted_key(key)} = {in_toml(y)}' for key, y in x.items())} }}"
    if isinstance(x, bool):
        return str(x).lower()
    return "-0.0" if str(x) == "-0.0" else number_text(float(x))
