"""Pinocchio's algorithms traced through CasADi to straight-line C and compiled: the strongest opponent."""

import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.peers.pinocchio_native import header_flags
from benchmarks.peers.toolchain import CACHE, NATIVE, PeerMissingError, built, compile_file, package_folder

Array = npt.NDArray[np.float64]
ALGORITHMS = {"inverse": 0, "forward": 1}
SHARED = ["-march=native", "-shared", "-fPIC"]
OPTIMISE = ["-O3", *SHARED]


@dataclass(frozen=True)
class Build:
    """How traced C is compiled.

    Attributes:
        compiler: its name.
        flags: what is asked of it.
    """

    compiler: str
    flags: tuple[str, ...]

    @property
    def words(self) -> str:
        """For headings and notes."""
        inlined = ", sine and cosine inlined" if "-DINLINED" in self.flags else ""
        return f"{self.compiler} {self.flags[0]}{inlined}"


USUAL, QUICK_BUILD = Build("gcc", ("-O3",)), Build("gcc", ("-O1",))


def strongest() -> Build:
    """What made the fastest code of all that was tried: clang, or gcc where it is not installed."""
    return Build("clang" if shutil.which("clang") else "gcc", ("-Ofast", "-DINLINED"))


def build() -> Path:
    """The tracing program, compiled once (about two minutes of g++)."""
    casadi = package_folder("casadi", "casadi")
    flags = ["-O1", f"-I{casadi / 'include'}", *header_flags(), f"-L{casadi}", "-lcasadi", f"-Wl,-rpath,{casadi}"]
    return built(
        "g++", [NATIVE / "trace.cpp", NATIVE / "model_file.hpp"], flags, stem="trace", packages=("pin", "casadi")
    )


@dataclass(frozen=True)
class Trace:
    """C source of the two algorithms of one model.

    Attributes:
        source: the file.
        seconds: CPU time of reading the model, tracing and writing [s].
    """

    source: Path
    seconds: float


def trace(text: str, folder: Path) -> Trace:
    """Traces a model given in the form of `pinocchio_models.text_of` into a file in the folder.

    Raises:
        PeerMissingError: the tracing program cannot be built or fails.
    """
    model = folder / "model.txt"
    model.write_text(text)
    command = [str(build()), str(model), str(folder), "traced"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise PeerMissingError(f"tracing failed: {result.stderr[-300:]}")
    return Trace(folder / "traced.c", float(result.stdout))


def _flags(source: Path, nq: int, nv: int, how: Build) -> list[str]:
    return [*how.flags, *SHARED, f'-DGENERATED="{source}"', f"-DNQ={nq}", f"-DNV={nv}", "-lm"]


def compile_seconds(source: Path, nq: int, nv: int, how: Build) -> float:
    """CPU time of compiling traced C [s]; the library lies beside the source as traced.so."""
    return compile_file(how.compiler, NATIVE / "traced.c", _flags(source, nq, nv, how), source.with_suffix(".so"))


@functools.cache
def source_of(text: str) -> Path:
    """The traced C of a model, kept by content, so that the library compiled from it is found again too."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        code = trace(text, Path(folder)).source.read_text()
    kept = CACHE / f"traced-{hashlib.sha256(code.encode()).hexdigest()[:20]}.c"
    unfinished = kept.with_suffix(f".{os.getpid()}.part")
    unfinished.write_text(code)
    unfinished.replace(kept)
    return kept


class Traced:
    """The compiled trace of one model.

    Args:
        source: the traced C.
        library: what was compiled from it.
        nq: length of a configuration.
        nv: length of a velocity.
    """

    def __init__(self, source: Path, library: Path, nq: int, nv: int) -> None:
        self.source = source
        self._library = self._declared(library, nq == nv)
        self._speeds = nv
        sizes = (ctypes.c_longlong * 2)()
        self._library.bench_work(ctypes.byref(sizes, 0), ctypes.byref(sizes, 8))
        self._work = np.zeros(sizes[0]), np.zeros(sizes[1], np.int64)

    @classmethod
    def of(cls, text: str, nq: int, nv: int, how: Build = USUAL) -> "Traced":
        """Traces and compiles a model given in the form of `pinocchio_models.text_of`, unless the cache has it.

        Raises:
            PeerMissingError: pin, casadi or a compiler is missing.
        """
        source = source_of(text)
        sources = [NATIVE / "traced.c", NATIVE / "sincos.h", source]
        library = built(how.compiler, sources, _flags(source, nq, nv, how), stem="traced")
        return cls(source, library, nq, nv)

    @staticmethod
    def _declared(path: Path, steps: bool) -> ctypes.CDLL:
        library = ctypes.CDLL(str(path))
        pointer = ctypes.c_void_p
        library.bench_work.argtypes = [pointer, pointer]
        library.bench_loop.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long, *[pointer] * 6]
        library.bench_chain.argtypes = [*library.bench_loop.argtypes, ctypes.c_double]
        if steps:
            library.bench_rk4.argtypes = [ctypes.c_long, ctypes.c_double, *[pointer] * 5]
        return library

    def loop(self, algorithm: str, calls: int, states: tuple[Array, Array, Array], *, chained: bool = False) -> Array:
        """Calls "inverse" or "forward" over the states (q, v, last), each (N, .), in turn.

        Args:
            algorithm, calls, states: see above.
            chained: whether each call waits for the results of the one before.

        Returns:
            The results, shape (N, nv); rows never reached are zero.
        """
        q, v, last = (np.ascontiguousarray(array) for array in states)
        out = np.zeros((len(q), self._speeds))
        arguments = ALGORITHMS[algorithm], calls, len(q), *(a.ctypes.data for a in (q, v, last, out, *self._work))
        if chained:
            self._library.bench_chain(*arguments, 0.0)
        else:
            self._library.bench_loop(*arguments)
        return out

    def rk4(self, steps: int, step: float, x: Array, *, damping: float = 0.0) -> None:
        """Advances x = (q, v) in place by classical Runge-Kutta steps, motors off, every joint damped [N m s/rad]."""
        none, coefficients = np.zeros(self._speeds), np.full(self._speeds, damping)
        pointers = [array.ctypes.data for array in (x, none, coefficients, *self._work)]
        self._library.bench_rk4(steps, step, *pointers)

    def count(self) -> dict[str, dict[str, int]]:
        """Operations of each algorithm: mul, add, div, trig."""
        return count_operations(self.source.read_text())


_FUNCTION = re.compile(r"static int (casadi_f\d+)\(const casadi_real\*\* arg[^{]*\{(.*?)\n\}", re.S)
_EXPORT = re.compile(r"int (inverse|forward)\(const casadi_real\*\* arg[^{]*\{\s*return (casadi_f\d+)\(")
_ASSIGNMENT = re.compile(r"^\s*a\d+\s*=(.*);$", re.M)
_TOKEN = re.compile(r"\d[\d.]*(?:e[+-]?\d+)?|[A-Za-z_]\w*|\S")
_CALLS = {"sin": "trig", "cos": "trig", "casadi_sq": "mul", "sq": "mul", "sqrt": "other"}


def count_operations(code: str) -> dict[str, dict[str, int]]:
    """Counts the arithmetic of CasADi's C: products, sums and differences, quotients, sines and cosines.

    Changes of sign are free, as they are in kane's own counts. Reading an argument costs nothing.
    """
    names = {function: name for name, function in _EXPORT.findall(code)}
    return {names[function]: _count_body(body) for function, body in _FUNCTION.findall(code) if function in names}


def _count_body(body: str) -> dict[str, int]:
    total = {"mul": 0, "add": 0, "div": 0, "trig": 0, "other": 0}
    for expression in _ASSIGNMENT.findall(body):
        if "arg[" in expression:
            continue
        before = "("
        for token in _TOKEN.findall(expression):
            kind = _kind(token, before)
            if kind:
                total[kind] += 1
            before = token
    return total


def _kind(token: str, before: str) -> str | None:
    if token in "+-":
        return "add" if before not in "(=+-*/," else None  # after an operator or at the start it is a sign
    if token in "*/":
        return "mul" if token == "*" else "div"
    if token[0].isalpha() and token[0] != "a":
        return _CALLS.get(token, "other")
    return None
