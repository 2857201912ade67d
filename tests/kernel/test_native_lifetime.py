"""The memory of native code: freed with the last reference, in an order that LLVM survives."""

import subprocess
import sys

# Functions in a ring of references: the garbage collector frees a ring in an order of its own.
RINGS = """
import gc
from kane.codegen.jit.compiler import compile_program
from kane.codegen.programs.program import Program
from kane.expression.arena import Arena
from kane.expression.operations import COORDINATE

for k in range(20):
    q = Arena().leaf(COORDINATE, "q")
    ring = [compile_program(Program("double", [q + q * k], state=[q], rest=[], parameters=[]))]
    ring.append(ring)
    del ring
    gc.collect()
print("survived")
"""


def test_native_code_in_a_ring_of_references_is_freed_without_a_crash():
    # In a process of its own, because the failure was a segmentation fault.
    done = subprocess.run([sys.executable, "-c", RINGS], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "survived\n"), done.stderr
