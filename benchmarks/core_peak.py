"""The most floating-point operations a second that one core gives, measured."""

import ctypes
from pathlib import Path

import numpy as np

from benchmarks.peers.toolchain import NATIVE, PeerMissingError, built
from benchmarks.timing import cpu_seconds

# Widest vectors first: what the machine must have, and doubles in one.
VECTORS = {"avx512f": 8, "fma": 4}
# A chain waits for its own last result: about as many as latency times units keep a core busy, which one depends.
CHAINS = (8, 10, 12, 16)
# One number at a time: gcc must not put several side by side.
ALONE = ["-fno-tree-vectorize", "-fno-tree-slp-vectorize"]
ROUNDS = 10_000


class CorePeak:
    """Fused multiply-adds on registers, in the widest vectors of the machine or one number at a time.

    Attributes:
        width: doubles in a vector.
        operations: of one call of ``run(1)``, each multiply-add counted as two.

    Raises:
        PeerMissingError: no gcc, or no fused multiply-add on this machine.
    """

    def __init__(self, *, width: int) -> None:
        self.width = width
        loops = [_Loop(width, chains) for chains in CHAINS]
        self._loop = min(loops, key=lambda loop: min(cpu_seconds(loop.run, 100) for _ in range(5)) / loop.operations)
        self.operations = self._loop.operations

    def run(self, calls: int) -> None:
        """Does that many times ``operations``."""
        self._loop.run(calls)


class _Loop:
    def __init__(self, width: int, chains: int) -> None:
        flags = ["-O3", "-march=native", "-shared", "-fPIC", f"-DWIDTH={width}", f"-DCHAINS={chains}"]
        library = built("gcc", [NATIVE / "peak.c"], flags + (ALONE if width == 1 else []), stem="peak")
        self._function = ctypes.CDLL(str(library)).bench_multiply_add
        self._function.argtypes = [ctypes.c_long, ctypes.c_void_p]
        self._function.restype = None
        self._numbers = np.ones(width * chains)
        self.operations = 2 * width * chains * ROUNDS

    def run(self, calls: int) -> None:
        self._function(calls * ROUNDS, self._numbers.ctypes.data)


def widest() -> int:
    """Doubles in the widest vectors of this machine.

    Raises:
        PeerMissingError: it has no fused multiply-add.
    """
    flags = Path("/proc/cpuinfo").read_text().split()
    for flag, width in VECTORS.items():
        if flag in flags:
            return width
    raise PeerMissingError("the peak is measured with fused multiply-adds, which this machine does not have")
