"""Files of studies in TOML: model, table of runs and outputs; errors have the line of the fault."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kane
from kane.cli.model_argument import Base, read_model
from kane.errors import ImportFileError, ModelError, shown
from kane.expression.formula import read_formula
from kane.expression.number_arguments import list_argument, number, require, text, whole
from kane.files.scipy import load_scipy
from kane.files.source_file import read_source
from kane.model.checks import require_known
from kane.sweeps.run_tables import SAMPLING_METHODS

# Keys of the file and of its tables, with the type of their values and the words for it.
KEYS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "model": (str, "a text, as MODEL of kane run"),
    "base": (str, '"fixed" or "free"'),
    "until": ((int, float), "a number of seconds"),
    "start": ((int, float), "a number of seconds"),
    "runs": (int, "a whole number"),
    "seed": (int, "a whole number"),
    "method": (str, f"one of {', '.join(SAMPLING_METHODS)}"),
    "chunk": (int, "a whole number"),
    "rtol": ((int, float), "a number"),
    "times": (list, "a list of times [s]"),
    "values": (dict, "a table of numbers by name"),
    "grid": (dict, "a table of lists by name"),
    "sample": (dict, "a table of distributions by name"),
    "outputs": (dict, "a table of formulas by name"),
    "events": (dict, "a table of events by name"),
    "precision": (dict, "a table of numbers by output"),
}
RANGE_KEYS, EVENT_KEYS = ("from", "to", "count"), ("expression", "direction", "terminal")
# Number of values of each distribution, and their words.
DISTRIBUTIONS = {
    "uniform": (2, "[low, high]"),
    "normal": (2, "[mean, deviation]"),
    "lognormal": (2, "[median, deviation of the logarithm]"),
    "triangular": (3, "[low, most probable, high]"),
}


def read_study(path: Any) -> tuple[kane.Dynamics, dict[str, Any]]:
    """Return the dynamics and the arguments of ``kane.sweep`` that a file describes.

    The path of the model is relative to the folder of the file. No text of the file is executed; a model in Python is.

    Raises:
        ImportFileError: malformed TOML, an unknown key or name, or a value of a wrong kind, with its line.
        ModelError: the model cannot be read.
    """
    file = _StudyFile(str(path), read_source(path).data.decode("utf-8", "replace"))
    found = file.content()
    with file.at("model"):
        described = read_model(_model_path(Path(path), found["model"]), Base(found.get("base", "fixed")))
    dyn = kane.build(kane.formulate(described))
    e = dyn.equations
    groups = dict(q=e.q, u=e.u, inputs=e.inputs, parameters=e.parameters)
    names = {leaf.name: leaf for leaves in groups.values() for leaf in leaves}
    file.require_names(found, names)
    given: dict[str, Any] = {
        word: found[word] for word in ("until", "start", "seed", "times", "chunk") if word in found
    }
    for group, leaves in groups.items():
        given[group] = {
            leaf.name: found["values"][leaf.name] for leaf in leaves if leaf.name in found.get("values", {})
        }
    given["runs"] = file.table(found)
    known = names | {"t": e.t, "time": e.t}
    if "outputs" in found:
        given["outputs"] = {name: file.formula(("outputs", name), x, known) for name, x in found["outputs"].items()}
    given["events"] = [file.event(name, x, known) for name, x in found.get("events", {}).items()]
    if "rtol" in found:
        with file.at("rtol"):
            given["integrator"] = kane.RK8(rtol=found["rtol"])
    return dyn, given | {"precision": found.get("precision")}


def _model_path(study: Path, text: str) -> str:
    beside = study.parent / text
    return str(beside) if beside.exists() else text


@dataclass(frozen=True)
class _StudyFile:
    """Text of a study file.

    Attributes:
        name: path for messages.
        text: content.
    """

    name: str
    text: str

    def line_of(self, *path: str) -> int:
        """Return the line of a key, or of the innermost table around it that has a line of its own."""
        table: tuple[str, ...] = ()
        best, found = 0, 1
        for k, line in enumerate(self.text.splitlines(), start=1):
            header, key = re.match(r"\s*\[\[?([^\]]+)\]", line), re.match(r"\s*([^=\[#]+?)\s*=", line)
            if header:
                table = here = _parts(header.group(1))
            elif key:
                here = (*table, *_parts(key.group(1)))
            else:
                continue
            common = len(here) if here == path[: len(here)] else 0
            if common > best:
                best, found = common, k
        return found

    @contextmanager
    def at(self, *path: str) -> Iterator[None]:
        """Name the line of a key in errors of the block.

        Raises:
            ImportFileError: the block raised an error of kane.
        """
        try:
            yield
        except ModelError as error:
            raise ImportFileError(f"{self.name}, line {self.line_of(*path)}: {error}") from None

    def content(self) -> dict[str, Any]:
        """Return the content; keys and types are checked.

        Raises:
            ImportFileError: names the line.
        """
        try:
            found = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            place = re.search(r"\(at line (\d+), column (\d+)\)|\(at end of document\)", str(error))
            line = place.group(1) if place and place.group(1) else len(self.text.splitlines())
            reason = re.sub(r" \(at .*\)", "", str(error))
            raise ImportFileError(f"{self.name}, line {line}: this is not TOML: {reason}") from None
        for key, value in found.items():
            with self.at(key):
                require_known(key, KEYS, "key")
                kind, wanted = KEYS[key]
                if not isinstance(value, kind) or isinstance(value, bool):
                    raise ModelError(f"{key} is {shown(value)}; give {wanted}")
        for key in ("model", "until"):
            if key not in found:
                raise ImportFileError(f"{self.name} has no {key}; give {KEYS[key][1]}")
        with self.at("base"):
            require_known(found.get("base", "fixed"), [*Base], "base")
        return found

    def require_names(self, found: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        """Raise if a table has a name that the model lacks, or a value that is not a number."""
        for table in ("values", "grid", "sample"):
            for name, value in found.get(table, {}).items():
                with self.at(table, name):
                    require_known(name, names, "coordinate, speed, input or parameter")
                    if table == "values":
                        number(value, name)
        for name, value in found.get("precision", {}).items():
            with self.at("precision", name):
                number(value, f"the precision of {name!r}")

    def table(self, found: Mapping[str, Any]) -> Any:
        """Return the table of the runs.

        Raises:
            ImportFileError: there is no table or two, or a value is wrong; names the line.
        """
        if ("grid" in found) == ("sample" in found):
            raise ImportFileError(f"{self.name} needs one of the tables [grid] and [sample]")
        for key in ("runs", "seed", "method"):
            if key in found and "grid" in found:
                raise ImportFileError(f"{self.name}, line {self.line_of(key)}: {key} is for [sample], not for [grid]")
        if "grid" in found:
            with self.at("grid"):
                return kane.grid({name: self._values(name, value) for name, value in found["grid"].items()})
        for key in ("runs", "seed"):
            if key not in found:
                raise ImportFileError(f"{self.name} has no {key}; [sample] needs {KEYS[key][1]}")
        drawn = {name: self._distribution(name, value) for name, value in found["sample"].items()}
        with self.at("method" if found.get("method", "random") not in SAMPLING_METHODS else "runs"):
            return kane.sample(found["runs"], drawn, method=found.get("method", "random"))

    def _values(self, name: str, value: Any) -> Any:
        with self.at("grid", name):
            if not isinstance(value, dict):
                return list_argument(value, f"the values of {name!r}", "numbers, or { from = 0, to = 1, count = 5 }")
            for key in (*value, *RANGE_KEYS):
                require_known(key, RANGE_KEYS, "key")
                if key not in value:
                    raise ModelError(f"the values of {name!r} have no {key}; give from, to and count")
            low, high = (number(value[key], f"{key} of {name!r}") for key in ("from", "to"))
            return np.linspace(low, high, whole(value["count"], f"count of {name!r}", 1))

    def _distribution(self, name: str, value: Any) -> Any:
        with self.at("sample", name):
            require(value, dict, f"the distribution of {name!r} is a table such as {{ normal = [1.0, 0.1] }}")
            if len(value) != 1:
                raise ModelError(f"{name!r} has {len(value)} distributions; give one of {', '.join(DISTRIBUTIONS)}")
            kind, given = next(iter(value.items()))
            require_known(kind, DISTRIBUTIONS, "distribution")
            count, wanted = DISTRIBUTIONS[kind]
            parameters = [number(x, f"a value of {name!r}") for x in list_argument(given, kind, wanted)]
            if len(parameters) != count or (kind in ("normal", "lognormal") and not parameters[1] > 0.0):
                raise ModelError(f"{kind} of {name!r} is {shown(given)}; give {wanted}, with a positive deviation")
            found = _made(kind, parameters)
            kane.sample(1, {name: found})  # checks intervals
            return found

    def formula(self, path: tuple[str, ...], value: Any, names: Mapping[str, Any]) -> Any:
        """Return the expression of a formula."""
        with self.at(*path):
            found = read_formula(text(value, f"the formula of {path[1]!r}"), names)
            if isinstance(found, float):
                raise ModelError(f"the formula of {path[1]!r} is the number {found:g}; use a name of the model")
            return found

    def event(self, name: str, value: Any, names: Mapping[str, Any]) -> kane.Event:
        """Return an event."""
        with self.at("events", name):
            require(value, dict, f"the event {name!r} is a table with {', '.join(EVENT_KEYS)}")
        for key in value:
            with self.at("events", name, key):
                require_known(key, EVENT_KEYS, "key")
        with self.at("events", name):
            if "expression" not in value:
                raise ModelError(f"the event {name!r} has no expression; give a formula")
        expression = self.formula(("events", name, "expression"), value["expression"], names)
        with self.at("events", name):
            return kane.Event(expression, value.get("direction", 0), value.get("terminal", False), name)


def _parts(key: str) -> tuple[str, ...]:
    """Return the parts of a dotted key."""
    return tuple(part.strip().strip("\"'") for part in re.findall(r"\"[^\"]*\"|'[^']*'|[^.]+", key))


def _made(kind: str, parameters: list[float]) -> Any:
    stats = load_scipy("stats")
    if kind == "uniform":
        return tuple(parameters)
    if kind == "normal":
        return stats.norm(*parameters)
    if kind == "lognormal":
        return stats.lognorm(parameters[1], scale=parameters[0])
    low, middle, high = parameters
    if not low <= middle <= high or low == high:
        raise ModelError(f"triangular is {shown(parameters)}; give [low, most probable, high] in increasing order")
    return stats.triang((middle - low) / (high - low), low, high - low)
