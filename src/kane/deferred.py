"""Data classes, named tuples and packages that are quick to import.

``dataclasses.dataclass`` compiles six functions of each class, which takes 0.5 to 0.8 ms. A process imports two hundred
data classes and makes objects of a few. ``dataclass`` of this file has the same meaning; it compiles ``__init__`` at
the first object. ``typing.NamedTuple`` checks each annotation, which takes three quarters of its time. A package with
``exporting`` imports the modules of its names at their first use.
"""

from __future__ import annotations

import dataclasses
import re
import reprlib
import sys
from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from typing import NamedTuple as NamedTuple
else:

    class _NamedTupleMaker(type):
        """Metaclass whose classes with annotations become named tuples."""

        def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> Any:
            if not bases:
                return super().__new__(cls, name, bases, space)
            fields = space.get("__annotations__", {})
            defaults = [space.pop(field) for field in fields if field in space]
            made: Any = namedtuple(name, fields, defaults=defaults, module=space["__module__"])
            for key, value in space.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_NamedTupleMaker):
        """Base class that makes a class a named tuple, as ``typing.NamedTuple`` does."""

    def dataclass(kind: Any = None, /, **options: Any) -> Any:
        """Make a class a data class, as ``dataclasses.dataclass`` does."""
        if kind is None:
            return lambda known: dataclass(known, **options)
        if not options.keys() <= {"frozen", "eq", "repr", "kw_only"}:  # slots, for example, need another class object
            return dataclasses.dataclass(**options)(kind)
        own, values = dict(vars(kind)), _fields(kind, options)
        for name in own.get("__annotations__", {}):
            if isinstance(own.get(name), dataclasses.Field) and name not in values:
                delattr(kind, name)
        for name, value in values.items():
            setattr(kind, name, value)
        for name, function in _functions(kind, own, **options).items():
            if name not in own or name == "__hash__":
                setattr(kind, name, function)
        return kind


def exporting(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package, which import each exported name at its first use.

    The export lines, ``from module import name as name``, follow ``if TYPE_CHECKING`` in the ``__init__.py``.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807
        home = _homes(package).get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(home), name)
        setattr(sys.modules[package], name, found)
        return found

    return __getattr__, lambda: list(_homes(package))


@cache
def _homes(package: str) -> dict[str, str]:
    """Return the module of each name that a package exports."""
    with open(str(sys.modules[package].__file__), encoding="utf-8") as file:
        lines = re.findall(r"^    from (\S+) import (\w+) as \w+$", file.read(), re.MULTILINE)
    return {name: module for module, name in lines}


def exports(package: ModuleType, *, loaded: bool = False) -> list[Any]:
    """Return all that a package exports, or only members of modules that are loaded."""
    homes = _homes(package.__name__)
    return [getattr(package, name) for name, home in homes.items() if not loaded or home in sys.modules]


def compiled(function: Any) -> Any:
    """Return the compiled ``__init__`` in place of one that would be compiled at its first call."""
    return getattr(function, "compile", lambda: function)()


def _fields(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a data class, its options, and the values of fields that have a default."""
    own: Mapping[str, Any] = vars(kind)
    inherited: dict[str, Any] = {}
    for known in reversed(kind.__mro__[1:]):
        if dataclasses.is_dataclass(known):
            inherited |= {field.name: field for field in dataclasses.fields(known)}
    annotations = own.get("__annotations__", {})
    # A class without base classes; a redefined field keeps its place.
    types = {**{name: field.type for name, field in inherited.items()}, **annotations}
    names = {"__module__": kind.__module__, "__doc__": "Fields.", "__annotations__": types}
    twin = type(kind.__name__, (), {**inherited, **{n: own[n] for n in annotations if n in own}, **names})
    made = vars(dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=options.get("kw_only", False))(twin))
    made["__dataclass_params__"].frozen = options.get("frozen", False)
    added = ["__dataclass_params__", "__dataclass_fields__", "__match_args__", *(n for n in annotations if n in made)]
    return {name: made[name] for name in added}


def _functions(
    kind: type, own: Mapping[str, Any], *, frozen: bool = False, eq: bool = True, repr: bool = True, **others: Any
) -> dict[str, Any]:
    """Return the functions of a data class."""
    found: dict[str, Any] = {"__init__": _compiled_later(kind, frozen)}
    if repr:
        found["__repr__"] = _representation(kind)
    if eq:
        found["__eq__"] = _comparison(kind)
        if own.get("__hash__") is None:
            found["__hash__"] = _hash(kind) if frozen else None
    return found | (_refusals(kind) if frozen else {})


def _compiled_later(kind: Any, frozen: bool) -> Callable[..., None]:
    def compile_now() -> Any:
        made = _init(kind, frozen)
        if vars(kind).get("__init__") is first_call:
            kind.__init__ = made
        return made

    def first_call(self: Any, /, *args: Any, **kwargs: Any) -> None:
        compile_now()(self, *args, **kwargs)

    first_call.compile = compile_now  # type: ignore[attr-defined]
    return first_call


def _init(kind: Any, frozen: bool) -> Any:
    """Compile ``__init__``, as a function of a class without base classes that has the same fields."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    names: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": "Fields."}
    names["__annotations__"] = {name: field.type for name, field in fields.items()}
    after = {"__post_init__": kind.__post_init__} if hasattr(kind, "__post_init__") else {}
    twin: Any = type(kind.__name__, (), {**fields, **after, **names})
    return dataclasses.dataclass(repr=False, eq=False, frozen=frozen)(twin).__init__


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function of an object that returns the values of these attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda thing: tuple([getattr(thing, name) for name in names])


def _representation(kind: Any) -> Callable[[Any], str]:
    names = [field.name for field in dataclasses.fields(kind) if field.repr]

    @reprlib.recursive_repr()
    def represent(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    return represent


def _comparison(kind: Any) -> Callable[[Any, Any], bool]:
    values = _values([field.name for field in dataclasses.fields(kind) if field.compare])

    def compare(self: Any, other: Any) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return compare


def _hash(kind: Any) -> Callable[[Any], int]:
    chosen = [f.name for f in dataclasses.fields(kind) if (f.compare if f.hash is None else f.hash)]
    values = _values(chosen)
    return lambda self: hash(values(self))


def _refusals(kind: Any) -> dict[str, Callable[..., None]]:
    names = frozenset(field.name for field in dataclasses.fields(kind))

    def refuse_value(self: Any, name: str, value: Any) -> None:
        if type(self) is kind or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(kind, self).__setattr__(name, value)

    def refuse_removal(self: Any, name: str) -> None:
        if type(self) is kind or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(kind, self).__delattr__(name)

    return {"__setattr__": refuse_value, "__delattr__": refuse_removal}
