"""SymPy's finished matrices evaluated by kane, by lambdify, and by C after cse."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import kane
from benchmarks.kane_loop import KaneLoop
from benchmarks.mode import Mode
from benchmarks.peers.sympy_matrices import MatricesInC
from benchmarks.peers.sympy_pendulum import kanes_method
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.report import Table
from benchmarks.stopwatch import Stopwatch
from benchmarks.timing import interleaved
from kane.codegen.programs.program import Program
from kane.expression.traverse import count_operations

TITLE = "Matrices of SymPy"
COLUMNS = ("links", "operations", "read, s", "call", "kane, us", "peer", "us", "x", "difference")
NOTE = (
    "M and forcing of a pendulum on a cart, angles to the vertical, as KanesMethod derives them, unsimplified. read: "
    "CPU time of kane.from_sympy. lambdify: `kane.lambdify` beside `sympy.lambdify`, arguments being arrays. Dynamics: "
    "`dyn.mass_matrix(q)` and `dyn.bias(q, u)`. Native: one call in a loop over 64 random states, kane's program of M "
    "and forcing beside C of sympy.cse by gcc -O3 -march=native, with the numbers of the parameters in the C code."
)
LINKS, QUICK_LINKS = (5, 15), (5,)
STATES = 64


def table(mode: Mode) -> Table:
    """Measures pendulums of the mode's lengths."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for n in QUICK_LINKS if mode.quick else LINKS:
        _rows(n, mode, result)
    return result


def _rows(n: int, mode: Mode, result: Table) -> None:
    import sympy

    method, inputs, values = kanes_method(n, relative=False)
    q, u = list(method.q), list(method.u)
    clock = Stopwatch()
    eqs = kane.from_sympy(
        method.mass_matrix, method.forcing, q=q, u=u, kinematics=method.kindiffdict(), inputs=inputs, parameters=values
    )
    clock.lap("read")
    head = [str(n), str(_operations(eqs)), f"{clock.laps['read']:.2f}"]
    random = np.random.default_rng(0)
    states = random.normal(size=(STATES, 2 * len(q)))
    arguments, exprs = (q, u, inputs, [*values]), [method.mass_matrix, method.forcing]
    one = (*np.split(states[0], 2), np.array([0.5]), np.array([*values.values()]))
    dyn = kane.build(eqs)
    calls = {
        "lambdify": partial(kane.lambdify(arguments, exprs), *one),
        "Dynamics": lambda: (dyn.mass_matrix(one[0]), dyn.bias(*one[:2])),
    }
    for word, cse in (("sympy.lambdify", False), ("sympy.lambdify, cse", True)):
        calls[word] = partial(sympy.lambdify(arguments, exprs, "numpy", cse=cse), *one)
    for call in calls.values():
        call()  # compiles
    figures = interleaved({word: _repeated(call) for word, call in calls.items()}, batches=mode.batches)
    for ours, word in product(("lambdify", "Dynamics"), [*calls][2:]):
        difference = _difference(calls[ours]()[0], calls[word]()[0])
        ratio = result.ratio(f"matrices of {n} links, {ours}", word, figures[ours], figures[word])
        cells = [_microseconds(figures[ours]), word, _microseconds(figures[word]), ratio, difference_text(difference)]
        result.rows.append([*head, ours, *cells])
    _native(n, (dyn, method, inputs, values), states, mode, (result, head))


def _native(n: int, given: Any, states: Any, mode: Mode, into: Any) -> None:
    (dyn, method, inputs, values), (result, head) = given, into
    eqs = dyn.equations
    forcing = eqs.baked_in(eqs.route.loaded([0.0] * len(eqs.u)))
    outputs = [*(x for row in eqs.mass_matrix for x in row), *(-x for x in forcing)]
    leaves = {"state": (eqs.t, *eqs.q, *eqs.u), "rest": eqs.inputs, "parameters": eqs.parameters}
    function = dyn.compile(Program("matrices", list(eqs.baked_in(outputs)), **leaves))
    full = np.hstack([np.zeros((STATES, 1)), states])
    rest = np.full((STATES, 1), 0.5)
    ours = KaneLoop(function, full, rest, function.stage(dyn.parameters))
    try:
        entries = [*method.mass_matrix, *method.forcing]
        peer = MatricesInC(entries, [*method.q, *method.u], values | dict.fromkeys(inputs, 0.5))
    except PeerMissingError as missing:
        result.note(f"No C: {missing}.")
        return
    figures = interleaved({"kane": ours.run, "C": partial(peer.loop, states=states)}, batches=mode.batches)
    ours.run(STATES)
    difference = difference_text(_difference(ours.out, peer.loop(STATES, states)))
    ratio = result.ratio(f"matrices of {n} links, native", "C of sympy.cse", figures["kane"], figures["C"])
    cells = [_microseconds(figures["kane"]), "C of sympy.cse", _microseconds(figures["C"]), ratio, difference]
    result.rows.append([*head, "native", *cells])


def _operations(eqs: kane.Equations) -> int:
    return sum(count_operations([*(x for row in eqs.mass_matrix for x in row), *eqs.bias]).values())


def _difference(a: Any, b: Any) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


def difference_text(difference: float) -> str:
    """The relative difference, marked if it is more than rounding explains."""
    return f"{difference:.0e}" + ("" if difference < 1e-12 else " DISAGREES")


def _repeated(call: Callable[[], object]) -> Callable[[int], None]:
    def run(calls: int) -> None:
        for _ in range(calls):
            call()

    return run


def _microseconds(figure: Any) -> str:
    return f"{figure.median * 1e6:.3g} ({figure.low * 1e6:.3g}-{figure.high * 1e6:.3g})"
