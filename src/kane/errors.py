"""Errors of kane; their messages name the cause and the cure."""

import os
import reprlib
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any


class KaneError(Exception):
    """Base class of all errors that kane raises on purpose."""


class ModelError(KaneError, ValueError):
    """A model, or an argument that refers to a model, is not meaningful."""


class ExpressionError(ModelError):
    """An expression is malformed, mixes models or does not have the required form."""


class FrameError(ModelError):
    """Vectors, dyadics or points of different frames were combined without a rotation between them."""


class ImportFileError(ModelError):
    """A file could not be read as the model it claims to be."""


class ImportFileWarning(UserWarning):
    """A file describes something that changes the motion and that the imported model lacks."""


class FileError(KaneError, OSError):
    """A file cannot be read or written at the given path, or its content cannot be represented in a file."""


class CallError(KaneError, TypeError):
    """A function was called with arguments that it does not take, or without one that it needs."""


class UnknownNameError(KaneError, AttributeError):
    """A module or an object of kane has no attribute of this name."""


class CompileError(KaneError, RuntimeError):
    """Native code could not be produced."""


class SimulationError(KaneError, RuntimeError):
    """A simulation cannot continue; the message contains time and state.

    Attributes:
        trajectory: results of ``kane.simulate`` up to the error, or None.
    """

    trajectory: Any = None


def user_frame() -> tuple[FrameType, int]:
    """Return the frame of the user's code that called kane, and its level above the caller of this function."""
    home, frame, level = os.path.dirname(__file__) + os.sep, sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(home):
        frame, level = frame.f_back, level + 1
    return frame, level


def warn(message: str) -> None:
    """Issue a warning that points to the line of the user's code that called kane."""
    warnings.warn(message, stacklevel=user_frame()[1])


class _Short(reprlib.Repr):
    """Short representation of any value: few levels, few entries, few characters."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother, self.maxlong = 4, 120, 160, 60
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = 8

    def repr_ndarray(self, x: Any, level: int) -> str:
        return f"an array of shape {x.shape}" if x.size > self.maxlist else repr(x)

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to print integers of more than some thousand digits.
        return f"a whole number of {x.bit_length()} bits" if x.bit_length() > 4000 else super().repr_int(x, level)


def shown(value: Any) -> str:
    """Return a user's value as one line of text for a message, shortened if it is large or deeply nested."""
    return " ".join(_Short().repr(value).split())


def list_names(names: Sequence[str], most: int = 12) -> str:
    """Return the names joined by commas; beyond ``most`` + 1 names, the first ``most`` and the number of the rest."""
    left = len(names) - most
    return f"{', '.join(names[:most])} and {left} more" if left > 1 else ", ".join(names)


# Packages of each extra, as in pyproject.toml. No package index has kane, so pip would not find "kane[view]".
EXTRAS = {
    "cli": ("scipy>=1.13", "typer>=0.20", "xarray>=2025.10", "h5netcdf>=1.4", "h5py>=3.11"),
    "scipy": ("scipy>=1.13",),
    "results": ("xarray>=2025.10", "h5netcdf>=1.4", "h5py>=3.11"),
    "compile": ("numba>=0.68,<0.69",),
    "view": ("trimesh>=4.5", "pycollada>=0.8", "websockets>=14.0"),
    "haptics": ("websockets>=14.0",),
    "mjcf": ("mujoco>=3.2",),
    "stiff": ("scikit-sundae>=1.0",),
    "casadi": ("casadi>=3.6.6",),
    "control": ("control>=0.10",),
    "certify": ("python-flint>=0.6",),
    "sympy": ("sympy>=1.13",),
    "demo": ("example-robot-data>=4.1", "scipy>=1.13", "typer>=0.20", "xarray>=2025.10", "h5netcdf>=1.4", "h5py>=3.11"),
    "sweep": ("scipy>=1.13", "zarr>=3.0", "distributed>=2025.1"),
}


def pip_install(extra: str) -> str:
    """Return the command that installs the packages of an extra, for a checkout or an installed wheel of kane."""
    return f"pip install {' '.join(map(repr, EXTRAS[extra]))}"
