"""Lossless JSON of values: numbers, expressions of one arena, and dataclasses with names that the reader knows.

Numbers, texts, truth values and None are written unchanged. Sequences are written as lists and read as tuples. Other
values become objects with a special key:

    {"node": 12}                              the expression with this id
    {"float": "inf"}                          a number that JSON does not have
    {"dict": [[key, value], ...]}             a dict
    {"is": "Revolute", "q": "q1", ...}        a dataclass, by its fields; an integer instead of the name is the index
                                              of the class in ``foreign``
    {"foreign": 0}                            any other object, by its index in ``foreign``

``foreign`` is the list of classes and objects that pickle sends together with the text. ``atoms`` define further keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from numbers import Real
from typing import Any

from kane.errors import FileError, ImportFileError
from kane.expression.arena import Arena
from kane.expression.node import Expr


class Writer:
    """Encoder of values as JSON.

    Attributes:
        extent: the nodes with ids below this number include all nodes of the written expressions.
    """

    def __init__(
        self,
        arena: Arena,
        *,
        classes: Mapping[str, type] | None = None,
        atoms: Mapping[type, Callable[[Any], Any]] | None = None,
        foreign: list[Any] | None = None,
    ) -> None:
        """Set up a writer of values whose expressions belong to one arena.

        Args:
            classes: dataclasses that the reader knows, by name.
            atoms: encoders of objects of other classes, by class.
            foreign: list that receives the classes and objects that only pickle can send; None without pickle.
        """
        self._arena = arena
        self._names = {known: name for name, known in (classes or {}).items()}
        self._atoms = atoms or {}
        self._foreign = foreign
        self.extent = 0

    def __call__(self, x: Any, who: str) -> Any:
        """Return a value as JSON; ``who`` names its owner in the message.

        Raises:
            FileError: the value has no JSON form, or is an expression of another model.
        """
        if x is None or isinstance(x, (str, bool)):
            return x
        if isinstance(x, Expr):
            return self.node(x, who)
        if isinstance(x, (int, float)):
            return _number(x)
        if isinstance(x, Real):
            return _number(float(x))
        if type(x) in (list, tuple):
            return [self(item, who) for item in x]
        if type(x) is dict:
            return {"dict": [[self(key, who), self(value, who)] for key, value in x.items()]}
        atom = self._atoms.get(type(x))
        if atom is not None:
            return atom(x)
        if type(x) not in self._names and hasattr(x, "tolist"):  # arrays and numbers of NumPy
            return self(x.tolist(), who)
        return self._object(x, who)

    def node(self, x: Expr, who: str) -> Any:
        """Return an expression as JSON."""
        if x.arena is not self._arena:
            raise FileError(f"{who} holds the expression {x!r} of another model; build everything with one model")
        place = x.arena.place(x)
        self.extent = max(self.extent, place + 1)
        return {"node": place}

    def _object(self, x: Any, who: str) -> Any:
        name = self._names.get(type(x))
        if name is None and self._foreign is None:
            kind = type(x)
            raise FileError(
                f"{who} holds {x!r}, a {kind.__module__}.{kind.__qualname__}, which files cannot contain; "
                "use joints, loads and expressions of kane instead (kane.CustomJoint, kane.Motor, kane.Force), or keep "
                "the program that builds the model"
            )
        if is_dataclass(x) and not isinstance(x, type):
            given = {f.name: self(getattr(x, f.name), who) for f in fields(x) if f.init}
            return {"is": self._sent(type(x)) if name is None else name, **given}
        return {"foreign": self._sent(x)}

    def _sent(self, x: Any) -> int:
        """Return the index of an object in ``foreign``; append the object if it is new."""
        assert self._foreign is not None
        for place, known in enumerate(self._foreign):
            if known is x:
                return place
        self._foreign.append(x)
        return len(self._foreign) - 1


def _number(x: float) -> Any:
    if isinstance(x, int):
        return int(x)
    return float(x) if math.isfinite(x) else {"float": repr(float(x))}


class Reader:
    """Decoder of JSON, which makes objects of known classes only."""

    def __init__(
        self,
        arena: Arena,
        *,
        classes: Mapping[str, type] | None = None,
        atoms: Mapping[str, Callable[[Any], Any]] | None = None,
        foreign: Sequence[Any] = (),
    ) -> None:
        """Set up a reader into one arena; ``atoms`` are decoders by key, the others correspond to the writer's."""
        self._arena = arena
        self._classes = classes or {}
        self._foreign = foreign
        self._readers = {
            "node": self._node,
            "float": _float,
            "dict": self._dict,
            "foreign": self._sent,
            **(atoms or {}),
        }

    def __call__(self, raw: Any) -> Any:
        """Return the value of decoded JSON.

        Raises:
            ImportFileError: it does not represent a value.
        """
        if isinstance(raw, list):
            return tuple(self(item) for item in raw)
        if not isinstance(raw, dict):
            return raw
        if "is" in raw:
            return self._object(dict(raw))
        key, value = next(iter(raw.items())) if len(raw) == 1 else (None, None)
        if key not in self._readers:
            raise ImportFileError(f"{_short(raw)} is not a value that this kane can read")
        return self._readers[key](value)

    def _node(self, number: Any) -> Expr:
        return node_at(self._arena, number)

    def _dict(self, pairs: Any) -> dict[Any, Any]:
        return {self(key): self(value) for key, value in pairs}

    def _sent(self, place: Any) -> Any:
        if type(place) is not int or not 0 <= place < len(self._foreign):
            raise ImportFileError(f"{place!r} is not the index of an object sent by pickle, which files cannot contain")
        return self._foreign[place]

    def _object(self, raw: dict[str, Any]) -> Any:
        name = raw.pop("is")
        known = self._classes.get(name) if isinstance(name, str) else self._sent(name)
        if known is None:
            raise ImportFileError(f"this kane has no class {_short(name)}; a newer version may have it")
        given = {word: self(value) for word, value in raw.items()}
        missing = {f.name for f in fields(known) if f.init} ^ set(given)
        if missing:
            raise ImportFileError(f"{_short(name)} has missing or unknown fields: {', '.join(sorted(missing))}")
        return known(**given)


def node_at(arena: Arena, number: Any) -> Expr:
    """Return the node at the given place of the arena.

    Raises:
        ImportFileError: the arena has no node there yet.
    """
    if type(number) is not int or not 0 <= number < len(arena):
        raise ImportFileError(f"{_short(number)} is not the place of one of the {len(arena)} earlier nodes")
    return arena.nodes[number]


def _float(word: Any) -> float:
    if word not in ("inf", "-inf", "nan"):
        raise ImportFileError(f"{_short(word)} is neither inf, -inf nor nan")
    return float(word)


def _short(raw: Any) -> str:
    text = repr(raw)
    return text if len(text) <= 80 else text[:80] + "..."
