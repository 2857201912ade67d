"""Run as a process of its own: one derivation, or one certificate. Prints CPU seconds of every stage as JSON.

usage: python -m benchmarks.derive_once (recursive|explicit|sympy) DERIVATION [check]
       python -m benchmarks.derive_once certificate BODIES

With `check` operations of M and bias together are counted, and both are evaluated at one state of kane's coordinates.
"""

import json
import sys
from typing import Any

import numpy as np

import kane
from benchmarks.derivations import DERIVATIONS, Derivation
from benchmarks.stopwatch import Stopwatch
from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.parameter_sums import shortened
from kane.codegen.programs.program import Program
from kane.expression.interpret import interpret
from kane.library.random_tree import JOINT_MAKERS, random_tree

TREE_SEED = 7


def kane_derives(case: Derivation, route: Any, *, check: bool) -> dict[str, Any]:
    """M, bias and input matrix from a model, by one route."""
    watch = Stopwatch()
    equations = route(case.model())
    _ = equations.mass_matrix, equations.bias, equations.input_matrix  # derived when asked for
    watch.lap("derive")
    if not check:
        return watch.laps
    n, q, u = len(equations.u), *_state(len(equations.u))
    outputs = [*(equations.mass_matrix[i][j] for i in range(n) for j in range(i + 1)), *equations.bias]
    state = equations.t, *equations.q, *equations.u
    program = Program("M_and_bias", shortened(factor(outputs)), state=state, rest=(), parameters=equations.parameters)
    leaves = dict(zip((*equations.q, *equations.u), (*q, *u), strict=True))
    leaves |= {leaf: equations.defaults[leaf.name] for leaf in equations.parameters}
    results = [x for row in equations.mass_matrix for x in row] + list(equations.bias)
    return {**watch.laps, "count": program.count(), "values": [float(x) for x in interpret(results, leaves)]}


def sympy_derives(case: Derivation, *, check: bool) -> dict[str, Any]:
    """M and f by SymPy; its values in kane's coordinates."""
    import sympy.physics.mechanics  # noqa: F401  (before the clock starts)

    watch = Stopwatch()
    method, efforts, numbers = case.method()
    watch.lap("derive")
    if not check:
        return watch.laps
    from benchmarks.peers.sympy_counts import MassAndForcing

    shared = MassAndForcing(method, efforts)
    watch.lap("cse")
    T = case.same([leaf.name for leaf in kane.formulate(case.model()).q])
    q, u = _state(len(T))
    M, bias = shared.values(T @ q, T @ u, numbers)
    return {**watch.laps, "count": shared.count(), "values": [*(T.T @ M @ T).ravel(), *(T.T @ bias)]}


def _state(n: int) -> Any:
    return np.random.default_rng(1).uniform(-1, 1, (2, n))


def certificate(bodies: int) -> dict[str, Any]:
    """kane.certify of a random tree whose joints are of every kind in turn."""
    kinds = iter([JOINT_MAKERS[i % len(JOINT_MAKERS)] for i in range(bodies)])
    model = random_tree(TREE_SEED, bodies, joints=[lambda name, axis: next(kinds)(name, axis)])
    watch = Stopwatch()
    found = kane.certify(model)
    watch.lap("certify")
    digits = [finding.digits for finding in found if finding.digits is not None]
    size = {"kinds": min(bodies, len(JOINT_MAKERS)), "speeds": len(kane.formulate(model).u), "claims": len(digits)}
    return {**watch.laps, **size, "digits": min(digits), "holds": found.holds}


def main(side: str, key: str, *rest: str) -> dict[str, Any]:
    """What one process measures."""
    if side == "certificate":
        return certificate(int(key))
    case, check = DERIVATIONS[key], rest == ("check",)
    if side == "sympy":
        return sympy_derives(case, check=check)
    return kane_derives(case, {"recursive": kane.formulate, "explicit": kane.explicit}[side], check=check)


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
