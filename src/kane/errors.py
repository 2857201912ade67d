"""Errors that name the thing and the cure."""

import os
import reprlib
import sys
import warnings
from collections.abc import Sequence
from typing import Any


class KaneError(Exception):
    """Every error that kane raises on purpose."""


class ModelError(KaneError, ValueError):
    """A model, or something asked of it, is not meaningful."""


class ExpressionError(ModelError):
    """An expression is malformed, mixes models or is not of the form asked for."""


class FrameError(ModelError):
    """Vectors, dyadics or points of different frames were combined without a rotation between them."""


class ImportFileError(ModelError):
    """A file could not be read as the model it claims to be."""


class ImportFileWarning(UserWarning):
    """A file asks for something that changes the motion and that the model does not have."""


class FileError(KaneError, OSError):
    """A file cannot be read or written where it was asked for, or what it should hold cannot stand in a file."""


class CallError(KaneError, TypeError):
    """A function was called with arguments that it does not take, or without one that it needs."""


class UnknownNameError(KaneError, AttributeError):
    """A module or an object of kane has no attribute of this name."""


class CompileError(KaneError, RuntimeError):
    """Native code could not be produced."""


class SimulationError(KaneError, RuntimeError):
    """A simulation could not go on; the message carries time and state.

    Attributes:
        trajectory: of ``kane.simulate`` until then; None where there is none.
    """

    trajectory: Any = None


def warn(message: str) -> None:
    """Warn the user at the line of their own that called kane, however many calls lie between."""
    home, frame, level = os.path.dirname(__file__) + os.sep, sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(home):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


class _Short(reprlib.Repr):
    """A few levels, a few entries, a few letters of whatever it is; what has no text of its own too."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother, self.maxlong = 4, 120, 160, 60
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = 8

    def repr_ndarray(self, x: Any, level: int) -> str:
        return f"an array of shape {x.shape}" if x.size > self.maxlist else repr(x)

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to write whole numbers of more than some thousand digits.
        return f"a whole number of {x.bit_length()} bits" if x.bit_length() > 4000 else super().repr_int(x, level)


def shown(value: Any) -> str:
    """What a message shows of something that a user gave: one line, however large, deep or odd it is."""
    return " ".join(_Short().repr(value).split())


def list_names(names: Sequence[str], most: int = 12) -> str:
    """Names as a message has them, with commas in between: of many the first, and how many more there are."""
    left = len(names) - most
    return f"{', '.join(names[:most])} and {left} more" if left > 1 else ", ".join(names)


# Packages of each extra, as pyproject.toml has them: no index has kane, so that "kane[view]" would not be found.
EXTRAS = {
    "view": ("trimesh>=4.5", "pycollada>=0.8", "websockets>=14.0"),
    "haptics": ("websockets>=14.0",),
    "mjcf": ("mujoco>=3.2",),
    "stiff": ("scikit-sundae>=1.0",),
    "control": ("control>=0.10",),
    "demo": ("example-robot-data>=4.1",),
}


def pip_install(extra: str) -> str:
    """Return the command that installs the packages of an extra, beside a checkout and beside an installed wheel."""
    return f"pip install {' '.join(map(repr, EXTRAS[extra]))}"
