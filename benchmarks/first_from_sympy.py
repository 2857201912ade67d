"""Run as a process of its own: from declarations in SymPy to the first accelerations. Prints CPU seconds as JSON.

usage: python -m benchmarks.first_from_sympy (kane|pydy) (bicycle|LINKS)
"""

import importlib
import json
import os
import sys
from typing import Any

import numpy as np

from benchmarks.peers import sympy_bicycle, sympy_pendulum
from benchmarks.stopwatch import Stopwatch


def declared(model: str) -> Any:
    """KanesMethod, efforts, values of symbols, bodies and loads of the bicycle, or of a pendulum of so many links."""
    return sympy_bicycle.declared() if model == "bicycle" else sympy_pendulum.declared(int(model), relative=False)


def state(n: int) -> np.ndarray:
    """A state at which nothing vanishes: n numbers."""
    return np.linspace(0.11, 0.37, n)


def kane_first(given: Any, watch: Stopwatch) -> np.ndarray:
    """Model, equations, native code and first accelerations by kane."""
    os.environ["KANE_CACHE"] = "off"
    import kane

    method, efforts, values, bodies, loads = given
    _ = kane.build, kane.formulate, kane.model_from_sympy
    watch.lap("import")
    model = kane.model_from_sympy(method, parameters=values, inputs=efforts, bodies=bodies, loads=loads)
    watch.lap("read")
    equations = kane.formulate(model)
    dyn = kane.build(equations, programs=["forward"])
    watch.lap("derive and compile")
    q, u = (state(len(x)) for x in (equations.q, equations.u))
    found = dyn.forward(q, u, state(len(equations.inputs)))
    watch.lap("call")
    return found


def pydy_first(given: Any, watch: Stopwatch) -> np.ndarray:
    """SymPy's equations, PyDy's Cython code and first accelerations."""
    from benchmarks.peers.sympy_pydy import require_pydy, right_hand_side

    require_pydy()
    importlib.import_module("pydy.codegen.ode_function_generators")  # its time counts as "import"

    method, efforts, values, bodies, loads = given
    watch.lap("import")
    method.kanes_equations(bodies, loads)
    watch.lap("derive")
    function = right_hand_side(method, efforts, values)
    watch.lap("compile")
    nq, nu = len(method.q), len(method.u)
    found = function(np.concatenate([state(nq), state(nu)]), state(len(efforts)))
    watch.lap("call")
    return found[nq:]


def main(who: str, model: str) -> None:
    """Prints the laps, and the accelerations."""
    given = declared(model)
    watch = Stopwatch()
    found = {"kane": kane_first, "pydy": pydy_first}[who](given, watch)
    total = sum(seconds for lap, seconds in watch.laps.items() if lap != "import")
    print(json.dumps({**watch.laps, "total": total, "accelerations": list(found)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
