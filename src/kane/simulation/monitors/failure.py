"""Diagnosis of failed runs from the last state, so that successful runs cost nothing extra."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kane.array_types import Array
from kane.codegen.jit.function import ArrayFunction
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.run_codes import PROJECT, RHS
from kane.engine.memory.run_memory import mode_of, notes_of
from kane.errors import SimulationError
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.operations import ABS, DIV, EQUAL, LESS, LESS_EQUAL, MAX, MIN, PARAMETER, SELECT, SIGN
from kane.expression.traverse import leaves, reachable
from kane.formulation.equations import Equations
from kane.formulation.recursive.applied import applied_loads
from kane.model.reaction import reaction_leaves
from kane.simulation.integrator_state import IntegratorState, Outcome
from kane.simulation.mode_table import stage_in_force

if TYPE_CHECKING:
    from kane.simulation.initial_value_problem import InitialValueProblem

# A joint closer than this to its singularity [rad or m] is named as a possible cause of the failure.
NEAR_SINGULAR = 0.1
# The run counts as being at a jump if it reaches the jump within this fraction of its duration, or in two fixed steps.
AT_JUMP = 1e-6
# Rates are evaluated a second time at this multiple of the distance from the jump.
FARTHER = 100.0
# A divisor is small below this fraction of its largest value in the run; constraints are nearly dependent below
# this conditioning.
SMALL_DIVISOR = 1e-2
ILL_CONDITIONED = 1e-3
# If rounding changes the accelerations by more than this fraction, the message mentions it.
MENTIONED_ROUNDING_CHANGE = 1e-8
MACHINE_EPSILON = 2.0**-52
# Relative step of difference quotients, which loses half of the digits.
HALF = 2.0**-26


class Jump(NamedTuple):
    """Operation whose argument changes sign at the state, and its rates just below and just above zero [1/s]."""

    node: Expr
    below: float
    above: float

    @property
    def attracts(self) -> bool:
        """Whether the motion is driven back to the sign change from both sides, so that it cannot cross or leave."""
        return self.above < 0.0 < self.below


# Outcomes without a next mode; ``ModeSource.refusal`` gives the reason.
NO_NEXT_MODE = (Outcome.REFUSED, Outcome.NO_GUARD, Outcome.ENDLESS)
# This many transitions within this fraction of a run count as accumulating (Zeno behaviour).
ZENO_TRANSITIONS, ZENO_SPAN = 100, 1e-3
# Intervals below this many units in the last place of the time are rounding: an endless sequence of bounces ended at 13
# to 15 units with BDF and RK8. A switch that flips 1e9 times a second has five million.
ROUNDING = 64


def failure_of(integration: IntegratorState, outcome: Outcome) -> SimulationError:
    """Return the error that explains why the run cannot take its next step, or makes no progress."""
    problem = integration.problem
    return SimulationError(f"{_why(problem, integration, outcome)}{problem.mode_source.stepped_over(integration)}")


def _why(problem: InitialValueProblem, integration: IntegratorState, outcome: Outcome) -> SimulationError:
    if outcome in NO_NEXT_MODE:
        reason = problem.mode_source.refusal(integration, outcome)
        if outcome is Outcome.ENDLESS and _accelerates(integration):
            reason = f"{reason}; {_ever_faster(integration)}"
        return SimulationError(
            f"{problem.layout.model!r} cannot go on from t = {integration.time:.9g} s, "
            f"{problem.layout.describe(integration.x)}: {reason}"
        )
    slope = _slope(problem, integration, np.concatenate([[integration.time], integration.x]))
    names = problem.layout.coordinates + problem.layout.speeds
    wrong = [f"{name}_dot" for name, value in zip(names, slope, strict=True) if not np.isfinite(value)]
    what = "stops being finite in the step"
    if wrong:
        cause = (
            f"there {', '.join(wrong[:12])} {'is' if len(wrong) == 1 else 'are'} not finite: the mass matrix is "
            "singular, a load is infinite, a function left its domain, or the motion diverges"
        )
        cause = "; ".join([cause, *_loads_without_value(problem, integration), *_small_divisors(problem, integration)])
    elif outcome is Outcome.NOT_FINITE and integration.course.step:
        cause = f"there its derivative is finite: the step dt = {abs(integration.course.step):.6g} s is too large"
        jump = chattering(integration)
        cause += f", or {_chatters(jump)}" if jump else ""
    else:
        what = "cannot be followed" if outcome is Outcome.STUCK else "makes no progress"
        cause = "; ".join(_causes(problem, integration)) or (
            "there no step is short enough for the tolerances: the motion diverges, the accelerations jump "
            "repeatedly, as with friction that reverses (make it smooth), or the tolerances are below rounding"
        )
    singular = problem.layout.singular(integration.x, within=NEAR_SINGULAR)
    return SimulationError(
        f"the state of {problem.layout.model!r} {what} from t = {integration.time:.9g} s, "
        f"{problem.layout.describe(integration.x)}; {cause}" + (f"; {singular}" if singular else "")
    )


def _ever_faster(integration: IntegratorState) -> str:
    """Describe transitions that accumulate in time; an empty text if they do not."""
    times = integration.transitions.time[-ZENO_TRANSITIONS:]
    span = abs(integration.course.until - integration.course.start)
    if len(times) < ZENO_TRANSITIONS or not times[-1] - times[0] < ZENO_SPAN * span:
        return ""
    return (
        f"its mode changes ever faster, the last {ZENO_TRANSITIONS} times within {times[-1] - times[0]:.2g} s, as in "
        "an endless sequence of impacts (Zeno behaviour): give less restitution, or end the run before"
    )


def _accelerates(integration: IntegratorState) -> bool:
    """Check whether the last transitions accelerate, or come at the shortest intervals that rounding allows.

    They accelerate if the second half of them took less than half of the time of the first half.
    """
    times = integration.transitions.time[-ZENO_TRANSITIONS:]
    if len(times) < ZENO_TRANSITIONS:
        return False
    first, middle, last = times[0], times[ZENO_TRANSITIONS // 2], times[-1]
    shortest = ZENO_TRANSITIONS * ROUNDING * np.spacing(abs(last))
    return bool(2.0 * abs(last - middle) < abs(middle - first) or 0.0 < abs(last - first) < shortest)


def _causes(problem: InitialValueProblem, integration: IntegratorState) -> Iterator[str]:
    """Yield the causes found at the state, in words."""
    found = chattering(integration)
    if found is not None:
        yield _chatters(found)
        return
    message = _ever_faster(integration)
    if message:
        yield message
        return
    if integration.slow is not None:
        yield (
            "an input that is a Python function may jump, which cannot be checked: give it as an expression of the "
            "model, make it smooth, or use fixed steps: dt=..."
        )
    yield from _small_divisors(problem, integration)
    projection = integration.system.projection
    if projection.notes.size and notes_of(projection).conditioning[0] < ILL_CONDITIONED:
        yield (
            "its constraints are nearly dependent there, as in a flat linkage: the conditioning of the "
            f"independent speeds has fallen to {notes_of(projection).conditioning[0]:.2g}"
        )
    noise = rounding(problem, integration)
    if noise > MENTIONED_ROUNDING_CHANGE:
        digits = math.floor(-math.log10(min(noise, 1.0)))
        yield (
            f"a change of the state in its last digit changes the derivative by a fraction {noise:.2g} of its size: "
            f"{digits or 'no'} digits are left; relax rtol and atol, or end the run before"
        )


def _chatters(jump: Jump) -> str:
    return (
        f"it chatters: the accelerations jump where the argument of {_short(jump.node)} changes its sign, and drive it "
        f"back from both sides (at {jump.below:.3g}/s from below, {jump.above:.3g}/s from above); make the jump "
        "smooth, for instance kane.tanh(x / width) in place of kane.sign(x), or use fixed steps of kane.RK4: dt=..."
    )


def _small_divisors(problem: InitialValueProblem, integration: IntegratorState) -> Iterator[str]:
    states = np.concatenate(
        [integration.states()[integration.stretches()[-1].rows], [[integration.time, *integration.x]]]
    )
    inputs = np.tile(integration.system.inputs, (len(states), 1))
    return small_divisors(problem.dyn.equations, states, inputs, problem.parameters)


def _loads_without_value(problem: InitialValueProblem, integration: IntegratorState) -> Iterator[str]:
    """Name the loads that are not finite at the state, such as a spring between coincident points."""
    equations = problem.dyn.equations
    state = np.array([[integration.time, *integration.x]])
    values = _values(equations, state, np.asarray(integration.system.inputs)[None], problem.parameters)
    for title, effect in equations.tree.loads:
        found = equations.baked_in(applied_loads([effect], equations.system).expressions)
        if not reaction_leaves(found) and not all(np.isfinite(x).all() for x in interpret(found, values)):
            yield f"the load {title!r} has no finite value there"


def chattering(integration: IntegratorState) -> Jump | None:
    """Return the jump to which the motion is driven back from both sides; None without one.

    Source: Filippov, Differential Equations with Discontinuous Righthand Sides, 1988: a sliding mode.
    """
    problem, way = integration.problem, math.copysign(1.0, integration.course.until - integration.course.start)
    for node in jumps(problem.rhs):
        if _depends_on_state(node):
            found = _jump(problem, integration, node, way)
            if found is not None and found.attracts:
                return found
    return None


def jumps(rhs: ArrayFunction) -> list[Expr]:
    """Return the operations in the equations of motion whose value or slope jumps at a sign change of the argument."""
    mode_source = (SIGN, ABS, MIN, MAX, LESS, LESS_EQUAL, EQUAL)
    return [
        node
        for node in reachable(rhs.roots)
        if node.op in mode_source or (node.op == SELECT and node.args[0].op not in mode_source)
    ]


def _jump(problem: InitialValueProblem, integration: IntegratorState, node: Expr, way: float) -> Jump | None:
    """Return the rates of the argument on both sides of its zero, in the direction of the run; None far from a jump."""
    state = np.concatenate([[integration.time], integration.x])
    steps = HALF * np.maximum(1.0, np.abs(state))
    beside = [_projected(problem, integration, state + shift)[0] for shift in (*np.diag(steps), *np.diag(-steps))]
    plus, minus = np.split(_argument(problem, integration, node, np.array(beside)), 2)
    gradient, here = (plus - minus) / (2.0 * steps), float(_argument(problem, integration, node, state[None])[0])
    across = gradient[1:]
    size = float(across @ across)
    if not 0.0 < size < math.inf:
        return None

    def rates(distance: float) -> list[float]:
        """Return the rates at this distance below and above the zero."""
        found = []
        for at in (-distance, distance):
            shifted = state.copy()
            shifted[1:] += (at - here) / size * across
            found.append(
                way * float(gradient @ np.concatenate([[1.0], _projected_slope(problem, integration, shifted)]))
            )
        return found

    distance = max(2.0 * abs(here), math.sqrt(size) * float(steps.max()))
    close, farther = rates(distance), rates(FARTHER * distance)
    course = integration.course
    within = max(AT_JUMP * abs(course.until - course.start), 2.0 * abs(course.step))
    # Rates that vanish at the zero, as with a stiff damper, let the motion come to rest there: this is no jump.
    jump = all(abs(near) > 0.1 * abs(far) for near, far in zip(close, farther, strict=True))
    return Jump(node, *close) if abs(here) <= within * max(map(abs, close)) and jump else None


def _argument(problem: InitialValueProblem, integration: IntegratorState, node: Expr, states: Array) -> Vector:
    """Return the argument whose sign change makes the node jump, at states [t, q, u], (states,)."""
    args = node.args[:1] if node.op in (SIGN, ABS, SELECT) else node.args[:2]
    inputs = np.tile(integration.system.inputs, (len(states), 1))
    leaves_here = _values(problem.dyn.equations, states, inputs, problem.parameters)
    values = [np.broadcast_to(x, len(states)) for x in interpret(args, leaves_here)]
    return values[0] if len(values) == 1 else values[0] - values[1]


def _values(equations: Equations, states: Array, inputs: Array, parameters: Vector) -> dict[Expr, Any]:
    """Return the values of all leaves of the equations along states."""
    values: dict[Expr, Any] = dict(zip((equations.t, *equations.q, *equations.u), states.T, strict=True))
    values.update(zip(equations.inputs, inputs.T, strict=True))
    values.update(zip(equations.parameters, parameters, strict=True))
    return values


def _slope(problem: InitialValueProblem, integration: IntegratorState, state: Vector) -> Vector:
    return problem.rhs(state, integration.system.inputs, stage_in_force(integration.system, RHS, problem.rhs))


def small_divisors(equations: Equations, states: Array, inputs: Array, parameters: Vector) -> Iterator[str]:
    """Describe divisors of constraints and speeds that come close to zero, or change sign, along states.

    Args:
        equations: equations with the divisors.
        states: [t, q, u], (times, 1 + nq + n).
        inputs: (times, inputs).
        parameters: values.
    """
    from kane.formulation.search.best_speeds import where_zero

    found = divisors(equations)
    values = interpret(list(found), _values(equations, states, inputs, parameters))
    for (divisor, rows), value in zip(found.items(), values, strict=True):
        course = np.broadcast_to(value, len(states))
        sizes = np.abs(course)
        passed = np.flatnonzero(course[1:] * course[:-1] < 0.0)
        worst = int(passed[0]) if passed.size else int(np.argmin(sizes))
        if passed.size or sizes[worst] <= SMALL_DIVISOR * sizes.max():
            more = f" and {len(rows) - 1} more" if rows[1:] else ""
            of = f"the constraint {rows[0]!r}{more}" if rows else "the speed selection"
            yield (
                f"{of} cannot be solved where {where_zero(divisor)}, and at t = {states[worst, 0]:.9g} s it is "
                f"{course[worst]:.2g}: end the run before, for instance by a terminal event"
            )


def passages(integration: IntegratorState) -> Iterator[str]:
    """Describe passages of the run through states at which its dependent speeds are undetermined.

    A passage is detected by the sign change of a divisor between two records.
    """
    states = integration.states()
    for stretch in integration.stretches():
        yield from _passages(integration.problems[stretch.key], integration, states[stretch.rows])


def _passages(problem: InitialValueProblem, integration: IntegratorState, states: Array) -> Iterator[str]:
    equations = problem.dyn.equations
    embedding = equations.embedding
    moving = [x for x in equations.baked_in(embedding.fails_where) if _depends_on_state(x)]
    if not moving:
        return
    from kane.formulation.search.best_speeds import where_zero

    values = _values(equations, states, np.tile(integration.system.inputs, (len(states), 1)), problem.parameters)
    for divisor, value in zip(moving, interpret(moving, values), strict=True):
        changes = np.flatnonzero(np.diff(np.sign(value)))
        if len(changes):
            before, after = states[changes[0], 0], states[changes[0] + 1, 0]
            yield (
                f"{problem.layout.model!r} passes a state between t = {before:.9g} s and {after:.9g} s where "
                f"{where_zero(divisor)}: there {', '.join(leaf.name for leaf in embedding.u)} cannot be the dependent "
                "speeds, and later records may err by far more than the tolerances; let each state select its speeds "
                "(kane.formulate(model) without near= and without named dependent speeds), or end the "
                "run before"
            )


def divisors(equations: Equations) -> dict[Expr, list[str]]:
    """Return state-dependent divisors in the constraints, or of the speed selection, with names of the constraints.

    Arguments of sign count too: x / sqrt(x**2) is written as sign(x), which has no value at zero either.
    """
    found: dict[Expr, list[str]] = {x: [] for x in equations.baked_in(equations.fails_where) if _depends_on_state(x)}
    for row in equations.constraints:
        parts = [row.motion, row.remainder, *row.coefficients.values()]
        for node in reachable(equations.baked_in(parts)):
            if node.op in (DIV, SIGN) and _depends_on_state(node.args[-1]):
                names = found.setdefault(node.args[-1], [])
                if row.name not in names:
                    names.append(row.name)
    return found


def rounding(problem: InitialValueProblem, integration: IntegratorState) -> float:
    """Return the relative change of the derivative if the state changes in its last digit."""
    state, random = np.concatenate([[integration.time], integration.x]), np.random.default_rng(0)
    here, largest = _projected_slope(problem, integration, state), 0.0
    for _ in range(8):
        signs = random.choice([-1.0, 1.0], len(integration.x))
        moved = state.copy()
        moved[1:] *= 1.0 + MACHINE_EPSILON * signs
        largest = max(largest, float(np.abs(_projected_slope(problem, integration, moved) - here).max()))
    size = float(np.abs(here).max())
    return largest / size if size > 0.0 else 0.0


def _projected(problem: InitialValueProblem, integration: IntegratorState, state: Vector) -> tuple[Vector, Vector]:
    """Return the state projected onto the constraints, and the constants of rhs there; the run is not changed."""
    system = integration.system
    own = stage_in_force(system, RHS, problem.rhs)
    if problem.project is None:
        return state, own
    stage = stage_in_force(system, PROJECT, problem.project).copy()
    projected = problem.project(state, system.inputs, stage)[: len(integration.x)]
    shared = mode_of(system).places[RHS] == mode_of(system).places[PROJECT]
    return np.concatenate([state[:1], projected]), stage if shared else own


def _projected_slope(problem: InitialValueProblem, integration: IntegratorState, state: Vector) -> Vector:
    """Return the derivative at the state projected onto the constraints."""
    projected, stage = _projected(problem, integration, state)
    return problem.rhs(projected, integration.system.inputs, stage)


def _depends_on_state(node: Expr) -> bool:
    return any(leaf.op != PARAMETER for leaf in leaves([node]))


def _short(node: Expr) -> str:
    text = repr(node)
    return f"an operation of {', '.join(str(leaf.name) for leaf in leaves([node]))}" if "..." in text else text
