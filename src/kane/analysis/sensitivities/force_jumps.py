"""Force jumps within the steps of a run, where ``select`` or ``sign`` changes its value.

Derivatives of steps do not include the effect of parameters on the time of a jump. If both values are equal at the
switch, for example for a spring that begins to push, nothing jumps and the derivatives are valid.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kane.analysis.sensitivities.variations import Array, Leg
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.deferred import NamedTuple
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.operations import INPUT, LESS, LESS_EQUAL, SIGN
from kane.expression.traverse import reachable, substitute_nodes

# Jump, relative to the largest force of the run, below which it is an error of the search for the switch.
SMOOTH = 1e-7
HALVINGS = 60


class _Switches(NamedTuple):
    """Switches of the forces, and their values.

    Attributes:
        function: of [inputs, udot, sides]: expressions that change sign at each switch, then the forces.
        asked: conditions and signs.
        values: values of each switch while its expression is negative, and while it is not.
    """

    function: CompiledFunction
    asked: Sequence[Expr]
    values: Sequence[tuple[float, float]]


def require_smooth(leg: Leg) -> None:
    """Raise if a force jumps within steps.

    Raises:
        ModelError: names the time, the condition and the cure.
    """
    switches = _switches(leg)
    if switches is None or len(leg.t) < 2:
        return
    count = len(switches.asked)
    below = _evaluated(leg, switches, leg.t, leg.x)[:, :count] < 0.0
    size = np.abs(_evaluated(leg, switches, leg.t, leg.x, below)[:, count:]).max(initial=0.0)
    for k, c in np.argwhere(below[1:] != below[:-1]):
        t, x = _switch(leg, switches, int(k), int(c))
        at = np.array([t, t]), np.stack([x, x])
        sides = _evaluated(leg, switches, *at)[:, :count] < 0.0
        sides[:, c] = [False, True]
        forces = _evaluated(leg, switches, *at, sides)[:, count:]
        if np.abs(forces[1] - forces[0]).max() > SMOOTH * size:
            raise ModelError(
                f"at t = {t:.9g} s {switches.asked[c]!r} changes and a force jumps: when it does depends on what is "
                "varied, which derivatives of steps leave out; let it be a kane switch, stick or contact of the model, "
                "whose changes are derived, or smooth it"
            )


def _switches(leg: Leg) -> _Switches | None:
    """Return the switches of the forces; None without any."""
    dyn = leg.motion.dyn
    e = dyn.equations
    with collector_paused():
        free = e.unconstrained
        forces = list(free.baked_in([e.t.arena.lift(x) for x in free.route.loaded(e.udot)]))
        asked = [node for node in reachable(forces) if node.op in (LESS, LESS_EQUAL, SIGN)]
        if not asked:
            return None
        sides = [e.t.arena.leaf(INPUT, f"side {k + 1}") for k in range(len(asked))]
        signs = [node.args[0] if node.op == SIGN else node.args[0] - node.args[1] for node in asked]
        outputs = [*signs, *substitute_nodes(forces, dict(zip(asked, sides, strict=True)))]
        state, rest = (e.t, *e.q, *e.u), (*e.inputs, *e.udot, *sides)
        program = Program("forces on both sides of switches", outputs, state=state, rest=rest, parameters=e.parameters)
    values = [(-1.0, 1.0) if node.op == SIGN else (1.0, 0.0) for node in asked]
    return _Switches(dyn.compile(program), asked, values)


def _evaluated(leg: Leg, switches: _Switches, t: Array, x: Array, below: NDArray[np.bool_] | None = None) -> Array:
    """Return the expressions of the switches, and the forces at udot = 0 on both sides of each switch."""
    function, m = switches.function, len(leg.motion.dyn.equations.udot)
    chosen = np.zeros((len(t), len(switches.asked)), bool) if below is None else below
    sides = np.where(chosen, *np.array(switches.values).T[:, None])
    rest = np.concatenate([leg.motion.inputs(t, t), np.zeros((len(t), m)), sides], axis=1)
    return function(np.concatenate([t[:, None], x], axis=1), rest, function.stage(leg.motion.parameters))


def _switch(leg: Leg, switches: _Switches, k: int, c: int) -> tuple[float, Array]:
    """Return the place of a switch on the straight line over the k-th step."""
    low, high = 0.0, 1.0
    t, x = leg.t[k : k + 2], leg.x[k : k + 2]
    begins = _evaluated(leg, switches, t[:1], x[:1])[0, c] < 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        there = t[:1] + middle * (t[1:] - t[:1]), x[:1] + middle * (x[1:] - x[:1])
        if (_evaluated(leg, switches, *there)[0, c] < 0.0) == begins:
            low = middle
        else:
            high = middle
    return float(t[0] + high * (t[1] - t[0])), x[0] + high * (x[1] - x[0])
