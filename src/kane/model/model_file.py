"""Files of models: JSON, which contains all of kane, and TOML for readers."""

from __future__ import annotations

import os
from os import PathLike
from typing import Any

from kane.expression.number_arguments import require
from kane.files.write_file import write_whole
from kane.model.model import Model
from kane.model.model_form import MODEL_FORMAT, model_form, model_from_form
from kane.model.toml.toml_reader import read_model_file
from kane.model.toml.toml_writer import model_text


def save_model(model: Model, path: str | PathLike[str]) -> None:
    """Write the declarations of a model to a file without loss; ``load_model`` reads it.

    A path that ends with ``.toml`` gives a model file for readers, with formulas. Other files are JSON. They can hold
    all joints, loads and constraints of kane, all expressions, and the poses of custom joints.

    Raises:
        ModelError: ``model`` is not a ``kane.Model``.
        FileError: the file cannot be written, or it cannot contain a part of the model, such as a joint of a class from
            outside kane; the message says how to proceed.
    """
    require(model, Model, "save_model takes a kane.Model")
    if is_model_text(path):
        data = model_text(model).encode()
        write_whole(path, lambda draft: draft.write_bytes(data))
    else:
        MODEL_FORMAT.write(path, model_form(model))


def load_model(path: str | PathLike[str]) -> Model:
    """Read a model that ``save_model`` wrote, or a model file in TOML.

    A saved model has the same equations as the original, to the last bit in JSON. No name in the file is imported or
    executed. Its content is checked like declarations in a program.

    Raises:
        ImportFileError: the file is missing, damaged, from a newer kane, or does not contain a model; the message names
            the file and the fault, in TOML with its line.
    """
    if is_model_text(path):
        return read_model_file(path)
    content = MODEL_FORMAT.read(path)
    with MODEL_FORMAT.reading(path):
        return model_from_form(content)


def is_model_text(path: Any) -> bool:
    """Check whether a path names a model file in TOML."""
    return isinstance(path, str | PathLike) and str(os.fspath(path)).lower().endswith(".toml")
