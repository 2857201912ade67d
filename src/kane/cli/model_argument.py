"""The MODEL argument of every command: a URDF path, or a reference model by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, get_type_hints

import typer

import kane
from kane.errors import ModelError

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A URDF file, or a reference model: stanford_arm, chain:6, ...")
]


class Base(StrEnum):
    """How the root link of a URDF is held."""

    fixed = "fixed"
    free = "free"


BaseOption = Annotated[Base, typer.Option(help="How the root link of a URDF is held.")]


def read_model(text: str, base: Base = Base.fixed) -> kane.Model:
    """The model that ``text`` names.

    Raises:
        ModelError: neither a file nor a reference model, or arguments that the reference model does not take.
        ImportFileError: the file is not a URDF that kane understands.
    """
    if text.lower().endswith((".urdf", ".xml")) or Path(text).is_file():
        return kane.load_urdf(Path(text), base=kane.Free("base") if base is Base.free else None)
    name, *arguments = text.split(":")
    known = _reference_models()
    if name not in known:
        raise ModelError(
            f"{text!r} is neither a URDF file nor a reference model; reference models are {', '.join(sorted(known))}"
        )
    return _reference_model(name, known[name], arguments)


def _reference_models() -> dict[str, Callable[..., kane.Model]]:
    """What the library exports and makes a model: nothing else can be reached from the command line."""
    exported = {name: getattr(kane.library, name) for name in kane.library.__all__}
    return {name: made for name, made in exported.items() if get_type_hints(made).get("return") is kane.Model}


def _reference_model(name: str, maker: Callable[..., kane.Model], arguments: list[str]) -> kane.Model:
    needed = [p.name for p in inspect.signature(maker).parameters.values() if p.default is p.empty]
    try:
        numbers = [int(a) for a in arguments]
        inspect.signature(maker).bind(*numbers)
    except (ValueError, TypeError):
        usage = ":".join([name, *(word.upper() for word in needed)])
        raise ModelError(f"write {usage}, with whole numbers; got {':'.join([name, *arguments])}") from None
    return maker(*numbers)
