"""Sign changes of expressions within a step, located on its interpolant."""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.memory.loop_arguments import PROBES
from kane.engine.memory.run_memory import counts_of
from kane.engine.step.state_equation import between, call_mode, interpolate, look_aside

# Of a step: where a root is bracketed this closely, or as closely as times are told apart, its distance from the root
# is rounding.
LOCATED, ROUNDING = 1e-15, 2.0**-52
HALVINGS = 60
# What is smooth is located in fewer places; after so many every third one is the middle of the bracket.
SMOOTH = 12
NONE = 2.0


@native_inline
def watched(watch: Any, system: Any, interpolated: Any, t: float, x: Any) -> None:
    """Evaluate the expressions at time t and state x."""
    if interpolated.column.size > 0:
        interpolate(interpolated, t, system.inputs)
    call_mode(system, watch.program, t, x, watch.out)


@native_inline
def first_signs(watch: Any, system: Any, interpolated: Any, t: float, x: Any) -> None:
    """The signs from which changes are counted; one that is zero is no change when it becomes something."""
    watched(watch, system, interpolated, t, x)
    for e in range(watch.out.size):
        watch.signs[e] = _sign(watch.out[e])


@native_inline
def find_events(watch: Any, context: Any, store: Any, dense: Any, span: Any) -> float:
    """Put the events of a step into store.found; a terminal one sets counts.ended[0] and store.y.

    Args:
        watch: what to look for.
        context: the StateEquation, the interpolated Tables and the last time of the run.
        store: x before, y after the step, slopes of all stages.
        dense: the interpolant.
        span: start, length and end of the step.

    Returns:
        The time at which the step ends.
    """
    system, interpolated, until = context
    context = (system, interpolated)
    t, h, t1 = span
    for probe in range(1, PROBES + 1):
        theta = probe / PROBES
        if probe < PROBES:
            look_at(watch, context, store, dense, (t, h, t1), theta)
        if probe == PROBES or _is_any_changed(watch):
            probe_at(watch, context, store, dense, (t, h, t1), theta)
        end = NONE
        for e in range(watch.out.size):
            sign = _sign(watch.out[e])
            watch.roots[e] = NONE
            if sign == 0.0 and probe == PROBES and t1 == until:
                sign = -watch.signs[e]  # a zero at the very end: nothing comes after it that could have the new sign
            if sign == 0.0:
                continue
            if watch.signs[e] * sign < 0.0 and watch.directions[e] * sign >= 0.0:
                watch.roots[e] = sign
            watch.signs[e] = sign
        for e in range(watch.out.size):
            if watch.roots[e] != NONE:
                low, theta_e = theta - 1.0 / PROBES, theta
                watch.roots[e] = locate(watch, context, store, dense, (t, h, t1), (e, watch.roots[e], low, theta_e))
                if watch.terminal[e] > 0.0:
                    end = min(end, watch.roots[e])
        for e in range(watch.out.size):
            if watch.roots[e] <= min(end, 1.0):
                _keep(watch, context, store, dense, (t, h, t1), e)
        if end <= 1.0:
            counts_of(store).ended[0] = 1
            if end < 1.0:
                t1 = _at(store, dense, (t, h, t1), end, system)
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
def _at(store: Any, dense: Any, span: Any, theta: float, system: Any) -> float:
    """Write the state at the part theta of the step into store.z; its time."""
    t, h, t1 = span
    if theta == 1.0:
        for i in range(store.y.size):
            store.z[i] = store.y[i]
        return t1
    between(store, dense, h, theta, system.quaternions, store.z)
    look_aside(system, t + theta * h, store.z)
    return t + theta * h


@native_inline
def probe_at(watch: Any, context: Any, store: Any, dense: Any, span: Any, theta: float) -> None:
    """Evaluate the expressions at the part theta of the step."""
    system, interpolated = context
    at = _at(store, dense, span, theta, system)
    watched(watch, system, interpolated, at, store.z)


@native_inline
def look_at(watch: Any, context: Any, store: Any, dense: Any, span: Any, theta: float) -> None:
    """Evaluate the expressions on the interpolant as it is, which misses the constraints by its error.

    That is enough to see that nothing changes its sign, and costs no settling.
    """
    system, interpolated = context
    t, h, _ = span
    between(store, dense, h, theta, system.quaternions, store.z)
    watched(watch, system, interpolated, t + theta * h, store.z)


@native_inline
def _is_any_changed(watch: Any) -> bool:
    """Whether an expression has not the sign that it had."""
    changed = False
    for e in range(watch.out.size):
        changed = changed or not watch.signs[e] * watch.out[e] > 0.0
    return changed


@native_kernel
def locate(watch: Any, context: Any, store: Any, dense: Any, span: Any, change: Any) -> float:
    """The first place of the bracket at which expression e has its new sign.

    By inverse quadratic interpolation where the three last places allow it, else by halving (Chandrupatla 1997). No
    place is nearer to the last one than times are told apart, so that the bracket closes from both sides as soon as the
    root is known; from a value of zero on it is sought ever farther away. What comes after the root, not what comes
    before it, so that a run that goes on from there does not find it again.
    """
    e, sign, low, high = change
    t, h, t1 = span
    close = max(LOCATED, ROUNDING * max(abs(t), abs(t1)) / abs(h))
    probe_at(watch, context, store, dense, span, low)
    below = watch.out[e] * sign
    probe_at(watch, context, store, dense, span, high)
    above = watch.out[e] * sign
    a, b, c, at_a, at_b, at_c, away = high, low, low, above, below, below, 1.0
    behind = True  # whether a has the new sign; b then has not
    for k in range(HALVINGS):
        width = abs(b - a)
        if width <= close:
            break
        share = 0.5
        if at_a == 0.0:
            share, away = away * close / width, 4.0 * away
        elif k < SMOOTH or k % 3 != 2:
            share = _share_of_root(k, (a, b, c), (at_a, at_b, at_c))
        theta = a + min(max(share, close / width), max(0.5, 1.0 - close / width)) * (b - a)
        probe_at(watch, context, store, dense, span, theta)
        value = watch.out[e] * sign
        c, at_c = a, at_a
        if (value > 0.0) != behind:
            c, at_c, b, at_b, behind = b, at_b, a, at_a, not behind
        a, at_a = theta, value
    return a if behind else b


@native_inline
def _share_of_root(k: int, places: Any, values: Any) -> float:
    """Which part of the way from a to b leads to the root, where the values at a and b have other signs; else half.

    Args:
        k: how many places there were before; at first there are two, between which a straight line goes.
        places: a, b and c, of which c lies beside a or b.
        values: there.
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
def _keep(watch: Any, context: Any, store: Any, dense: Any, span: Any, e: int) -> None:
    system, _ = context
    row = counts_of(store).events[0]
    store.found[row, 0] = e
    store.found[row, 1] = _at(store, dense, span, watch.roots[e], system)
    for i in range(store.z.size):
        store.found[row, 2 + i] = store.z[i]
    counts_of(store).events[0] = row + 1
