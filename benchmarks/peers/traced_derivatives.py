"""Pinocchio's analytical derivatives traced through CasADi to straight-line C and compiled."""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.peers.pinocchio_native import header_flags
from benchmarks.peers.toolchain import CACHE, NATIVE, PeerMissingError, built, package_folder
from benchmarks.peers.traced import ALGORITHMS, SHARED, Build

Array = npt.NDArray[np.float64]


def build() -> Path:
    """The tracing program, compiled once (some minutes of g++)."""
    casadi = package_folder("casadi", "casadi")
    flags = ["-O1", f"-I{casadi / 'include'}", *header_flags(), f"-L{casadi}", "-lcasadi", f"-Wl,-rpath,{casadi}"]
    sources = [NATIVE / "trace_derivatives.cpp", NATIVE / "model_file.hpp"]
    return built("g++", sources, flags, stem="trace-derivatives", packages=("pin", "casadi"))


def source_of(text: str) -> Path:
    """The traced C of a model given in the form of `pinocchio_models.text_of`, kept by the model's text.

    Raises:
        PeerMissingError: the tracing program cannot be built or fails.
    """
    program = build()
    key = hashlib.sha256(f"{program.name} {text}".encode()).hexdigest()[:20]
    kept = CACHE / f"derivatives-{key}.c"
    if not kept.exists():
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model.txt"
            model.write_text(text)
            command = [str(program), str(model), folder, "traced"]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                raise PeerMissingError(f"tracing failed: {result.stderr[-300:]}")
            unfinished = kept.with_suffix(f".{os.getpid()}.part")
            unfinished.write_text((Path(folder) / "traced.c").read_text())
            unfinished.replace(kept)
    return kept


class TracedDerivatives:
    """The compiled trace of one model.

    Args:
        library: what was compiled.
        nv: length of a velocity.
    """

    def __init__(self, library: Path, nv: int) -> None:
        self._library = ctypes.CDLL(str(library))
        pointer = ctypes.c_void_p
        self._library.bench_work.argtypes = [pointer, pointer]
        self._library.bench_loop.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long, *[pointer] * 8]
        sizes = (ctypes.c_longlong * 2)()
        self._library.bench_work(ctypes.byref(sizes, 0), ctypes.byref(sizes, 8))
        self._work = np.zeros(sizes[0]), np.zeros(sizes[1], np.int64)
        self._out = np.zeros((3, nv * nv))

    @classmethod
    def of(cls, text: str, nq: int, nv: int, how: Build) -> "TracedDerivatives":
        """Traces and compiles a model, unless the cache has it.

        Raises:
            PeerMissingError: pin, casadi or a compiler is missing.
        """
        source = source_of(text)
        sources = [NATIVE / "traced_derivatives.c", NATIVE / "sincos.h", source]
        flags = [*how.flags, *SHARED, f'-DGENERATED="{source}"', f"-DNQ={nq}", f"-DNV={nv}", "-lm"]
        return cls(built(how.compiler, sources, flags, stem="traced-derivatives"), nv)

    def loop(self, algorithm: str, calls: int, states: tuple[Array, Array, Array]) -> Array:
        """Calls "inverse" or "forward" over the states (q, v, last), each (N, .), in turn.

        Returns:
            The entries of the last call: by q, by v, by the last argument, (3, .), each column by column.
        """
        q, v, last = (np.ascontiguousarray(array) for array in states)
        arrays = (q, v, last, *self._out, *self._work)
        self._library.bench_loop(ALGORITHMS[algorithm], calls, len(q), *(a.ctypes.data for a in arrays))
        return self._out
