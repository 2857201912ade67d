"""Run as a process of its own: from a model to its first numbers. Prints CPU seconds of every stage as JSON.

usage: python -m benchmarks.first_number (kane|again|traced|O1|pydy) ROBOT
"""

import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.peers.toolchain import CACHE
from benchmarks.stopwatch import Stopwatch


def _greatest_memory() -> float:
    """Greatest resident set of this process so far [bytes].

    From /proc and not from getrusage, which on Linux starts with the parent's.
    """
    status = Path("/proc/self/status").read_text()
    return 1024 * float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


def kane_first(key: str, *, again: bool = False) -> dict[str, float]:
    """Model, equations, native code, first inverse and forward dynamics by kane.

    Args:
        key: of the robot.
        again: whether native code is taken from where an earlier process left it.
    """
    os.environ["KANE_CACHE_DIR"] = str(CACHE / "objects")
    watch = Stopwatch()
    import kane

    _ = kane.Dynamics, kane.LLVM, kane.build, kane.formulate, kane.load_urdf  # a name is imported when it is asked for
    watch.lap("import")
    from benchmarks.robots import robot_named
    from benchmarks.states import random_states

    watch.lap("benchmark")
    model = robot_named(key).model()
    watch.lap("model")
    equations = kane.formulate(model)
    assert len(equations.inverse) == len(equations.forward)  # both are derived when asked for
    watch.lap("derive")
    dynamics = kane.build(equations, target=kane.LLVM(cache=again))
    functions = [dynamics.function("inverse"), dynamics.function("forward")]
    watch.lap("compile")
    states = random_states(equations, 1)
    dynamics.inverse(states.q[0], states.u[0], states.udot[0])
    dynamics.forward(states.q[0], states.u[0], states.efforts[0])
    watch.lap("call")
    inverse, forward = (sum(function.program.count().values()) for function in functions)
    return {**watch.laps, "memory": _greatest_memory(), "inverse": inverse, "forward": forward}


def traced_first(key: str, *, quick: bool = False) -> dict[str, float]:
    """Model, trace, C compiler, first call by Pinocchio and CasADi; building their own programs is left out.

    Args:
        key: of the robot.
        quick: whether the compiler is to hurry (-O1).
    """
    watch = Stopwatch()
    import numpy as np
    import pinocchio  # noqa: F401

    watch.lap("import")
    from benchmarks.peers.pinocchio_models import text_of
    from benchmarks.peers.traced import QUICK_BUILD, USUAL, Traced, build, compile_seconds, trace
    from benchmarks.robots import robot_named

    build()
    watch.lap("benchmark")
    model = robot_named(key).peer_model()
    watch.lap("model")
    with tempfile.TemporaryDirectory() as folder:
        source = trace(text_of(model), Path(folder)).source
        watch.lap("derive")
        compile_seconds(source, model.nq, model.nv, QUICK_BUILD if quick else USUAL)
        watch.lap("compile")
        traced = Traced(source, source.with_suffix(".so"), model.nq, model.nv)
        q, v = np.full((1, model.nq), 0.5), np.full((1, model.nv), 0.5)
        traced.loop("inverse", 1, (q, v, v))
        traced.loop("forward", 1, (q, v, v))
        watch.lap("call")
    return watch.laps


def pydy_first(key: str) -> dict[str, float]:
    """Model, KanesMethod, PyDy's Cython code, first forward dynamics."""
    watch = Stopwatch()
    import numpy as np
    import sympy  # noqa: F401

    from benchmarks.peers.sympy_pydy import require_pydy

    require_pydy()
    watch.lap("import")
    from benchmarks.peers.pinocchio_models import pinocchio
    from benchmarks.peers.sympy_arms import kanes_method
    from benchmarks.peers.sympy_pydy import right_hand_side
    from benchmarks.robots import robot_named

    pinocchio()
    watch.lap("benchmark")
    tree = robot_named(key).numbers()
    watch.lap("model")
    method, efforts, numbers = kanes_method(tree)
    watch.lap("derive")
    function = right_hand_side(method, efforts, numbers)
    watch.lap("compile")
    function(np.full(2 * len(efforts), 0.5), np.zeros(len(efforts)))
    watch.lap("call")
    return watch.laps


if __name__ == "__main__":
    sides = {"kane": kane_first, "again": partial(kane_first, again=True), "traced": traced_first}
    sides |= {"O1": partial(traced_first, quick=True), "pydy": pydy_first}
    print(json.dumps(sides[sys.argv[1]](sys.argv[2])))
