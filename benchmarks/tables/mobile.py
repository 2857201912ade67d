"""Forward dynamics of the mobile manipulator, one call: kane beside SymPy, cse and gcc."""

from functools import partial

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.contest import AGREEMENT
from benchmarks.kane_loop import KaneLoop
from benchmarks.mode import Mode
from benchmarks.peers.sympy_mobile import COORDINATES, INPUTS, SPEEDS, SympyMobile
from benchmarks.peers.toolchain import PeerMissingError
from benchmarks.report import Table, nanoseconds
from benchmarks.timing import interleaved
from kane.expression.interpret import interpret

TITLE = "Mobile manipulator of Tanner & Kyriakopoulos, forward dynamics"
PEER = "SymPy + cse + gcc"
COLUMNS = ("dynamics", "kane, ns", f"{PEER}, ns", "x", "differs by")
NOTE = (
    "Table I: three wheels, two links; of the six rows of rolling five are independent and embedded. The same speeds "
    "and constraint equations on both sides. SymPy: KanesMethod without the wheels' angles of turning, its M and f "
    "after cse in C, gcc -O3 -march=native, and elimination with pivots of the 9 x 9 system that KanesMethod leaves. "
    "CPU time of one call in a native loop over 64 random states."
)
STATES = 64
Array = npt.NDArray[np.float64]


def table(mode: Mode) -> Table:
    """Measures both."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    dynamics = kane.build(kane.formulate(kane.library.mobile_manipulator()))
    q, u, inputs = _states(dynamics.equations)
    forward = dynamics.function("forward")
    state = np.hstack([np.zeros((STATES, 1)), q, u])
    ours = KaneLoop(forward, state, inputs, forward.stage(dynamics.parameters))
    try:
        peer = SympyMobile()
    except PeerMissingError as missing:
        result.note(f"No peer: {missing}.")
        figure = interleaved({"kane": ours.run}, batches=mode.batches)["kane"]
        result.rows.append(["forward", nanoseconds(figure), "missing", "-", "-"])
        return result
    names = [leaf.name for leaf in dynamics.equations.u]
    order = [names.index(name) for name in SPEEDS]
    given = [[leaf.name for leaf in dynamics.equations.inputs].index(name) for name in INPUTS]
    theirs = partial(peer.loop, states=np.hstack([q[:, : len(COORDINATES)], u[:, order]]), inputs=inputs[:, given])
    figures = interleaved({"kane": ours.run, PEER: theirs}, batches=mode.batches)
    expected = theirs(STATES)
    difference = float(np.abs(dynamics.forward(q, u, inputs)[:, order] - expected).max() / np.abs(expected).max())
    times = result.ratio("mobile manipulator, forward", PEER, figures["kane"], figures[PEER])
    verdict = f"{difference:.0e}" + ("" if difference < AGREEMENT else " DISAGREES")
    result.rows.append(["forward", nanoseconds(figures["kane"]), nanoseconds(figures[PEER]), times, verdict])
    return result


def _states(equations: kane.Equations) -> tuple[Array, Array, Array]:
    """Random states whose dependent speeds follow from the others."""
    random = np.random.default_rng(0)
    embedding = equations.embedding
    q = random.uniform(-1.0, 1.0, (STATES, len(equations.q)))
    u = random.normal(size=(STATES, len(equations.u)))
    place = {leaf: i for i, leaf in enumerate(equations.u)}
    for q_k, u_k in zip(q, u, strict=True):
        values = dict(zip((*equations.q, *equations.u), (*q_k, *u_k), strict=True))
        for leaf, x in zip(embedding.u, interpret(list(embedding.u.values()), values), strict=True):
            u_k[place[leaf]] = x
    return q, u, random.normal(size=(STATES, len(equations.inputs)))
