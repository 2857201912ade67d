"""Events: sign changes of expressions within a step, located on the dense output."""

from __future__ import annotations

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.factorizations import ROUNDING
from kane.engine.memory.loop_arguments import PROBES, Matrix, StateEquation, Store, Tables, Vector, Watch
from kane.engine.memory.run_memory import counts_of
from kane.engine.step.state_equation import call_mode, interpolate, interpolate_state, project_probe

# Width of the bracket of a root, as a fraction of the step, at which its error is rounding errors.
LOCATED = 1e-15
# Largest number of fractions at which a root is searched for.
MOST_FRACTIONS = 60
# Smooth expressions need fewer fractions than this. After it every third fraction bisects the bracket.
SMOOTH_FRACTIONS = 12
# A fraction beyond the step: there is no root.
NO_ROOT = 2.0

# The state equation and the interpolated inputs.
Equation = tuple[StateEquation, Tables]
# Start, length and end of a step [s].
Span = tuple[float, float, float]


@native_inline
def evaluate_at(watch: Watch, system: StateEquation, interpolated: Tables, t: float, x: Vector) -> None:
    """Evaluate the expressions at time t and state x."""
    if interpolated.column.size > 0:
        interpolate(interpolated, t, system.inputs)
    call_mode(system, watch.program, t, x, watch.out)


@native_inline
def first_signs(watch: Watch, system: StateEquation, interpolated: Tables, t: float, x: Vector) -> None:
    """Store the signs at the start of the run; a zero sign does not change when it becomes nonzero."""
    evaluate_at(watch, system, interpolated, t, x)
    for e in range(watch.out.size):
        watch.signs[e] = _sign(watch.out[e])


@native_inline
def find_events(
    watch: Watch, context: tuple[StateEquation, Tables, float], store: Store, dense: Matrix, span: Span
) -> float:
    """Append the events of a step to store.found; a terminal one sets counts.ended[0] and store.y.

    Args:
        watch: expressions of the events.
        context: StateEquation, interpolated Tables, and last time of the run.
        store: x before, y after the step, slopes of all stages.
        dense: coefficients of the dense output.
        span: start, length and end of the step.

    Returns:
        Time at which the step ends.
    """
    system, interpolated, until = context
    equation = (system, interpolated)
    t, h, t1 = span
    for probe in range(1, PROBES + 1):
        theta = probe / PROBES
        if probe < PROBES:
            evaluate_on_interpolant(watch, equation, store, dense, (t, h, t1), theta)
        if probe == PROBES or _is_any_changed(watch):
            evaluate_projected(watch, equation, store, dense, (t, h, t1), theta)
        end = NO_ROOT
        for e in range(watch.out.size):
            sign = _sign(watch.out[e])
            watch.roots[e] = NO_ROOT
            if sign == 0.0 and probe == PROBES and t1 == until:
                sign = -watch.signs[e]  # a zero at the end of the run, after which no sign follows
            if sign == 0.0:
                continue
            if watch.signs[e] * sign < 0.0 and watch.directions[e] * sign >= 0.0:
                watch.roots[e] = sign
            watch.signs[e] = sign
        for e in range(watch.out.size):
            if watch.roots[e] != NO_ROOT:
                low, theta_e = theta - 1.0 / PROBES, theta
                watch.roots[e] = locate(watch, equation, store, dense, (t, h, t1), (e, watch.roots[e], low, theta_e))
                if watch.terminal[e] > 0.0:
                    end = min(end, watch.roots[e])
        for e in range(watch.out.size):
            if watch.roots[e] <= min(end, 1.0):
                _append_event(watch, system, store, dense, (t, h, t1), e)
        if end <= 1.0:
            counts_of(store).ended[0] = 1
            if end < 1.0:
                t1 = _load_probe_state(store, dense, (t, h, t1), end, system)
                for i in range(store.y.size):
                    store.y[i] = store.z[i]
                for i in range(system.aside.notes.size):
                    system.projection.notes[i] = system.aside.notes[i]
                return t1
            return t1
    return t1


@native_inline
def _sign(value: float) -> float:
    return 1.0 if value > 0.0 else (-1.0 if value < 0.0 else 0.0)


@native_inline
def _load_probe_state(store: Store, dense: Matrix, span: Span, theta: float, system: StateEquation) -> float:
    """Write the projected state at a fraction theta of the step into store.z; return its time."""
    t, h, t1 = span
    if theta == 1.0:
        for i in range(store.y.size):
            store.z[i] = store.y[i]
        return t1
    interpolate_state(store, dense, h, theta, system.quaternions, store.z)
    project_probe(system, t + theta * h, store.z)
    return t + theta * h


@native_inline
def evaluate_projected(watch: Watch, equation: Equation, store: Store, dense: Matrix, span: Span, theta: float) -> None:
    """Evaluate the expressions at the projected state at a fraction theta of the step."""
    system, interpolated = equation
    at = _load_probe_state(store, dense, span, theta, system)
    evaluate_at(watch, system, interpolated, at, store.z)


@native_inline
def evaluate_on_interpolant(
    watch: Watch, equation: Equation, store: Store, dense: Matrix, span: Span, theta: float
) -> None:
    """Evaluate the expressions on the dense output without a projection, which suffices to exclude a sign change."""
    system, interpolated = equation
    t, h, _ = span
    interpolate_state(store, dense, h, theta, system.quaternions, store.z)
    evaluate_at(watch, system, interpolated, t + theta * h, store.z)


@native_inline
def _is_any_changed(watch: Watch) -> bool:
    """Check whether the sign of an expression differs from its last sign."""
    changed = False
    for e in range(watch.out.size):
        changed = changed or not watch.signs[e] * watch.out[e] > 0.0
    return changed


@native_kernel
def locate(
    watch: Watch,
    equation: Equation,
    store: Store,
    dense: Matrix,
    span: Span,
    change: tuple[int, float, float, float],
) -> float:
    """Return the first fraction in a bracket at which an expression has its new sign.

    Inverse quadratic interpolation if the last three values allow it, otherwise bisection. Fractions differ from the
    last one by at least the resolution of the time, so that the bracket closes from both sides once the root is known.
    From a value of zero the search moves away in growing steps, and ends at the first new sign: between them the values
    are rounding errors. The result is just after the root, so that a run that continues there does not find the root
    again.

    Args:
        watch, equation, store, dense, span: as for ``find_events``.
        change: number of the expression, its new sign, and the fractions at the ends of the bracket.

    Source: Chandrupatla 1997.
    """
    e, sign, low, high = change
    t, h, t1 = span
    close = max(LOCATED, ROUNDING * max(abs(t), abs(t1)) / abs(h))
    evaluate_projected(watch, equation, store, dense, span, low)
    below = watch.out[e] * sign
    evaluate_projected(watch, equation, store, dense, span, high)
    above = watch.out[e] * sign
    a, b, c, at_a, at_b, at_c, away = high, low, low, above, below, below, 1.0
    behind = True  # whether a has the new sign; b then has the old one
    for k in range(MOST_FRACTIONS):
        width = abs(b - a)
        if width <= close or (at_b == 0.0 and behind and away > 1.0):
            break
        ratio = 0.5
        if at_a == 0.0:
            ratio, away = away * close / width, 4.0 * away
        elif k < SMOOTH_FRACTIONS or k % 3 != 2:
            ratio = _ratio_of_root(k, (a, b, c), (at_a, at_b, at_c))
        theta = a + min(max(ratio, close / width), max(0.5, 1.0 - close / width)) * (b - a)
        evaluate_projected(watch, equation, store, dense, span, theta)
        value = watch.out[e] * sign
        c, at_c = a, at_a
        if (value > 0.0) != behind:
            c, at_c, b, at_b, behind = b, at_b, a, at_a, not behind
        a, at_a = theta, value
    return a if behind else b


@native_inline
def _ratio_of_root(k: int, places: tuple[float, float, float], values: tuple[float, float, float]) -> float:
    """Return the position of the root between a and b as a ratio of their distance; 0.5 if no interpolation applies.

    Args:
        k: number of fractions before. For the first one only a and b are known, which gives linear interpolation.
        places: a, b and c; c is next to a or b.
        values: values of the expression there.
    """
    a, b, c = places
    at_a, at_b, at_c = values
    if k == 0 and min(at_a, at_b) < 0.0 < max(at_a, at_b):
        return float(at_a / (at_a - at_b))
    if at_a == at_b or at_b == at_c or at_c == at_a:
        return 0.5
    xi, phi = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
    if not (phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi):
        return 0.5
    along = at_a / (at_b - at_a) * (at_c / (at_b - at_c))
    return float(along + (c - a) / (b - a) * (at_a / (at_c - at_a)) * (at_b / (at_c - at_b)))


@native_inline
def _append_event(watch: Watch, system: StateEquation, store: Store, dense: Matrix, span: Span, e: int) -> None:
    row = counts_of(store).events[0]
    store.found[row, 0] = e
    store.found[row, 1] = _load_probe_state(store, dense, span, watch.roots[e], system)
    for i in range(store.z.size):
        store.found[row, 2 + i] = store.z[i]
    counts_of(store).events[0] = row + 1
