"""linearize: linear system of small motions about an equilibrium or a steady motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.analysis.assembly.non_penetration import not_active_hint, require_apart
from kane.analysis.linear.linearization import Linearization
from kane.analysis.small_motions import SmallMotions, displacement_names
from kane.array_types import Array, StateLike
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.number_arguments import list_argument, number, positive, require
from kane.expression.text import format_expression
from kane.model.named_vector import named_vector
from kane.simulation.state_layout import Layout

# Residual of constraints that counts as satisfied, relative to the largest speed (at least one); assemble leaves less.
OPEN = 1e-7
INSIDE = (
    "no motion can continue from there. kane.assemble moves it out; contacts and stops are not active here, so replace "
    "those that should hold by permanent constraints (kane.Prescribed, kane.Coincidence)"
)


def linearize(
    dyn: Dynamics,
    *,
    q: StateLike | None = None,
    u: StateLike | None = None,
    inputs: Any = None,
    t: float = 0.0,
    parameters: Mapping[str, float] | None = None,
    outputs: Sequence[Expr] | None = None,
    tolerance: float = 1e-6,
) -> Linearization:
    """Compute dx/dt = A x + B v, y = C x + D v for small deviations from an equilibrium or a steady motion.

    The matrices follow from exact derivatives of the equations. Constraints are eliminated: x consists of the
    displacements that the configuration constraints leave free, and the deviations of the independent speeds. In a
    steady motion the speeds are constant, and displacements are deviations from the moving system, such as the position
    of a wheel that rolls steadily. Contacts, stops, sticks, latches and switches are inactive, even if closed. Further
    calls with other states or parameters take milliseconds, so that A, B, C, D can be used as functions of them.

    Args:
        dyn: compiled equations.
        q, u: reference state: arrays, or dicts from some of the names to numbers; neutral and at rest for the others.
        inputs: inputs of the reference motion: array or dict; defaults for the others.
        t: time [s].
        parameters: values by name; defaults for the others.
        outputs: expressions y of coordinates, speeds, measures and inputs; the states by default.
        tolerance: largest |udot| and |d udot/dt| of a steady motion, relative to the largest derivative of udot (at
            least one); ``math.inf`` linearizes at any state.

    Raises:
        ModelError: the state does not satisfy the constraints, penetrates a contact, exceeds a stop, or is not an
            equilibrium or steady motion; the message has the residual. Also if a name is unknown, or an output is not
            an expression of the model.

    Source: for constrained systems Peterson, Gede & Hubbard 2014.
    """
    require(dyn, Dynamics, "linearize takes Dynamics, from kane.build")
    if outputs is not None:
        outputs = list_argument(outputs, "outputs", "expressions of the model")
    layout = Layout.of(dyn.equations)
    x = layout.initial_state(q, u)
    nq, given = len(layout.coordinates), named_vector(inputs, layout.inputs, layout.input_defaults, "input")
    motion = SmallMotions(dyn, x[:nq], x[nq:], given, number(t, "t", "seconds"), parameters)
    _require_constraints(motion)
    require_apart(motion, "this state is", INSIDE)
    residual = _residual(motion, layout, tolerance, _by_default(inputs, layout))
    s, v = motion.free_displacements, motion.free_speeds
    N = motion.allowed
    displaced, moved = motion.drift
    F = motion.accelerations
    A = np.block(
        [[displaced[s] @ N, moved[np.ix_(s, v)]], [F["q"][v] @ N, F["u"][np.ix_(v, v)]]],
    )
    B = np.vstack([np.zeros((len(s), len(given))), F["inputs"][v]])
    names = displacement_names(dyn)
    states = (*(names[i] for i in s), *(layout.speeds[j] for j in v))
    C, D, outputs_named = _outputs(motion, outputs, (N, v), states)
    return Linearization(
        A, B, C, D, states, layout.inputs, outputs_named, motion.q, motion.u, given, motion.t, residual, motion
    )


def _require_constraints(motion: SmallMotions) -> None:
    """Raise unless the constraints hold at the state."""
    if not motion.dyn.equations.constraints and not motion.dyn.equations.closing:
        return
    configuration, speeds = motion.terms.residuals.largest
    worst = float(np.maximum(configuration, speeds))  # NaN where a constraint has no value
    if not worst <= OPEN * max(1.0, float(np.abs(motion.u).max(initial=0.0))):
        raise ModelError(
            f"the state does not satisfy the constraints of {motion.dyn.equations.name!r}: the residual is "
            f"{worst:.3g}; kane.assemble finds one that does"
        )


def _by_default(inputs: Any, layout: Layout) -> str:
    """Return names and default values of the inputs that were not given, as text for the message."""
    values = zip(layout.inputs, layout.input_defaults, strict=True)
    left = [
        f"{name} = {value:g}"
        for name, value in values
        if inputs is None or (isinstance(inputs, Mapping) and name not in inputs)
    ]
    return f" with inputs at their defaults ({', '.join(left)}; after a trim give inputs=trim.inputs)" if left else ""


def _residual(motion: SmallMotions, layout: Layout, tolerance: float, by_default: str) -> float:
    """Return the largest |udot| or |d udot/dt|.

    Raises:
        ModelError: it exceeds the tolerance.
    """
    found = motion.accelerations
    if not np.isfinite(found.value).all():
        raise ModelError(f"the accelerations of {layout.model!r} are not finite here; give other q=, u= or inputs=")
    scale = max(1.0, *(float(np.abs(found[word]).max(initial=0.0)) for word in ("q", "u")))
    left = np.maximum(np.abs(found.value), np.abs(motion.jerk))
    worst = int(np.argmax(left)) if len(left) else 0
    residual = float(left.max(initial=0.0))
    if not residual <= positive(tolerance, "tolerance") * scale:
        name = layout.speeds[worst]
        raise ModelError(
            f"this is no equilibrium or steady motion of {layout.model!r}{by_default}: the rate of {name} is "
            f"{found.value[worst]:.6g}, and its second rate {motion.jerk[worst]:.6g}; kane.trim finds one near it, "
            f"and tolerance=math.inf linearizes at any state{not_active_hint(motion.dyn)}"
        )
    return residual


def _outputs(
    motion: SmallMotions, outputs: Sequence[Expr] | None, kept: tuple[Array, list[int]], states: tuple[str, ...]
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return C, D and the names of the outputs."""
    m = len(motion.inputs)
    if outputs is None:
        return np.eye(len(states)), np.zeros((len(states), m)), states
    N, v = kept
    derived = motion.dyn.derivatives(outputs, wrt=("q", "u", "inputs"))
    found = derived(motion.q, motion.u, motion.inputs, motion.t, parameters=motion.parameters)
    C = np.hstack([found["q"] @ N, found["u"][:, v]])
    return C, found["inputs"], tuple(format_expression(x) for x in outputs)
