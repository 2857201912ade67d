"""Pinocchio's C++ algorithms in a native loop, called through a shared library built here from its headers."""

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.peers.toolchain import CACHE, NATIVE, PeerMissingError, built, package_folder

Array = npt.NDArray[np.float64]
ALGORITHMS = {"rnea": 0, "aba WORLD": 1, "aba LOCAL": 2, "rnea derivatives": 3, "aba derivatives": 4}


def header_flags() -> list[str]:
    """Compiler flags that find Pinocchio, Boost (both from the package pin) and Eigen (from the package casadi).

    Raises:
        PeerMissingError: one of them is not installed.
    """
    headers = package_folder("pinocchio", "pin").parents[3] / "include"  # cmeel.prefix/include
    if not (headers / "pinocchio").is_dir():
        raise PeerMissingError(f"no Pinocchio headers in {headers} (pip install '.[bench]')")
    eigen = package_folder("casadi", "casadi") / "include" / "eigen3"
    if not eigen.is_dir():
        eigen = Path("/usr/include/eigen3")
    if not eigen.is_dir():
        raise PeerMissingError(
            "no Eigen headers (pip install casadi, which carries them, or apt-get install libeigen3-dev)"
        )
    limits = ["-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30"]
    limits += ["-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12"]
    return ["-std=c++17", "-w", "-DNDEBUG", *limits, f"-I{headers}", f"-I{eigen}"]


def build() -> Path:
    """The shared library, compiled once (about two minutes of g++)."""
    flags = ["-O3", "-march=native", "-shared", "-fPIC", *header_flags()]
    sources = [NATIVE / "native.cpp", NATIVE / "model_file.hpp"]
    return built("g++", sources, flags, stem="pinocchio", packages=("pin", "casadi"))


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build()))
    pointer = ctypes.c_void_p
    library.bench_open.restype = pointer
    library.bench_open.argtypes = [ctypes.c_char_p]
    library.bench_close.argtypes = [pointer]
    library.bench_states.argtypes = [pointer, ctypes.c_long, *[pointer] * 4]
    library.bench_value.argtypes = [pointer, ctypes.c_int, ctypes.c_long, pointer]
    library.bench_loop.argtypes = [pointer, ctypes.c_int, ctypes.c_long]
    return library


class PinocchioNative:
    """One model with a set of states, in Pinocchio's own layout.

    Args:
        text: the model in the form of `pinocchio_models.text_of`.
        states: configurations, shape (N, nq); velocities, accelerations (for rnea), efforts (for aba), each (N, nv).

    Raises:
        PeerMissingError: the library cannot be built, or refuses the model.
    """

    def __init__(self, text: str, states: Sequence[Array]) -> None:
        path = CACHE / f"model-{id(self)}.txt"
        self._library = _library()
        path.write_text(text)
        self._handle = self._library.bench_open(str(path).encode())
        path.unlink()
        if not self._handle:
            raise PeerMissingError("Pinocchio's C++ program refused the model")
        arrays = [np.ascontiguousarray(array) for array in states]
        self._library.bench_states(self._handle, len(arrays[0]), *(array.ctypes.data for array in arrays))
        self._speeds = arrays[1].shape[1]

    def run(self, algorithm: str, calls: int) -> None:
        """Calls an algorithm of ALGORITHMS that many times over the states in turn."""
        self._library.bench_loop(self._handle, ALGORITHMS[algorithm], calls)

    def value(self, algorithm: str, state: int) -> Array:
        """The result at one of the states, shape (nv,)."""
        out = np.empty(self._speeds)
        self._library.bench_value(self._handle, ALGORITHMS[algorithm], state, out.ctypes.data)
        return out

    def close(self) -> None:
        """Frees the model."""
        self._library.bench_close(self._handle)
        self._handle = None
