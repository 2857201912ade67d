"""The MODEL argument of commands: a file (TOML, URDF, MJCF, Python), a reference model or an example robot by name."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import warnings
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, get_type_hints

import typer

import kane
from kane.errors import ImportFileError, ModelError, shown
from kane.files.source_file import read_source

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A model file in TOML; a URDF or MJCF file; a Python file that defines `model` (it is executed); "
        "a reference model: stanford_arm, chain:6, ...; or a robot of the package example-robot-data: ur5, panda, ...",
    ),
]


MOST_NOTES = 20  # notes that are printed
RUN = ".nc"  # suffix of files of runs


class Base(StrEnum):
    """How the root link of a URDF is held."""

    fixed = "fixed"
    free = "free"


BaseOption = Annotated[Base, typer.Option(help="How the root link of a URDF is held.")]


def read_model(text: str, base: Base = Base.fixed, *, others: str = "a ") -> kane.Model:
    """Return the model that ``text`` names.

    Args:
        text: text of the user.
        base: how the root link of a URDF is held.
        others: other valid names, for the error message; inserted before "reference model".

    Raises:
        ModelError: ``text`` is not a file, a reference model or an example robot, or the reference model does not take
            these arguments.
        ImportFileError: the file does not describe a model that kane supports.
    """
    path = Path(text)
    if path.suffix.lower() == ".py":
        return _python_model(path)
    name, *arguments = text.split(":")
    known = _reference_models()
    if name in known and not path.is_file():
        return _reference_model(name, known[name], arguments)
    if not path.exists() and path.suffix.lower() not in (".xml", ".mjcf", ".json", ".toml"):
        path = _example_robot(text, sorted(known), others)
        typer.echo(f"note: {text!r} is {path.name} of the package example-robot-data", err=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kane.ImportFileWarning)  # the notes of the model have more detail
        model = _described_model(path, base)
    _tell(model.notes)
    return model


def _example_robot(text: str, known: Sequence[str], others: str) -> Path:
    try:
        return kane.example_robot(text)
    except ImportFileError as error:
        raise ModelError(
            f"{shown(text)} is neither a file nor {others}reference model: those are {', '.join(known)}; "
            f"nor is it an example: {error}"
        ) from None


def _tell(notes: Sequence[str]) -> None:
    """Print notes on contents of the file that the model lacks to standard error."""
    for note in notes[:MOST_NOTES]:
        typer.echo(f"note: {note}", err=True)
    if len(notes) > MOST_NOTES:
        typer.echo(f"note: and {len(notes) - MOST_NOTES} more, in the model's notes", err=True)


def _described_model(path: Path, base: Base) -> kane.Model:
    """Read a model from a TOML or JSON file of kane, or from URDF or MJCF according to the outermost element."""
    if path.suffix.lower() == RUN:
        raise ImportFileError(
            f"{path} is a saved run, and this command takes a model: kane view {path} shows it, and in Python "
            "kane.Trajectory.load reads it"
        )
    saved = path.suffix.lower() in (".json", ".toml")
    # Imported here, because models without a file do not need the reader.
    if not saved and importlib.import_module("kane.importers.xml_reader").read_xml(read_source(path)).tag != "mujoco":
        return kane.load_urdf(path, base=kane.Free("base") if base is Base.free else None)
    if base is Base.free:
        raise ImportFileError(f"{path}: --base is for URDF; other files say which bodies are free")
    return kane.load_model(path) if saved else kane.load_mjcf(path)


def _python_model(path: Path) -> kane.Model:
    """Execute a Python file and return the model that it defines as ``model``."""
    specification = importlib.util.spec_from_file_location("kane_model_file", path)
    if specification is None or specification.loader is None or not path.is_file():
        raise ImportFileError(f"{path}: there is no such file; give the path of a Python file that defines `model`")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    if not hasattr(module, "model"):
        raise ImportFileError(
            f"{path} defines no `model`; assign a kane.Model, or a function that returns one, to this name"
        )
    found = module.model
    made = found() if callable(found) else found
    if not isinstance(made, kane.Model):
        raise ImportFileError(f"{path}: `model` is {shown(made)}; define a kane.Model, or a function that returns one")
    return made


def _reference_models() -> dict[str, Callable[..., kane.Model]]:
    """Return the exported functions of ``kane.library`` that make a model; the command line accepts only these."""
    exported = {name: getattr(kane.library, name) for name in kane.library.__all__}
    return {name: made for name, made in exported.items() if get_type_hints(made).get("return") is kane.Model}


def _reference_model(name: str, maker: Callable[..., kane.Model], arguments: list[str]) -> kane.Model:
    takes = [p.name for p in inspect.signature(maker).parameters.values() if re.search(r"\bint\b", str(p.annotation))]
    try:
        numbers = [int(a) for a in arguments]
        inspect.signature(maker).bind(*numbers)
    except (ValueError, TypeError):
        usage = ":".join([name, *(word.upper() for word in takes)])
        raise ModelError(f"write {usage}, with whole numbers; got {':'.join([name, *arguments])}") from None
    return maker(*numbers)
