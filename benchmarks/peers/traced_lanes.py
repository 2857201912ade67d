"""Pinocchio's algorithms traced to C, for 8 states at once: gcc's vectors of 8 doubles, sine and cosine of libmvec."""

import ctypes
import hashlib
import os
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.peers.toolchain import CACHE, NATIVE, PeerMissingError, built
from benchmarks.peers.traced import ALGORITHMS, OPTIMISE, source_of

Array = npt.NDArray[np.float64]
WIDTH = 8
# What has to change for a number to be a vector: arguments without a default, constants, and the names of functions.
_CHANGES = (
    (re.compile(r"arg\[(\d)\]\? (arg\[\d\]\[\d+\]) : 0"), r"\2"),
    (re.compile(r"^(  a\d+)=([-0-9.e+]+);", re.M), r"\1=lanes_zero+(\2);"),
    (re.compile(r"if \(res\[0\]!=0\) (res\[0\]\[\d+\])=([-0-9.e+]+);"), r"\1=lanes_zero+(\2);"),
    (re.compile(r"\b(sin|cos|sqrt)\("), r"lanes_\1("),
    (re.compile(r"(casadi_real \w+_default_in\(.*?)return 0;", re.S), r"\1return lanes_zero;"),
)


def vectorised(code: str) -> str:
    """CasADi's C with every number a vector."""
    for pattern, replacement in _CHANGES:
        code = pattern.sub(replacement, code)
    return code


def blocks(rows: Array) -> Array:
    """States (N, k), N a multiple of 8, as blocks (N / 8, k, 8) aligned to 64 bytes."""
    n, k = rows.shape
    memory = np.zeros(n * k + WIDTH)
    start = -(memory.ctypes.data // 8) % WIDTH
    found = memory[start : start + n * k].reshape(n // WIDTH, k, WIDTH)
    found[:] = rows.reshape(n // WIDTH, WIDTH, k).swapaxes(1, 2)
    return found


class TracedLanes:
    """The compiled trace of one model, for 8 states at once.

    Args:
        text: the model in the form of `pinocchio_models.text_of`.
        nq: length of a configuration.
        nv: length of a velocity.

    Raises:
        PeerMissingError: pin, casadi or a compiler is missing, or the machine has no AVX-512.
    """

    def __init__(self, text: str, nq: int, nv: int) -> None:
        if "avx512f" not in Path("/proc/cpuinfo").read_text():
            raise PeerMissingError("the 8-wide build of traced C needs AVX-512")
        source = _kept(vectorised(source_of(text).read_text()))
        flags = [*OPTIMISE, f'-DGENERATED="{source}"', f"-DNQ={nq}", f"-DNV={nv}", "-lmvec", "-lm"]
        self._library = ctypes.CDLL(str(built("gcc", [NATIVE / "traced_lanes.c", source], flags, stem="lanes")))
        pointer = ctypes.c_void_p
        self._library.bench_work.argtypes = [pointer, pointer]
        self._library.bench_blocks.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long, *[pointer] * 6]
        sizes = (ctypes.c_longlong * 2)()
        self._library.bench_work(ctypes.byref(sizes, 0), ctypes.byref(sizes, 8))
        self._work = blocks(np.zeros((WIDTH, sizes[0]))), np.zeros(sizes[1], np.int64)
        self._speeds = nv

    def loop(self, algorithm: str, calls: int, states: tuple[Array, Array, Array]) -> Array:
        """Calls "inverse" or "forward" over blocks (q, v, last), each (N, ., 8) as `blocks` makes them, in turn.

        Returns:
            The results, shape (N, nv, 8).
        """
        q, v, last = states
        out = blocks(np.zeros((len(q) * WIDTH, self._speeds)))
        pointers = [array.ctypes.data for array in (q, v, last, out, *self._work)]
        self._library.bench_blocks(ALGORITHMS[algorithm], calls, len(q), *pointers)
        return out


def _kept(code: str) -> Path:
    """The source in the cache, kept by content."""
    CACHE.mkdir(exist_ok=True)
    kept = CACHE / f"lanes-{hashlib.sha256(code.encode()).hexdigest()[:20]}.c"
    unfinished = kept.with_suffix(f".{os.getpid()}.part")
    unfinished.write_text(code)
    unfinished.replace(kept)
    return kept
